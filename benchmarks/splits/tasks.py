"""The four applications on Dask's futures: with a task per block, or per partition."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from itertools import chain
from typing import Any

import numpy as np

from benchmarks.splits import cases
from examples.cascade_svm.levels import cascade
from examples.cascade_svm.svm import predict_block
from examples.cascade_svm.vectors import Vectors, classifier, train
from examples.data import draw
from examples.histogram.kernels import KERNELS as HISTOGRAMS
from examples.kmeans.kernels import KERNELS as SUMMERS
from examples.kmeans.kernels import Sums
from examples.knn.trees import Tree, build, look_up, merge


def joined(blocks: list[Any], materialize: bool) -> list[Any]:
    """Return blocks as they are, or as one."""
    return [np.concatenate(blocks)] if materialize else blocks


def count(blocks: list[Any], materialize: bool) -> Any:
    """Count blocks."""
    kernel = HISTOGRAMS[cases.CASES["histogram"].paper]
    return sum(kernel(block, cases.GRID) for block in joined(blocks, materialize))


def summed(blocks: list[Any], materialize: bool, centres: Any) -> Sums:
    """Sum blocks."""
    kernel = SUMMERS[cases.CASES["kmeans"].paper]
    return reduce(Sums.add, (kernel(block, centres) for block in joined(blocks, materialize)))


def trained(blocks: list[Any], runs: list[range], fed_back: Any, settings: Any) -> Vectors:
    """Train on blocks of points and labels, given in turn."""
    points, labels = np.concatenate(blocks[::2]), np.concatenate(blocks[1::2])
    indexes = np.concatenate([np.arange(run.start, run.stop) for run in runs])
    own = Vectors(indexes, points, labels.astype(np.int64))
    return train(settings, "svc", own, *([] if fed_back is None else [fed_back]))


def grown(blocks: list[Any], runs: list[range]) -> Tree:
    """Build one tree of blocks."""
    return build(np.concatenate(blocks), runs, cases.CASES["knn"].paper)


def asked(tree: Tree, block: Any) -> Any:
    """Look up in a copy of the tree's own state, as the paper does."""
    return look_up(copy.copy(tree), block, cases.NEIGHBOURS)


def on_parts(blocks: Any, variant: str, call: Callable[..., Any]) -> list[Any]:
    """Submit a call for each block, or for each partition where it is."""
    if variant == "rechunk":
        blocks = blocks.rechunked()
    submit = partial(blocks.client.submit, pure=False)
    if variant in ("blocks", "rechunk"):
        return [call(submit, [index], blocks) for index in range(len(blocks.futures))]
    return [
        call(partial(submit, workers=[worker], allow_other_workers=True), indexes, blocks)
        for worker, indexes in blocks.partitions()
    ]


def make_histogram(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Count in 1,024 cells."""
    from benchmarks.splits.dask import grouped, made

    points = made(client, partial(draw, seed, 5), (rows, 5), blocks)

    def run(variant: str) -> Any:
        def call(submit: Any, indexes: list[int], parts: Any) -> Any:
            return submit(count, [parts.futures[k] for k in indexes], variant == "materialize")

        return grouped(client, sum, on_parts(points, variant, call))

    return run


def make_kmeans(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Make ten passes from the same first centres."""
    from benchmarks.splits.dask import grouped, made

    points = made(client, partial(draw, seed, 20), (rows, 20), blocks)
    init = draw(seed, 20, 0, cases.CLUSTERS)

    def run(variant: str) -> Any:
        parts = points.rechunked() if variant == "rechunk" else points
        kind = "blocks" if variant == "rechunk" else variant
        centres = init

        def call(submit: Any, indexes: list[int], parts: Any) -> Any:
            found = [parts.futures[k] for k in indexes]
            return submit(summed, found, variant == "materialize", centres)

        for _ in range(cases.PASSES):
            found = grouped(client, partial(reduce, Sums.add), on_parts(parts, kind, call))
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
        again = variant == "rechunk"
        x, y = (points.rechunked(), labels.rechunked()) if again else (points, labels)
        fed_back, before = None, None

        def call(submit: Any, indexes: list[int], parts: Any) -> Any:
            pairs = list(chain.from_iterable((parts.futures[k], y.futures[k]) for k in indexes))
            return submit(trained, pairs, [parts.runs[k] for k in indexes], fed_back, settings)

        for _ in range(cases.ROUNDS):
            parts = on_parts(x, "blocks" if again else variant, call)
            step = partial(client.submit, train, pure=False)
            fed_back = cascade(parts, settings, "svc", cases.ARITY, step)
            found = fed_back.result()
            if before is not None and np.array_equal(found.indexes, before):
                break
            before = found.indexes
        sample = kind.points(0, 1000)
        return np.mean(predict_block(sample, classifier(found, settings)) == kind.labels(0, 1000))

    return run


def make_knn(client: Any, rows: int, blocks: int, seed: int) -> Any:
    """Build and look up."""
    from benchmarks.splits.dask import made

    points = made(client, partial(draw, seed, 3), (rows, 3), blocks)
    shape = (cases.QUERIES, 3)
    queries = made(client, partial(draw, seed + 1, 3), shape, cases.QUERY_BLOCKS)

    def run(variant: str) -> Any:
        def call(submit: Any, indexes: list[int], parts: Any) -> Any:
            runs = [parts.runs[k] for k in indexes]
            return submit(grown, [parts.futures[k] for k in indexes], runs)

        trees = on_parts(points, variant, call)
        submit = partial(client.submit, pure=False)
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
