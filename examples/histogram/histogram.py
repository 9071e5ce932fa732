"""A histogram of blocks of points: in sequence, by a call per block, by a call per partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add
from typing import Any

import numpy as np

import freestone as fs
from examples.histogram.kernels import KERNELS, Counts, Grid, Points
from examples.running import one_per_core, value_of

__all__ = ["histogram", "per_block", "sequential", "with_split"]


def count_blocks(blocks: Iterable[Points], grid: Grid, kernel: str) -> Counts:
    """Count block after block, here."""
    total = np.zeros(grid.bins, np.int64)
    for block in blocks:
        total += KERNELS[kernel](block, grid)
    return total


def sequential(points: fs.Array, grid: Grid, kernel: str) -> Counts:
    """Count block after block, here."""
    return count_blocks(points.iter_blocks(), grid, kernel)


@fs.task
def count_block(block: Points, grid: Grid, kernel: str) -> Counts:
    """Count one block."""
    return KERNELS[kernel](block, grid)


def per_block(points: fs.Array, grid: Grid, kernel: str) -> Any:
    """Count with a call for each block."""
    partials = []
    for block in points.blocks:
        partials.append(count_block(block, grid, kernel))
    return fs.reduce(add, partials, commutes=True)


@fs.task
def count_partition(partition: Any, grid: Grid, kernel: str) -> Counts:
    """Count the blocks of a partition, where they are: the sequential code."""
    return count_blocks(partition.tiles(), grid, kernel)


def with_split(points: fs.Array, grid: Grid, kernel: str, materialize: bool = False) -> Any:
    """Count with a call for each partition."""
    partials = []
    for partition in fs.split(points):
        if materialize:
            partition.materialize()
        partials.append(count_partition(partition, grid, kernel))
    return fs.reduce(add, partials, commutes=True)


VARIANTS: dict[str, Callable[[fs.Array, Grid, str], Any]] = {
    "sequential": sequential,
    "blocks": per_block,
    "split": with_split,
    "materialize": lambda points, grid, kernel: with_split(points, grid, kernel, True),
    "rechunk": lambda points, grid, kernel: per_block(one_per_core(points), grid, kernel),
}


def histogram(
    points: fs.Array, grid: Grid, *, kernel: str = "tiles", variant: str = "split"
) -> Counts:
    """Count points in the cells of a grid.

    Parameters
    ----------
    points
        Shape ``(n, d)``.
    grid
        Of d dimensions.
    kernel
        ``numpy``, ``boost`` or ``tiles``.
    variant
        ``sequential``, ``blocks``, ``split``, ``materialize`` or ``rechunk``.

    Returns
    -------
    numpy.ndarray
        Shape `grid.bins`, int64, the same to the last bit for every kernel and variant.

    References
    ----------
    Barcelo et al., "SplIter", sections 5.1 and 6.2.
    """
    counts: Counts = value_of(VARIANTS[variant](points, grid, kernel))
    return counts
