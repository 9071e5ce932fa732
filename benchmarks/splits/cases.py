"""The four applications: how much data, which kernels, and what a run has to give."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from examples.data import Blobs
from examples.histogram.kernels import Grid

CORES = 2
QUERIES = 24_000
QUERY_BLOCKS = 8
NEIGHBOURS = 5
CLUSTERS = 8
PASSES = 10
TREES_AT_MOST = 96
"""A tree per block, and a look-up in each: beyond, minutes."""
ROUNDS = 5
ARITY = 48
GRID = Grid.uniform(5, 4)
BLOBS = Blobs(centres=8, columns=20, spread=1.5)


@dataclass(frozen=True)
class Case:
    """One application: points, dimensions, and its kernels, the paper's and the best."""

    rows: int
    columns: int
    paper: str
    best: str


CASES = {
    "histogram": Case(8_064_000, 5, "numpy", "tiles"),
    "kmeans": Case(1_008_000, 20, "paper", "compiled"),
    "cascade_svm": Case(12_288, 20, "svc", "chunks"),
    "knn": Case(480_000, 3, "sklearn", "scipy"),
}
WARM_ROWS, WARM_BLOCKS, WARM_SEED = 2_000, 4, 99
SMALLER = {"histogram": 8, "kmeans": 8, "cascade_svm": 4, "knn": 8}


def rows_of(application: str, quick: bool) -> int:
    """Return how many points are taken."""
    return CASES[application].rows // (SMALLER[application] if quick else 1)


def block_rows(rows: int, blocks: int) -> int:
    """Return the rows of a block, of so many."""
    return max(1, -(-rows // blocks))


def seconds_of(run: Callable[[], Any]) -> tuple[float, float]:
    """Return the seconds of a run and a figure of what came out.

    Notes
    -----
    A run is timed once: a second one would be answered by what is retained of the first.
    """
    start = time.perf_counter()
    value = run()
    return time.perf_counter() - start, figure_of(value)


def figure_of(value: Any) -> float:
    """Return one number that tells two results apart, alike up to rounding."""
    return float(np.asarray(value, dtype=float).sum())
