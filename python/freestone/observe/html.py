"""Pieces of HTML for notebooks.

They have no scripts and load nothing; their colours are those of the page around them, so that they
read in light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MONO", "bar", "card", "dot", "escaped", "link", "table"]

_CARD = (
    "font: 13px/1.5 system-ui, sans-serif; display: inline-block; padding: 8px 12px; "
    "border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; "
    "max-width: 100%; box-sizing: border-box; overflow-x: auto"
)
_CELL = "padding: 1px 14px 1px 0; text-align: left; background: none; border: none"
_NUMBER = f"{_CELL}; text-align: right; font-variant-numeric: tabular-nums"
_HEAD = "font-weight: normal; opacity: 0.65"
MONO = "font-family: ui-monospace, monospace; font-size: 12px"
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


def escaped(text: str) -> str:
    """Return text as HTML."""
    return escape(text)


def card(inner: str) -> str:
    """Frame what is inside; where the page is too narrow, arrow keys scroll it."""
    return f'<div tabindex="0" style="{_CARD}">{inner}</div>'


def dot(status: str) -> str:
    """Show a status as a coloured dot."""
    colour = _COLOURS.get(status, _COLOURS["pending"])
    return f'<span style="color: {colour}">●</span> '


def link(address: str, text: str) -> str:
    """Lead to another page, in a tab of its own."""
    return f'<a href="{escape(address)}" target="_blank" rel="noopener">{escape(text)}</a>'


def bar(amount: int, total: int) -> str:
    """Show a share as a bar."""
    share = min(1.0, amount / total) if total else 0.0
    fill = f"display: block; width: {share:.0%}; height: 100%; background: {_COLOURS['open']}"
    return f'<span style="{_TRACK}"><span style="{fill}"></span></span> {amount}/{total}'


def table(
    head: Iterable[Sequence[str]], rows: Iterable[Sequence[str]], *, escaped: bool = False
) -> str:
    """Lay out rows, numbers to the right."""
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
