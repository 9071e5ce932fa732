"""Nearest neighbours with scikit-learn's interface, on blocks of points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import freestone as fs
from examples.knn.searches import FITS, QUERIES
from examples.knn.trees import Found
from examples.running import value_of

__all__ = ["NearestNeighbors"]


class NearestNeighbors:
    """Search trees over points, one on each worker.

    Parameters
    ----------
    n_neighbors
        How many neighbours are looked for.
    kernel
        ``scipy`` or ``sklearn``: whose k-d tree.
    variant
        ``sequential``: one tree; ``blocks``: one for each block; ``split``, ``materialize``: one
        for each worker; ``rechunk``: one for each core.

    Attributes
    ----------
    trees_
        The trees, which stay on the workers: futures; in the sequential code the trees.

    References
    ----------
    Barcelo et al., "SplIter", sections 5.4 and 6.5.
    """

    def __init__(
        self, n_neighbors: int = 5, *, kernel: str = "scipy", variant: str = "split"
    ) -> None:
        if n_neighbors < 1:
            raise ValueError(f"n_neighbors={n_neighbors}: look for at least one")
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.variant = variant

    def fit(self, points: fs.Array, labels: Any = None) -> Self:
        """Build the trees of points, shape ``(n, d)``; `labels` are not looked at.

        Raises
        ------
        ValueError
            When there are fewer points than neighbours.
        """
        if len(points) < self.n_neighbors:
            raise ValueError(f"{self.n_neighbors} neighbours among {len(points)} points")
        self.trees_ = FITS[self.variant](points, self.kernel)
        return self

    def kneighbors(self, points: fs.Array) -> Found:
        """Return the neighbours of points, in the points' order, the nearest first.

        Returns
        -------
        distances, indexes
            Each of shape ``(n, n_neighbors)``; `indexes` count the rows of the fitted points.
        """
        results = QUERIES[self.variant](self.trees_, points, self.n_neighbors)
        values = [value_of(result) for result in results]
        if values and not isinstance(values[0], Found):
            return _in_order(values)
        return Found(*map(np.concatenate, zip(*values, strict=True)))


def _in_order(values: list[tuple[Any, Found]]) -> Found:
    rows = np.concatenate([rows for rows, _ in values])
    order = np.empty(len(rows), np.int64)
    order[rows] = np.arange(len(rows))
    found = zip(*(found for _, found in values), strict=True)
    return Found(*(np.concatenate(parts)[order] for parts in found))
