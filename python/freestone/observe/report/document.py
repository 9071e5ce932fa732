"""What every report's page is made of: the document, its style, sections, tables and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["FIGURES", "document", "note", "section", "table"]

FIGURES = """
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11px; fill: var(--ink); } svg text.on { fill: #fff; }
.end { text-anchor: end; } .mid { text-anchor: middle; } svg line { stroke: var(--grid); }
.arrow { fill: none; stroke: var(--ink); stroke-width: .8; opacity: .55; }
.frame { fill: var(--ink); opacity: .09; }
.line { fill: none; stroke-width: 1.6; } .cell { fill: var(--heat); }
.legend span { margin-right: 1.2em; white-space: nowrap; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; }
.bar { display: flex; height: 1.6em; margin: .6em 0; } .bar div { min-width: 0; }
.note { opacity: .75; } th { font-weight: 500; }
details { margin: .4em 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; margin: .8em 0; }
section { overflow-x: auto; } @media (max-width: 640px) { section > svg { min-width: 600px; } }
td, th { padding: .1em .8em .1em 0; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; }
tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 7em; max-width: 22em; }
@media (max-width: 640px) {
  /* A shadow at the right edge while there is more to the right. */
  section { background:
    linear-gradient(to left, var(--ground, var(--paper)) 40%, transparent)
      right / 2.5rem 100% no-repeat local,
    linear-gradient(to left, color-mix(in srgb, var(--ink) 16%, transparent), transparent)
      right / .7rem 100% no-repeat scroll; }
  tbody th { position: sticky; left: 0; background: var(--ground, var(--paper)); max-width: 9em; }
}
"""
"""The style of figures and tables, by the colours ``--ink``, ``--grid`` and ``--heat``."""
_PAGE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --grid: #ddd; --heat: #8a3b12; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #16181b; --grid: #3a3d42; --heat: #ff9a5c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 900px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin: 2em 0 .3em; }
"""


def document(title: str, parts: Iterable[str]) -> str:
    """Return a page that holds all it needs."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_PAGE}{FIGURES}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    body = "\n".join([f"<h1>{escape(title)}</h1>", *parts])
    return (
        f'<!doctype html><html lang="en"><head>{head}{view}</head><body>\n'
        f"<main>{body}\n</main></body></html>\n"
    )


def section(name: str, title: str, figure: str) -> str:
    """Return a part of the page, whose title and content are HTML."""
    return f'<section id="{name}"><h2>{title}</h2>{figure}</section>'


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of texts as a table, what they are in the first column."""
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = [
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    ]
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def note(text: str) -> str:
    """Return a remark."""
    return f'<p class="note">{escape(text)}</p>'
