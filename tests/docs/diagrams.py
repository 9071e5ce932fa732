"""Diagrams of the documentation: `python -m tests.docs.diagrams` makes each `docs/images/*.svg`.

A source, `docs/images/NAME.txt`, has a line for each thing, in units of a picture 700 wide::

    title TEXT                          what screen readers call the picture
    desc TEXT                           what they read
    height H
    panel ID X Y WIDTH HEIGHT TEXT      a frame around others, its text at the top
    box ID X Y WIDTH HEIGHT TEXT        its lines are divided by |
    row ID X Y WIDTH HEIGHT GAP TEXTS   boxes ID0, ID1, ... side by side
    arrow FROM TO [TEXT]                ends are ID or ID.left, .right, .top, .bottom
    text X Y TEXT

Words may be quoted. `.data`, `.work`, `.lost`, `.quiet`, `.dashed` and `.code` at the end of a
line say how it looks.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from itertools import combinations, pairwise
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs/images"
WIDTH = 700
LINE = 17
CHARACTER = 7.7
"""The mean width of a character of DejaVu Sans at 13 pixels, wider than most fonts."""

STYLE = """
svg{--page:#fff;--ink:#26211d;--quiet:#655c54;--edge:#8b8178;--panel:#f6f2ee;--box:#fff;
--data:#d8e8fa;--data-edge:#2f6fb3;--work:#ffe6cf;--work-edge:#b85c12;--lost:#b3261e}
@media (prefers-color-scheme:dark){svg{--page:#1e2129;--ink:#ece8e4;--quiet:#b9b1a9;
--edge:#8d857d;--panel:#272b35;--box:#323743;--data:#1d3f63;--data-edge:#7fb4ee;
--work:#5a3413;--work-edge:#f0a35e;--lost:#ff8a80}}
text{font:13px system-ui,"DejaVu Sans",sans-serif;fill:var(--ink)}
.code{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
text.quiet{fill:var(--quiet)}text.lost{fill:var(--lost)}
.box text,.above{text-anchor:middle}.panel text{font-weight:600}
rect{fill:var(--box);stroke:var(--edge)}.page{fill:var(--page);stroke:none}
.panel rect{fill:var(--panel)}
.data rect{fill:var(--data);stroke:var(--data-edge)}
.work rect{fill:var(--work);stroke:var(--work-edge)}
.quiet rect{fill:none}.quiet text{fill:var(--quiet)}
.lost rect{stroke:var(--lost);stroke-dasharray:5 3}.dashed rect,path.dashed{stroke-dasharray:5 3}
path{fill:none;stroke:var(--ink);stroke-width:1.4}path.lost{stroke:var(--lost)}
marker path{fill:var(--ink);stroke:none}
"""

Point = tuple[float, float]


@dataclass(frozen=True)
class Area:
    """A rectangle, with what is written in it."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...] = ()
    looks: str = ""

    def side(self, name: str) -> Point:
        """Return the middle of a side."""
        across = {"left": 0.0, "right": 1.0}.get(name, 0.5)
        down = {"top": 0.0, "bottom": 1.0}.get(name, 0.5)
        return self.x + across * self.width, self.y + down * self.height

    def overlaps(self, other: Area) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def contains(self, other: Area) -> bool:
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.x + other.width <= self.x + self.width
            and other.y + other.height <= self.y + self.height
        )


@dataclass
class Diagram:
    """What a source says."""

    title: str = ""
    desc: str = ""
    height: float = 0
    panels: dict[str, Area] = field(default_factory=dict)
    boxes: dict[str, Area] = field(default_factory=dict)
    arrows: list[tuple[list[Point], str, str]] = field(default_factory=list)
    texts: list[Area] = field(default_factory=list)


def read(text: str) -> Diagram:
    """Read a source."""
    diagram = Diagram()
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        words = [rest] if kind in {"title", "desc"} else shlex.split(rest)
        looks = " ".join(word[1:] for word in words if word.startswith("."))
        _add(diagram, kind, [word for word in words if not word.startswith(".")], looks)
    return diagram


def _add(diagram: Diagram, kind: str, words: list[str], looks: str) -> None:
    match kind, words:
        case "title", [text]:
            diagram.title = text
        case "desc", [text]:
            diagram.desc = text
        case "height", [height]:
            diagram.height = float(height)
        case "panel" | "box", [name, *numbers, text]:
            areas = diagram.panels if kind == "panel" else diagram.boxes
            x, y, width, height = map(float, numbers)
            areas[name] = Area(x, y, width, height, tuple(text.split("|")), looks)
        case "row", [name, *numbers, texts]:
            x, y, width, height, gap = map(float, numbers)
            for i, text in enumerate(texts.split()):
                left = x + i * (width + gap)
                diagram.boxes[f"{name}{i}"] = Area(left, y, width, height, (text,), looks)
        case "arrow", [start, end, *text]:
            diagram.arrows.append((_way(diagram, start, end), " ".join(text), looks))
        case "text", [x, y, text]:
            area = Area(float(x), float(y) - 13, len(text) * CHARACTER, LINE, (text,), looks)
            diagram.texts.append(area)
        case _:
            raise ValueError(f"not a line of a diagram: {kind} {' '.join(words)}")


def _way(diagram: Diagram, start: str, end: str) -> list[Point]:
    """Return the points of an arrow with at most two right angles."""
    areas = diagram.panels | diagram.boxes
    (a, _, leave), (b, _, enter) = start.partition("."), end.partition(".")
    here, there = areas[a], areas[b]
    leave = leave or _towards(here, there)
    enter = enter or _towards(there, here)
    (x0, y0), (x1, y1) = here.side(leave), there.side(enter)
    sideways = leave in {"left", "right"}
    if sideways != (enter in {"left", "right"}):
        return [(x0, y0), (x1, y0) if sideways else (x0, y1), (x1, y1)]
    if sideways:
        low, high = max(here.y, there.y), min(here.y + here.height, there.y + there.height)
        if low < high:
            return [(x0, (low + high) / 2), (x1, (low + high) / 2)]
        return [(x0, y0), ((x0 + x1) / 2, y0), ((x0 + x1) / 2, y1), (x1, y1)]
    low, high = max(here.x, there.x), min(here.x + here.width, there.x + there.width)
    if low < high:
        return [((low + high) / 2, y0), ((low + high) / 2, y1)]
    return [(x0, y0), (x0, (y0 + y1) / 2), (x1, (y0 + y1) / 2), (x1, y1)]


def _towards(here: Area, there: Area) -> str:
    if here.x + here.width <= there.x:
        return "right"
    if there.x + there.width <= here.x:
        return "left"
    return "bottom" if here.y < there.y else "top"


def faults(diagram: Diagram) -> Iterator[str]:
    """Yield what would be cut off, or drawn over something else."""
    page = Area(4, 4, WIDTH - 8, diagram.height - 8)
    labels = [_label(way, text) for way, text, _ in diagram.arrows if text]
    texts = {f"the text {area.lines[0]} at {area.x}": area for area in diagram.texts + labels}
    areas = diagram.panels | diagram.boxes | texts
    for name, area in areas.items():
        if not page.contains(area):
            yield f"{name} is outside of the picture"
        if any(len(line) * CHARACTER > area.width + 0.1 for line in area.lines):
            yield f"{name} is too narrow for its text"
        if len(area.lines) * LINE > area.height:
            yield f"{name} is too low for its text"
    solid = {name: area for name, area in areas.items() if name not in diagram.panels}
    for (a, one), (b, other) in combinations(solid.items(), 2):
        if one.overlaps(other):
            yield f"{a} overlaps {b}"
    for a, panel in diagram.panels.items():
        for b, area in areas.items():
            inside = panel.contains(area) or area.contains(panel)
            if b != a and panel.overlaps(area) and not inside:
                yield f"{b} crosses the edge of {a}"
    for points, text, _ in diagram.arrows:
        yield from (
            f"the arrow {text or points} crosses {name}"
            for name, area in solid.items()
            if any(area.overlaps(_strip(*ends)) for ends in pairwise(points))
        )


def _strip(start: Point, end: Point) -> Area:
    """Return what a part of an arrow covers, without the edges where it ends."""
    (x0, y0), (x1, y1) = start, end
    width, height = abs(x1 - x0), abs(y1 - y0)
    return Area(min(x0, x1) + 0.5, min(y0, y1) + 0.5, max(width - 1, 0), max(height - 1, 0))


def _label(points: list[Point], text: str) -> Area:
    """Return where the text of an arrow is: above its longest level part, or beside its middle."""
    width = len(text) * CHARACTER
    if _is_level(points):
        parts = [(abs(x1 - x0), x0, x1, y0) for (x0, y0), (x1, y1) in pairwise(points) if y0 == y1]
        _, x0, x1, y = max(parts)
        return Area((x0 + x1 - width) / 2, y - 6 - LINE, width, LINE, (text,))
    (x, y0), (_, y1) = points
    return Area(x + 7, (y0 + y1 - LINE) / 2, width, LINE, (text,))


def _is_level(points: list[Point]) -> bool:
    return any(start[1] == end[1] for start, end in pairwise(points))


def draw(diagram: Diagram) -> str:
    """Return a diagram as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {diagram.height:g}" '
        f'width="{WIDTH}" height="{diagram.height:g}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(diagram.title)}</title>',
        f'<desc id="desc">{escape(diagram.desc)}</desc>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path d="M0 0.5 8 4 0 7.5z"/></marker></defs>',
        f'<rect class="page" width="{WIDTH}" height="{diagram.height:g}" rx="8"/>',
        *(_panel(area) for area in diagram.panels.values()),
        *(_box(area) for area in diagram.boxes.values()),
        *(_arrow(*arrow) for arrow in diagram.arrows),
        *(_text(area.x, area.y + 13, area.lines[0], area.looks) for area in diagram.texts),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _rect(area: Area) -> str:
    return (
        f'<rect x="{area.x:g}" y="{area.y:g}" width="{area.width:g}" '
        f'height="{area.height:g}" rx="5"/>'
    )


def _text(x: float, y: float, text: str, looks: str = "") -> str:
    kind = f' class="{looks.strip()}"' if looks else ""
    return f'<text{kind} x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _panel(area: Area) -> str:
    text = _text(area.x + 10, area.y + 20, area.lines[0])
    return f'<g class="panel {area.looks}">{_rect(area)}{text}</g>'


def _box(area: Area) -> str:
    x = area.x + area.width / 2
    y = area.y + (area.height - LINE * len(area.lines)) / 2 + 13
    code = "code" if "code" in area.looks else ""
    texts = (_text(x, y + LINE * i, line, code) for i, line in enumerate(area.lines))
    return f'<g class="box {area.looks}">{_rect(area)}{"".join(texts)}</g>'


def _arrow(points: list[Point], text: str, looks: str) -> str:
    way = "M" + " ".join(f"{x:g} {y:g}" for x, y in points)
    path = f'<path class="{looks}" d="{way}" marker-end="url(#head)"/>'
    if not text:
        return path
    label = _label(points, text)
    if _is_level(points):
        return path + _text(label.x + label.width / 2, label.y + 13, text, f"above {looks}")
    return path + _text(label.x, label.y + 13, text, looks)


def sources() -> list[Path]:
    """Return the sources of all diagrams."""
    return sorted(IMAGES.glob("*.txt"))


def made(source: Path) -> str:
    """Return the picture that belongs to a source."""
    return draw(read(source.read_text(encoding="utf-8")))


if __name__ == "__main__":
    for path in sources():
        path.with_suffix(".svg").write_text(made(path), encoding="utf-8")
        for fault in faults(read(path.read_text(encoding="utf-8"))):
            print(f"{path.name}: {fault}")
