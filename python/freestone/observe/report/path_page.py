"""The critical path as a part of a page."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from freestone.observe.report import svg
from freestone.observe.report.document import note, table
from freestone.observe.report.path import Path, Step
from freestone.units import format_count, format_seconds

__all__ = ["path_page"]

_MAX_STEPS = 100


def path_page(path: Path) -> str:
    """Return what the path is made of, what would change it, and its steps, as HTML."""
    counts = Counter(step.label for step in path.steps)
    what_if = {one.label: one for one in path.what_if}
    rows = []
    for label, seconds in list(path.functions().items())[:_MAX_STEPS]:
        asked = what_if.get(label)
        would = (
            [_change(s, path.seconds) for s in (asked.half_s, asked.double_s)]
            if asked
            else ["-"] * 2
        )
        share = f"{seconds / path.seconds:.0%}" if path.seconds else "-"
        rows.append((label, f"{counts[label]:,}", format_seconds(seconds), share, *would))
    head = (
        "function",
        "tasks on the path",
        "running",
        "of the path",
        "if it took half",
        "if twice",
    )
    free = ""
    if path.free_s is not None:
        free = note(
            f"With a free worker for each task at once: {_change(path.free_s, path.seconds)}."
        )
    return (
        svg.shares(path.parts())
        + table(head, rows)
        + free
        + note(
            "What would have been keeps the run's order, and where its tasks ran. Times before "
            "submission are the program's, those of tasks that submit others, and of messages."
        )
        + _steps(path)
    )


def _change(seconds: float, of: float) -> str:
    saved = of - seconds
    share = f"{abs(saved) / of:.0%}" if of else "0%"
    if share == "0%":
        return f"{format_seconds(seconds)}, the same"
    return f"{format_seconds(seconds)}, {share} {'shorter' if saved > 0 else 'longer'}"


def _steps(path: Path) -> str:
    """List the steps; those of one function that follow one another in one row."""
    runs = [list(steps) for _, steps in groupby(path.steps, key=lambda step: step.label)]
    shown = runs if len(runs) <= _MAX_STEPS else runs[: _MAX_STEPS // 2] + runs[-_MAX_STEPS // 2 :]
    rows = [_row(steps) for steps in shown]
    head = (
        "step",
        "worker",
        "at",
        "before submission",
        "for a worker",
        "there",
        "values",
        "running",
    )
    left_out = len(runs) - len(shown)
    text = f"Left out in the middle: {format_count(left_out, 'step')}." if left_out else ""
    return table(head, rows) + (note(text) if text else "")


def _row(steps: list[Step]) -> tuple[str, ...]:
    first = steps[0]
    workers = {step.worker for step in steps}
    times = ("submitting_s", "queued_s", "arriving_s", "values_s", "running_s")
    return (
        f"{first.label}, {len(steps):,} times" if len(steps) > 1 else first.label,
        first.worker if len(workers) == 1 else f"{len(workers)} workers",
        format_seconds(first.at_s),
        *(format_seconds(sum(getattr(step, key) for step in steps)) for key in times),
    )
