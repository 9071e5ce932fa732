"""What ranks did and when, for Perfetto: tasks, waits, and an arrow from each event to who took it.

See docs/decisions/075-ranks-note-what-they-do-in-files-that-they-map.md
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from freestone.observe import chrome
from freestone.observe.forms import PARTIAL
from freestone.observe.ranks import events
from freestone.observe.rings import Key, Ring, Span, Trace, encoded, read_folder

__all__ = ["Recording", "begin", "end", "rings_of"]


class Recording:
    """Notes what a rank does; made by the thread that runs the rank's program.

    Parameters
    ----------
    rank
        Its number.
    folder
        Where the rings of the run are; the rank keeps its own for itself if they are elsewhere.
    """

    def __init__(self, rank: int = 0, folder: str = "") -> None:
        self._ring = _ring(rank, folder)
        self._lock = threading.Lock()
        self._threads = {threading.get_ident(): 0}
        self._open: dict[int, bytes] = {}
        self._fired: Counter[tuple[int, str]] = Counter()
        self._taken: Counter[tuple[int, str]] = Counter()

    @contextmanager
    def span(self, kind: str, name: str) -> Iterator[Span]:
        """Note what is done in the block, also when it raises."""
        thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
        span = Span(name, kind, thread, time.monotonic_ns())
        # What is over in a moment is not worth noting before.
        outer = self._begin(span) if kind != "fire" else b""
        try:
            yield span
        except BaseException as error:
            span.error = type(error).__name__
            raise
        finally:
            span.end_ns = time.monotonic_ns()
            with self._lock:
                self._ring.add(span)
            if kind != "fire":
                self._end(thread, outer)

    def _begin(self, span: Span) -> bytes:
        """Note that a span is not over, in the place of the one around it, which is returned."""
        outer = self._open.get(span.thread, b"")
        self._open[span.thread] = text = encoded(span)
        self._ring.set_open(span.thread, text)
        return outer

    def _end(self, thread: int, outer: bytes) -> None:
        self._open[thread] = outer
        self._ring.set_open(thread, outer)

    def fire(self, targets: Iterable[int], id: str) -> tuple[Key, ...]:
        """Return the numbers of an event that is about to be fired, one for each target."""
        return self._numbered(self._fired, [(target, id) for target in targets])

    def take(self, events: Iterable[Any]) -> tuple[Key, ...]:
        """Return the numbers of events that a task or a wait got."""
        return self._numbered(self._taken, [(event.source, event.id) for event in events])

    def _numbered(
        self, counts: Counter[tuple[int, str]], keys: list[tuple[int, str]]
    ) -> tuple[Key, ...]:
        found: list[Key] = []
        with self._lock:
            for rank, id in keys:
                found.append((rank, id, counts[rank, id]))
                counts[rank, id] += 1
        return tuple(found)

    def traced(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        """Return a task's function that notes its calls."""

        def call(*events: Any) -> Any:
            with self.span("task", label) as span:
                span.taken = self.take(events)
                return function(*events)

        return call

    def end(self) -> Trace:
        """Return what it noted."""
        with self._lock:
            return self._ring.trace()


def _ring(rank: int, folder: str) -> Ring:
    if folder and os.path.isdir(folder):
        with contextlib.suppress(OSError):
            return Ring(os.path.join(folder, f"rank-{rank}"))
    return Ring()


def rings_of(path: str | None) -> str | None:
    """Return the folder of the rings of a run whose trace is written to a file; none without it."""
    return None if path is None else f"{os.path.abspath(path)}{PARTIAL}"


def begin(path: str | None, ranks: int = 0) -> str | None:
    """Make the folder of the rings of a run; its path, or None if the run is not traced.

    Ranks keep what they do for themselves if it can't be made: the trace is written at the end.
    Of a run before, the rings of the first `ranks` stay: those may write theirs anew already.
    """
    folder = rings_of(path)
    if folder is not None and path is not None:
        with contextlib.suppress(OSError):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            for name in os.listdir(folder):
                number = name.removeprefix("rank-")
                if not number.isdecimal() or int(number) >= ranks:
                    os.remove(os.path.join(folder, name))
            chrome.begin(path, folder)
    return folder


def end(path: str, traces: Sequence[Trace | None]) -> None:
    """Write what ranks did as a file for Perfetto and chrome://tracing; their rings go.

    Parameters
    ----------
    path
        Replaced once it is whole.
    traces
        Of each rank; none of those that were lost or are elsewhere. The rings of those that were
        lost on this machine are read.
    """
    folder = rings_of(path) or ""
    rings = read_folder(folder)
    rings += [None] * (len(traces) - len(rings))
    found = [trace or ring for trace, ring in zip(traces, rings, strict=False)]
    chrome.end(path)
    if any(found):
        chrome.write(path, events(found), "ns")
    shutil.rmtree(folder, ignore_errors=True)
