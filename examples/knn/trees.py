"""Search trees over some points of a collection, and how their answers are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["KERNELS", "Found", "Tree", "build", "look_up", "merge"]

Matrix = NDArray[np.float64]

MANY = 1_000
"""So many points are worth being put in order."""
BITS = 5
"""Of the number of a cell along each dimension of the grid that a curve goes through."""
DIMENSIONS = 12
"""So many of the dimensions are looked at: more have no place in 64 bits."""
LEAF = 32
"""Points of a leaf. Side by side in memory, so many are looked through faster than a tree that has
three times as many nodes."""


class Found(NamedTuple):
    """The neighbours that were found of some points, the nearest first.

    Attributes
    ----------
    distances
        Shape ``(n, k)``; infinite where there are less than k.
    indexes
        Shape ``(n, k)``, int64: where they are in the collection; -1 where there is none.
    """

    distances: Matrix
    indexes: NDArray[np.int64]


@dataclass(frozen=True)
class Tree:
    """A search tree over the points of a block or a partition.

    Attributes
    ----------
    tree
        `scipy.spatial.cKDTree` or `sklearn.neighbors.KDTree`.
    runs
        Where its points are in the collection: first and last row of each run of them.
    order
        Which of those each point of the tree is; None: they are in that order.
    """

    tree: Any
    runs: tuple[range, ...]
    order: NDArray[np.intp] | None = None

    def indexes_of(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return where points of the tree are in the collection; -1 for those beyond its end."""
        lengths = np.array([len(run) for run in self.runs], np.int64)
        ends = np.cumsum(lengths)
        is_there = rows < ends[-1]
        if self.order is not None:
            rows = self.order[np.where(is_there, rows, 0)]
        shifts = np.array([run.start for run in self.runs], np.int64) - (ends - lengths)
        which = np.minimum(np.searchsorted(ends, rows, side="right"), len(ends) - 1)
        return np.where(is_there, rows + shifts[which], -1)


def build(points: Matrix, runs: Iterable[range], kernel: str) -> Tree:
    """Return a tree over points, shape ``(n, d)``, and where they are in their collection."""
    tree, order = KERNELS[kernel](points)
    return Tree(tree, tuple(runs), order)


def build_scipy(points: Matrix) -> tuple[Any, NDArray[np.intp] | None]:
    """Return SciPy's k-d tree, which any number of threads may look up in at once.

    Returns
    -------
    tree
        `scipy.spatial.cKDTree`.
    order
        Which point each of the tree's is; None if they are as they were.

    Notes
    -----
    Cut at the middle of a cell, not at the median of its points, it is built in half the time
    and looked up in as fast, unless points are most unevenly spread. Many points are put along a
    curve through space first: so those of a leaf are side by side in memory, the tree is built in
    two thirds of the time, and what a look-up needs of a large one is in fewer of its pages.
    """
    from scipy.spatial import cKDTree

    order = None
    if len(points) >= MANY and np.isfinite(points).all():
        order = curve(points)
        points = points[order]
    return cKDTree(points, LEAF, balanced_tree=False, compact_nodes=True), order


def build_sklearn(points: Matrix) -> tuple[Any, None]:
    """Return scikit-learn's k-d tree, as the paper does; see `build_scipy`."""
    from sklearn.neighbors import KDTree

    return KDTree(points), None


Builder = Callable[[Matrix], tuple[Any, NDArray[np.intp] | None]]
KERNELS: dict[str, Builder] = {"sklearn": build_sklearn, "scipy": build_scipy}
"""The kernels by name."""


def look_up(tree: Tree, points: Matrix, neighbours: int) -> Found:
    """Return the nearest neighbours of points, shape ``(n, d)``, in one tree.

    Notes
    -----
    Changes nothing in the tree: calls and threads may look up in one at the same time. Many points
    are looked up along a curve through space, so that what one needs of a large tree is still in
    the processor's cache for the next.
    """
    if len(points) < MANY or not np.isfinite(points).all():
        return _look_up(tree, points, neighbours)
    order = curve(points)
    found = _look_up(tree, points[order], neighbours)
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return Found(found.distances[places], found.indexes[places])


def curve(points: Matrix) -> NDArray[np.intp]:
    """Return the points' rows in Morton's order: near to each other where points are, mostly."""
    low, high = points.min(axis=0), points.max(axis=0)
    scale = ((1 << BITS) - 1) / np.where(high > low, high - low, 1)
    dimensions = min(points.shape[1], DIMENSIONS)
    # Keys of 16 bits are sorted by counting, in time that grows as their number.
    dtype = np.uint16 if BITS * dimensions <= 16 else np.int64
    keys = np.zeros(len(points), dtype)
    for dimension in range(dimensions):
        cells = (points[:, dimension] - low[dimension]) * scale[dimension]
        bits = _spread(dimensions, dtype)[cells.astype(np.intp)]
        np.bitwise_or(keys, bits << dtype(dimension), out=keys)
    return np.argsort(keys, kind="stable")


def _spread(dimensions: int, dtype: type[np.integer]) -> NDArray[np.integer]:
    """Return the numbers of all cells along a dimension, with room for the others' bits."""
    bits = np.arange(BITS)
    ones = np.arange(1 << BITS)[:, None] >> bits & 1
    return np.asarray((ones << (bits * dimensions)).sum(axis=1), dtype)


def _look_up(tree: Tree, points: Matrix, neighbours: int) -> Found:
    from scipy.spatial import cKDTree

    if isinstance(tree.tree, cKDTree):
        distances, rows = tree.tree.query(points, k=np.arange(1, neighbours + 1))
        return Found(distances, tree.indexes_of(rows))
    known = min(neighbours, len(tree.tree.data))
    distances, rows = tree.tree.query(points, k=known)
    return _widen(Found(distances, tree.indexes_of(rows)), neighbours)


def merge(*parts: Found) -> Found:
    """Return the nearest of what several trees have found; of equally near, the first rows."""
    if len(parts) == 1:
        return parts[0]
    distances = np.concatenate([part.distances for part in parts], axis=1)
    indexes = np.concatenate([part.indexes for part in parts], axis=1)
    order = np.lexsort((indexes, distances), axis=1)[:, : parts[0].indexes.shape[1]]
    return Found(
        np.take_along_axis(distances, order, axis=1), np.take_along_axis(indexes, order, axis=1)
    )


def _widen(found: Found, neighbours: int) -> Found:
    rows, known = found.indexes.shape
    distances = np.full((rows, neighbours), np.inf)
    indexes = np.full((rows, neighbours), -1, np.int64)
    distances[:, :known], indexes[:, :known] = found
    return Found(distances, indexes)
