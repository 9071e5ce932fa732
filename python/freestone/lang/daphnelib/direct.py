"""NumPy's functions that give what an operation's kernel gives, for operands of its types.

A kernel looks at what it is given: whether shapes go together, what has to be converted, what may
be written over. Types say all of it beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES, Type, is_float
from freestone.lang.run.kernels.elementwise import BINARY, UNARY, in_one_pass
from freestone.lang.run.kernels.memory import FROM
from freestone.lang.run.kernels.shapes import sorted_places

__all__ = ["function_of", "is_quiet"]

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

NUMBERS: dict[str, np.ufunc] = {"add": np.add, "sub": np.subtract, "mul": np.multiply}
COMPARISONS: dict[str, np.ufunc] = {
    "eq": np.equal,
    "neq": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
REDUCTIONS: dict[str, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}
QUIET = frozenset({"minus", "abs", "round", "isNan"})
IN_ONE_PASS = frozenset({*COMPARISONS, "min", "max"})
MOVES = frozenset({"transpose", "reverse", "reshape", "index", "diag_vector", "cbind", "rbind"})
MOVES |= {"fill", "index_row", "index_col", "order"}
"""Operations that compute nothing."""
AXES = {"agg_all": None, "agg_row": 1, "agg_col": 0}


def function_of(op: Op) -> Function | None:
    """Return the function that an operation is of operands of its types.

    Parameters
    ----------
    op : Op
        An operation on dense matrices and scalars.

    Returns
    -------
    callable, or None
        It takes the operands, and its result is in memory of its own. None where a kernel has to
        look at the operands.
    """
    find = _FINDERS.get(op.kind)
    return None if find is None else find(op, op.results[0].type, *(v.type for v in op.operands))


def is_quiet(op: Op, types: Sequence[Type]) -> bool:
    """Tell whether NumPy has nothing to warn of in an operation's function, for any elements."""
    name = op.attrs.get("name")
    if op.kind in MOVES:
        return True
    if op.kind == "binary" and name in IN_ONE_PASS:
        # By the engine, if no side is repeated.
        one, other = types
        return one.data == other.data and (one.rows, one.columns) == (other.rows, other.columns)
    return name in QUIET or not any(is_float(type.cell) for type in (op.results[0].type, *types))


def _binary(op: Op, result: Type, left: Type, right: Type) -> Function | None:
    name, cell = op.attrs["name"], op.attrs["cell"]
    if not _is_plain(result, cell) or not _fit(result, left, right):
        return None
    if not all(_is_side(side, cell) for side in (left, right)):
        return None
    if name in COMPARISONS:
        return _compared(name, DTYPES[result.cell])
    if name in ("min", "max") and right.data == "matrix":
        return BINARY[name]
    if name == "div" and is_float(cell):
        return np.divide
    return NUMBERS.get(name)


def _fit(result: Type, left: Type, right: Type) -> bool:
    """Tell whether sides are of the result's shape; on the right, one row or column is as well."""
    shape = result.rows, result.columns
    if None in shape:
        return False
    if left.data == "matrix" and (left.rows, left.columns) != shape:
        return False
    fitting = (shape, (1, shape[1]), (shape[0], 1))
    return right.data == "scalar" or (right.rows, right.columns) in fitting


def _is_side(side: Type, cell: str) -> bool:
    # Python's floats take the type of the other side; its integers may not fit into it.
    return side.cell == cell and (side.data == "matrix" or is_float(cell))


def _is_plain(result: Type, cell: str) -> bool:
    return result.data == "matrix" and result.cell == cell and cell not in ("bool", "str")


def _unary(op: Op, result: Type, arg: Type) -> Function | None:
    name = op.attrs["name"]
    if not (_is_plain(result, arg.cell) and is_float(arg.cell)) or name not in UNARY:
        return None
    return UNARY[name]


def _compared(name: str, dtype: str) -> Function:
    compare = COMPARISONS[name]

    def compared(left: Any, right: Any) -> Array:
        found = in_one_pass(name, left, right)
        return compare(left, right).astype(dtype) if found is None else found

    return compared


def _cast(op: Op, result: Type, arg: Type) -> Function | None:
    if not _is_plain(result, result.cell) or arg.cell == "str":
        return None
    if is_float(arg.cell) and not is_float(result.cell):
        # What is no number of the other type is converted in a way of its own.
        return None
    dtype = DTYPES[result.cell]
    return lambda value: value.astype(dtype)


def _aggregate(op: Op, result: Type, arg: Type) -> Function | None:
    ufunc = REDUCTIONS.get(op.attrs["name"])
    if ufunc is None or result.cell != arg.cell or arg.cell in ("bool", "str"):
        return None
    reduce, axis, dtype = ufunc.reduce, AXES[op.kind], np.dtype(DTYPES[result.cell])
    if axis is None:
        return lambda value: reduce(value, axis=None, dtype=dtype).item()
    return lambda value: reduce(value, axis=axis, dtype=dtype, keepdims=True)


def _product(op: Op, result: Type, left: Type, right: Type) -> Function | None:
    same = left.cell == right.cell == result.cell
    known = left.columns is not None and left.columns == right.rows
    return np.matmul if same and known and is_float(result.cell) else None


def _transpose(op: Op, result: Type, arg: Type) -> Function:
    return attrgetter("T")


def _reverse(op: Op, result: Type, arg: Type) -> Function:
    return itemgetter(slice(None, None, -1))


def _reshape(op: Op, result: Type, arg: Type, *sides: Type) -> Function | None:
    shape = _shape(result)
    return None if shape is None else lambda value, *_: value.reshape(shape)


def _shape(type: Type) -> tuple[int, int] | None:
    if type.rows is None or type.columns is None:
        return None
    return type.rows, type.columns


def _index(op: Op, result: Type, arg: Type, *sides: Type) -> Function | None:
    if op.attrs["kinds"] != ("range", "all"):
        return None

    def rows(value: Array, begin: Any, end: Any) -> Array:
        if not 0 <= begin <= end <= len(value):
            # Negative ones count from the end: the kernel counts, or says what is wrong.
            raise IndexError
        return value[begin:end]

    return rows


def _diagonal(op: Op, result: Type, arg: Type) -> Function | None:
    if _shape(result) is None or arg.rows != arg.columns:
        return None
    return lambda value: value.diagonal()[:, None].copy()


def _order(op: Op, result: Type, arg: Type, *rest: Type) -> Function | None:
    if len(rest) != 2 or op.attrs["indexes"] or arg.cell == "str":
        return None

    def ordered(value: Array, column: Any, ascending: Any) -> Array:
        # Whole rows, one after the other: an index of an array's is slower.
        return value.take(sorted_places(value[:, int(column)], bool(ascending)), 0)

    return ordered


def _joined(op: Op, result: Type, left: Type, right: Type) -> Function | None:
    if left.cell != right.cell or (result.nbytes or FROM) >= FROM:
        return None
    side, other = ("rows", 1) if op.kind == "cbind" else ("columns", 0)
    if getattr(left, side) != getattr(right, side):
        return None
    join = np.concatenate
    return lambda one, two: join((one, two), other)


def _filled(op: Op, result: Type, value: Type, *sides: Type) -> Function | None:
    shape = _shape(result)
    if shape is None or value.cell != result.cell or (result.nbytes or FROM) >= FROM:
        return None
    dtype = np.dtype(DTYPES[result.cell])

    def filled(value: Any, *_: Any) -> Array:
        out = np.empty(shape, dtype)
        out.fill(value)
        return out

    return None if dtype.hasobject else filled


def _extreme_places(op: Op, result: Type, arg: Type) -> Function | None:
    if not (arg.rows and arg.columns) or arg.cell in ("bool", "str"):
        return None
    axis = 1 if op.kind == "index_row" else 0
    if op.attrs["name"] == "min":
        return lambda value: value.argmin(axis, keepdims=True).view("u8")
    return lambda value: value.argmax(axis, keepdims=True).view("u8")


_FINDERS: dict[str, Callable[..., Function | None]] = {
    "transpose": _transpose,
    "reverse": _reverse,
    "reshape": _reshape,
    "index": _index,
    "diag_vector": _diagonal,
    "order": _order,
    "cbind": _joined,
    "rbind": _joined,
    "fill": _filled,
    "index_row": _extreme_places,
    "index_col": _extreme_places,
    "binary": _binary,
    "unary": _unary,
    "cast": _cast,
    "agg_all": _aggregate,
    "agg_row": _aggregate,
    "agg_col": _aggregate,
    "matmul": _product,
}
