"""Trees and look-ups: in sequence, by a call per block, by a call per partition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import freestone as fs
from examples.knn.trees import Found, Tree, build, look_up, merge
from examples.running import one_per_core

__all__ = ["FITS", "QUERIES", "per_block", "sequential", "with_split"]

Matrix = Any


def runs_of(points: fs.Array) -> list[tuple[range]]:
    """Return where each block is in its collection."""
    return [(range(start, stop),) for start, stop in pairwise(points.offsets.tolist())]


def sequential(points: fs.Array, kernel: str) -> list[Tree]:
    """Build one tree of everything, here."""
    return [build(points.compute(), [range(len(points))], kernel)]


build_block = fs.task(build)


def per_block(points: fs.Array, kernel: str) -> list[Any]:
    """Build with a call for each block."""
    trees = []
    for block, runs in zip(points.blocks, runs_of(points), strict=True):
        trees.append(build_block(block, runs, kernel))
    return trees


@fs.task
def build_partition(partition: Any, kernel: str) -> Tree:
    """Build one tree of all blocks of a partition."""
    return build(partition.materialize(), partition.item_indexes, kernel)


def with_split(points: fs.Array, kernel: str) -> list[Any]:
    """Build with a call for each partition: one tree on each worker."""
    trees = []
    for partition in fs.split(points, per="worker"):
        trees.append(build_partition(partition, kernel))
    return trees


FITS: dict[str, Callable[[fs.Array, str], list[Any]]] = {
    "sequential": sequential,
    "blocks": per_block,
    "split": with_split,
    "materialize": with_split,
    "rechunk": lambda points, kernel: per_block(one_per_core(points), kernel),
}


def query_here(trees: Sequence[Tree], points: fs.Array, neighbours: int) -> list[Found]:
    """Look up block after block, here."""
    return [
        merge(*(look_up(tree, block, neighbours) for tree in trees))
        for block in points.iter_blocks()
    ]


look_up_block = fs.task(look_up)
merge_found = fs.task(merge)


def query_blocks(trees: Sequence[Any], points: fs.Array, neighbours: int) -> list[Any]:
    """Look up with a call for each block and tree."""
    found = []
    for block in points.blocks:
        parts = [look_up_block(tree, block, neighbours) for tree in trees]
        found.append(merge_found(*parts))
    return found


@fs.task
def look_up_partition(tree: Tree, partition: Any, neighbours: int) -> tuple[Any, Found]:
    """Look up all points of a partition in one tree; where they are, and what was found."""
    return partition.get_item_indexes(), look_up(tree, partition.materialize(), neighbours)


def query_split(trees: Sequence[Any], points: fs.Array, neighbours: int) -> list[Any]:
    """Look up with a call for each partition and tree: those of a worker in one tree at once."""
    found = []
    for partition in fs.split(points):
        parts = [look_up_partition(tree, partition, neighbours) for tree in trees]
        found.append(merge_partition(*parts))
    return found


@fs.task
def merge_partition(*parts: tuple[Any, Found]) -> tuple[Any, Found]:
    """Return the nearest of what the trees have found of one partition's points."""
    return parts[0][0], merge(*(found for _, found in parts))


QUERIES: dict[str, Callable[[Sequence[Any], fs.Array, int], list[Any]]] = {
    "sequential": query_here,
    "blocks": query_blocks,
    "split": query_split,
    "materialize": query_split,
    "rechunk": query_blocks,
}
