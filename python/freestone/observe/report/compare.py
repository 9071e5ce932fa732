"""Two runs beside each other: how long they took, what their paths were made of, and functions."""

from __future__ import annotations

from html import escape

import numpy as np

from freestone.observe.report.document import note, table
from freestone.observe.report.series import Run
from freestone.units import format_nbytes, format_seconds

__all__ = ["compare_page", "compare_summary"]

_MAX_ROWS = 50


def compare_summary(run: Run, before: Run, name: str) -> list[str]:
    """Tell in a sentence how a run differs from one before, which has a name."""
    if not before.durations_s or not run.durations_s:
        return [f"It can't be compared with {name}: no task ran in one of them."]
    text = (
        f"It took {format_seconds(run.seconds)}, and {name} {format_seconds(before.seconds)}: "
        f"{change(before.seconds, run.seconds)}."
    )
    changes = {label: _total(run, label) - _total(before, label) for label in _labels(run, before)}
    label, most = max(changes.items(), key=lambda item: abs(item[1]))
    if abs(most) < 0.01 * max(sum(map(np.sum, before.durations_s.values())), 1e-9):
        return [text]
    way = "longer" if most > 0 else "shorter"
    return [f"{text} Tasks of {label} ran {format_seconds(abs(most))} {way} in all."]


def compare_page(run: Run, before: Run, name: str) -> str:
    """Return the figures of both as a part of a page."""
    head = ("figure", name, "this run", "change")
    rows = [_times(title, *both) for title, both in _whole(run, before).items()]
    moved = [sum(one.moved.values()) for one in (before, run)]
    rows.append(("went between workers", *map(format_nbytes, moved), change(*moved)))
    lines = [f"<p>{escape(line)}</p>" for line in compare_summary(run, before, name)]
    return "".join([*lines, table(head, rows), _functions(run, before, name)])


def _whole(run: Run, before: Run) -> dict[str, tuple[float, float]]:
    """Return what is compared of both, in seconds, first of the one before."""
    both = {"the run": (before.seconds, run.seconds)}
    if run.path is not None and before.path is not None:
        others = before.path.parts()
        for title, seconds in run.path.parts().items():
            if max(seconds, others[title]) >= 1e-6:
                both[f"of the critical path: {title}"] = (others[title], seconds)
    both["all slots: computing"] = (before.share.computing, run.share.computing)
    both["all slots: nothing to do"] = (before.share.nothing, run.share.nothing)
    return both


def _times(title: str, before_s: float, now_s: float) -> tuple[str, ...]:
    return title, format_seconds(before_s), format_seconds(now_s), change(before_s, now_s)


def _functions(run: Run, before: Run, name: str) -> str:
    labels = _labels(run, before)
    labels.sort(key=lambda label: -abs(_total(run, label) - _total(before, label)))
    rows = [
        (
            label,
            " → ".join(f"{len(one.durations_s.get(label, ())):,}" for one in (before, run)),
            " → ".join(_median(one, label) for one in (before, run)),
            " → ".join(format_seconds(_total(one, label)) for one in (before, run)),
            change(_total(before, label), _total(run, label)),
            " → ".join(format_seconds(_on_path(one, label)) for one in (before, run)),
        )
        for label in labels[:_MAX_ROWS]
    ]
    head = ("function", "attempts", "median", "in all", "change", "on the path")
    more = len(labels) - len(rows)
    text = f"Of {name} → of this run" + (f"; {more:,} others changed less." if more > 0 else ".")
    return table(head, rows) + note(text)


def _labels(run: Run, before: Run) -> list[str]:
    return list({**before.durations_s, **run.durations_s})


def _total(run: Run, label: str) -> float:
    return float(np.sum(run.durations_s.get(label, 0.0)))


def _median(run: Run, label: str) -> str:
    durations = run.durations_s.get(label)
    return "-" if durations is None else format_seconds(float(np.median(durations)))


def _on_path(run: Run, label: str) -> float:
    return run.path.functions().get(label, 0.0) if run.path else 0.0


def change(before: float, now: float) -> str:
    """Return a change in percent, as a word if there is none."""
    if before == now:
        return "the same"
    if before <= 0:
        return "new"
    share = now / before - 1
    return "the same" if abs(share) < 0.005 else f"{share:+.0%}"
