"""Lazy matrices, frames, scalars and lists: their operators, and methods that are DaphneLib's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from freestone.lang.daphnelib import graph
from freestone.lang.daphnelib.broadcasting import chosen
from freestone.lang.daphnelib.exchange import table_of
from freestone.lang.daphnelib.indexing import indexed, written
from freestone.lang.daphnelib.lazy import (
    FUSED,
    INTEGERS,
    Lazy,
    as_row,
    beside,
    called,
    extreme,
    lifted,
    numbered,
    operated,
    value_of,
    wrapped,
)
from freestone.lang.daphnelib.reducing import REDUCTIONS, copied, is_taken, mean_method, reduced
from freestone.lang.daphnelib.refusals import refusal
from freestone.lang.daphnelib.truth import is_mask
from freestone.lang.front.builtins import algebra, elementwise
from freestone.lang.front.builtins.aggregation import MEANS
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.dtypes import cell_of
from freestone.lang.front.types.types import CELLS, DTYPES
from freestone.lang.front.ufuncs import COMPARISONS, EXTREMES, NUMBERS, REALS
from freestone.units import numpys_shape

__all__ = ["VIEWS", "Action", "Frame", "List", "Matrix", "Scalar"]

VIEWS: dict[str, Value] = {}
"""The frames that SQL knows, by the names under which they were registered last."""

UFUNCS = {**COMPARISONS, **NUMBERS, **EXTREMES, **REALS, "sign": "sign", "isnan": "isNan"}
"""NumPy's functions of cells, and what they are called here."""

OPERATORS = {
    "matmul": ("__matmul__", "__rmatmul__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "invert": ("__invert__", ""),
}
"""NumPy's functions that are operators: on a value, and with one on the right."""

OF_NUMBERS = {name: f"np.logical_{name}(x, y)" for name in ("and", "or")}
OF_NUMBERS["xor"] = "(x != 0) ^ (y != 0)"
"""What is written instead of operators of truth values."""

CLIPPING = frozenset({"min", "max", "a_min", "a_max", "out"})
"""Keywords of ``np.clip``: those of two versions of the array API."""

LAZY = ("matmul", "transpose", "where", "clip", "reshape", *REDUCTIONS, *UFUNCS)


class Action(Lazy, data="nothing"):
    """Something that happens when it is computed: printing, writing."""


class Operand(Lazy):
    """A matrix or a scalar: what has operators."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **keywords: Any) -> Any:
        """Compute a function of NumPy's lazily; at once, if it writes into an array of NumPy's."""
        name = ufunc.__name__
        if method == "at" and not isinstance(args[0], Lazy):
            return ufunc.at(args[0], *(np.asarray(arg) for arg in args[1:]))
        if method != "__call__":
            raise refusal(name, LAZY, method=method, args=args, keywords=keywords)
        if ufunc.nout == 1 and _is_into_array(*keywords.get("out", ())) and len(keywords) == 1:
            return _written(keywords["out"][0], self.__array_ufunc__(ufunc, method, *args))
        if not keywords and name in OPERATORS:
            left, *right = args
            way, reflected = OPERATORS[name]
            if isinstance(left, Operand):
                return getattr(left, way)(*right)
            return getattr(right[0], reflected)(left)
        if keywords or name not in UFUNCS:
            raise refusal(name, LAZY, args=args, keywords=keywords)
        return extreme(EXTREMES[name], *args) if name in EXTREMES else operated(UFUNCS[name], *args)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        """Compute a reduction of NumPy's, or its ``where`` and ``transpose``, lazily."""
        name = function.__name__
        if name in ("shape", "size", "ndim") and len(args) == 1 and not keywords:
            return getattr(args[0], name)
        if name == "transpose" and len(args) == 1:
            return called("t", args, {})
        if name == "where" and len(args) == 3:
            return _chosen(*args)
        if name == "reshape" and len(args) == 2 and not keywords:
            return called("reshape", args, {})
        if name == "clip" and keywords.keys() <= CLIPPING and len(args) <= 4:
            return _clipped(*args, **keywords)
        if name in REDUCTIONS and is_taken(keywords) and len(args) <= 2:
            return reduced(name, *args, **keywords)
        raise refusal(name, LAZY, args=args, keywords=keywords, reduces=name in REDUCTIONS)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """Compute, for ``np.asarray`` and the like."""
        data = self.compute()
        data = data.toarray() if hasattr(data, "toarray") else data
        return np.array(data, dtype, copy=True if copy else None)

    def __add__(self, other: Any) -> Any:
        return operated("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return operated("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return operated("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return operated("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return operated("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return operated("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return operated("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return operated("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return operated("pow", self, other)

    def __mod__(self, other: Any) -> Any:
        return operated("mod", self, other)

    def __rpow__(self, other: Any) -> Any:
        return operated("pow", other, self)

    def __rmod__(self, other: Any) -> Any:
        return operated("mod", other, self)

    def __and__(self, other: Any) -> Any:
        return self._of_truth("and", "&", other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return self._of_truth("or", "|", other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return self._of_truth("xor", "^", other)

    __rxor__ = __xor__

    def __invert__(self) -> Any:
        if not is_mask(self._value):
            raise TypeError(f"~x takes truth values, as ~(x > 1), not a {self._value.type}")
        return operated("eq", self, False)

    def _of_truth(self, name: str, sign: str, other: Any) -> Any:
        values = [self._value, beside(other, self)._value]
        if not all(is_mask(value) or value.type.cell == "bool" for value in values):
            types = " and a ".join(str(value.type) for value in values)
            raise TypeError(
                f"{sign} takes truth values, as (x > 1) {sign} (x < 3), not a {types}; of other "
                f"numbers {OF_NUMBERS[name]} tells which are not 0"
            )
        return operated("neq" if name == "xor" else name, self, other)

    def __floordiv__(self, other: Any) -> Any:
        raise refusal("floor_divide", LAZY, args=(self,))

    __rfloordiv__ = __floordiv__

    def __pos__(self) -> Self:
        return self

    def __abs__(self) -> Any:
        return operated("abs", self)

    def __neg__(self) -> Any:
        return operated("minus", self)

    def __lt__(self, other: Any) -> Any:
        return operated("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return operated("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return operated("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return operated("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return operated("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return operated("neq", self, other)

    __hash__ = Lazy.__hash__


def _chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """Make the cells of one value where a condition is not 0, and of another where it is."""
    args = (condition, then, otherwise)
    # What an array of one dimension is decides the first matrix that it is given with.
    partner = next((arg for arg in args if isinstance(arg, Matrix)), None)
    values = [beside(arg, partner)._value for arg in (condition, *_parts(then, otherwise))]
    return wrapped(chosen(graph.emitter(), *values))


def _parts(then: Any, otherwise: Any) -> Iterator[Any]:
    """Yield what is chosen between, an integer as it fits to what is on the other side."""
    for part, other in ((then, otherwise), (otherwise, then)):
        if isinstance(part, INTEGERS) and isinstance(other, Lazy):
            yield wrapped(numbered("where", other._value, part)[2])
        else:
            yield part


def _product(left: Lazy, right: Lazy) -> Any:
    if isinstance(left, Scalar) or isinstance(right, Scalar):
        raise ValueError("@ takes matrices on both sides; x * 2 multiplies by a number")
    return wrapped(algebra.product(graph.emitter(), left._value, right._value))


def _clipped(
    value: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
) -> Any:
    """Limit elements by what either pair of NumPy's keywords gives."""
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ValueError("np.clip takes a_min= and a_max=, or min= and max=, not both")
    least, most = a_min if min is None else min, a_max if max is None else max
    made = value if least is None else extreme("max", value, least)
    made = made if most is None else extreme("min", made, most)
    if out is None:
        return made
    if not _is_into_array(out):
        raise refusal("clip", LAZY, args=(value,), keywords={"out": out})
    return _written(out, made)


def _is_into_array(out: Any = None) -> bool:
    return isinstance(out, np.ndarray)


def _written(out: np.ndarray[Any, Any], made: Lazy) -> np.ndarray[Any, Any]:
    """Compute a value into an array of NumPy's, as ``out += x`` does."""
    data = np.asarray(made)
    is_truth = out.dtype == bool and is_mask(made._value)
    return copied(out, data.astype(bool) if is_truth else data)


class Table(Lazy):
    """A matrix or a frame: what has rows and columns."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Rows and columns; NaN where they are known only when it is computed, as in Dask."""
        return numpys_shape((self._value.type.rows, self._value.type.columns))

    def __len__(self) -> int:
        rows = self._value.type.rows
        if rows is None:
            raise TypeError("how many rows there are is known only when it is computed: x.nrow()")
        return rows

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows, if it is known how many there are."""
        return (self[at] for at in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return wrapped(indexed(graph.emitter(), self._value, key, value_of))

    def order(self, *words: Any, **keywords: Any) -> Any:
        """Sort rows by columns: ``order([0, 1], [True, False], False)``, or without the lists.

        Parameters
        ----------
        colIdxs, ascs : list
            The columns, and for each whether its values ascend.
        returnIndexes : bool
            Whether to give the positions of rows instead of rows.
        """
        named = [keywords.pop(name) for name in ("colIdxs", "ascs") if name in keywords]
        last = [keywords.pop("returnIndexes")] if "returnIndexes" in keywords else []
        return called("order", (self, *words, *named, *last), keywords)


class Matrix(Table, Operand, data="matrix"):
    """A lazy matrix."""

    ndim = 2

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in MEANS and 0 in (self._value.type.rows, self._value.type.columns):
            return functools.partial(mean_method, name, self)
        return super().__getattr__(name)

    @property
    def size(self) -> Any:
        """How many elements there are; NaN where that is known only when it is computed."""
        rows, columns = self.shape
        return rows * columns

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of the elements."""
        return np.dtype(DTYPES[self._value.type.cell])

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose."""
        return called("t", (self,), {})

    def clip(self, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
        """Limit elements from below and above, as ``np.clip`` does."""
        return _clipped(self, min, max, out)

    def __matmul__(self, other: Any) -> Any:
        return _product(self, lifted(as_row(other, 1)))

    def __rmatmul__(self, other: Any) -> Any:
        return _product(lifted(as_row(other, None)), self)

    def __setitem__(self, key: Any, part: Any) -> None:
        """Write cells; values that were made of this matrix before keep the old ones."""
        self._value = written(graph.emitter(), self._value, key, part, value_of)

    def asType(self, dtype: Any = None, vtype: Any = None) -> Any:  # noqa: N802 - DaphneLib's name
        """Convert the cells, to ``f32`` for example.

        Parameters
        ----------
        dtype
            DaphneLib's data type, "matrix" or "frame"; or the type of the cells.
        vtype
            The type of the cells, as the language calls it or as a dtype of NumPy's.
        """
        if dtype is not None and dtype not in ("matrix", "frame"):
            dtype, vtype = None, dtype
        cell = None if vtype is None else _cell(vtype)
        return wrapped(elementwise.cast(graph.emitter(), self._value, dtype, cell))

    def ifElse(self, thenVal: Any, elseVal: Any) -> Any:  # noqa: N802, N803 - DaphneLib's names
        """Take cells of one where this is not 0, and of the other where it is."""
        return _chosen(self, thenVal, elseVal)

    def __dlpack__(self, **options: Any) -> Any:
        """Compute, and hand the cells out without a copy: ``torch.from_dlpack(matrix)``."""
        data = self._dense()
        return data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def _dense(self) -> np.ndarray[Any, Any]:
        data = self.compute()
        if not isinstance(data, np.ndarray):
            raise BufferError("DLPack has no CSR; call compute() for it")
        # What can only be read can't be told to be so by all versions of DLPack.
        return data if data.flags.writeable else data.copy()


class Scalar(Operand, data="scalar"):
    """A lazy number, truth value or string."""

    def __float__(self) -> float:
        """Compute; so that ``np.array([x.sum(), y.sum()])`` is an array of numbers."""
        return float(self.compute())

    def __int__(self) -> int:
        """Compute."""
        return int(self.compute())


class Frame(Table, data="frame"):
    """A lazy frame."""

    def toMatrix(self, value_type: Any = "f64") -> Any:  # noqa: N802 - DaphneLib's name
        """Convert all columns to one type; None: to the most general of theirs."""
        cell = None if value_type is None else _cell(value_type)
        return wrapped(elementwise.cast(graph.emitter(), self._value, "matrix", cell))

    def registerView(self, table_name: str) -> Frame:  # noqa: N802 - DaphneLib's name
        """Make the frame known to ``DaphneContext.sql``, in place of an earlier one of the name."""
        VIEWS[table_name] = self._value
        return self

    def setColLabels(self, labels: Any, *more: str) -> Any:  # noqa: N802 - DaphneLib's name
        """Give the columns other labels."""
        return called("setColLabels", (self, labels, *more), {})

    def to_arrow(self) -> Any:
        """Compute, and make a table of Arrow's; columns of numbers are not copied."""
        made, _ = graph.run(self._value, FUSED)
        return table_of(made)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Compute, for what takes Arrow's streams: Polars, DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class List(Lazy, data="list"):
    """A lazy list."""


def _cell(word: Any) -> str:
    if isinstance(word, str) and word in CELLS:
        return word
    return cell_of(np.dtype(word))
