"""What ranks did and when, for Perfetto: tasks, waits, and an arrow from each event to who took it.

See docs/decisions/075-traces-of-ranks-are-kept-in-memory-and-matched-by-count.md
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from freestone.observe import chrome

__all__ = ["Recording", "Span", "Trace", "write"]

MAX_SPANS = 100_000
"""So much is kept of each rank: the last."""

Key = tuple[int, str, int]
"""An event from or to a rank, by its identifier; and how many of it there were before."""


@dataclass(slots=True)
class Span:
    """Something that a thread of a rank did.

    Attributes
    ----------
    name, kind : str
        For people; ``main``, ``task``, ``wait``, ``retrieve``, ``fire`` or ``lock``.
    thread : int
        Its number, from 0 for the rank's own program.
    begin_ns, end_ns : int
        By the clock of the rank's machine.
    fired, taken : tuple of Key
        Events that it fired, by their targets, and that it took, by their sources.
    error : str
        The exception that it raised.
    """

    name: str
    kind: str
    thread: int
    begin_ns: int
    end_ns: int = 0
    fired: tuple[Key, ...] = ()
    taken: tuple[Key, ...] = ()
    error: str = ""


@dataclass
class Trace:
    """What a rank did, as it is handed over at its end.

    Attributes
    ----------
    spans : list of Span
        In the order in which they ended.
    dropped : int
        Earlier ones that are not there any more.
    boot : str
        The machine, since it was started.
    epoch_ns : int
        What its clock is behind the time of day.
    """

    spans: list[Span] = field(default_factory=list)
    dropped: int = 0
    boot: str = ""
    epoch_ns: int = 0


class Recording:
    """Notes what a rank does; made by the thread that runs the rank's program."""

    def __init__(self) -> None:
        self._spans: deque[Span] = deque(maxlen=MAX_SPANS)
        self._count = 0
        self._lock = threading.Lock()
        self._threads = {threading.get_ident(): 0}
        self._fired: Counter[tuple[int, str]] = Counter()
        self._taken: Counter[tuple[int, str]] = Counter()

    @contextmanager
    def span(self, kind: str, name: str) -> Iterator[Span]:
        """Note what is done in the block, also when it raises."""
        thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
        span = Span(name, kind, thread, time.monotonic_ns())
        try:
            yield span
        except BaseException as error:
            span.error = type(error).__name__
            raise
        finally:
            span.end_ns = time.monotonic_ns()
            with self._lock:
                self._count += 1
                self._spans.append(span)

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
        epoch_ns = time.time_ns() - time.monotonic_ns()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        with self._lock:
            spans = list(self._spans)
            return Trace(spans, self._count - len(spans), boot, epoch_ns)


def write(path: str, traces: Sequence[Trace | None]) -> None:
    """Write what ranks did as a file for Perfetto and chrome://tracing.

    Parameters
    ----------
    path
        Replaced once it is whole.
    traces
        Of each rank; none of those that were lost or are elsewhere.
    """
    chrome.write(path, _events(traces), "ns")


def _events(traces: Sequence[Trace | None]) -> Iterator[dict[str, Any]]:
    there = [(rank, trace) for rank, trace in enumerate(traces) if trace is not None]
    fired = {(rank, *key) for rank, trace in there for span in trace.spans for key in span.fired}
    numbers: dict[Any, int] = {}
    for rank, trace in there:
        title = f"rank {rank}" + (f", {trace.dropped:,} more before" if trace.dropped else "")
        yield {"ph": "M", "name": "process_name", "pid": rank, "args": {"name": title}}
        for thread in sorted({span.thread for span in trace.spans}):
            about = {"name": f"worker {thread}" if thread else "program"}
            yield {"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": about}
        # Ranks of one machine have one clock; of others, what the time of day says.
        late_ns = trace.epoch_ns - there[0][1].epoch_ns if trace.boot != there[0][1].boot else 0
        for span in trace.spans:
            yield from _span(rank, span, late_ns, fired, numbers)


def _span(
    rank: int, span: Span, late_ns: int, fired: set[Any], numbers: dict[Any, int]
) -> Iterator[dict[str, Any]]:
    at = {"pid": rank, "tid": span.thread}
    begin_us, end_us = ((ns + late_ns) / 1e3 for ns in (span.begin_ns, span.end_ns))
    args: dict[str, Any] = {"took": [f"{id} from {source}" for source, id, _ in span.taken]}
    if span.error:
        args["raised"] = span.error
    about = {"ph": "X", "name": span.name, "cat": span.kind, "ts": begin_us, "args": args}
    yield {**about, **at, "dur": max(0.001, end_us - begin_us)}
    arrows = [(begin_us, "s", (rank, target, id, number)) for target, id, number in span.fired]
    # Who waits has an event at the end; a task at its beginning.
    taken_us = max(begin_us, end_us - 0.001) if span.kind == "wait" else begin_us
    arrows += [(taken_us, "f", (source, rank, id, number)) for source, id, number in span.taken]
    for at_us, phase, key in arrows:
        if key in fired:
            number = numbers.setdefault(key, len(numbers) + 1)
            arrow = {"ph": phase, "name": key[2], "cat": "event", "id": number, "ts": at_us}
            yield {**arrow, **at, **({"bp": "e"} if phase == "f" else {})}
