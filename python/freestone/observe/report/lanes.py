"""A timeline as SVG: rows with spans, which nest, and arrows between them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from freestone.observe.report import svg
from freestone.units import format_seconds

__all__ = ["PLOT", "WAITS", "Arrow", "Span", "colours", "draw", "legend"]

WAITS = ("wait", "lock")
# White text can be read on them, in light and dark.
COLOURS = {
    "task": "#2364aa",
    "wait": "#a85400",
    "retrieve": "#7a4fa3",
    "lock": "#a4262c",
    "fire": "#1b7548",
    "spawned": "#7a4fa3",
    "moved": "#2364aa",
    "switched": "#1b7548",
}
_OTHER = "#546e7a"
ROW, GAP, LEFT, RIGHT, TOP, BOTTOM = 26, 5, 130, 8, 10, 24
PLOT = (LEFT / svg.WIDTH, 1 - RIGHT / svg.WIDTH)
"""Where the first and the last moment stand, as parts of the width."""
MAX_SPANS, MAX_ARROWS, MAX_LANES = 3000, 500, 200
_LETTER = 6.4


@dataclass(frozen=True, slots=True)
class Span:
    """Something that was done.

    Attributes
    ----------
    row : int
        By whom.
    name, kind : str
        What; ``main`` is the whole program, in which the others are.
    begin_s, end_s : float
        When.
    about : str
        More to say.
    """

    row: int
    name: str
    kind: str
    begin_s: float
    end_s: float
    about: str = ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """Something that went from one row to another, or to the same.

    Attributes
    ----------
    name : str
        What.
    from_row, to_row : int
        From where, and to where.
    from_s, to_s : float
        When it began, and arrived.
    """

    name: str
    from_row: int
    from_s: float
    to_row: int
    to_s: float


def draw(
    rows: Sequence[str],
    spans: Sequence[Span],
    arrows: Iterable[Arrow],
    shown: tuple[float, float],
) -> str:
    """Draw what was done in a span of time.

    Parameters
    ----------
    rows
        Their names; the first 200 are drawn.
    spans
        By row and beginning, longer ones first. The 3,000 longest that are to be seen are drawn.
    arrows
        The 500 longest of them are drawn.
    shown
        From when to when, in seconds.
    """
    scale = _Scale(*shown)
    there = [span for span in spans if span.row < MAX_LANES and scale.has(span.begin_s, span.end_s)]
    longest = heapq.nlargest(MAX_SPANS, there, key=lambda span: span.end_s - span.begin_s)
    seen = {id(span) for span in longest}
    drawn = _ground(rows[:MAX_LANES], scale)
    row, open_until = -1, [0.0]
    for span in there:
        if span.row != row:
            row, open_until = span.row, []
        while open_until and open_until[-1] <= span.begin_s:
            open_until.pop()
        if id(span) in seen:
            drawn.append(_span(span, min(len(open_until), 3), scale))
        open_until.append(span.end_s)
    crossing = [
        one
        for one in arrows
        if max(one.from_row, one.to_row) < MAX_LANES and scale.has(one.from_s, one.to_s)
    ]
    drawn += [
        _arrow(one, scale)
        for one in heapq.nlargest(MAX_ARROWS, crossing, key=lambda one: one.to_s - one.from_s)
    ]
    height = TOP + max(1, min(len(rows), MAX_LANES)) * (ROW + GAP) + BOTTOM
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {svg.WIDTH} {height}" role="img"'
    label = f"Timeline of {len(rows)} rows, {len(there)} spans and {len(crossing)} arrows"
    left_out = [
        f"the {MAX_SPANS:,} longest of {len(there):,} spans" if len(there) > MAX_SPANS else "",
        f"{MAX_ARROWS:,} of {len(crossing):,} arrows" if len(crossing) > MAX_ARROWS else "",
        f"{MAX_LANES:,} of {len(rows):,} rows" if len(rows) > MAX_LANES else "",
    ]
    only = ", ".join(filter(None, left_out))
    title = f"<title>{label}{f'; drawn are {only}' if only else ''}</title>"
    return f"{head}>{title}{''.join(drawn)}</svg>"


class _Scale:
    def __init__(self, first_s: float, last_s: float) -> None:
        self.first_s, self.last_s = first_s, max(last_s, first_s + 1e-9)

    def has(self, begin_s: float, end_s: float) -> bool:
        return begin_s <= self.last_s and end_s >= self.first_s

    def x(self, at_s: float) -> float:
        """Where a moment is; what is outside stays at the edge."""
        share = (at_s - self.first_s) / (self.last_s - self.first_s)
        return LEFT + min(1.0, max(0.0, share)) * (svg.WIDTH - LEFT - RIGHT)


def _ground(rows: Sequence[str], scale: _Scale) -> list[str]:
    ground = TOP + len(rows) * (ROW + GAP)
    drawn = []
    for at_s, text in svg.moments(scale.first_s, scale.last_s):
        x = scale.x(at_s)
        drawn.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{ground}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{ground + 14}" class="mid">{text}</text>')
    for row, name in enumerate(rows):
        most = int((LEFT - 12) / _LETTER)
        shown = name if len(name) <= most else f"{name[: most - 1]}…"
        y = TOP + row * (ROW + GAP) + ROW / 2 + 4
        title = f"<title>{escape(name)}</title>"
        drawn.append(f'<text x="{LEFT - 8}" y="{y}" class="end">{title}{escape(shown)}</text>')
    return drawn


def _span(span: Span, depth: int, scale: _Scale) -> str:
    x, inset = scale.x(span.begin_s), 3 * depth
    wide = max(1.0, scale.x(span.end_s) - x)
    y = TOP + span.row * (ROW + GAP) + inset
    about = f", {span.about}" if span.about else ""
    lasted = format_seconds(max(0.0, span.end_s - span.begin_s))
    title = f"{span.name}: at {format_seconds(span.begin_s)}, {lasted}{about}"
    is_frame = span.kind == "main"
    paint = 'class="frame"' if is_frame else f'fill="{COLOURS.get(span.kind, _OTHER)}"'
    bar = (
        f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="{ROW - 2 * inset}" rx="1.5" {paint}>'
        f"<title>{escape(title)}</title></rect>"
    )
    letters = int((wide - 8) / _LETTER)
    if is_frame or letters < 3 or depth > 2:
        return bar
    text = span.name if len(span.name) <= letters else f"{span.name[: letters - 1]}…"
    at_y = TOP + span.row * (ROW + GAP) + ROW / 2 + 4
    return f'{bar}<text x="{x + 4:.1f}" y="{at_y}" class="on">{escape(text)}</text>'


def _arrow(arrow: Arrow, scale: _Scale) -> str:
    middle = [TOP + row * (ROW + GAP) + ROW / 2 for row in (arrow.from_row, arrow.to_row)]
    x, to_x = scale.x(arrow.from_s), scale.x(arrow.to_s)
    bend = max(6.0, (to_x - x) / 2)
    path = f"M{x:.1f} {middle[0]}C{x + bend:.1f} {middle[0]} {to_x - bend:.1f} {middle[1]} "
    took = format_seconds(arrow.to_s - arrow.from_s)
    return (
        f'<path class="arrow" d="{path}{to_x:.1f} {middle[1]}m-5 -3l5 3l-5 3">'
        f"<title>{escape(arrow.name)}: taken after {took}</title></path>"
    )


def legend(spans: Iterable[Span]) -> str:
    """Name the colours of what was done."""
    return svg.legend(colours(spans))


def colours(spans: Iterable[Span]) -> list[tuple[str, str]]:
    """Return what was done, and its colours."""
    kinds = {span.kind for span in spans} - {"main"}
    return [(kind, COLOURS.get(kind, _OTHER)) for kind in sorted(kinds)]
