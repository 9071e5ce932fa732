"""Clusters, futures, blocks and figures as one line of text and as a little HTML.

The HTML has no scripts and loads nothing; its colours are those of the page around it, so that it
reads in light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from freestone.observe.explain import explain
from freestone.observe.figures import Explanation, Statistics, WorkerFigures
from freestone.units import format_nbytes, format_seconds

__all__ = [
    "ClusterView",
    "FutureView",
    "explanation_html",
    "statistics_html",
    "statistics_text",
    "view_html",
    "view_text",
]

_CARD = (
    "font: 13px/1.5 system-ui, sans-serif; display: inline-block; padding: 8px 12px; "
    "border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px"
)
_CELL = "padding: 1px 14px 1px 0; text-align: left; background: none; border: none"
_NUMBER = f"{_CELL}; text-align: right; font-variant-numeric: tabular-nums"
_HEAD = "font-weight: normal; opacity: 0.65"
_MONO = "font-family: ui-monospace, monospace; font-size: 12px"
_TRACK = (
    "display: inline-block; width: 90px; height: 7px; border-radius: 4px; overflow: hidden; "
    "background: color-mix(in srgb, currentColor 15%, transparent)"
)
_COLOURS = {
    "open": "#2f9e6e",
    "done": "#2f9e6e",
    "pending": "#c98a1b",
    "failed": "#d64545",
    "cancelled": "#8a8a8a",
    "closed": "#8a8a8a",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What a cluster's repr shows."""

    closed: bool
    address: str = ""
    statistics: Statistics | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureView:
    """What a future's or block's repr shows."""

    status: str
    label: str
    name: str
    nbytes: int | None = None


def view_text(view: ClusterView | FutureView) -> str:
    """Write a view as one line.

    Examples
    --------
    >>> view_text(FutureView(status="done", label="mass", name="5f0c" * 8, nbytes=2048))
    "<Future 'mass' 5f0c5f0c: done, 2 KiB>"
    """
    if isinstance(view, FutureView):
        size = "" if view.nbytes is None else f", {format_nbytes(view.nbytes)}"
        label = f" {view.label!r}" if view.label else ""
        return f"<Future{label} {view.name[:8]}: {view.status}{size}>"
    if view.closed or view.statistics is None:
        return "<Cluster: closed>"
    return f"<Cluster: {statistics_text(view.statistics)}>"


def statistics_text(statistics: Statistics) -> str:
    """Write a run's figures as one line, without what is zero."""
    workers = len(statistics.workers)
    parts = [f"{_count(workers, 'worker')} with {_count(statistics.slots, 'executor')}"]
    amounts = ("pending", "done", "answered", "failed", "retried", "recovered")
    parts += [f"{getattr(statistics, key):,} {key}" for key in amounts if getattr(statistics, key)]
    if statistics.blocks:
        parts.append(f"{_count(statistics.blocks, 'block')} of {format_nbytes(statistics.nbytes)}")
    return ", ".join(parts)


def view_html(view: ClusterView | FutureView) -> str:
    """Write a view as HTML."""
    if isinstance(view, FutureView):
        label = f"<b>{escape(view.label)}</b> " if view.label else ""
        name = f'<span style="{_MONO}; opacity: 0.65" title="{escape(view.name)}">'
        size = "" if view.nbytes is None else f" · {format_nbytes(view.nbytes)}"
        dot = _dot(view.status)
        return _card(f"{dot}{label}{name}{escape(view.name[:8])}</span> {view.status}{size}")
    if view.closed or view.statistics is None:
        return _card(f"{_dot('closed')}<b>Cluster</b> closed")
    head = f'{_dot("open")}<b>Cluster</b> <span style="{_MONO}; opacity: 0.65">'
    return _card(
        f"{head}{escape(view.address)}</span>{statistics_html(view.statistics, card=False)}"
    )


def statistics_html(statistics: Statistics, *, card: bool = True) -> str:
    """Write a run's figures as HTML: what was run, and one row per worker."""
    moved = f"{statistics.transfers:,} ({format_nbytes(statistics.transferred_nbytes)})"
    figures = {
        "pending": f"{statistics.pending:,}",
        "run": f"{statistics.done:,}",
        "answered": f"{statistics.answered:,}",
        "failed": f"{statistics.failed:,}",
        "moved": moved,
        "busy": format_seconds(statistics.busy_ns / 1e9),
    }
    head = _table([list(figures)], [list(figures.values())])
    table = _workers(statistics.workers) if statistics.workers else ""
    return _card(head + table) if card else head + table


def explanation_html(explanation: Explanation) -> str:
    """Write an explanation as HTML."""
    first, *rest = (escape(line) for line in explain(explanation).splitlines())
    lines = "".join(f'<div style="{_MONO}">{line.strip()}</div>' for line in rest)
    return _card(f"{_dot(explanation.stage)}{first}{lines}")


def _workers(workers: Sequence[WorkerFigures]) -> str:
    rows = [
        [
            escape(worker.worker),
            f"{escape(worker.host)}:{worker.pid}",
            _bar(worker.status.running, worker.slots),
            f"{worker.assigned:,}",
            f"{worker.done:,}",
            f"{worker.blocks:,}",
            _store(worker.status.memory_nbytes, worker.resources, "memory"),
            _store(worker.status.disk_nbytes, worker.resources, "disk"),
        ]
        for worker in workers
    ]
    head = ["worker", "process", "running", "held", "run", "blocks", "memory", "disk"]
    return _table([head], rows, escaped=True)


def _store(used: int, resources: Mapping[str, int], kind: str) -> str:
    return format_nbytes(used) + _share(used, resources.get(kind, 0))


def _share(used: int, total: int) -> str:
    return f" of {format_nbytes(total)}" if total else ""


def _bar(amount: int, total: int) -> str:
    share = min(1.0, amount / total) if total else 0.0
    fill = f"display: block; width: {share:.0%}; height: 100%; background: {_COLOURS['open']}"
    return f'<span style="{_TRACK}"><span style="{fill}"></span></span> {amount}/{total}'


def _table(
    head: Iterable[Sequence[str]], rows: Iterable[Sequence[str]], *, escaped: bool = False
) -> str:
    lines = [f"<tr>{_cells(row, 'th', escaped)}</tr>" for row in head]
    lines += [f"<tr>{_cells(row, 'td', escaped)}</tr>" for row in rows]
    style = "border-collapse: collapse; margin: 6px 0 0; font: inherit; color: inherit"
    return f'<table style="{style}">{"".join(lines)}</table>'


def _cells(row: Sequence[str], tag: str, escaped: bool) -> str:
    cells = []
    for place, text in enumerate(row):
        style = _CELL if place == 0 or not text[:1].isdigit() else _NUMBER
        style = f"{_CELL}; {_HEAD}" if tag == "th" else style
        cells.append(f'<{tag} style="{style}">{text if escaped else escape(text)}</{tag}>')
    return "".join(cells)


def _card(inner: str) -> str:
    return f'<div style="{_CARD}">{inner}</div>'


def _dot(status: str) -> str:
    colour = _COLOURS.get(status, _COLOURS["pending"])
    return f'<span style="color: {colour}">●</span> '


def _count(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
