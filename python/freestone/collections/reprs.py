"""Collections as one line of text and as a little HTML with their blocks coloured by worker.

Neither waits for anything: what is not known yet is left out. The HTML has no scripts and loads
nothing; its greys are those of the page around it, so that it reads in light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.client.future import Future
from freestone.collections.pieces import future_of
from freestone.errors import ClosedError
from freestone.units import format_nbytes

if TYPE_CHECKING:
    from freestone.collections.base import Collection

__all__ = ["card", "collection_html", "collection_text", "stripes"]

_CARD = (
    "font: 13px/1.5 system-ui, sans-serif; display: inline-block; padding: 8px 12px; "
    "border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 6px; "
    "max-width: 100%; box-sizing: border-box; overflow-x: auto"
)
_BAR = (
    "display: flex; width: min(420px, 100vw - 60px); height: 22px; margin: 6px 0; "
    "border-radius: 4px; overflow: hidden; "
    "background: color-mix(in srgb, currentColor 12%, transparent)"
)
# Apart from each other for most eyes, and from a white and a black page.
_COLOURS = (
    "#3b82c4",
    "#d9822b",
    "#2f9e6e",
    "#b55fc0",
    "#c94f4f",
    "#8a8d2a",
    "#2aa3b5",
    "#9a7350",
)
_NOWHERE = "color-mix(in srgb, currentColor 30%, transparent)"
_MAX_RUNS = 400


def collection_text(collection: Collection) -> str:
    """Give a collection's one line."""
    kind = f"freestone.{type(collection).__name__}"
    if collection._pieces is None:
        return f"<{kind} {collection.name!r}: dropped>"
    return f"<{kind} {collection.name!r}: {', '.join(_facts(collection))}>"


def collection_html(collection: Collection) -> str:
    """Give a collection's HTML: its facts, and its blocks as wide as their rows."""
    kind = type(collection).__name__
    head = f"<b>{escape(collection.name)}</b> {kind}"
    if collection._pieces is None:
        return card(f"{head}: dropped")
    facts = escape(", ".join(_facts(collection)))
    try:
        runs = _runs(collection)
    except ClosedError:
        return card(f"{head}: {facts}; its cluster is closed")
    return card(f"{head}: {facts}{_bar(runs)}{_legend(runs)}")


def card(content: str) -> str:
    """Put a frame around HTML."""
    return f'<div style="{_CARD}">{content}</div>'


def stripes(parts: Sequence[tuple[str, int, bool]]) -> str:
    """Draw a bar of parts: what is said of each, how long it is, and whether it is marked."""
    step = -(-len(parts) // _MAX_RUNS) or 1
    spans = "".join(
        f'<span title="{escape(title)}" style="flex: {length} 0 0; '
        f'background: {_COLOURS[0] if marked else "none"}"></span>'
        for title, length, marked in parts[::step]
    )
    return f'<div style="{_BAR}">{spans}</div>'


def _facts(collection: Collection) -> list[str]:
    pieces = collection._live("show it")
    facts = []
    columns, dtype = _row_of(collection)
    if collection._offsets is not None:
        rows = len(collection)
        noun = "item" if collection.kind == "bag" else "row"
        plain = f"{rows:,} {noun}{'' if rows == 1 else 's'}"
        facts.append(plain if columns is None else str((rows, *columns)))
    facts += [] if dtype is None else [str(dtype)]
    facts.append(f"{len(pieces):,} block{'' if len(pieces) == 1 else 's'}")
    sizes = [piece.nbytes for piece in pieces if type(piece) is Future]
    known = [nbytes for nbytes in sizes if nbytes is not None]
    if known and len(known) == len(pieces):
        facts.append(format_nbytes(sum(known)))
    return facts


def _row_of(collection: Collection) -> tuple[Any, Any]:
    """Return the shape of a row of an array, and its dtype, each None if it is not known yet."""
    head = getattr(collection, "_head", None)
    columns, dtype = getattr(collection, "_columns", None), getattr(collection, "_dtype", None)
    if head is None:
        return columns, dtype
    return head.columns if columns is None else columns, np.dtype(head.dtype)


def _runs(collection: Collection) -> list[tuple[str, int, float]]:
    """Neighbours on one worker: which, how many blocks, what share of the rows."""
    pieces = collection._live("show it")
    places = [", ".join(workers) for workers in collection.where()]
    failed = [_status(piece) for piece in pieces]
    places = [status or place or "not made" for status, place in zip(failed, places, strict=True)]
    if collection._offsets is None:
        widths = np.ones(len(pieces))
    else:
        widths = np.diff(collection.offsets).astype(float)
    total = max(float(widths.sum()), 1.0)
    runs, start = [], 0
    for place, group in groupby(places):
        count = len(list(group))
        runs.append((place, count, float(widths[start : start + count].sum()) / total))
        start += count
    return runs


def _status(piece: Any) -> str:
    future = future_of(piece)
    if not isinstance(future, Future):
        return "here"
    if future.status in ("failed", "cancelled"):
        return future.status
    return ""


def _colours(runs: list[tuple[str, int, float]]) -> dict[str, str]:
    places = sorted({place for place, _, _ in runs} - {"not made"})
    colours = {place: _COLOURS[n % len(_COLOURS)] for n, place in enumerate(places)}
    return colours | {"not made": _NOWHERE, "failed": "#d64545"}


def _bar(runs: list[tuple[str, int, float]]) -> str:
    colours = _colours(runs)
    step = -(-len(runs) // _MAX_RUNS) or 1
    parts = "".join(
        f'<span title="{escape(place)}: {count:,} blocks" style="flex: {share * 1000:.3f} 0 0; '
        f"background: {colours[place]}; border-right: 1px solid transparent; "
        'background-clip: padding-box"></span>'
        for place, count, share in runs[::step]
    )
    return f'<div style="{_BAR}">{parts}</div>'


def _legend(runs: list[tuple[str, int, float]]) -> str:
    colours = _colours(runs)
    counts: dict[str, int] = {}
    for place, count, _ in runs:
        counts[place] = counts.get(place, 0) + count
    return " ".join(
        f'<span style="white-space: nowrap; margin-right: 10px"><span style="color: '
        f'{colours[place]}">■</span> {escape(place)} {count:,}</span>'
        for place, count in sorted(counts.items())
    )
