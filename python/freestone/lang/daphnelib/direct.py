"""NumPy's functions that give what an operation's kernel gives, for operands of its types.

A kernel looks at what it is given: whether shapes go together, what has to be converted, what may
be written over. Types say all of it beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES, Type, is_float
from freestone.lang.run.kernels.elementwise import BINARY, UNARY, in_one_pass

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


_FINDERS: dict[str, Callable[..., Function | None]] = {
    "binary": _binary,
    "unary": _unary,
    "cast": _cast,
    "agg_all": _aggregate,
    "agg_row": _aggregate,
    "agg_col": _aggregate,
    "matmul": _product,
}
