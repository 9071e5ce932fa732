"""NumPy's protocols on arrays: operators, functions and methods that are computed later.

What they make are expressions of `freestone.lang.arrays`, which stands above this module and
offers itself to it.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from freestone.errors.habits import OF_ARRAY, missing_attribute
from freestone.units import is_unknown

__all__ = ["ArrayMethods", "Expressions", "NoLoopError", "offer_expressions"]


class NoLoopError(TypeError):
    """The error of `numpy.equal` and `not_equal` of types that only operators compare.

    Those are texts and numbers, for example, and records.
    """


_lazily: Callable[[Any], Any] | None = None


def offer_expressions(lazily: Callable[[Any], Any]) -> None:
    """Have arrays call `lazily` for the expression that stands for them."""
    global _lazily
    _lazily = lazily


def expression_of(array: Any) -> Any:
    """Return the expression that stands for an array."""
    if _lazily is None:
        # An array that came from another process was not made by way of the package's door, which
        # loads expressions beside it.
        _ = importlib.import_module("freestone").Array
    assert _lazily is not None
    return _lazily(array)


_POWERS: dict[Any, Any] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal, 1: np.positive}


def _by_function(name: str) -> Callable[..., Any]:
    """Make the method that is NumPy's function of the same name."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return getattr(np, name)(self, *args, **options)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"See `numpy.{name}`."
    return method


def _in_place(name: str) -> Callable[..., Any]:
    """Make the operator that calls a result by the name of its left side.

    As NumPy's, it keeps the shape and the type, and raises `TypeError` where that takes a cast
    to another kind, and `ValueError` where the result has another shape.
    """

    def method(self: Any, other: Any) -> Any:
        made = getattr(self, f"__{name}__")(other)
        if made is NotImplemented:
            return made
        shape = self.shape
        if is_unknown(*shape) and not is_unknown(*made.shape):
            shape = self.to_array().shape
        if made.shape != shape:
            raise ValueError(
                f"an array of shape {shape} can't become one of shape {made.shape} in place; "
                "give the result a name"
            )
        return made if made.dtype == self.dtype else made.astype(self.dtype, casting="same_kind")

    method.__name__ = method.__qualname__ = f"__i{name}__"
    return method


def _is_none(array: Any) -> Any:
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.full_like(array, False, dtype=bool)


class ArrayMethods(NDArrayOperatorsMixin):
    """The methods of NumPy's arrays, by its functions, and its operators, by its ufuncs."""

    if not TYPE_CHECKING:  # else a checker would find no mistake in names

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                # Libraries ask for names of protocols, often, and read no words.
                raise AttributeError(f"an Array has no attribute {name!r}", name=name, obj=self)
            raise missing_attribute("an Array", name, self, OF_ARRAY)

    def to_dask(self) -> Any:
        """Return a ``dask.array`` of it."""
        raise NotImplementedError

    def _sources(self) -> Iterator[Any]:
        """Yield the arrays in blocks that it is made of."""
        raise NotImplementedError

    # Blocks are not written into: `x += 1` makes another array of the same type and calls it x.
    __iadd__ = _in_place("add")
    __isub__ = _in_place("sub")
    __imul__ = _in_place("mul")
    __imatmul__ = _in_place("matmul")
    __itruediv__ = _in_place("truediv")
    __ifloordiv__ = _in_place("floordiv")
    __imod__ = _in_place("mod")
    __ipow__ = _in_place("pow")
    __ilshift__ = _in_place("lshift")
    __irshift__ = _in_place("rshift")
    __iand__ = _in_place("and")
    __ixor__ = _in_place("xor")
    __ior__ = _in_place("or")

    # Equality is elementwise; arrays are still told apart as objects.
    __hash__ = object.__hash__

    def __eq__(self, other: Any) -> Any:
        """Compare every cell; None equals none but missing times, and a text no number."""
        if other is None:
            return _is_none(self)
        try:
            return super().__eq__(other)
        except NoLoopError:
            return self._compared(operator.eq, other)

    def __ne__(self, other: Any) -> Any:
        """Compare every cell; None equals none but missing times, and a text no number."""
        if other is None:
            return np.logical_not(_is_none(self))
        try:
            return super().__ne__(other)
        except NoLoopError:
            return self._compared(operator.ne, other)

    def _compared(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        """Compare every cell by an operator of which NumPy has no ufunc for the types."""
        raise NotImplementedError

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        """Compute it for libraries that take Arrow's arrays, such as polars: one dimension."""
        import pyarrow as pa

        return pa.array(np.asarray(self)).__arrow_c_array__(requested_schema)

    def __bool__(self) -> bool:
        """Tell whether the only element is true; as NumPy's, an array of several raises."""
        shape: tuple[int, ...] = np.shape(self)  # type: ignore[call-overload]
        if is_unknown(*shape):
            return bool(np.asarray(self))
        if any(side != 1 for side in shape):
            raise ValueError(
                f"the truth of an array of shape {shape} is ambiguous: take any() or all(), or "
                "len() for whether it has rows"
            )
        return bool(np.asarray(self).reshape(())[()])

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def _number(self) -> Any:
        """Return the only element, however many axes of one there are, as Dask does."""
        shape = np.shape(self)  # type: ignore[call-overload]
        if any(side != 1 and not is_unknown(side) for side in shape):
            raise TypeError(
                f"an array of shape {shape} is no number; take one element, as in x[0].item(), or "
                "x.astype(...) for all"
            )
        found = np.asarray(self)
        if found.size != 1:
            raise TypeError(f"an array of shape {found.shape} is no number; a mask chose its rows")
        return found.reshape(())[()]

    def __contains__(self, value: object) -> bool:
        """Tell whether any element equals a value, as NumPy's arrays do."""
        return bool(np.any(self == value))

    def __pow__(self, exponent: Any) -> Any:
        """Raise to a power; as NumPy's operator does, by another function for some exponents."""
        kind = np.asarray(exponent).dtype.kind if type(exponent) in (int, float) else ""
        is_real = self.dtype.kind in "fc"  # type: ignore[attr-defined]
        # The square of a truth value alone is of another type than those of an array's.
        is_truth = self.dtype.kind == "b" and not np.ndim(self)  # type: ignore[attr-defined,arg-type]
        has_square = kind == "i" and exponent == 2 and not is_truth
        if has_square or (kind and is_real and exponent in _POWERS):
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
        """Return the matrix product; see `numpy.dot`."""
        return np.dot(self, other)  # type: ignore[call-overload]

    def round(self, decimals: int = 0) -> Any:
        """Round every cell; see `numpy.round`."""
        return np.round(self, decimals)  # type: ignore[call-overload]

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Bound every cell; see `numpy.clip`."""
        return np.clip(self, min, max)  # type: ignore[call-overload]

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """Take the rows, or others of an axis, for which a condition is true."""
        return np.compress(condition, self, axis=axis)  # type: ignore[call-overload]

    argmax = _by_function("argmax")
    argmin = _by_function("argmin")
    argsort = _by_function("argsort")
    choose = _by_function("choose")
    cumprod = _by_function("cumprod")
    cumsum = _by_function("cumsum")
    diagonal = _by_function("diagonal")
    flatten = ravel = _by_function("ravel")
    nonzero = _by_function("nonzero")
    repeat = _by_function("repeat")
    searchsorted = _by_function("searchsorted")
    squeeze = _by_function("squeeze")
    swapaxes = _by_function("swapaxes")
    take = _by_function("take")
    trace = _by_function("trace")

    def reshape(self, *shape: Any, **options: Any) -> Any:
        """Give it another shape: a tuple, or sizes one by one; see `numpy.reshape`."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, **options)  # type: ignore[call-overload]

    def transpose(self, *axes: Any) -> Any:
        """Permute the axes: a tuple, or numbers one by one; see `numpy.transpose`."""
        given = axes[0] if len(axes) == 1 else axes
        return np.transpose(self, given or None)  # type: ignore[call-overload]

    def conj(self) -> Any:
        """Return the complex conjugate; of what is not complex, the array itself."""
        is_real = self.dtype.kind in "biuf"  # type: ignore[attr-defined]
        return self if is_real else np.conjugate(self)  # type: ignore[call-overload]

    conjugate = conj

    def copy(self, order: str = "C") -> Any:
        """Return the array itself, since blocks can't be written into."""
        return self

    def item(self, *index: Any) -> Any:
        """Return an element as a number of Python's: the only one, or that at an index.

        As of NumPy's arrays, one number counts the elements of all axes.
        """
        if index and isinstance(index[0], tuple):
            (index,) = index
        shape: tuple[int, ...] = np.shape(self)  # type: ignore[call-overload]
        if is_unknown(*shape):
            return np.asarray(self).item(*index)
        if len(index) == 1 and len(shape) != 1:
            number, size = operator.index(index[0]), math.prod(shape)
            if not -size <= number < size:
                raise IndexError(f"index {number} is out of bounds for size {size}")
            index = np.unravel_index(number % size, shape)
        return np.asarray(self[index] if index else self).item()  # type: ignore[index]

    def tolist(self) -> Any:
        """Return all elements here, as nested lists of numbers of Python's."""
        return np.asarray(self).tolist()

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self.dtype.itemsize)  # type: ignore[attr-defined]

    @property
    def size(self) -> int:
        """How many elements it has; NaN where a mask decides, and nothing is computed yet."""
        size: int = np.size(self)  # type: ignore[arg-type]
        return size if is_unknown(size) else int(size)

    @property
    def real(self) -> Any:
        """The real part; see `numpy.real`."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part; see `numpy.imag`."""
        return np.imag(self)

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose, for products such as ``x.T @ y``."""
        return np.transpose(self)  # type: ignore[call-overload]


class Expressions(ArrayMethods):
    """An array whose operators, and NumPy's functions of it, are computed later."""

    def _sources(self) -> Iterator[Any]:
        yield self

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        """Compute a ufunc of NumPy's lazily."""
        return expression_of(self).__array_ufunc__(ufunc, method, *args, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """Compute a function of NumPy's lazily."""
        return expression_of(self).__array_function__(function, types, args, options)

    def _compared(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        return expression_of(self)._compared(operation, other)

    def astype(self, dtype: Any, **options: Any) -> Any:
        """Convert every cell; see `numpy.ndarray.astype`."""
        return expression_of(self).astype(dtype, **options)
