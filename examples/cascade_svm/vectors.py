"""Points that may be support vectors, and the training that picks those that are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KERNELS", "Settings", "Vectors", "classifier", "train"]

Indexes = NDArray[np.int64]


@dataclass(frozen=True)
class Vectors:
    """Some points of a collection.

    Attributes
    ----------
    indexes
        Where each is in the collection, shape ``(n,)``, rising, none twice.
    points
        Shape ``(n, d)``.
    labels
        The class of each, shape ``(n,)``.
    """

    indexes: Indexes
    points: NDArray[np.float64]
    labels: NDArray[Any]

    def take(self, positions: NDArray[np.integer]) -> Vectors:
        """Return some of them."""
        return Vectors(self.indexes[positions], self.points[positions], self.labels[positions])

    @classmethod
    def union(cls, *parts: Vectors) -> Vectors:
        """Return the points of all parts, each once, in the collection's order."""
        if len(parts) == 1:
            return parts[0]
        indexes = np.concatenate([part.indexes for part in parts])
        points = np.concatenate([part.points for part in parts])
        labels = np.concatenate([part.labels for part in parts])
        kept, positions = np.unique(indexes, return_index=True)
        return cls(kept, points[positions], labels[positions])


Settings = Mapping[str, Any]
"""What `sklearn.svm.SVC` is made with."""


def classifier(vectors: Vectors, settings: Settings) -> Any:
    """Return a `sklearn.svm.SVC` fitted to points."""
    from sklearn.svm import SVC

    return SVC(**settings).fit(vectors.points, vectors.labels)


def train_svc(vectors: Vectors, settings: Settings) -> Vectors:
    """Return the support vectors of points, by `sklearn.svm.SVC`, as the paper does."""
    return vectors.take(np.sort(classifier(vectors, settings).support_))


def train_chunks(vectors: Vectors, settings: Settings) -> Vectors:
    """Return the support vectors of points, training first on a part of them; see `train_svc`.

    Notes
    -----
    The time of an SVC grows faster than the points. So it starts with every 8th point of each
    class, adds those points that its margin is violated by, and ends when none is: they satisfy
    then the conditions of the optimum, to the solver's own tolerance. Two classes only; more
    take `train_svc`.
    """
    classes, coded = np.unique(vectors.labels, return_inverse=True)
    if len(classes) != 2 or len(coded) < FEW:
        return train_svc(vectors, settings)
    sides = np.where(coded == 1, 1.0, -1.0)
    chosen = np.zeros(len(coded), np.bool_)
    for side in (-1.0, 1.0):
        chosen[np.flatnonzero(sides == side)[::8]] = True
    while True:
        positions = np.flatnonzero(chosen)
        model = classifier(vectors.take(positions), settings)
        outside = np.flatnonzero(~chosen)
        margins = sides[outside] * model.decision_function(vectors.points[outside])
        violating = outside[margins < 1 - model.tol]
        if not len(violating):
            return vectors.take(positions[np.sort(model.support_)])
        chosen[violating] = True


FEW = 1_024
"""So few points are trained on at once."""

KERNELS: dict[str, Callable[[Vectors, Settings], Vectors]] = {
    "svc": train_svc,
    "chunks": train_chunks,
}
"""The kernels by name."""


def train(settings: Settings, kernel: str, *parts: Vectors) -> Vectors:
    """Return the support vectors of the union of parts: a step of the cascade.

    Points of one class alone have no support vectors yet, so all of them go on.
    """
    vectors = Vectors.union(*parts)
    if len(np.unique(vectors.labels)) < 2:
        return vectors
    return KERNELS[kernel](vectors, settings)
