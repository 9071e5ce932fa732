"""k-means with scikit-learn's interface, on blocks of points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

import freestone as fs
from examples.kmeans.kernels import Labels, Matrix, Sums, nearest
from examples.kmeans.passes import VARIANTS
from examples.running import value_of

__all__ = ["KMeans"]

SAMPLE_ROWS = 10_000


class KMeans:
    """Lloyd's algorithm.

    Parameters
    ----------
    n_clusters
        How many clusters, k.
    init
        The first centres, shape ``(k, d)``; or ``"k-means++"`` on the first 10,000 points.
    max_iter
        The most passes over the points.
    tol
        It ends when the squared distance that all centres moved is at most `tol` times the
        mean variance of the first 10,000 points; 0: when no centre moves.
    random_state
        The seed of ``"k-means++"``.
    kernel
        ``paper``, ``sklearn``, ``tiles`` or ``compiled`` (needs numba).
    variant
        ``sequential``, ``blocks``, ``split``, ``materialize`` or ``rechunk``.

    Attributes
    ----------
    cluster_centers_
        Shape ``(k, d)``.
    counts_
        Shape ``(k,)``: how many points were nearest to each centre in the last pass.
    n_iter_
        How many passes were made.

    Notes
    -----
    A centre that no point is nearest to stays where it is; scikit-learn moves it.

    References
    ----------
    Barcelo et al., "SplIter", sections 5.2 and 6.3.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: str | Matrix = "k-means++",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: int | None = 0,
        kernel: str = "tiles",
        variant: str = "split",
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.kernel = kernel
        self.variant = variant

    def fit(self, points: fs.Array, labels: Any = None) -> Self:
        """Find the centres of points, shape ``(n, d)``; `labels` are not looked at.

        Raises
        ------
        ValueError
            When points are less than clusters, NaN or infinite.
        """
        if points.shape[0] < self.n_clusters:
            raise ValueError(f"{points.shape[0]} points for {self.n_clusters} clusters")
        sample = np.asarray(points[:SAMPLE_ROWS].compute())
        centres = self._first_centres(sample)
        least_move = self.tol * float(sample.var(axis=0).mean())
        sums_of = VARIANTS[self.variant](points, self.kernel)
        for iteration in range(self.max_iter):
            self.n_iter_ = iteration + 1
            found: Sums = value_of(sums_of(centres))
            before, centres = centres, _means(found, centres)
            if float(((centres - before) ** 2).sum()) <= least_move:
                break
        self.cluster_centers_, self.counts_ = centres, found.counts
        return self

    def _first_centres(self, sample: Matrix) -> Matrix:
        if isinstance(self.init, str):
            from sklearn.cluster import kmeans_plusplus

            if self.init != "k-means++":
                raise ValueError(f"init={self.init!r}: give 'k-means++' or the centres")
            found, _ = kmeans_plusplus(sample, self.n_clusters, random_state=self.random_state)
            return np.asarray(found)
        if self.init.shape != (self.n_clusters, sample.shape[1]):
            wanted = (self.n_clusters, sample.shape[1])
            raise ValueError(f"centres of shape {self.init.shape}: they have to be {wanted}")
        return self.init

    def predict(self, points: fs.Array | Matrix) -> Labels:
        """Return the number of the nearest centre of each point, in the points' order."""
        if isinstance(points, fs.Array):
            found: Labels = points.map_blocks(nearest, self.cluster_centers_).compute()
            return found
        return nearest(points, self.cluster_centers_)

    def fit_predict(self, points: fs.Array, labels: Any = None) -> Labels:
        """Find the centres of points, and return the number of the nearest of each."""
        return self.fit(points, labels).predict(points)


def _means(found: Sums, centres: Matrix) -> Matrix:
    if not np.isfinite(found.sums).all():
        raise ValueError("some points are NaN or infinite: no centre is near to them")
    counts = found.counts[:, None]
    return np.where(counts > 0, found.sums / np.maximum(counts, 1), centres)
