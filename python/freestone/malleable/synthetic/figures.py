"""The paper's Figures 2 to 9, from one's own runs.

Figures 2 and 3 show the reconfiguration times of synchronous methods, 4 and 5 the alpha of the
others, 7 and 8 the speedup of the application against synchronous collective Baseline, whose time
is on the right: the first of each pair for the first network, the second for the second. Figures 6
and 9 are the maps of preferred methods, a panel for each network.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.patches
import numpy as np
from matplotlib.figure import Figure

from freestone.malleable.method import METHODS, Method

__all__ = ["draw"]

mpl.use("Agg")
_REFERENCE = "baseline-collective-sync"
_NUMBER = {str(method): index + 1 for index, method in enumerate(METHODS)}
# A line's colour, marker and style are the three words of its method.
_COLOUR = {"p2p": "#0072b2", "collective": "#d55e00", "onesided": "#009e73"}
_MARKER = {"sync": "o", "nonblocking": "s", "thread": "^"}
_STYLE = {"merge": "-", "baseline": "--"}
Cells = dict[tuple[int, int], dict[str, list[float]]]
Medians = dict[tuple[int, int], dict[str, float]]
Value = Callable[[dict[str, float], str], float | None]


def draw(
    folder: Path,
    by_kind: dict[str, dict[str, Cells]],
    found: dict[str, Any],
    runs: list[dict[str, Any]],
) -> list[str]:
    """Draw all figures that there are runs for, and return the names of their files."""
    names = []
    networks = sorted({run["network"] for run in runs})[:2]
    for index, network in enumerate(networks):
        resizes = by_kind["reconfiguration"][network]
        totals = by_kind["application"][network]
        for number, cells, value, label in (
            (2 + index, resizes, _time, "reconfiguration, s"),
            (4 + index, resizes, _alpha, r"$\alpha$"),
            (7 + index, totals, _speedup, "speedup of the application"),
        ):
            figure = _lines(cells, value, label, f"Figure {number}: {network}")
            names.append(_save(figure, folder / f"figure{number}.svg"))
    for number, kind in ((6, "reconfiguration"), (9, "application")):
        figure = _maps(found[kind], networks, f"Figure {number}: preferred, {kind}")
        names.append(_save(figure, folder / f"figure{number}.svg"))
    return names


def _time(medians: dict[str, float], method: str) -> float | None:
    return None if Method.parse(method).is_overlapped else medians[method]


def _alpha(medians: dict[str, float], method: str) -> float | None:
    """Return a method's time over that of its synchronous counterpart."""
    parsed = Method.parse(method)
    counterpart = str(Method(parsed.processes, parsed.redistribution, "sync"))
    if not parsed.is_overlapped or counterpart not in medians:
        return None
    return medians[method] / medians[counterpart]


def _speedup(medians: dict[str, float], method: str) -> float | None:
    if method == _REFERENCE or _REFERENCE not in medians:
        return None
    return medians[_REFERENCE] / medians[method]


def _lines(cells: Cells, value: Value, label: str, title: str) -> Figure:
    """Draw a value by method: from the most processes to others above, to the most below."""
    medians: Medians = {
        pair: {method: float(np.median(times)) for method, times in methods.items()}
        for pair, methods in cells.items()
    }
    most = max(max(pair) for pair in medians)
    figure = Figure(figsize=(9, 8), layout="constrained")
    figure.suptitle(title)
    panels = figure.subplots(2, 1)
    shown: dict[str, Any] = {}
    for panel, fixed, name in ((panels[0], 0, "shrinking from"), (panels[1], 1, "expanding to")):
        pairs = sorted(pair for pair in medians if pair[fixed] == most)
        sizes = [pair[1 - fixed] for pair in pairs]
        for method in _NUMBER:
            found = [value(medians[p], method) if method in medians[p] else None for p in pairs]
            known = [(x, y) for x, y in zip(sizes, found, strict=True) if y is not None]
            if known:
                one = Method.parse(method)
                (shown[one.label],) = panel.plot(
                    *zip(*known, strict=True),
                    color=_COLOUR[one.redistribution],
                    marker=_MARKER[one.strategy],
                    linestyle=_STYLE[one.processes],
                    markersize=5,
                )
        if value is not _time:
            panel.axhline(1, color="0.6", lw=1, zorder=0)
        if value is _speedup:
            shown |= _reference(panel, pairs, sizes, medians)
        panel.set_xscale("log", base=2)
        panel.set_xticks(sizes, map(str, sizes))
        panel.minorticks_off()
        panel.set(title=f"{name} {most}", xlabel="processes", ylabel=label)
    if shown:
        figure.legend(shown.values(), shown.keys(), loc="outside right center", fontsize="small")
    return figure


def _reference(
    panel: Any, pairs: list[tuple[int, int]], sizes: list[int], medians: Medians
) -> dict[str, Any]:
    """Draw the seconds of synchronous collective Baseline on an axis at the right."""
    right = panel.twinx()
    seconds = [medians[pair].get(_REFERENCE, np.nan) for pair in pairs]
    (line,) = right.plot(sizes, seconds, ":", color="0.5", marker="x")
    right.set_ylim(0, 1.1 * right.get_ylim()[1])
    label = f"{Method.parse(_REFERENCE).label}, s"
    right.set_ylabel(label)
    return {label: line}


def _maps(preferred: dict[str, Any], networks: list[str], title: str) -> Figure:
    figure = Figure(figsize=(6 * len(networks), 6.8), layout="constrained")
    panels = figure.subplots(1, len(networks), squeeze=False)[0]
    figure.suptitle(f"{title}\nnumber of the method, and (size of its tie set)")
    for panel, network in zip(panels, networks, strict=True):
        cells = preferred[network]
        sizes = sorted({size for cell in cells for size in (cell["before"], cell["after"])})
        for cell in cells:
            row, column = sizes.index(cell["before"]), sizes.index(cell["after"])
            panel.add_patch(_patch(cell["method"], (column, row)))
            text = f"{_NUMBER[cell['method']]}\n({cell['ties']})"
            panel.text(column + 0.5, row + 0.5, text, ha="center", va="center")
        places = np.arange(len(sizes)) + 0.5
        panel.set_xticks(places, map(str, sizes))
        panel.set_yticks(places, map(str, sizes))
        panel.tick_params(length=0)
        panel.set_aspect("equal")
        panel.set(xlim=(0, len(sizes)), ylim=(len(sizes), 0), xlabel="targets", ylabel="sources")
        panel.set_title(network)
    used = {cell["method"] for network in networks for cell in preferred[network]}
    names = {
        f"{_NUMBER[method]} {Method.parse(method).label}": _patch(method)
        for method in sorted(used, key=lambda method: _NUMBER[method])
    }
    columns = 3 * len(networks)
    figure.legend(names.values(), names.keys(), loc="outside lower center", ncols=columns)
    return figure


def _patch(method: str, corner: tuple[float, float] = (0.0, 0.0)) -> Any:
    """Return a square in a colour that no other method has."""
    colour = mpl.colormaps["tab20"](_NUMBER[method] - 1)
    return mpl.patches.Rectangle(corner, 1, 1, facecolor=(*colour[:3], 0.6), edgecolor="white")


def _save(figure: Figure, path: Path) -> str:
    figure.savefig(path)
    return path.name
