"""How many bytes of a file are read or written, and a bar that shows it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

from freestone import _native
from freestone.client import Client, gather, wait
from freestone.observe.progress import Bar, Progress, shows_progress
from freestone.observe.rich_bar import make_bar

__all__ = ["Meter", "metered", "written"]

# A bar that is gone before it can be read is only a flash.
LONG_S = 1.0


class Meter:
    """Bytes that are done, of so many.

    Parameters
    ----------
    total : int
        How many there are; 0 while nobody knows.
    done : callable
        Returns how many are done; by default those of the futures that are.
    """

    def __init__(self, total: int = 0, done: Callable[[], int] | None = None) -> None:
        self.total: int = total
        self._done = done or self._of_futures
        self._futures: list[tuple[Any, int | None]] = []

    @classmethod
    def of_reads(cls, total: int) -> Meter:
        """Count what this process reads from now on, libraries included as far as one can see."""
        start, first = _native.io.io_moved()[0], _calls()

        def done() -> int:
            return max(_native.io.io_moved()[0] - start, min(_calls() - first, total))

        return cls(total, done)

    @classmethod
    def of_writes(cls, total: int = 0) -> Meter:
        """Count what this process writes from now on."""
        _, start = _native.io.io_moved()
        return cls(total, lambda: _native.io.io_moved()[1] - start)

    @contextlib.contextmanager
    def watching(self, path: str) -> Iterator[None]:
        """Count the bytes of a file that a library writes while the block runs."""
        self._done = lambda: _size(path)
        yield
        nbytes = _size(path)
        self._done = lambda: nbytes

    def add(self, future: Any, nbytes: int | None = None) -> None:
        """Count some bytes as soon as a future is done; by default as many as its value says."""
        self._futures.append((future, nbytes))

    def _of_futures(self) -> int:
        futures = list(self._futures)
        done = [one for one in futures if one[0].status == "done"]
        count = sum(future.result() if nbytes is None else nbytes for future, nbytes in done)
        if done and any(nbytes is None for _, nbytes in futures):
            # If those that are not done yet are like the others.
            self.total = count * len(futures) // len(done)
        return int(count)

    def __call__(self) -> tuple[int, int, int, str]:
        """Look once."""
        done = self._done()
        return done, 0, max(self.total, done), ""


def _calls() -> int:
    """Return the bytes that this process has read by calls of the system; 0 if that is secret."""
    try:
        with open("/proc/self/io") as file:
            return int(file.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


@contextlib.contextmanager
def metered(label: str, meter: Meter, visible: bool | None) -> Iterator[Meter]:
    """Show a bar while the block runs, once it takes long.

    Parameters
    ----------
    label
        In front of the bar.
    meter
        Tells how far it is.
    visible
        Whether to show a bar; by default if standard error is a terminal or this is a notebook,
        and rich is installed.
    """
    shown = shows_progress() if visible is None else visible
    bar = make_bar(label, in_bytes=True) if shown else None
    with Progress(meter, None if bar is None else _Late(bar)):
        yield meter


def written(
    client: Client,
    function: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    name: str,
    meter: Meter,
    nbytes: Iterable[int | None] = repeat(None),
) -> list[Any]:
    """Call a function that writes where its blocks are, and return what all calls return.

    Parameters
    ----------
    function, calls
        As `Client.map` has them. After a worker is lost a call writes the same again.
    name
        What the calls are called.
    meter
        Is given the calls.
    nbytes
        How many bytes each writes; None where what it returns says it.
    """
    options = {"pure": False, "retries": 2, "near": "input", "name": name}
    futures = client.map(function, calls, options)
    for future, size in zip(futures, nbytes, strict=False):
        meter.add(future, size)
    try:
        made: list[Any] = gather(futures)
        return made
    finally:
        # Whoever removes what is there of a write that failed comes after the last part of it.
        wait(futures)


class _Late:
    """A bar that is not shown in the first second."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._begin = time.monotonic()

    def show(self, done: int, failed: int, total: int, words: str) -> None:
        if time.monotonic() - self._begin >= LONG_S:
            self._bar.show(done, failed, total, words)

    def close(self) -> None:
        self._bar.close()
