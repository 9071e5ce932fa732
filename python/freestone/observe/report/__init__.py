"""A run's report: one page that holds all it needs, drawn from a trace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from freestone.observe.report import svg
from freestone.observe.report.advice import advice, summary
from freestone.observe.report.compare import compare_page, compare_summary
from freestone.observe.report.document import document, note, section, table
from freestone.observe.report.memory import memory_page
from freestone.observe.report.path_page import path_page
from freestone.observe.report.series import Cache, Floats, Run, load
from freestone.observe.report.timeline import timeline_section
from freestone.units import format_nbytes, format_seconds

__all__ = ["advice", "compare_summary", "load", "page", "parts", "summary", "write"]

# So many lines and labels can be told apart.
_MOST = 8
_MAX_ROWS = 200
_MAX_FAILURES = 50


def write(
    path: str | os.PathLike[str],
    records: Iterable[Mapping[str, Any]],
    title: str,
) -> None:
    """Write a run's page.

    Parameters
    ----------
    path
        Where to.
    records
        The trace.
    title
        What stands on top.
    """
    Path(path).write_text(page(load(records), title), "utf-8")


def page(run: Run, title: str, before: tuple[str, Run] | None = None) -> str:
    """Return the page of a run as HTML.

    Parameters
    ----------
    run
        As `load` returns it.
    title
        What stands on top.
    before
        Another run to compare it with, and its name.
    """
    drawn = parts(run, before, timeline_section(run.tasks, run.begin_ns, run.seconds))
    if run.profile:
        drawn.append(section("profile", "Where calls spent their time", run.profile.html()))
    return document(title, drawn)


def parts(run: Run, before: tuple[str, Run] | None = None, timeline: str = "") -> list[str]:
    """Return what the page of a run has, but its flame graph, as pieces of HTML.

    Parameters
    ----------
    run, before
        As of `page`.
    timeline
        What ran when, as HTML.
    """
    return [
        *(f"<p>{escape(line)}</p>" for line in summary(run)),
        _share(run),
        "<h2>What to try</h2><ul>",
        *(f"<li>{escape(line)}</li>" for line in advice(run)),
        "</ul>",
        *(
            [section("compared", "Compared", compare_page(run, before[1], before[0]))]
            if before
            else []
        ),
        *([section("path", "The critical path", path_page(run.path))] if run.path else []),
        timeline,
        *([section("failures", "What failed", _failures(run))] if run.failures else []),
        section("tasks", "Tasks over time", _tasks(run)),
        section("workers", "How busy each worker was", _workers(run)),
        section("transfers", "What went between workers", _transfers(run)),
        section("caches", "What each worker held", _caches(run)),
        section("durations", "How long tasks took", _durations(run)),
        section("memory", "Memory", memory_page(run.memory)),
    ]


def _failures(run: Run) -> str:
    """Return each task that failed for good, to be opened for its traceback."""
    shown = run.failures[-_MAX_FAILURES:]
    drawn = [
        f"<details><summary><b>{escape(one['label'])}</b> {escape(one['ended'])} "
        f"{escape(_line(one.get('message') or ''))}</summary>"
        f'<pre tabindex="0">{escape(one.get("traceback") or one.get("message") or one["ended"])}'
        "</pre></details>"
        for one in reversed(shown)
    ]
    more = len(run.failures) - len(shown)
    return "".join(drawn) + (note(f"{more:,} earlier ones are left out.") if more else "")


def _line(text: str) -> str:
    return text.split("\n")[0][:200]


def _share(run: Run) -> str:
    spent = {
        "computing": run.share.computing,
        "opening and storing values": run.share.values,
        "waiting for data": run.share.data,
        "waiting for an executor": run.share.executor,
        "waiting for the manager": run.share.manager,
        "nothing to do": run.share.nothing,
    }
    return svg.shares(spent)


def _tasks(run: Run) -> str:
    middle = (run.edges_s[1:] + run.edges_s[:-1]) / 2
    slots = run.slots.sum(axis=0) if run.workers else np.zeros_like(middle)
    figures = [
        svg.lines(
            [middle] * len(names),
            values,
            names,
            x_label="time",
            y_label="tasks",
            form=lambda value: f"{value:,.3g}" if value < 1000 else f"{value:,.0f}",
            x_most=run.seconds,
        )
        for values, names in (
            ([run.running, slots], ["running", "slots"]),
            ([run.waiting], ["ready and waiting"]),
        )
    ]
    return "".join(figures)


def _workers(run: Run) -> str:
    if not run.workers:
        return _nothing("No worker joined.")
    shown = min(len(run.workers), _MAX_ROWS)
    slots = run.slots[:shown]
    with np.errstate(invalid="ignore", divide="ignore"):
        used = np.where(slots > 0, run.busy[:shown] / slots, np.nan)
    return svg.heat(
        used,
        run.workers[:shown],
        x_label="time",
        y_label="",
        x_most=run.seconds,
        most=1.0,
        tell=lambda row, column: f"{run.workers[row]}: {used[row, column]:.0%} of its slots",
    ) + (note(f"The first {shown} of {len(run.workers)}.") if shown < len(run.workers) else "")


def _transfers(run: Run) -> str:
    if not any(run.moved.values()):
        return _nothing("Nothing went between workers.")
    there = {name for pair in run.moved for name in pair}
    names = [name for name in run.workers if name in there]
    names = [*names, *sorted(there - set(names))][:_MAX_ROWS]
    cells = np.array([[run.moved.get((one, other), 0) for other in names] for one in names], float)
    cells[cells == 0] = np.nan
    most = float(np.nanmax(cells))
    drawn = svg.heat(
        cells,
        names,
        columns=names,
        x_label="to",
        y_label="from",
        most=most,
        tell=lambda row, column: (
            f"{names[row]} to {names[column]}: {format_nbytes(int(cells[row, column]))}"
        ),
    )
    return drawn + note(f"The darkest pair exchanged {format_nbytes(int(most))}.")


def _caches(run: Run) -> str:
    if not run.caches:
        return _nothing("No worker told what it holds: the run was shorter than two seconds.")
    fullest = sorted(
        run.caches.items(), key=lambda item: -float((item[1].memory + item[1].disk).max(initial=0))
    )
    shown = fullest[:_MOST]
    drawn = svg.lines(
        [cache.at_s for _, cache in shown],
        [cache.memory + cache.disk for _, cache in shown],
        [worker for worker, _ in shown],
        x_label="time",
        y_label="memory and disk",
        form=lambda value: format_nbytes(int(value)),
        x_most=run.seconds,
        base=1024,
    )
    more = len(fullest) - len(shown)
    left_out = note(f"The fullest {len(shown)}; {more} others held less.") if more else ""
    return drawn + left_out + _peaks(fullest)


def _peaks(caches: Sequence[tuple[str, Cache]]) -> str:
    """Return when each worker, and all together, held most."""
    times = np.unique(np.concatenate([cache.at_s for _, cache in caches]))
    in_all = [_held(cache.at_s, cache.memory + cache.disk, times) for _, cache in caches]
    rows = [("all workers", times, np.sum(in_all, axis=0))] if len(caches) > 1 else []
    rows += [(worker, cache.at_s, cache.memory + cache.disk) for worker, cache in caches]
    texts = [
        (worker, format_nbytes(int(held.max())), format_seconds(float(at_s[held.argmax()])))
        for worker, at_s, held in rows[:_MAX_ROWS]
    ]
    return table(("worker", "held at most", "after"), texts)


def _held(at_s: Floats, nbytes: Floats, times: Floats) -> Floats:
    """Return what a worker held at some times, by what it reported last before."""
    last = np.searchsorted(at_s, times, side="right") - 1
    return np.where(last >= 0, nbytes[np.maximum(last, 0)], 0.0)


def _durations(run: Run) -> str:
    if not run.durations_s:
        return _nothing("No task ran.")
    shown = list(run.durations_s.items())[: _MOST - 1]
    rest = list(run.durations_s.items())[_MOST - 1 :]
    if rest:
        shown.append(("others", np.concatenate([values for _, values in rest])))
    every = np.concatenate([values for _, values in shown])
    low = max(float(every.min()), 1e-6)
    high = max(float(every.max()), low * 1.001)
    edges = np.geomspace(low * 0.999, high * 1.001, 41)
    counts = [np.histogram(np.maximum(values, low), edges)[0].astype(float) for _, values in shown]
    names = [label for label, _ in shown]
    around = run.values_s | {"others": sum(run.values_s[label] for label, _ in rest)}
    rows = [
        (
            label,
            f"{len(values):,}",
            format_seconds(float(np.median(values))),
            format_seconds(float(values.max())),
            format_seconds(float(values.sum())),
            format_seconds(around[label]),
        )
        for label, values in shown
    ]
    head = ("task", "attempts", "median", "longest", "in all", "opening and storing values")
    return svg.bars(edges, counts, names, x_label="time of an attempt") + table(head, rows)


def _nothing(text: str) -> str:
    return f'<p class="note nothing">{escape(text)}</p>'
