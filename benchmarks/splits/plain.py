"""What a user would do without any of this: NumPy and scikit-learn on two threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.splits import cases
from examples.cascade_svm.svm import CascadeSVC
from examples.data import blobs, draw
from examples.histogram.kernels import count_numpy, count_tiles
from examples.kmeans.kernels import KERNELS as SUMMERS

PIECES = 96
MANY = 2304
Alone = tuple[Callable[[Any], Any], int]
"""A kernel, and how often it goes through the points."""


def measure(application: str, quick: bool) -> dict[str, Any]:
    """Measure one application on arrays in this process."""
    rows = cases.rows_of(application, quick)
    found = {"plain": cases.seconds_of(MAKERS[application](rows))}
    # The quick size has no 2,304 blocks to compare with.
    if not quick:
        found |= by_blocks(application, rows)
    if application in ("histogram", "kmeans") and find_spec("numba"):
        from benchmarks.splits import compiled

        found["compiled loop"] = compiled.measure(application, rows)
    return {"cases": found}


def by_blocks(application: str, rows: int) -> dict[str, Any]:
    """Measure an application's kernels on 2,304 blocks, without a runtime."""
    if application == "cascade_svm":
        return {"kernel per block": cascade_alone(rows)}
    points = draw(0, cases.CASES[application].columns, 0, rows)
    return {name: alone(kernel, points) for name, kernel in KERNELS.get(application, {}).items()}


def alone(kernel: Alone, points: Any) -> tuple[float, float]:
    """Return the seconds of a kernel that is called for each of 2,304 blocks, on all cores.

    Notes
    -----
    What a call per block takes at least, whatever makes the calls. The second figure is the number
    of blocks.
    """
    from threadpoolctl import threadpool_limits

    count, passes = kernel
    blocks = np.array_split(points, MANY)
    with threadpool_limits(1):
        count(blocks[0])
        start = time.perf_counter()
        for block in blocks:
            count(block)
        seconds = time.perf_counter() - start
    return seconds * passes / cases.CORES, float(MANY)


def cascade_alone(rows: int) -> tuple[float, float]:
    """Return the seconds of a cascade over 2,304 blocks, in sequence, on all cores.

    Notes
    -----
    All that the calls of a call per block do, and no call: each round trains on every block with
    what the round before gave back, and merges level by level.
    """
    from threadpoolctl import threadpool_limits

    points, labels = blobs(rows, cases.block_rows(rows, MANY), cases.BLOBS)
    settings: dict[str, Any] = {"max_iter": cases.ROUNDS, "arity": cases.ARITY, "gamma": 0.01}
    model = CascadeSVC(kernel="svc", variant="sequential", **settings)
    with threadpool_limits(1):
        seconds, figure = cases.seconds_of(lambda: model.fit(points, labels).support_)
    return seconds / cases.CORES, figure


def histogram(rows: int) -> Any:
    """Count pieces of the array on two threads."""
    pieces = np.array_split(draw(0, 5, 0, rows), PIECES)

    def run() -> Any:
        with ThreadPoolExecutor(cases.CORES) as threads:
            return sum(threads.map(lambda piece: count_numpy(piece, cases.GRID), pieces))

    return run


def kmeans(rows: int) -> Any:
    """Fit scikit-learn's, which has threads of its own."""
    from sklearn.cluster import KMeans

    points = draw(0, 20, 0, rows)
    settings = {"init": points[: cases.CLUSTERS], "max_iter": cases.PASSES, "tol": 0}
    return lambda: KMeans(cases.CLUSTERS, **settings, n_init=1).fit(points).cluster_centers_


def cascade_svm(rows: int) -> Any:
    """Fit one machine to all points."""
    from sklearn.svm import SVC

    points, labels = cases.BLOBS.points(0, rows), cases.BLOBS.labels(0, rows)
    return lambda: SVC(gamma=0.01).fit(points, labels).support_


def knn(rows: int) -> Any:
    """Build one tree, and look up on two threads."""
    from sklearn.neighbors import NearestNeighbors

    points, queries = draw(0, 3, 0, rows), draw(1, 3, 0, cases.QUERIES)
    model = NearestNeighbors(n_neighbors=cases.NEIGHBOURS, n_jobs=cases.CORES)
    return lambda: model.fit(points).kneighbors(queries)[0]


MAKERS = {"histogram": histogram, "kmeans": kmeans, "cascade_svm": cascade_svm, "knn": knn}
FIRST = np.linspace(0, 1, cases.CLUSTERS * 20).reshape(cases.CLUSTERS, 20)
KERNELS: dict[str, dict[str, Alone]] = {
    "histogram": {
        "kernel per block": (lambda block: count_numpy(block, cases.GRID), 1),
        "kernel per block, best kernel": (lambda block: count_tiles(block, cases.GRID), 1),
    },
    "kmeans": {
        "kernel per block": (lambda block: SUMMERS["paper"](block, FIRST), cases.PASSES),
        "kernel per block, best kernel": (
            lambda block: SUMMERS[cases.CASES["kmeans"].best](block, FIRST),
            cases.PASSES,
        ),
    },
}
