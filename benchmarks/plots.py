"""Pictures of reports, as SVG that is legible in light and in dark.

A report says in its JSON what is to be drawn, so that a picture can be made again from that file
alone. The colours are those of Okabe and Ito, which everyone can tell apart.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from io import StringIO
from itertools import cycle
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

INK, QUIET, GRID, PAGE = "#26211d", "#655c54", "#dedad6", "#fffffe"
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7a6f66")
DARK = {
    INK: "#ece8e4",
    QUIET: "#b9b1a9",
    GRID: "#454a57",
    PAGE: "#1e2129",
    "#0072b2": "#4aa8e0",
    "#009e73": "#22c79a",
    "#d55e00": "#f5813a",
    "#7a6f66": "#a89d94",
}
"""What a colour is in dark; others are the same in both."""
STYLE: dict[Any, Any] = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.facecolor": "none",
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": PAGE,
    "legend.facecolor": PAGE,
    "legend.edgecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "freestone",
}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
WIDTH = 9.0
"""Inches of a picture."""
ROW = 0.22
"""Inches of a subject's row."""
MARKS = ((1, 2, 5), (1, 3), (1,))
"""Where an axis of less than one, of less than two and of more powers of ten has marks."""
NARROW = 4
"""An axis whose end is less than so many times its beginning has marks at even distances."""
LIMITS = ("dashed", "dotted")
LEGEND_COLUMNS = 3
FLAT, STEEP = 0.32, 1.5
"""Inches of a row of a flame, and of its last one."""
CHARACTERS = 150
"""Characters in a row of a flame."""
MIN_CHARACTERS = 4
MIN_SHARE = 0.012
"""A part is narrower than a line of text is high."""


@dataclass(frozen=True)
class Panel:
    """One axes of dots: a value by subject, on a logarithmic scale, and what limits them."""

    title: str
    label: str
    values: Mapping[str, float]
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False


@dataclass(frozen=True)
class Dots:
    """A picture of panels with a dot for each subject, in the same row and colour in all of them.

    `name` follows that of the report in the file's name, where a report has several pictures.
    """

    title: str
    panels: Sequence[Panel]
    order: Sequence[str]
    name: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it was measured."""
        return not any(panel.values for panel in self.panels)

    def figure(self) -> Figure:
        """Draw it."""
        panels = [panel for panel in self.panels if panel.values]
        columns = 2 if len(panels) > 1 else 1
        rows = -(-len(panels) // columns)
        subjects = [name for name in self.order if any(name in panel.values for panel in panels)]
        height = max(1.2, ROW * len(subjects)) + 0.9
        figure = Figure(figsize=(WIDTH, 0.6 + height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            _dots(axis, panel, subjects)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        return figure


@dataclass(frozen=True)
class Lines:
    """A picture of charts of lines by title; `labels` of the axes, x logarithmic from 1 on."""

    title: str
    charts: Mapping[str, Sequence[Line]]
    labels: Sequence[str]
    y_scale: str = "log"
    name: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it was measured."""
        return not any(line.x for lines in self.charts.values() for line in lines)

    def figure(self) -> Figure:
        """Draw it."""
        columns = min(len(self.charts), 2)
        rows = -(-len(self.charts) // columns)
        labels = list(dict.fromkeys(line.label for lines in self.charts.values() for line in lines))
        legend = -(-len(labels) // LEGEND_COLUMNS)
        height = 0.4 + 3.6 * rows + ROW * legend
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for axis in axes.ravel()[len(self.charts) :]:
            axis.set_axis_off()
        for axis, (title, lines) in zip(axes.ravel(), self.charts.items(), strict=False):
            _lines(axis, title, {labels.index(line.label): line for line in lines if line.x})
            axis.set_yscale(self.y_scale)
            if self.y_scale == "linear":
                axis.set_ylim(bottom=0)
        for axis in axes[-1]:
            axis.set_xlabel(self.labels[0], fontsize=9)
        for axis in axes[:, 0]:
            axis.set_ylabel(self.labels[1], fontsize=9)
        drawn = {line.get_label(): line for axis in axes.ravel() for line in axis.get_lines()}
        if drawn:
            style = {"fontsize": 8, "frameon": False, "ncols": LEGEND_COLUMNS}
            figure.legend(drawn.values(), drawn, loc="outside lower left", **style)
        return figure


@dataclass(frozen=True)
class Part:
    """A part of a whole, and what it is made of."""

    name: str
    value: float
    parts: Sequence[Part] = ()


@dataclass(frozen=True)
class Flame:
    """A picture of what a whole is made of: each part stands below what it is a part of."""

    title: str
    label: str
    parts: Sequence[Part]
    name: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing of it was measured."""
        return not any(part.value for part in self.parts)

    def figure(self) -> Figure:
        """Draw it."""
        depth = _depth(self.parts)
        height = 0.9 + FLAT * (depth - 1) + STEEP
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axis = figure.subplots()
        axis.set_xlim(0, sum(part.value for part in self.parts))
        axis.set_ylim(FLAT * (depth - 1) + STEEP, 0)
        left = 0.0
        for index, part in enumerate(self.parts):
            _flame(axis, part, (left, 0), depth, COLOURS[index % len(COLOURS)])
            left += part.value
        axis.set_yticks([])
        axis.set_xlabel(self.label, fontsize=9)
        _plain(axis)
        axis.spines["left"].set_visible(False)
        return figure


def _depth(parts: Sequence[Part]) -> int:
    return 1 + max(_depth(part.parts) for part in parts) if parts else 0


def _flame(axis: Axes, part: Part, place: tuple[float, int], depth: int, colour: str) -> None:
    """Draw a part at a place, a row down for each level, and its name where there is room.

    Names of the last level are written downwards.
    """
    left, row = place
    is_last = row == depth - 1
    height = STEEP if is_last else FLAT
    middle = FLAT * row + height / 2
    look: dict[str, Any] = {"color": colour, "alpha": 0.5 / (row + 1), "edgecolor": PAGE}
    axis.barh(middle, part.value, height=height * 0.96, left=left, **look)
    share = part.value / axis.get_xlim()[1]
    room = STEEP * CHARACTERS / WIDTH if is_last else share * CHARACTERS
    if share >= MIN_SHARE and room >= MIN_CHARACTERS:
        name = part.name if len(part.name) <= room else part.name[: int(room) - 1] + "…"
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7, "color": INK}
        x = left + part.value / 2
        axis.text(x, middle, name, rotation=90 if is_last else 0, clip_on=True, **style)
    for inner in part.parts:
        _flame(axis, inner, (left, row + 1), depth, colour)
        left += inner.value


Picture = Dots | Lines | Flame


def written(picture: Picture) -> dict[str, Any]:
    """Return a picture as JSON has it."""
    if isinstance(picture, Dots):
        panels = [vars(panel) for panel in picture.panels]
        return {"kind": "dots", **vars(picture), "panels": panels}
    if isinstance(picture, Flame):
        return {"kind": "flame", **asdict(picture)}
    charts = {title: [vars(line) for line in lines] for title, lines in picture.charts.items()}
    return {"kind": "lines", **vars(picture), "charts": charts}


def read(found: Mapping[str, Any]) -> Picture:
    """Return a picture that JSON has."""
    fields = {key: value for key, value in found.items() if key != "kind"}
    if found["kind"] == "dots":
        return Dots(**fields | {"panels": [Panel(**panel) for panel in fields["panels"]]})
    if found["kind"] == "flame":
        return Flame(**fields | {"parts": list(map(_part, fields["parts"]))})
    charts = {title: [Line(**line) for line in lines] for title, lines in fields["charts"].items()}
    return Lines(**fields | {"charts": charts})


def _part(found: Mapping[str, Any]) -> Part:
    return Part(found["name"], found["value"], list(map(_part, found["parts"])))


def draw(picture: Picture) -> str:
    """Return a picture as SVG whose colours follow the reader's choice of light or dark."""
    return svg(picture.title, picture.figure)


def svg(title: str, make: Callable[[], Figure]) -> str:
    """Return a figure as SVG; its colours are those above, in the reader's light or dark."""
    text = StringIO()
    with mpl.rc_context(STYLE):
        figure = make()
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _both(_numbered(text.getvalue()), title)


def _numbered(svg: str) -> str:
    """Return a picture with numbers for Matplotlib's identifiers, which differ by processor."""
    numbers: dict[str, str] = {}
    return re.sub(
        r"""(?<=["#])[Cmhp][0-9a-f]{10}(?=[")])""",
        lambda found: numbers.setdefault(found[0], f"{found[0][0]}{len(numbers)}"),
        svg,
    )


def _both(svg: str, title: str) -> str:
    """Replace colours by variables, which a style sheet sets for light and for dark."""
    for number, colour in enumerate(DARK):
        svg = svg.replace(colour, f"var(--c{number})")

    def variables(colours: Sequence[str]) -> str:
        values = ";".join(f"--c{number}:{colour}" for number, colour in enumerate(colours))
        return f"svg{{{values}}}"

    light, dark = variables([*DARK]), variables([*DARK.values()])
    style = f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"
    head, tag, rest = svg.partition("<defs>")
    text = f"{head}<title>{escape(title)}</title>\n {style}\n {tag}{rest}"
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _dots(axis: Axes, panel: Panel, subjects: Sequence[str]) -> None:
    axis.set_xscale("log")
    known = [*panel.values.values(), *panel.limits.values()]
    if known:
        # The number beside the last dot needs some room.
        low, high = min(known), max(known)
        axis.set_xlim(low / 1.5, high * 1.5 * (high / low) ** 0.2)
        _marked(axis)
    label = [panel.label]
    for style, (name, limit) in zip(cycle(LIMITS), panel.limits.items()):
        axis.axvline(limit, color=QUIET, linestyle=style)
        label.append(f"{style}: {name}, {_number(limit)}")
    for row, subject in enumerate(subjects):
        value = panel.values.get(subject)
        place = axis.get_xlim()[0] if value is None else value
        if value is not None:
            axis.plot(value, row, MARKERS[0], color=COLOURS[row % len(COLOURS)], markersize=9)
        axis.annotate(
            "not offered" if value is None else _number(value),
            (place, row),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=QUIET if value is None else INK,
        )
    axis.set_yticks(range(len(subjects)), labels=subjects)
    axis.set_ylim(len(subjects) - 0.5, -0.5)
    axis.set_title(panel.title, fontsize=10, loc="left")
    axis.set_xlabel("\n".join(label), fontsize=8)
    _plain(axis)


def _marked(axis: Axes) -> None:
    """Mark a logarithmic axis by plain numbers, no more than there is room for."""
    low, high = axis.get_xlim()
    subs = MARKS[min(int(math.log10(high / low)), len(MARKS) - 1)]
    even = high < NARROW * low
    axis.xaxis.set_major_locator(MaxNLocator(4) if even else LogLocator(subs=subs, numticks=12))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _mark(value)))
    axis.xaxis.set_minor_locator(NullLocator())


def _mark(value: float) -> str:
    return f"{value:,.10g}" if value < 1e6 else f"{value / 1e6:,.10g} M"


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def _lines(axis: Axes, title: str, lines: Mapping[int, Line]) -> None:
    """Draw lines by the number of their colour and mark, which are the same in all charts."""
    for index, line in lines.items():
        axis.plot(
            line.x,
            line.y,
            label=line.label,
            color=COLOURS[index % len(COLOURS)],
            # An eighth line, in the colour of the first, has another mark.
            marker=MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
            linestyle="--" if line.dashed else "-",
            markersize=5,
        )
    axis.set_xscale("symlog", linthresh=1)
    axis.set_title(title, fontsize=10, loc="left")
    _plain(axis)


def _plain(axis: Axes) -> None:
    axis.tick_params(labelsize=8)
    axis.grid(axis="both", which="major", color=GRID, linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
