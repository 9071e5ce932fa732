"""What a compiled loop over all points takes in one process: the bound of any kernel.

One pass over the points, one point at a time, on one core; nothing is allocated inside of it.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numba import njit

from benchmarks.splits import cases
from examples.data import draw
from examples.kmeans.kernels import sum_compiled

BINS = cases.GRID.bins[0]


def count(points: Any, bins: int, counts: Any) -> None:
    """Add the points of each cell of a grid over 0 to 1, the last bins with their upper edge."""
    for row in range(points.shape[0]):
        cell = 0
        inside = True
        for column in range(points.shape[1]):
            value = points[row, column]
            inside &= 0.0 <= value <= 1.0
            cell = cell * bins + min(int(value * bins), bins - 1)
        if inside:
            counts[cell] += 1


count_all: Any = njit(count)


def histogram(points: Any) -> Any:
    """Count in 1,024 cells."""
    counts = np.zeros(cases.GRID.size, np.int64)
    count_all(points, BINS, counts)
    return counts


def kmeans(points: Any) -> Any:
    """Make ten passes of the application's own loop."""
    centres = points[: cases.CLUSTERS].copy()
    for _ in range(cases.PASSES):
        found = sum_compiled(points, centres)
        centres = found.sums / found.counts[:, None]
    return centres


LOOPS = {"histogram": histogram, "kmeans": kmeans}


def measure(application: str, rows: int) -> tuple[float, float]:
    """Return the seconds of an application's loop over all points, and a figure of its result."""
    loop = LOOPS[application]
    points = draw(0, cases.CASES[application].columns, 0, rows)
    loop(points[: cases.WARM_ROWS])
    start = time.perf_counter()
    value = loop(points)
    return time.perf_counter() - start, cases.figure_of(value)
