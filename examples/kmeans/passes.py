"""One pass over all points: in sequence, by a call per block, by a call per partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import freestone as fs
from examples.kmeans.kernels import KERNELS, Matrix, Sums
from examples.running import one_per_core

__all__ = ["VARIANTS", "Pass", "per_block", "sequential", "with_split"]

Pass = Callable[[Matrix], Any]
"""Takes the centres; returns the sums, or their future."""


def sum_blocks(blocks: Iterable[Matrix], centres: Matrix, kernel: str) -> Sums:
    """Sum block after block, here."""
    total = Sums.none(centres)
    for block in blocks:
        total = total.add(KERNELS[kernel](block, centres))
    return total


def sequential(points: fs.Array, kernel: str) -> Pass:
    """Sum block after block, here."""
    return lambda centres: sum_blocks(points.iter_blocks(), centres, kernel)


@fs.task
def sum_block(block: Matrix, centres: Matrix, kernel: str) -> Sums:
    """Sum one block."""
    return KERNELS[kernel](block, centres)


def per_block(points: fs.Array, kernel: str) -> Pass:
    """Sum with a call for each block."""

    def sums(centres: Matrix) -> Any:
        partials = []
        for block in points.blocks:
            partials.append(sum_block(block, centres, kernel))
        return fs.reduce(Sums.add, partials, commutes=True)

    return sums


@fs.task
def sum_partition(partition: Any, centres: Matrix, kernel: str) -> Sums:
    """Sum the blocks of a partition, where they are: the sequential code."""
    return sum_blocks(partition.tiles(), centres, kernel)


def with_split(points: fs.Array, kernel: str, materialize: bool = False) -> Pass:
    """Sum with a call for each partition; the partitions are the same in every pass."""
    partitions = fs.split(points)
    if materialize:
        for partition in partitions:
            partition.materialize()

    def sums(centres: Matrix) -> Any:
        partials = []
        for partition in partitions:
            partials.append(sum_partition(partition, centres, kernel))
        return fs.reduce(Sums.add, partials, commutes=True)

    return sums


VARIANTS: dict[str, Callable[[fs.Array, str], Pass]] = {
    "sequential": sequential,
    "blocks": per_block,
    "split": with_split,
    "materialize": lambda points, kernel: with_split(points, kernel, True),
    "rechunk": lambda points, kernel: per_block(one_per_core(points), kernel),
}
