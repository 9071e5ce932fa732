"""Elementwise operations on matrices, with NumPy; scalars do without it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from freestone._native.vector import map_one, map_two, run_pipeline
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types import scalars
from freestone.lang.front.types.types import CODES, DTYPES, is_float
from freestone.lang.run.kernels.memory import empty, plain
from freestone.lang.run.kernels.quiet import quietly
from freestone.lang.settings import Settings

Array = np.ndarray[Any, Any]
ALONE = 3
"""References to an operand that nobody else holds: a name, the arguments, getrefcount's own."""
IN_THIS_THREAD = Settings(num_threads=1)
COMPARED = {"eq", "neq", "lt", "le", "gt", "ge"}
_CODES = {np.dtype(DTYPES[cell]): code for cell, code in CODES.items()}


def _int_divide(left: Array, right: Array) -> Array:
    _check_divisor(right)
    # One of all pairs overflows, and wraps around as it does in compiled code.
    return (left - np.fmod(left, right)) // right


def _int_modulo(left: Array, right: Array) -> Array:
    _check_divisor(right)
    return np.fmod(left, right)


def _check_divisor(right: Array) -> None:
    if np.any(np.equal(right, 0)):
        raise scalars.DivisionError


def _int_power(left: Array, right: Array) -> Array:
    if np.any(np.less(right, 0)):
        with np.errstate(all="ignore"):
            return np.asarray(np.trunc(np.power(left.astype("f8"), right.astype("f8"))))
    return np.power(left, right)


def in_one_pass(name: str, left: Any, right: Any) -> Array | None:
    """Compute an operation for which NumPy needs several passes, by a loop of the engine's.

    Returns
    -------
    ndarray or None
        Of the sides' type, comparisons as well. None unless they are of one shape and one type of
        the engine's.
    """
    if not (isinstance(left, np.ndarray) and isinstance(right, np.ndarray)):
        return None
    code = _CODES.get(left.dtype)
    if code is None or left.dtype != right.dtype or left.shape != right.shape:
        return None
    out = np.empty(left.shape, left.dtype)
    map_two(name, code, plain(left), plain(right), out)
    return out


def _smaller(left: Array, right: Array) -> Array:
    found = in_one_pass("min", left, right)
    return np.where(np.less(right, left), right, left) if found is None else found


def _larger(left: Array, right: Array) -> Array:
    found = in_one_pass("max", left, right)
    return np.where(np.greater(right, left), right, left) if found is None else found


def _logarithm(value: Any) -> Any:
    """Return natural logarithms; of negative numbers -nan, as of scalars and in fused pipelines.

    NumPy's own loops have nan or -nan for those, by the processor.
    """
    found = np.log(value)
    negative = np.less(value, 0)
    if np.any(negative):
        found = np.where(negative, np.copysign(found, -1), found)
    return found


BINARY: dict[str, Callable[[Any, Any], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "mod": np.fmod,
    "pow": np.power,
    "log": lambda left, right: _logarithm(left) / _logarithm(right),
    "min": _smaller,
    "max": _larger,
    "eq": np.equal,
    "neq": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "and": lambda left, right: np.not_equal(left, 0) & np.not_equal(right, 0),
    "or": lambda left, right: np.not_equal(left, 0) | np.not_equal(right, 0),
    "concat": np.add,
    "like": np.frompyfunc(scalars.like, 2, 1),
}
WHOLE: dict[str, Callable[[Any, Any], Array]] = {
    "div": _int_divide,
    "mod": _int_modulo,
    "pow": _int_power,
}
TRUTH: dict[str, Callable[[Any, Any], Array]] = {
    "sub": lambda left, right: left.astype("i8") - right.astype("i8"),
    "div": lambda left, right: _int_divide(left.astype("i8"), right.astype("i8")),
    "mod": lambda left, right: _int_modulo(left.astype("i8"), right.astype("i8")),
    "pow": lambda left, right: left.astype("i8") ** right.astype("i8"),
}


def converted(value: Any, cell: str) -> Any:
    """Convert a scalar or a matrix to other cells, as compiled code does."""
    dtype = DTYPES[cell]
    if not isinstance(value, np.ndarray):
        if cell == "str":
            return np.array(scalars.text_of(value), object)
        return np.dtype(dtype).type(scalars.wrapped(cell, value))
    if value.dtype == dtype:
        return value
    if cell == "str":
        texts = [scalars.text_of(item) for item in value.ravel().tolist()]
        return np.array(texts, object).reshape(value.shape)
    if value.dtype == object:
        numbers = [scalars.number_of(item, cell) for item in value.ravel().tolist()]
        return np.array(numbers, dtype).reshape(value.shape)
    with np.errstate(all="ignore"):
        if cell == "bool" or not (value.dtype.kind == "f" and dtype[:3] in ("int", "uin")):
            return value.astype(dtype)
        return _truncated(value, np.dtype(dtype))


def _truncated(value: Array, dtype: np.dtype[Any]) -> Array:
    """Convert floats to integers, in one pass: by way of the nearest ``si64``, and NaN to 0."""
    out = np.empty(value.shape, dtype)
    if value.size:
        given = (_CODES[value.dtype], "full", plain(value), 0.0, 0)
        cast, kept = ("cast", "", _CODES[dtype], [0]), ("store", "", 1, out)
        run_pipeline((value.size, 1), [given], None, [cast], [kept], IN_THIS_THREAD)
    return out


def binary(run: Any, op: Op, left: Any, right: Any) -> Any:
    """Compute cell by cell; one row or one column on the right broadcasts."""
    cell, result = op.attrs["cell"], op.results[0].type
    if result.data == "scalar":
        return scalars.binary(op.attrs["name"], cell, left, right, result.cell)
    fit(op, left, right)
    over = op.attrs.get("over")
    target = None
    if over is not None:
        operand = right if over else left
        # It has one more name here.
        if sys.getrefcount(operand) <= ALONE + 1 and _is_own(operand):
            target = operand
    return computed(op.attrs["name"], cell, left, right, result.cell, target)


def _is_own(operand: Any) -> bool:
    return isinstance(operand, np.ndarray) and operand.base is None and operand.flags.writeable


def computed(
    name: str, cell: str, left: Any, right: Any, result: str, target: Array | None = None
) -> Array:
    """Compute a binary operation whose sides fit; over `target` where NumPy can."""
    one, other = converted(left, cell), converted(right, cell)
    table = TRUTH if cell == "bool" else BINARY if is_float(cell) or cell == "str" else WHOLE
    compute = table.get(name, BINARY[name])
    if name in COMPARED and result == cell:
        found = in_one_pass(name, one, other)
        if found is not None:
            return found
    fits = target is not None and target.dtype == DTYPES[result] == DTYPES[cell]
    if fits and isinstance(compute, np.ufunc) and name not in COMPARED:
        return np.asarray(quietly(compute, one, other, target))
    out: Array = quietly(compute, one, other)
    if cell == "str" and result != "str":
        return out.astype(DTYPES[result])
    return out if out.dtype == DTYPES[result] else np.asarray(converted(out, result))


def fit(op: Op, left: Any, right: Any) -> None:
    """Check that two sides have shapes that go together."""
    one, other = np.shape(left), np.shape(right)
    if not one or not other or one == other:
        return
    row = other[0] == 1 and other[1] == one[1]
    column = other[1] == 1 and other[0] == one[0]
    if not row and not column:
        raise ValueError(
            f"{op.attrs['name']} of a {one[0]}x{one[1]} and a {other[0]}x{other[1]} matrix: "
            "the right one has to be of the same shape, one row or one column"
        )


def _rounded(value: Array) -> Array:
    return _mapped("round", value)


def is_nan(value: Array) -> Array:
    """Return 1 for each NaN and 0 for all else, of the type of what is looked at."""
    return _mapped("isNan", value)


def _mapped(name: str, value: Array) -> Array:
    """Compute an operation for which NumPy needs several passes, by a loop of the engine's."""
    out = np.empty(value.shape, value.dtype)
    map_one(name, _CODES[value.dtype], plain(value), out)
    return out


UNARY: dict[str, Callable[[Any], Array]] = {
    "minus": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "ln": _logarithm,
    "sqrt": np.sqrt,
    "round": _rounded,
    "floor": np.floor,
    "ceil": np.ceil,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "isNan": is_nan,
}


def unary(run: Any, op: Op, value: Any) -> Any:
    """Compute cell by cell."""
    name, result = op.attrs["name"], op.results[0].type
    if result.data == "scalar":
        return scalars.unary(name, value, result.cell)
    if "over" in op.attrs and is_float(result.cell) and value.dtype == DTYPES[result.cell]:
        compute = UNARY[name]
        alone = sys.getrefcount(value) <= ALONE and _is_own(value)
        if alone and isinstance(compute, np.ufunc) and name != "isNan":
            with np.errstate(all="ignore"):
                return compute(value, out=value)
    return mapped(name, value, result.cell)


def mapped(name: str, value: Array, cell: str) -> Array:
    """Compute a unary operation."""
    if value.dtype == object:
        texts = [scalars.UNARY[name](item) for item in value.ravel().tolist()]
        return np.array(texts, object).reshape(value.shape)
    if value.dtype.kind != "f" and name in ("round", "floor", "ceil"):
        return value
    if value.dtype == bool:
        value = value.astype("i8")
    out = quietly(UNARY[name], converted(value, cell) if is_float(cell) else value)
    return np.asarray(converted(out, cell))


def cast(run: Any, op: Op, value: Any) -> Any:
    """Convert cells."""
    type = op.results[0].type
    if type.data != "scalar":
        return converted(value, type.cell)
    if isinstance(value, str):
        try:
            return scalars.number_of(value, type.cell)
        except ValueError:
            raise ValueError(f"{value!r} is no number") from None
    return scalars.wrapped(type.cell, value)


def choose(run: Any, op: Op, condition: Array, then: Any, otherwise: Any) -> Array:
    """Take each cell from one of two sides; expressions of arrays broadcast, scripts do not."""
    cell = op.results[0].type.cell
    for side in (then, otherwise):
        fits = not np.shape(side) or np.shape(side) == condition.shape
        if not fits and not op.attrs.get("broadcasts"):
            raise ValueError(f"?: of shapes {condition.shape} and {np.shape(side)}")
    sides = converted(then, cell), converted(otherwise, cell)
    return np.asarray(np.where(condition != 0, *sides))


def outer(run: Any, op: Op, left: Array, right: Array) -> Array:
    """Compute every pair of a column and a row."""
    if left.shape[1] != 1 or right.shape[0] != 1:
        raise ValueError(f"an outer operation of shapes {left.shape} and {right.shape}")
    cell, result = op.attrs["cell"], op.results[0].type.cell
    target = None
    if DTYPES[cell] == DTYPES[result]:
        target = empty(run, (left.shape[0], right.shape[1]), DTYPES[result])
    return computed(op.attrs["name"], cell, left, right, result, target)


def map_(run: Any, op: Op, value: Array) -> Array:
    """Call a function of the script on every cell."""
    function, cell = op.attrs["function"], op.results[0].type.cell
    out = [run.call(function, [item], op)[0] for item in value.ravel().tolist()]
    return np.array(out, DTYPES[cell]).reshape(value.shape)


def map_along(run: Any, op: Op, value: Array) -> Array:
    """Call a function of the script on every row, or every column; bind what it returns."""
    function, by_rows = op.attrs["function"], op.attrs["axis"] == 0
    dtype = DTYPES[op.results[0].type.cell]
    along = value if by_rows else value.T
    parts = [_bound(run, op, line[None] if by_rows else line[:, None]) for line in along]
    if not parts:
        count = function.results[0].columns if by_rows else function.results[0].rows
        return np.empty((0, count or 1) if by_rows else (count or 1, 0), dtype)
    counts = {part.size for part in parts}
    if len(counts) > 1:
        found = " and ".join(map(str, sorted(counts)[:2]))
        problem = f"{function.name} returns {found} elements for different {_LINES[by_rows]}s"
        raise ValueError(problem)
    return np.concatenate(parts, axis=0 if by_rows else 1, dtype=dtype)


_LINES = {True: "row", False: "column"}


def _bound(run: Any, op: Op, line: Array) -> Array:
    """Call the function on a row or column; return the row or column that it makes of it."""
    function, by_rows = op.attrs["function"], op.attrs["axis"] == 0
    made = run.call(function, [np.ascontiguousarray(line)], op)[0]
    if function.results[0].data == "scalar":
        return np.full((1, 1), made, DTYPES[function.results[0].cell])
    found = np.asarray(made.toarray() if hasattr(made, "toarray") else made)
    if found.shape[0 if by_rows else 1] != 1:
        rows, columns = found.shape
        what = _LINES[by_rows]
        problem = f"{function.name} has to make one {what} of each {what}, not {rows}x{columns}"
        raise ValueError(problem)
    return found


def to_scalar(run: Any, op: Op, value: Array) -> Any:
    """Take the only cell."""
    if value.shape != (1, 1):
        rows, columns = value.shape
        raise ValueError(f"only a 1x1 matrix can be a scalar, not a {rows}x{columns} one")
    return value.item()


def to_matrix(run: Any, op: Op, value: Any) -> Array:
    """Make a 1x1 matrix."""
    return np.full((1, 1), value, DTYPES[op.results[0].type.cell])
