"""The four applications on Dask's futures: with a task per block, or per partition."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

import freestone as fs
from benchmarks.splits import cases
from examples.cascade_svm.levels import cascade
from examples.cascade_svm.vectors import Vectors, classifier, train
from examples.data import draw
from examples.histogram.kernels import KERNELS as HISTOGRAMS
from examples.kmeans.kernels import KERNELS as SUMMERS
from examples.kmeans.kernels import Sums
from examples.knn.trees import Tree, build, look_up, merge

Runs = Sequence[range]
Blocks = Any
"""A list of arrays, or a partition."""


def count(blocks: Blocks) -> Any:
    """Count blocks."""
    kernel = HISTOGRAMS[cases.CASES["histogram"].paper]
    return sum(kernel(block, cases.GRID) for block in blocks)


def summed(blocks: Blocks, centres: Any) -> Sums:
    """Sum blocks."""
    kernel = SUMMERS[cases.CASES["kmeans"].paper]
    return reduce(Sums.add, (kernel(block, centres) for block in blocks))


def trained(blocks: Blocks, runs: Runs, fed_back: Any, settings: Any) -> Vectors:
    """Train on pairs of blocks, points and labels."""
    points, labels = (np.concatenate(column) for column in zip(*blocks, strict=True))
    indexes = np.concatenate([np.arange(run.start, run.stop) for run in runs])
    own = Vectors(indexes, points, labels.astype(np.int64))
    return train(settings, "svc", own, *([] if fed_back is None else [fed_back]))


def grown(blocks: Blocks, runs: Runs) -> Tree:
    """Build one tree of blocks."""
    return build(np.concatenate(list(blocks)), runs, cases.CASES["knn"].paper)


def asked(tree: Tree, block: Any) -> Any:
    """Look up in a copy of the tree's own state, as the paper does."""
    return look_up(copy.copy(tree), block, cases.NEIGHBOURS)


def parts_of(variant: str, *arrays: Any, per: str = "core") -> list[tuple[Any, Runs]]:
    """Return what a call takes in a variant, and the rows that this is."""
    if variant == "rechunk":
        arrays = tuple(array.rechunked() for array in arrays)
    if variant in ("blocks", "rechunk"):
        futures = zip(*(array.futures for array in arrays), strict=True)
        tuples = [[blocks if len(blocks) > 1 else blocks[0]] for blocks in futures]
        return [(blocks, (run,)) for blocks, run in zip(tuples, arrays[0].runs, strict=True)]
    partitions = fs.split(*(array.array for array in arrays), per=per)
    if variant == "materialize":
        return [([part.materialize()], part.item_indexes) for part in partitions]
    return [(part, part.item_indexes) for part in partitions]


def make_histogram(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Count in 1,024 cells."""
    from benchmarks.splits.dask import grouped, made

    points = made(client, partial(draw, seed, 5), (rows, 5), blocks)

    def run(variant: str) -> Any:
        parts = parts_of(variant, points)
        return grouped(client, sum, [client.submit(count, part, pure=False) for part, _ in parts])

    return run


def make_kmeans(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Make ten passes from the same first centres."""
    from benchmarks.splits.dask import grouped, made

    points = made(client, partial(draw, seed, 20), (rows, 20), blocks)
    init = draw(seed, 20, 0, cases.CLUSTERS)

    def run(variant: str) -> Any:
        parts = parts_of(variant, points)
        centres = init
        for _ in range(cases.PASSES):
            sums = [client.submit(summed, part, centres, pure=False) for part, _ in parts]
            found = grouped(client, partial(reduce, Sums.add), sums)
            centres = found.sums / found.counts[:, None]
        return centres

    return run


def make_cascade_svm(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Train until it converges, five rounds at most."""
    from benchmarks.splits.dask import made

    kind = replace(cases.BLOBS, seed=seed)
    points = made(client, kind.points, (rows, kind.columns), blocks)
    labels = made(client, kind.labels, (rows,), blocks)
    settings = {"gamma": 0.01}

    def run(variant: str) -> Any:
        parts = parts_of(variant, points, labels)
        fed_back, before = None, None
        submit = partial(client.submit, pure=False)
        for _ in range(cases.ROUNDS):
            sets = [submit(trained, part, runs, fed_back, settings) for part, runs in parts]
            fed_back = cascade(sets, settings, "svc", cases.ARITY, partial(submit, train))
            found = fed_back.result()
            if before is not None and np.array_equal(found.indexes, before):
                break
            before = found.indexes
        classifier(found, settings)
        return found.indexes

    return run


def make_knn(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Build and look up."""
    from benchmarks.splits.dask import made

    points = made(client, partial(draw, seed, 3), (rows, 3), blocks)
    shape = (cases.QUERIES, 3)
    queries = made(client, partial(draw, seed + 1, 3), shape, cases.QUERY_BLOCKS)

    def run(variant: str) -> Any:
        submit = partial(client.submit, pure=False)
        parts = parts_of(variant, points, per="worker")
        trees = [submit(grown, part, runs) for part, runs in parts]
        found = [
            submit(merge, *(submit(asked, tree, block) for tree in trees))
            for block in queries.futures
        ]
        return np.concatenate([part.distances for part in client.gather(found)])

    return run


MAKERS: dict[str, Callable[[Any, int, int, int], Any]] = {
    "histogram": make_histogram,
    "kmeans": make_kmeans,
    "cascade_svm": make_cascade_svm,
    "knn": make_knn,
}
