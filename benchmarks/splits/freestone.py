"""Freestone: a call per block, per partition, materialized, and after cutting anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import freestone as fs
from benchmarks.splits import cases
from examples.cascade_svm.svm import CascadeSVC
from examples.data import blobs, uniform
from examples.histogram.histogram import histogram
from examples.kmeans.kmeans import KMeans
from examples.knn.neighbours import NearestNeighbors

CLUSTERS: dict[str, Any] = {"knn": {"workers": cases.CORES, "executors": 1}}
"""A tree is built for each worker: there are as many as on Dask. Elsewhere one worker is enough."""
VARIANTS = ("blocks", "split", "materialize", "rechunk")
BEST = ("blocks", "split")
Run = Callable[[str, str], Any]
"""Runs an application with a kernel in a variant; returns what comes out."""


def turns_of(application: str, blocks: int) -> list[tuple[str, str]]:
    """Return the variants and kernels that are measured at so many blocks."""
    case = cases.CASES[application]
    turns = [(variant, case.paper) for variant in VARIANTS]
    turns += [(variant, case.best) for variant in BEST]
    if application == "knn":
        # A tree is built over joined blocks in any case.
        turns = [turn for turn in turns if turn[0] != "materialize"]
    if blocks > cases.TREES_AT_MOST and application == "knn":
        turns = [turn for turn in turns if turn[0] != "blocks"]
    return turns


def cluster_for(application: str) -> fs.Cluster:
    """Open what an application runs on."""
    return fs.Cluster(**CLUSTERS.get(application, {"executors": cases.CORES}))


def measure(application: str, blocks: int, quick: bool) -> dict[str, Any]:
    """Measure all variants at so many blocks in all."""
    case, found = cases.CASES[application], {}
    with cluster_for(application):
        warm = RUNS[application](cases.WARM_ROWS, cases.WARM_BLOCKS, cases.WARM_SEED)
        run = RUNS[application](cases.rows_of(application, quick), blocks, 0)
        for variant, kernel in turns_of(application, blocks):
            name = variant if kernel == case.paper else f"{variant}, best kernel"
            warm(variant, kernel)
            found[name] = cases.seconds_of(partial(run, variant, kernel))
    return {"cases": found}


def sweep(application: str, per_core: list[int], quick: bool, first: int) -> dict[str, Any]:
    """Measure the partitions' variant at all fragmentations, right after each other.

    Parameters
    ----------
    per_core
        The blocks per core; at the first of them a call per block is measured, too.
    first
        Which of them comes first: another one in each round.
    """
    rows, kernel, found = cases.rows_of(application, quick), cases.CASES[application].paper, {}
    places = [(first + index) % len(per_core) for index in range(len(per_core))]
    with cluster_for(application):
        warm = RUNS[application](cases.WARM_ROWS, cases.WARM_BLOCKS, cases.WARM_SEED)
        for variant in ("split", "blocks"):
            warm(variant, kernel)
        for place in places:
            run = RUNS[application](rows, per_core[place] * cases.CORES, 0)
            variants = ["split"] if place else ["split", "blocks"][:: -1 if first % 2 else 1]
            for variant in variants:
                label = f"{variant} at {per_core[place]}"
                found[label] = cases.seconds_of(partial(run, variant, kernel))
            del run
    return {"cases": found}


def run_histogram(rows: int, blocks: int, seed: int) -> Run:
    """Count in 1,024 cells."""
    points = uniform((rows, 5), cases.block_rows(rows, blocks), seed).persist()
    return lambda variant, kernel: histogram(points, cases.GRID, kernel=kernel, variant=variant)


def run_kmeans(rows: int, blocks: int, seed: int) -> Run:
    """Make ten passes from the same first centres."""
    points = uniform((rows, 20), cases.block_rows(rows, blocks), seed).persist()
    init = np.asarray(points[: cases.CLUSTERS].compute())

    def run(variant: str, kernel: str) -> Any:
        settings: dict[str, Any] = {"init": init, "max_iter": cases.PASSES, "tol": 0}
        model = KMeans(cases.CLUSTERS, **settings, kernel=kernel, variant=variant)
        return model.fit(points).cluster_centers_

    return run


def run_cascade_svm(rows: int, blocks: int, seed: int) -> Run:
    """Train until it converges, five rounds at most."""
    points, labels = blobs(rows, cases.block_rows(rows, blocks), replace(cases.BLOBS, seed=seed))
    points, labels = points.persist(), labels.persist()

    def run(variant: str, kernel: str) -> Any:
        settings: dict[str, Any] = {"max_iter": cases.ROUNDS, "arity": cases.ARITY, "gamma": 0.01}
        model = CascadeSVC(kernel=kernel, variant=variant, **settings)
        return model.fit(points, labels).support_

    return run


def run_knn(rows: int, blocks: int, seed: int) -> Run:
    """Build and look up."""
    points = uniform((rows, 3), cases.block_rows(rows, blocks), seed).persist()
    queries = uniform(
        (cases.QUERIES, 3), cases.QUERIES // cases.QUERY_BLOCKS, seed=seed + 1
    ).persist()

    def run(variant: str, kernel: str) -> Any:
        model = NearestNeighbors(cases.NEIGHBOURS, kernel=kernel, variant=variant)
        return model.fit(points).kneighbors(queries).distances

    return run


RUNS: dict[str, Callable[[int, int, int], Run]] = {
    "histogram": run_histogram,
    "kmeans": run_kmeans,
    "cascade_svm": run_cascade_svm,
    "knn": run_knn,
}
