"""Plots of what the pages of the tutorial compute: `python -m tests.docs.tutorial` draws them.

A page's code runs, and the plot is made of its variables. `python -m tests.docs.diagrams` makes the
other pictures of the tutorial.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from benchmarks import plots
from tests.docs.test_code_blocks import ROOT, code_of

FOLDER = ROOT / "docs/images/plots"
Names = dict[str, Any]


def variables(page: str) -> Names:
    """Run the code of a page, and return its variables."""
    names: Names = {"__name__": "page"}
    exec(compile(code_of(f"docs/tutorial/{page}.md"), f"{page}.md", "exec"), names)
    return names


def draw_reduce(names: Names) -> Figure:
    """Draw the sum of fifty histograms."""
    return bars(names["total"].result(), np.linspace(-4, 4, 21), "value", "values in 50 histograms")


def draw_split(names: Names) -> Figure:
    """Draw how many points are in each of 16 squares."""
    figure = Figure(figsize=(4.4, 4), layout="constrained")
    axes = figure.subplots()
    edges = np.linspace(0, 1, 5)
    axes.pcolor(edges, edges, names["total"].T, cmap="cividis", edgecolors=plots.GRID)
    for (i, j), count in np.ndenumerate(names["total"]):
        place = (edges[i] + 0.125, edges[j] + 0.125)
        bright = count > names["total"].mean()
        ink = "#000000" if bright else "#ffffff"
        axes.text(*place, f"{count:,}", ha="center", va="center", fontsize=8, color=ink)
    axes.set(xlabel="x", ylabel="y", aspect="equal")
    return figure


def draw_z_peak(names: Names) -> Figure:
    """Draw the masses of two selections of muon pairs."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    edges = np.linspace(60, 120, 61)
    for cut, counts, colour in (
        (20, names["counts"], plots.COLOURS[0]),
        (25, names["changed"], plots.COLOURS[5]),
    ):
        label = f"both muons above {cut} GeV: {counts.sum()} pairs"
        axes.stairs(counts, edges, color=colour, label=label)
    return finished(figure, "mass of the pair (GeV)", "pairs", legend=True)


def draw_dask(names: Names) -> Figure:
    """Draw the histogram of a million random numbers."""
    return bars(names["found"], np.asarray(names["edges"]), "value", "values of a million")


def bars(counts: Any, edges: Any, x: str, y: str) -> Figure:
    """Draw a histogram."""
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    figure.subplots().stairs(counts, edges, fill=True, color=plots.COLOURS[0])
    return finished(figure, x, y)


def finished(figure: Figure, x: str, y: str, legend: bool = False) -> Figure:
    """Label the axes of a figure."""
    (axes,) = figure.axes
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(frameon=False, fontsize=9)
    return figure


PLOTS: dict[str, tuple[str, Callable[[Names], Figure]]] = {
    "reduce": ("The sum of fifty histograms", draw_reduce),
    "split": ("A million points in sixteen squares", draw_split),
    "z-peak": ("Two selections of muon pairs", draw_z_peak),
    "dask": ("A histogram of a million normal numbers", draw_dask),
}
"""A page's plot: its title, and what draws it."""


def made(page: str) -> str:
    """Return the plot of a page."""
    title, draw = PLOTS[page]
    names = variables(page)
    return plots.svg(title, lambda: draw(names))


def path_of(page: str) -> Path:
    """Return the file of a page's plot."""
    return FOLDER / f"{page}.svg"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PLOTS:
        path_of(name).write_text(made(name), encoding="utf-8")
