"""Counting one block of points in a grid: the paper's way, a compiled one, and our own.

All three count a point as NumPy does: a bin holds its lower edge and not its upper one, but the
last bin holds both; what is outside, or not a number, is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["KERNELS", "Counts", "Grid", "Kernel", "Points"]

Points = NDArray[np.float64]
Counts = NDArray[np.int64]

TILE_NBYTES = 1 << 19
"""What a tile of points takes: less than a core's own cache, and much for one NumPy call."""
FEW_BINS = 16
"""Up to this many bins along a dimension, comparing with each edge beats a search."""


@dataclass(frozen=True)
class Grid:
    """Bins of one width along each dimension.

    Parameters
    ----------
    bins
        How many along each dimension, d of them.
    low, high
        The first and the last edge along each dimension.
    """

    bins: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def uniform(cls, dimensions: int, bins: int, low: float = 0.0, high: float = 1.0) -> Grid:
        """Return the same bins along all dimensions."""
        return cls((bins,) * dimensions, (low,) * dimensions, (high,) * dimensions)

    @property
    def edges(self) -> tuple[Points, ...]:
        """The edges along each dimension, one more than bins, just as NumPy makes them."""
        return _edges(self)

    @property
    def inner_edges(self) -> tuple[Points, ...]:
        """The j-th inner edges of all dimensions, each ``(d, 1)``; infinite where there is none."""
        return _inner_edges(self)

    @property
    def size(self) -> int:
        """How many cells it has."""
        return int(np.prod(self.bins))


# Kept by what the grid is: a call per block gets a new one, equal to that of the call before.
@lru_cache(maxsize=64)
def _edges(grid: Grid) -> tuple[Points, ...]:
    spans = zip(grid.low, grid.high, grid.bins, strict=True)
    return tuple(np.linspace(low, high, count + 1) for low, high, count in spans)


@lru_cache(maxsize=64)
def _inner_edges(grid: Grid) -> tuple[Points, ...]:
    table = np.full((max(grid.bins) - 1, len(grid.bins), 1), np.inf)
    for dimension, edges in enumerate(grid.edges):
        table[: len(edges) - 2, dimension, 0] = edges[1:-1]
    return tuple(table)


Kernel = Callable[[Points, Grid], Counts]


def count_numpy(points: Points, grid: Grid) -> Counts:
    """Count with `numpy.histogramdd`, as the paper does.

    Parameters
    ----------
    points
        Shape ``(n, d)``.
    grid
        Of d dimensions.

    Returns
    -------
    numpy.ndarray
        Shape `grid.bins`, int64: the points in each cell.
    """
    spans = list(zip(grid.low, grid.high, strict=True))
    counts, _ = np.histogramdd(points, bins=grid.bins, range=spans)
    return counts.astype(np.int64)


def count_boost(points: Points, grid: Grid) -> Counts:
    """Count with boost-histogram, one fill of the whole block; see `count_numpy`.

    Notes
    -----
    Its axes get NumPy's edges, not a number of bins: it would find the bin of a value by a
    division, and put some that lie on an edge one bin further down.
    """
    import boost_histogram as bh

    axes = [bh.axis.Variable(edges, underflow=False, overflow=False) for edges in grid.edges]
    histogram = bh.Histogram(*axes, storage=bh.storage.Int64())
    histogram.fill(*np.ascontiguousarray(points.T))
    return np.asarray(histogram.values(), dtype=np.int64)


def count_tiles(points: Points, grid: Grid) -> Counts:
    """Count tile by tile, each in the core's cache; see `count_numpy`.

    Notes
    -----
    A value's bin is the number of inner edges that it reaches: a few comparisons that run on
    whole vectors, exact where a division would round. That takes as many operations per value
    as there are bins along a dimension, so where they are many, edges are searched instead.
    """
    total = np.zeros(grid.size, np.int64)
    dimensions = points.shape[1]
    rows = min(max(len(points), 1), max(1, TILE_NBYTES // (dimensions * points.itemsize)))
    # Pages of the same memory again and again: new ones would cost more than the counting.
    columns = np.empty((dimensions, rows))
    scratch = np.empty((2, dimensions, rows), np.uint8)
    for start in range(0, len(points), rows):
        tile = points[start : start + rows].T
        part = columns[:, : tile.shape[1]]
        np.copyto(part, tile)
        if not _inside(part, grid).all():
            part = part[:, _inside_each(part, grid)]
        cells = _cells(_bins(part, grid, scratch[..., : part.shape[1]]), grid)
        total += np.bincount(cells, minlength=grid.size)
    return total.reshape(grid.bins)


def _inside(columns: Points, grid: Grid) -> NDArray[np.bool_]:
    # A NaN among the values makes both extremes NaN, and both comparisons false.
    low, high = np.array(grid.low), np.array(grid.high)
    return np.asarray((columns.min(axis=1) >= low) & (columns.max(axis=1) <= high))


def _inside_each(columns: Points, grid: Grid) -> NDArray[np.bool_]:
    low, high = np.array(grid.low)[:, None], np.array(grid.high)[:, None]
    return np.asarray(((columns >= low) & (columns <= high)).all(axis=0))


def _bins(columns: Points, grid: Grid, scratch: NDArray[np.uint8]) -> NDArray[np.integer]:
    """Return the bin of each value along its dimension, shape ``(d, n)``."""
    if max(grid.bins) > FEW_BINS:
        found = [
            np.searchsorted(edges[1:-1], values, side="right")
            for values, edges in zip(columns, grid.edges, strict=True)
        ]
        return np.stack(found)
    bins: NDArray[np.integer] = scratch[0]
    reached = scratch[1]
    bins[:] = 0
    for edges in grid.inner_edges:
        np.greater_equal(columns, edges, out=reached.view(np.bool_))
        np.add(bins, reached, out=bins)
    return bins


def _cells(bins: NDArray[np.integer], grid: Grid) -> NDArray[np.integer]:
    """Return the flat cell of each point, from its bin along each dimension."""
    # A quarter of the bytes where they are enough.
    dtype = np.uint16 if grid.size <= 1 << 16 else np.int64
    cells: NDArray[np.integer] = bins[0].astype(dtype)
    for column, count in zip(bins[1:], grid.bins[1:], strict=True):
        np.multiply(cells, dtype(count), out=cells)
        np.add(cells, column, out=cells, casting="unsafe")
    return cells


KERNELS: dict[str, Kernel] = {
    "numpy": count_numpy,
    "boost": count_boost,
    "tiles": count_tiles,
}
"""The kernels by name; `tiles` is the fastest on one core."""
