"""A run's report: one page that holds all it needs, drawn from a trace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from freestone.observe.report import svg
from freestone.observe.report.advice import advice, summary
from freestone.observe.report.series import Run, load
from freestone.units import format_nbytes, format_seconds

__all__ = ["advice", "load", "page", "summary", "write"]

# So many lines and labels can be told apart.
_MOST = 8
_MAX_ROWS = 200

STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --grid: #ddd; --heat: #8a3b12; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #16181b; --grid: #3a3d42; --heat: #ff9a5c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 900px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 2em 0 .3em; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--ink); }
.end { text-anchor: end; } .mid { text-anchor: middle; } svg line { stroke: var(--grid); }
.line { fill: none; stroke-width: 1.6; } .cell { fill: var(--heat); }
.legend span { margin-right: 1.2em; white-space: nowrap; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.bar { display: flex; height: 1.6em; margin: .6em 0; } .bar div { min-width: 0; }
.note { opacity: .75; } table { border-collapse: collapse; }
section { overflow-x: auto; } @media (max-width: 640px) { section > svg { min-width: 600px; } }
td, th { padding: .1em .8em .1em 0; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
"""


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


def page(run: Run, title: str) -> str:
    """Return the page of a run as HTML."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in summary(run)),
        _share(run),
        "<h2>What to try</h2><ul>",
        *(f"<li>{escape(line)}</li>" for line in advice(run)),
        "</ul>",
        _section("tasks", "Tasks over time", _tasks(run)),
        _section("workers", "How busy each worker was", _workers(run)),
        _section("transfers", "What went between workers", _transfers(run)),
        _section("caches", "What each worker held", _caches(run)),
        _section("durations", "How long tasks took", _durations(run)),
        _section("profile", "Where calls spent their time", run.profile.html())
        if run.profile
        else "",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    body = "\n".join(parts)
    return (
        f'<!doctype html><html lang="en"><head>{head}{view}</head><body>\n{body}\n</body></html>\n'
    )


def _section(name: str, title: str, figure: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{figure}</section>'


def _share(run: Run) -> str:
    parts = {
        "computing": run.share.computing,
        "opening and storing values": run.share.values,
        "waiting for data": run.share.data,
        "waiting for an executor": run.share.executor,
        "waiting for the manager": run.share.manager,
        "nothing to do": run.share.nothing,
    }
    if run.share.total <= 0:
        return ""
    bar, legend = [], []
    for colour, (name, seconds) in zip(svg.COLOURS, parts.items(), strict=False):
        part = seconds / run.share.total
        bar.append(f'<div style="flex:{part:.4f};background:{colour}" title="{name}"></div>')
        entry = f"{name} {part:.0%} ({format_seconds(seconds)})"
        legend.append(f'<span><i style="background:{colour}"></i>{entry}</span>')
    return f'<div class="bar">{"".join(bar)}</div><p class="legend">{" ".join(legend)}</p>'


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
    ) + (_note(f"The first {shown} of {len(run.workers)}.") if shown < len(run.workers) else "")


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
    return drawn + _note(f"The darkest pair exchanged {format_nbytes(int(most))}.")


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
    return drawn + (_note(f"The fullest {len(shown)}; {more} others held less.") if more else "")


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
    rows = "".join(
        f"<tr><td>{escape(label)}</td><td>{len(values):,}</td>"
        f"<td>{format_seconds(float(np.median(values)))}</td>"
        f"<td>{format_seconds(float(values.max()))}</td>"
        f"<td>{format_seconds(float(values.sum()))}</td>"
        f"<td>{format_seconds(around[label])}</td></tr>"
        for label, values in shown
    )
    names_of = ("task", "attempts", "median", "longest", "in all", "opening and storing values")
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in names_of)}</tr>"
    drawn = svg.bars(edges, counts, names, x_label="time of an attempt")
    return f"{drawn}<table>{head}{rows}</table>"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _nothing(text: str) -> str:
    return f'<p class="note nothing">{escape(text)}</p>'
