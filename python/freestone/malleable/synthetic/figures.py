"""The paper's Figures 2 to 9, from one's own runs.

Figures 2 and 3 show the reconfiguration times of synchronous methods, 4 and 5 the alpha of the
others, 7 and 8 the speedup of the application against synchronous collective Baseline: the first of
each pair for the first network, the second for the second. Figures 6 and 9 are the maps of
preferred methods, a panel for each network.
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
Cells = dict[tuple[int, int], dict[str, list[float]]]
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
    medians = {
        pair: {method: float(np.median(times)) for method, times in methods.items()}
        for pair, methods in cells.items()
    }
    most = max(max(pair) for pair in medians)
    figure = Figure(figsize=(10, 8), layout="constrained")
    panels = figure.subplots(2, 1)
    for panel, fixed, name in ((panels[0], 0, "shrinking from"), (panels[1], 1, "expanding to")):
        pairs = sorted(pair for pair in medians if pair[fixed] == most)
        for method in _NUMBER:
            points = [
                (pair[1 - fixed], value(medians[pair], method))
                for pair in pairs
                if method in medians[pair]
            ]
            known = [(x, y) for x, y in points if y is not None]
            if known:
                parsed = Method.parse(method)
                form = "o-" if parsed.processes == "merge" else "s--"
                panel.plot(
                    *zip(*known, strict=True), form, color=_colour(method), label=parsed.label
                )
        sizes = sorted({pair[1 - fixed] for pair in pairs})
        panel.set_xscale("log", base=2)
        panel.set_xticks(sizes, map(str, sizes))
        panel.set(title=f"{title}, {name} {most}", xlabel="processes", ylabel=label)
        if panel.lines:
            panel.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _maps(preferred: dict[str, Any], networks: list[str], title: str) -> Figure:
    figure = Figure(figsize=(6.5 * len(networks), 6.5), layout="constrained")
    panels = figure.subplots(1, len(networks), squeeze=False)[0]
    figure.suptitle(f"{title}: number of the method, and size of its tie set")
    for panel, network in zip(panels, networks, strict=True):
        cells = preferred[network]
        sizes = sorted({size for cell in cells for size in (cell["before"], cell["after"])})
        used = sorted({cell["method"] for cell in cells}, key=lambda method: _NUMBER[method])
        for cell in cells:
            row, column = sizes.index(cell["before"]), sizes.index(cell["after"])
            number = _NUMBER[cell["method"]]
            panel.add_patch(
                mpl.patches.Rectangle(
                    (column, row), 1, 1, color=_colour(cell["method"]), alpha=0.6, lw=0
                )
            )
            text = f"{number}\n({cell['ties']})"
            panel.text(column + 0.5, row + 0.5, text, ha="center", va="center")
        places = np.arange(len(sizes)) + 0.5
        panel.set_xticks(places, map(str, sizes))
        panel.set_yticks(places, map(str, sizes))
        panel.set(xlim=(0, len(sizes)), ylim=(len(sizes), 0), xlabel="targets", ylabel="sources")
        legend = ", ".join(f"{_NUMBER[method]} {Method.parse(method).label}" for method in used)
        panel.set_title(f"{network}: {legend}", fontsize="small", wrap=True)
    return figure


def _colour(method: str) -> Any:
    """Return a colour that no other method has, the same in lines and maps."""
    return mpl.colormaps["tab20"](_NUMBER[method] - 1)


def _save(figure: Figure, path: Path) -> str:
    figure.savefig(path)
    return path.name
