"""A cascade of support vector machines with scikit-learn's interface, on blocks of points."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import freestone as fs
from examples.cascade_svm.levels import VARIANTS
from examples.cascade_svm.vectors import Vectors, classifier
from examples.running import value_of

__all__ = ["CascadeSVC"]


class CascadeSVC:
    """Graf's cascade over `sklearn.svm.SVC`.

    Each part of the points is trained by itself; the support vectors of `arity` parts are
    trained together, level by level, until one set is left. That set is given to each part of
    the next round. When a round returns the set that it was given, no part knows a point that
    would change it: that is the optimum over all points.

    Parameters
    ----------
    max_iter
        The most rounds.
    arity
        How many sets are merged at a time.
    kernel
        ``svc`` or ``chunks``: how a part is trained.
    variant
        ``sequential``, ``blocks``, ``split``, ``materialize`` or ``rechunk``.
    **settings
        Those of `sklearn.svm.SVC`. ``gamma="scale"``, its default, becomes a number once, from
        the first block: otherwise every part would be trained with a kernel of its own.

    Attributes
    ----------
    model_
        The `sklearn.svm.SVC` on the support vectors.
    support_
        Where they are in the collection, rising.
    n_iter_
        How many rounds were made.
    converged_
        Whether the last one changed nothing.

    References
    ----------
    Graf et al., "Parallel Support Vector Machines: The Cascade SVM", 2004. Barcelo et al.,
    "SplIter", sections 5.3 and 6.4.
    """

    def __init__(
        self,
        *,
        max_iter: int = 20,
        arity: int = 2,
        kernel: str = "svc",
        variant: str = "split",
        **settings: Any,
    ) -> None:
        if arity < 2:
            raise ValueError(f"arity={arity}: at least two sets are merged at a time")
        self.max_iter = max_iter
        self.arity = arity
        self.kernel = kernel
        self.variant = variant
        self.settings = settings

    def fit(self, points: fs.Array, labels: fs.Array) -> Self:
        """Find the support vectors of points, shape ``(n, d)``, with a label each.

        Raises
        ------
        ValueError
            When all points have the same label.
        """
        settings = {**self.settings, "gamma": self._gamma(points)}
        variant = VARIANTS[self.variant]
        round_of = variant(points, labels, settings, self.kernel, self.arity)
        self.converged_, before, fed_back = False, None, None
        for iteration in range(self.max_iter):
            fed_back = round_of(fed_back)
            found: Vectors = value_of(fed_back)
            self.n_iter_ = iteration + 1
            self.converged_ = before is not None and np.array_equal(found.indexes, before)
            if self.converged_:
                break
            before = found.indexes
        if not self.converged_ and self.max_iter > 1:
            message = f"the cascade still changed after {self.max_iter} rounds"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        self.support_ = found.indexes
        self.model_ = classifier(found, settings)
        return self

    def _gamma(self, points: fs.Array) -> Any:
        gamma = self.settings.get("gamma", "scale")
        if gamma != "scale":
            return gamma
        sample = np.asarray(points[: int(points.offsets[1])].compute())
        variance = float(sample.var())
        return 1 / (sample.shape[1] * variance) if variance else 1.0

    def predict(self, points: fs.Array | NDArray[np.float64]) -> NDArray[Any]:
        """Return the class of each point, in the points' order."""
        if isinstance(points, fs.Array):
            found: NDArray[Any] = points.map_blocks(predict_block, self.model_).compute()
            return found
        return predict_block(points, self.model_)

    def score(self, points: fs.Array, labels: Any) -> float:
        """Return the share of points whose class is their label."""
        wanted = labels.compute() if isinstance(labels, fs.Array) else labels
        return float(np.mean(self.predict(points) == wanted))


def predict_block(block: NDArray[np.float64], model: Any) -> NDArray[Any]:
    """Return the class of each point of a block."""
    return np.asarray(model.predict(block))
