"""NumPy's protocols on arrays: operators, functions and methods that are computed later.

What they make are expressions of `freestone.lang.arrays`, which stands above this module and
offers itself to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

__all__ = ["ArrayMethods", "Expressions", "offer_expressions"]

_lazily: Callable[[Any], Any] | None = None


def offer_expressions(lazily: Callable[[Any], Any]) -> None:
    """Have arrays call `lazily` for the expression that stands for them."""
    global _lazily
    _lazily = lazily


def expression_of(array: Any) -> Any:
    """Return the expression that stands for an array."""
    if _lazily is None:
        raise TypeError("expressions of arrays need `import freestone as fs` and `fs.Array`")
    return _lazily(array)


_POWERS: dict[Any, Any] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


class ArrayMethods(NDArrayOperatorsMixin):
    """The methods of NumPy's arrays, by its functions, and its operators, by its ufuncs."""

    # Equality is elementwise; arrays are still told apart as objects.
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """Tell whether the only element is true; as NumPy's, an array of several raises."""
        shape: tuple[int | None, ...] = np.shape(self)  # type: ignore[call-overload]
        if None in shape:
            return bool(np.asarray(self))
        if any(side != 1 for side in shape):
            raise ValueError(
                f"the truth of an array of shape {shape} is ambiguous: take any() or all(), or "
                "len() for whether it has rows"
            )
        return bool(np.asarray(self).reshape(())[()])

    def __pow__(self, exponent: Any) -> Any:
        """Raise to a power; as NumPy's operator does, by another function for some exponents."""
        kind = np.asarray(exponent).dtype.kind if type(exponent) in (int, float) else ""
        is_real = self.dtype.kind in "fc"  # type: ignore[attr-defined]
        if (kind == "i" and exponent == 2) or (kind and is_real and exponent in _POWERS):
            return _POWERS[exponent](self)
        return np.power(self, exponent)  # type: ignore[call-overload]

    def sum(self, axis: int | None = None, **options: Any) -> Any:
        """Sum all cells, or along an axis; see `numpy.sum`."""
        return np.sum(self, axis=axis, **options)  # type: ignore[call-overload]

    def prod(self, axis: int | None = None, **options: Any) -> Any:
        """Multiply all cells, or along an axis; see `numpy.prod`."""
        return np.prod(self, axis=axis, **options)  # type: ignore[call-overload]

    def mean(self, axis: int | None = None, **options: Any) -> Any:
        """Return the mean of all cells, or along an axis; see `numpy.mean`."""
        return np.mean(self, axis=axis, **options)  # type: ignore[call-overload]

    def var(self, axis: int | None = None, **options: Any) -> Any:
        """Return the variance of all cells, or along an axis; see `numpy.var`."""
        return np.var(self, axis=axis, **options)  # type: ignore[call-overload]

    def std(self, axis: int | None = None, **options: Any) -> Any:
        """Return the standard deviation of all cells, or along an axis; see `numpy.std`."""
        return np.std(self, axis=axis, **options)  # type: ignore[call-overload]

    def min(self, axis: int | None = None, **options: Any) -> Any:
        """Return the least of all cells, or along an axis; see `numpy.min`."""
        return np.min(self, axis=axis, **options)  # type: ignore[call-overload]

    def max(self, axis: int | None = None, **options: Any) -> Any:
        """Return the greatest of all cells, or along an axis; see `numpy.max`."""
        return np.max(self, axis=axis, **options)  # type: ignore[call-overload]

    def any(self, axis: int | None = None, **options: Any) -> Any:
        """Tell whether any cell is true; see `numpy.any`."""
        return np.any(self, axis=axis, **options)  # type: ignore[call-overload]

    def all(self, axis: int | None = None, **options: Any) -> Any:
        """Tell whether all cells are true; see `numpy.all`."""
        return np.all(self, axis=axis, **options)  # type: ignore[call-overload]

    def dot(self, other: Any) -> Any:
        """Return the matrix product."""
        return np.matmul(self, other)  # type: ignore[call-overload]

    def round(self, decimals: int = 0) -> Any:
        """Round every cell; see `numpy.round`."""
        return np.round(self, decimals)  # type: ignore[call-overload]

    def clip(self, least: Any = None, greatest: Any = None) -> Any:
        """Bound every cell; see `numpy.clip`."""
        return np.clip(self, least, greatest)  # type: ignore[call-overload]

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose, for products such as ``x.T @ y``."""
        return np.transpose(self)  # type: ignore[call-overload]


class Expressions(ArrayMethods):
    """An array whose operators, and NumPy's functions of it, are computed later."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """Compute a ufunc of NumPy's lazily."""
        return expression_of(self).__array_ufunc__(ufunc, method, *args, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Compute a function of NumPy's lazily."""
        return expression_of(self).__array_function__(function, types, args, options)

    def astype(self, dtype: Any) -> Any:
        """Convert every cell."""
        return expression_of(self).astype(dtype)
