"""Clusters and futures as one line of text and as a little HTML."""

from __future__ import annotations

from dataclasses import dataclass

from freestone.observe import html
from freestone.observe.figures import Statistics
from freestone.units import format_nbytes

__all__ = ["ClusterView", "FutureView", "view_html", "view_text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What a cluster's repr shows."""

    closed: bool
    address: str = ""
    statistics: Statistics | None = None
    page: str = ""
    notebook_page: str = ""


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
    page = f", {view.page}" if view.page else ""
    return f"<Cluster: {view.statistics.summary()}{page}>"


def view_html(view: ClusterView | FutureView) -> str:
    """Write a view as HTML."""
    if isinstance(view, FutureView):
        label = f"<b>{html.escaped(view.label)}</b> " if view.label else ""
        name = f'<span style="{html.MONO}; opacity: 0.65" title="{html.escaped(view.name)}">'
        size = "" if view.nbytes is None else f" · {format_nbytes(view.nbytes)}"
        dot = html.dot(view.status)
        name += f"{html.escaped(view.name[:8])}</span>"
        return html.card(f"{dot}{label}{name} {view.status}{size}")
    if view.closed or view.statistics is None:
        return html.card(f"{html.dot('closed')}<b>Cluster</b> closed")
    head = f'{html.dot("open")}<b>Cluster</b> <span style="{html.MONO}; opacity: 0.65">'
    page = f" · {html.link(view.notebook_page, 'live page')}" if view.notebook_page else ""
    address = f"{html.escaped(view.address)}</span>{page}"
    return html.card(f"{head}{address}{view.statistics.table_html()}")
