"""A progress bar over futures, or over all that a cluster runs."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from freestone.observe.figures import Statistics
from freestone.units import format_count

if TYPE_CHECKING:
    from freestone.client.future import Future

__all__ = ["Bar", "Progress", "Sample", "progress", "shows_progress"]

PERIOD_S = 0.1
F = TypeVar("F", bound="Future")


class HasStatistics(Protocol):
    """What knows the figures of a run, such as a cluster."""

    def statistics(self) -> Statistics:
        """Return the figures so far."""


class Sample(Protocol):
    """Tells how far the work is: done, failed, total, and a few words."""

    def __call__(self) -> tuple[int, int, int, str]:
        """Look once."""


class Bar(Protocol):
    """Where progress is shown."""

    def show(self, done: int, failed: int, total: int, words: str) -> None:
        """Show how far the work is."""

    def close(self) -> None:
        """Show no more."""


def shows_progress() -> bool:
    """Whether there is somebody to see a bar: a terminal or a notebook."""
    if _in_notebook():
        return True
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def progress(
    what: HasStatistics | Sequence[F], *, label: str = "", visible: bool | None = None
) -> Progress[F]:
    """Show how far futures, or all tasks of a cluster, are.

    Parameters
    ----------
    what : Cluster or sequence of Future
        What to look at.
    label : str
        In front of the bar.
    visible : bool, optional
        Whether to show a bar; by default if standard error is a terminal or this is a notebook,
        and rich is installed.

    Returns
    -------
    Progress
        A context manager; also an iterable of the futures as they are done.

    Notes
    -----
    Looks ten times a second from a thread, which costs one question to the manager, or 0.1 µs per
    future that is not done.

    Examples
    --------
    >>> for future in progress(cluster.map(f, range(100))):  # doctest: +SKIP
    ...     print(future.result())
    >>> with progress(cluster):  # doctest: +SKIP
    ...     total.result()
    """
    from freestone.observe.rich_bar import make_bar

    visible = shows_progress() if visible is None else visible
    if isinstance(what, Sequence):
        return Progress(_FutureSample(what), make_bar(label) if visible else None, what)
    return Progress(_ClusterSample(what.statistics), make_bar(label) if visible else None, ())


class Progress(contextlib.AbstractContextManager["Progress[F]"], Iterable[F]):
    """Looks from time to time how far work is, and shows it on a bar.

    Parameters
    ----------
    sample : callable
        Looks once.
    bar : Bar or None
        Where to show it; None shows nothing and starts no thread.
    futures : sequence of Future
        What iterating gives, as they are done.
    period_s : float
        Between two looks, in seconds.
    """

    def __init__(
        self,
        sample: Sample,
        bar: Bar | None,
        futures: Sequence[F] = (),
        period_s: float = PERIOD_S,
    ) -> None:
        self._sample, self._bar, self._futures, self._period_s = sample, bar, futures, period_s
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Begin to look, on a thread."""
        if self._bar is not None and self._thread is None:
            self._thread = threading.Thread(
                target=self._run, name="freestone-progress", daemon=True
            )
            self._thread.start()
        return self

    def stop(self) -> None:
        """Look a last time and end the bar."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        bar = self._bar
        if bar is None:
            return
        try:
            while not self._end.wait(self._period_s):
                bar.show(*self._sample())
            bar.show(*self._sample())
        except Exception:
            # The work goes on when the cluster is closed under a bar, or a terminal vanishes.
            self._end.set()
        finally:
            with contextlib.suppress(Exception):
                bar.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __iter__(self) -> Iterator[F]:
        with self:
            yield from _as_completed(self._futures)


class _FutureSample:
    """Looks at futures; those that are done are not looked at again."""

    def __init__(self, futures: Sequence[Any]) -> None:
        self._left = list(futures)
        self._total = len(self._left)
        self._failed = 0

    def __call__(self) -> tuple[int, int, int, str]:
        left = []
        for future in self._left:
            if not future.done():
                left.append(future)
            elif future.status != "done":
                self._failed += 1
        self._left = left
        return self._total - len(left) - self._failed, self._failed, self._total, ""


class _ClusterSample:
    """Looks at a cluster's figures, from where they were when it began."""

    def __init__(self, statistics: Callable[[], Statistics]) -> None:
        self._statistics = statistics
        first = statistics()
        self._done, self._failed = first.done + first.answered, first.failed

    def __call__(self) -> tuple[int, int, int, str]:
        now = self._statistics()
        done, failed = now.done + now.answered - self._done, now.failed - self._failed
        running = sum(worker.status.running for worker in now.workers)
        words = f"{running} running on {format_count(len(now.workers), 'worker')}"
        return done, failed, done + failed + now.pending, words


def _as_completed(futures: Sequence[F]) -> Iterator[F]:
    from freestone.client.waiting import as_completed

    return as_completed(futures)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"
