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

BINS = cases.GRID.bins[0]
FIRST = np.linspace(0, 1, cases.CLUSTERS * 20).reshape(cases.CLUSTERS, 20)


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


def add(points: Any, centres: Any, sums: Any, counts: Any) -> None:
    """Add each point to the sum of the nearest centre."""
    for row in range(points.shape[0]):
        best, least = 0, np.inf
        for centre in range(centres.shape[0]):
            distance = 0.0
            for column in range(points.shape[1]):
                apart = points[row, column] - centres[centre, column]
                distance += apart * apart
            if distance < least:
                best, least = centre, distance
        counts[best] += 1
        for column in range(points.shape[1]):
            sums[best, column] += points[row, column]


count_all: Any = njit(count)
add_all: Any = njit(add, fastmath=True)


def histogram(points: Any) -> Any:
    """Count in 1,024 cells."""
    counts = np.zeros(cases.GRID.size, np.int64)
    count_all(points, BINS, counts)
    return counts


def kmeans(points: Any) -> Any:
    """Make ten passes."""
    centres = points[: cases.CLUSTERS].copy()
    for _ in range(cases.PASSES):
        sums, counts = np.zeros_like(centres), np.zeros(len(centres), np.int64)
        add_all(points, centres, sums, counts)
        centres = sums / counts[:, None]
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
