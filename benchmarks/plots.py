"""Pictures of results: the Okabe-Ito colours, which everyone can tell apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
GREY = "#666666"
ROW = 0.22
"""Inches of a subject's row."""
MARKS = ((1, 2, 5), (1, 3), (1,))
"""Where an axis of less than one, of less than two and of more powers of ten has marks."""
NARROW, DIGITS = 4, range(1, 10)
"""An axis whose end is less than so many times its beginning has a mark at each of these."""


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


def dots(panels: Sequence[Panel], path: Path, title: str, order: Sequence[str]) -> None:
    """Draw panels of one dot per subject, a subject always in the same row and colour."""
    if not panels:
        return
    columns = 2 if len(panels) > 1 else 1
    rows = -(-len(panels) // columns)
    subjects = [name for name in order if any(name in panel.values for panel in panels)]
    height = max(1.2, ROW * len(subjects)) + 0.9
    figure = Figure(figsize=(5.5 * columns, 0.6 + height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        _dots(axis, panel, subjects)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    _save(figure, path, title)


def _dots(axis: Axes, panel: Panel, subjects: Sequence[str]) -> None:
    axis.set_xscale("log")
    known = [*panel.values.values(), *panel.limits.values()]
    if known:
        # The number beside the last dot needs some room.
        low, high = min(known), max(known)
        axis.set_xlim(low / 1.5, high * 1.5 * (high / low) ** 0.2)
        _marked(axis)
    for index, (name, limit) in enumerate(panel.limits.items()):
        style = ("--", ":")[index % 2]
        axis.axvline(limit, color=GREY, linestyle=style, label=f"{name}: {_number(limit)}")
    if panel.limits:
        axis.legend(fontsize=8, loc="best", framealpha=1, edgecolor="white")
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
            color=GREY if value is None else "black",
        )
    axis.set_yticks(range(len(subjects)), labels=subjects)
    axis.set_ylim(len(subjects) - 0.5, -0.5)
    axis.set_title(panel.title, fontsize=10, loc="left")
    axis.set_xlabel(panel.label, fontsize=8)
    _plain(axis)


def _marked(axis: Axes) -> None:
    """Mark a logarithmic axis by plain numbers, no more than there is room for."""
    low, high = axis.get_xlim()
    wide = MARKS[min(int(math.log10(high / low)), len(MARKS) - 1)]
    subs = DIGITS if high < NARROW * low else wide
    axis.xaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.xaxis.set_minor_locator(NullLocator())


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def lines(
    charts: Mapping[str, Sequence[Line]],
    path: Path,
    title: str,
    labels: tuple[str, str],
    y_scale: str = "log",
) -> None:
    """Draw one chart of lines per title; `labels` of the axes, x logarithmic from 1 on."""
    figure = Figure(figsize=(max(4.8 * len(charts), 6.4), 4.2), layout="constrained")
    axes = figure.subplots(1, len(charts), squeeze=False, sharey=True)[0]
    for axis, (name, drawn) in zip(axes, charts.items(), strict=True):
        for index, line in enumerate(drawn):
            axis.plot(
                line.x,
                line.y,
                label=line.label,
                color=COLOURS[index % len(COLOURS)],
                marker=MARKERS[index % len(MARKERS)],
                linestyle="--" if line.dashed else "-",
                markersize=5,
            )
        axis.set_xscale("symlog", linthresh=1)
        axis.set_yscale(y_scale)
        axis.set_xlabel(labels[0], fontsize=9)
        axis.set_title(name, fontsize=10, loc="left")
        if drawn:
            axis.legend(fontsize=8, frameon=False)
        _plain(axis)
    if y_scale == "linear":
        axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel(labels[1], fontsize=9)
    _save(figure, path, title)


def _plain(axis: Axes) -> None:
    axis.tick_params(labelsize=8)
    axis.grid(axis="both", which="major", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _save(figure: Figure, path: Path, title: str) -> None:
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")

    figure.savefig(path, dpi=130)
    print(f"drawn: {path}")
