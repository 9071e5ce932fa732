"""How look-ups slow down as the trees grow."""

from __future__ import annotations

import time
from typing import Any

import freestone as fs
from benchmarks.splits import cases
from examples.data import uniform
from examples.knn.neighbours import NearestNeighbors

BLOCK_ROWS = 20_000


def measure(blocks: list[int], quick: bool) -> dict[str, Any]:
    """Time the look-ups of the same queries in trees over more and more blocks."""
    queries, found = cases.QUERIES // (4 if quick else 1), {}
    with fs.Cluster(executors=cases.CORES):
        for seed, count in enumerate([1, *blocks]):
            points = uniform((count * BLOCK_ROWS, 3), BLOCK_ROWS, seed).persist()
            asked = uniform((queries, 3), queries // cases.QUERY_BLOCKS, seed + 1000).persist()
            model = NearestNeighbors(cases.NEIGHBOURS).fit(points)
            fs.wait(model.trees_)
            start = time.perf_counter()
            model.kneighbors(asked)
            found[str(count)] = time.perf_counter() - start
    return {"seconds": found}
