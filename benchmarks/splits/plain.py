"""What a user would do without any of this: NumPy and scikit-learn on two threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.splits import cases
from examples.data import draw
from examples.histogram.kernels import count_numpy

PIECES = 96


def measure(application: str, quick: bool) -> dict[str, Any]:
    """Measure one application on arrays in this process."""
    rows = cases.rows_of(application, quick)
    return {"cases": {"plain": cases.seconds_of(MAKERS[application](rows))}}


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
