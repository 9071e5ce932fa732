"""What ranks did, as events in Chrome's format: with an arrow from each event to who took it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from freestone.observe.rings import Span, Trace

__all__ = ["events"]


def events(traces: Sequence[Trace | None]) -> Iterator[dict[str, Any]]:
    """Yield them; None stands for a rank of which nothing is known."""
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
    if span.lasts:
        args["lasts"] = True
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
