"""One pass of Lloyd over one block: the paper's kernel, scikit-learn's, and two of our own.

Each gives what an iteration has to know of a block: the sum of the points nearest to each
centre, and how many they are. A point as near to two centres belongs to the first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["KERNELS", "Kernel", "Labels", "Matrix", "Sums", "nearest"]

Matrix = NDArray[np.float64]
Labels = NDArray[np.intp]

TILE_ROWS = 4096
"""Points of a pass over a part: their distances to some centres stay in the core's cache."""


class Sums(NamedTuple):
    """What an iteration knows of some points.

    Attributes
    ----------
    sums
        Shape ``(k, d)``: the sum of the points nearest to each centre.
    counts
        Shape ``(k,)``, int64: how many they are.
    """

    sums: Matrix
    counts: NDArray[np.int64]

    @classmethod
    def none(cls, centres: Matrix) -> Self:
        """Return that of no points."""
        return cls(np.zeros_like(centres), np.zeros(len(centres), np.int64))

    def add(self, other: Sums) -> Sums:
        """Return that of both."""
        return Sums(self.sums + other.sums, self.counts + other.counts)


Kernel = Callable[[Matrix, Matrix], Sums]


def sum_paper(points: Matrix, centres: Matrix) -> Sums:
    """Sum with all pairwise distances and a gather for each centre, as the paper does.

    Parameters
    ----------
    points
        Shape ``(n, d)``.
    centres
        Shape ``(k, d)``.
    """
    from sklearn.metrics import pairwise_distances

    labels = pairwise_distances(points, centres).argmin(axis=1)
    return _gather(points, labels, len(centres))


def sum_sklearn(points: Matrix, centres: Matrix) -> Sums:
    """Sum with scikit-learn's compiled search for the nearest centre; see `sum_paper`."""
    from sklearn.metrics import pairwise_distances_argmin

    labels = pairwise_distances_argmin(points, centres)
    return _sum_by_label(points, labels, len(centres))


def sum_tiles(points: Matrix, centres: Matrix) -> Sums:
    """Sum with two matrix products per tile of points; see `sum_paper`.

    Notes
    -----
    |x - c|² is least where x·c - |c|²/2 is greatest, which is one product. Whether a centre is
    the nearest is a matrix of zeros and ones with a row for each centre, and its product with
    the points gives the sums. Both are as fast as the processor's vector units, and nothing
    is gathered. Takes 4 k d operations per point.
    """
    half = (centres * centres).sum(axis=1, keepdims=True) / 2
    total = Sums.none(centres)
    rows = min(max(len(points), 1), TILE_ROWS)
    near = np.empty((len(centres), rows))
    for start in range(0, len(points), rows):
        tile = points[start : start + rows]
        nearness = near[:, : len(tile)]
        np.matmul(centres, tile.T, out=nearness)
        nearness -= half
        chosen = _choose(nearness)
        total.counts[:] += [np.count_nonzero(row) for row in chosen]
        np.copyto(nearness, chosen)
        np.add(total.sums, nearness @ tile, out=total.sums)
    return total


def sum_compiled(points: Matrix, centres: Matrix) -> Sums:
    """Sum point by point in a loop that numba compiles at the first call; see `sum_paper`.

    Notes
    -----
    Takes the squares of all differences, and nothing but the points is read from memory. On a
    point that is as near to two centres up to rounding, it may differ from the others.
    """
    # One kind of array, so that one loop is compiled: of rows in order that can't be written.
    points = np.ascontiguousarray(points, np.float64).view()
    points.flags.writeable = False
    total = Sums.none(centres)
    _loop()(points, np.array(centres, np.float64), total.sums, total.counts)
    return total


@cache
def _loop() -> Any:
    from numba import njit

    def add(points: Any, centres: Any, sums: Any, counts: Any) -> None:
        for row in range(points.shape[0]):
            nearest_one, least = 0, np.inf
            for centre in range(centres.shape[0]):
                square = 0.0
                for column in range(points.shape[1]):
                    apart = points[row, column] - centres[centre, column]
                    square += apart * apart
                if square < least:
                    nearest_one, least = centre, square
            counts[nearest_one] += 1
            for column in range(points.shape[1]):
                sums[nearest_one, column] += points[row, column]

    # Sums in any order, as vector instructions make them; NaN and infinity stay what they are.
    return njit(add, fastmath={"reassoc", "contract", "nsz"})


def _choose(nearness: Matrix) -> NDArray[np.bool_]:
    """Mark in each column the first of its greatest values."""
    chosen: NDArray[np.bool_] = nearness == nearness.max(axis=0)
    if np.count_nonzero(chosen) != chosen.shape[1]:
        first = np.argmax(nearness, axis=0)
        chosen[:] = False
        chosen[first, np.arange(chosen.shape[1])] = True
    return chosen


def _gather(points: Matrix, labels: Labels, clusters: int) -> Sums:
    members = [points[labels == label] for label in range(clusters)]
    counts = np.array([len(found) for found in members], np.int64)
    return Sums(np.array([found.sum(axis=0) for found in members]), counts)


def _sum_by_label(points: Matrix, labels: Labels, clusters: int) -> Sums:
    from scipy.sparse import csr_matrix

    rows = np.arange(len(labels) + 1)
    chosen = csr_matrix((np.ones(len(labels)), labels, rows), shape=(len(labels), clusters))
    counts = np.bincount(labels, minlength=clusters).astype(np.int64)
    return Sums(chosen.T @ points, counts)


def nearest(points: Matrix, centres: Matrix) -> Labels:
    """Return the number of the nearest centre of each point, shape ``(n,)``."""
    half = (centres * centres).sum(axis=1) / 2
    labels: Labels = np.argmax(points @ centres.T - half, axis=1)
    return labels


KERNELS: dict[str, Kernel] = {
    "paper": sum_paper,
    "sklearn": sum_sklearn,
    "tiles": sum_tiles,
    "compiled": sum_compiled,
}
"""The kernels by name; `compiled` is the fastest on one core, and `tiles` without numba."""
