"""Flame graphs as HTML that has no scripts and loads nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from freestone.observe import html
from freestone.units import format_seconds

__all__ = ["Node", "card", "graph", "page"]

_MIN_SHARE = 0.001
_ROW_PX = 18
_MAX_ROWS = 100
# Dark text reads on each of them.
_COLOURS = ("#f2b880", "#f0a35e", "#eec170", "#e8c39e", "#f5d0a9", "#e9b44c", "#f2c57c", "#e3a983")


class Node:
    """A function of a flame graph below those that called it.

    Attributes
    ----------
    name : str
        For people.
    total : int
        Nanoseconds, with those of its children.
    children : dict of str to Node
        What it called.
    """

    __slots__ = ("children", "name", "total")

    def __init__(self, name: str, total: int) -> None:
        self.name: str = name
        self.total: int = total
        self.children: dict[str, Node] = {}

    def add(self, names: Iterable[str], nanoseconds: int) -> None:
        """Count a stack, the outermost function first."""
        node = self
        node.total += nanoseconds
        for name in names:
            found = node.children.get(name)
            node = found if found is not None else node.children.setdefault(name, Node(name, 0))
            node.total += nanoseconds

    def as_dict(self) -> dict[str, Any]:
        """Return what can be seen of it, for JSON: children in the order of their names."""
        return self._as_dict(_MIN_SHARE * self.total, _MAX_ROWS)

    def _as_dict(self, least: float, rows: int) -> dict[str, Any]:
        children = sorted(self.children.values(), key=lambda child: child.name)
        seen = [child for child in children if rows and child.total >= least]
        return {
            "name": self.name,
            "total": self.total,
            "children": [child._as_dict(least, rows - 1) for child in seen],
        }


def graph(root: Node, text: str) -> str:
    """Return a flame graph, and beside it what it says as text.

    Parameters
    ----------
    root
        The calls; its name is not shown.
    text
        For those who can't see it, and for search.
    """
    pre = (
        f'<pre style="{html.MONO};white-space:pre;overflow-x:auto" tabindex="0">{_safe(text)}</pre>'
    )
    if root.total <= 0:
        return pre
    boxes, depth = [], 0
    for node, left, row in _placed(root):
        boxes.append(_box(node, left, row, root.total))
        depth = max(depth, row + 1)
    style = f"position:relative;height:{depth * _ROW_PX}px;overflow:hidden"
    label = "Flame graph: each bar is a function, as wide as its time, above what it calls"
    return f'<div role="img" aria-label="{label}" style="{style}">{"".join(boxes)}</div>{pre}'


def card(title: str, root: Node, text: str) -> str:
    """Return a flame graph for a notebook."""
    inner = f'<div style="min-width:40em">{graph(root, text)}</div>'
    return html.card(f"<b>{_safe(title)}</b>{inner}")


def page(title: str, root: Node, text: str) -> str:
    """Return a flame graph as a page."""
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:1.5em} :root{color-scheme:light dark}"
    head = f'<meta charset="utf-8"><title>{_safe(title)}</title><style>{style}</style>'
    view = '<meta name="viewport" content="width=device-width">'
    body = f"<main><h1>{_safe(title)}</h1>{graph(root, text)}</main>"
    return f'<!doctype html><html lang="en"><head>{head}{view}</head><body>{body}</body></html>\n'


def _placed(root: Node) -> Iterator[tuple[Node, int, int]]:
    """Yield what is wide enough to be seen, with the time to its left and its row."""
    waiting = [(root, 0, -1)]
    while waiting:
        node, left, row = waiting.pop()
        if row >= 0:
            yield node, left, row
        if row + 1 >= _MAX_ROWS:
            continue
        for child in sorted(node.children.values(), key=lambda child: child.name):
            if child.total >= _MIN_SHARE * root.total:
                waiting.append((child, left, row + 1))
            left += child.total


def _box(node: Node, left: int, row: int, total: int) -> str:
    name = _safe(node.name)
    share = node.total / total
    title = f"{name}: {format_seconds(node.total / 1e9)}, {share:.1%}"
    colour = _COLOURS[sum(node.name.encode("utf-8", "replace")) % len(_COLOURS)]
    style = (
        f"position:absolute;box-sizing:border-box;left:{left / total:.4%};width:{share:.4%};"
        f"top:{row * _ROW_PX}px;height:{_ROW_PX}px;background:{colour};color:#23272c;"
        "border:1px solid #fff8;border-width:0 1px 1px 0;padding:0 3px;overflow:hidden;"
        f"white-space:nowrap;text-overflow:ellipsis;font:12px/{_ROW_PX}px system-ui,sans-serif"
    )
    return f'<div title="{title}" style="{style}">{name}</div>'


def _safe(text: str) -> str:
    """Return text as HTML that UTF-8 has: names of files may have other bytes."""
    return escape(text.encode("utf-8", "replace").decode())
