"""What combines all rows, or each row by itself: sums, extremes, products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.lang.arrays.cells import elementwise, same_rows, ufunc
from freestone.lang.arrays.nodes import TRUTH, Node, cut_up, refusal, value

REDUCERS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
COMBINE = {"any": "max", "all": "min"}
"""How parts of truths are combined, which are 0 or 1; all others by their own name."""


def reduction(name: str, arg: Node, axis: Any, dtype: Any = None, keepdims: bool = False) -> Node:
    """Make the node of a reduction; the sum of truths counts them."""
    if arg.rows is None:
        if arg.kind == "turned":
            raise refusal(f"np.{name} of the transpose", "has no rows; take the other axis")
        return small(functools.partial(_whole, name, axis, dtype, keepdims), arg)
    axis = _axis(axis, arg.ndim)
    out = _accumulated(name, arg, dtype)
    if name in ("any", "all") and arg.dtype != bool:
        arg = ufunc(np.not_equal, [arg, value(0)], {})
    if axis == 1:
        return _each_row(name, arg, out, keepdims)
    made = _all_rows(name, arg, axis, out)
    if keepdims:
        shape = (1,) * arg.ndim if axis is None else (1, *arg.shape[1:])
        return small(functools.partial(np.reshape, shape=shape), made)
    return made


def _axis(axis: Any, ndim: int) -> int | None:
    if isinstance(axis, tuple) and len(axis) == ndim:
        return None
    if axis is None:
        return None
    number = int(axis)
    if not -ndim <= number < ndim:
        raise np.exceptions.AxisError(number, ndim)
    return number % ndim


def _accumulated(name: str, arg: Node, dtype: Any) -> np.dtype[Any]:
    if dtype is not None:
        goal: np.dtype[Any] = np.dtype(dtype)
        return goal
    sample = np.ones((1,) * arg.ndim, arg.dtype)
    found: np.dtype[Any] = np.asarray(_whole(name, None, None, False, sample)).dtype
    return found


def _whole(name: str, axis: Any, dtype: Any, keepdims: bool, array: Any) -> Any:
    if name in ("any", "all"):
        return getattr(np, name)(array, axis=axis, keepdims=keepdims)
    options = {} if dtype is None else {"dtype": dtype}
    return REDUCERS[name].reduce(array, axis=axis, keepdims=keepdims, **options)


def _each_row(name: str, arg: Node, dtype: Any, keepdims: bool) -> Node:
    function = functools.partial(_along_rows, name, dtype)
    attrs = {"name": name, "function": function}
    if name in ("min", "max") and not arg.shape[1]:
        raise ValueError(f"there is no {name} of rows without cells")
    shape = (arg.shape[0], 1) if keepdims else arg.shape[:1]
    return Node("rows", (arg,), shape, np.dtype(dtype), arg.rows, attrs)


def _along_rows(name: str, dtype: Any, block: NDArray[Any]) -> Any:
    wanted = None if name in ("any", "all") else dtype
    return _whole(name, 1, wanted, True, block)


def _all_rows(name: str, arg: Node, axis: int | None, dtype: Any) -> Node:
    shape = () if axis is None else arg.shape[1:]
    if name in ("min", "max") and 0 in arg.shape:
        raise ValueError(f"there is no {name} of no cells: the shape is {arg.shape}")
    made = total(name, arg, shape, dtype, axis)
    if name in ("min", "max") and arg.dtype.kind == "f":
        # The engine's extremes pass NaN over; NumPy's are NaN.
        marks = total("max", ufunc(np.isnan, [arg], {}), shape, np.dtype(bool), axis)
        return Node("small", (made, marks), shape, dtype, None, {"function": _marked})
    return made


def _marked(extreme: Any, marks: Any) -> Any:
    return np.where(marks, np.nan, extreme).astype(np.asarray(extreme).dtype)[()]


def total(name: str, arg: Node, shape: Any, dtype: Any, axis: int | None = None) -> Node:
    """Make the node of a sum or an extreme of all rows, combined from parts."""
    function = functools.partial(_part, name, axis, np.dtype(dtype))
    attrs = {"name": name, "axis": axis, "function": function}
    return Node("total", (arg,), shape, np.dtype(dtype), None, attrs)


def _part(name: str, axis: int | None, dtype: Any, block: NDArray[Any]) -> Any:
    """Reduce one block to a row, or to one cell; None says that it has no part in an extreme."""
    if name in ("min", "max") and not block.size:
        return None
    wanted = None if name in ("any", "all") else dtype
    out = np.asarray(_whole(name, axis, wanted, False, block))
    return out.reshape(1, -1)


def count(arg: Node, axis: int | None) -> Node:
    """Make the node of how many cells a reduction goes over."""
    if None not in arg.shape:
        sides = arg.shape if axis is None else (arg.shape[axis],)
        return value(int(np.prod([side or 0 for side in sides])))
    if axis == 1:
        return value(int(arg.shape[1] or 0))
    width = 1 if arg.ndim == 1 or axis == 0 else int(arg.shape[1] or 0)
    function = functools.partial(_count, width)
    attrs = {"name": "sum", "axis": None, "function": function, "width": width}
    return Node("total", (arg,), (), np.dtype(np.int64), None, attrs | {"counts": True})


def _count(width: int, block: NDArray[Any]) -> Any:
    return np.array([[len(block) * width]])


def mean(arg: Node, axis: Any, dtype: Any = None, keepdims: bool = False) -> Node:
    """Make the node of a mean."""
    if arg.rows is None:
        return small(functools.partial(np.mean, axis=axis, dtype=dtype, keepdims=keepdims), arg)
    axis = _axis(axis, arg.ndim)
    goal = np.dtype(dtype or (arg.dtype if arg.dtype.kind in "fc" else np.float64))
    # Half precision is summed up in single precision, as NumPy does.
    between = np.dtype(np.float32) if goal == np.float16 else goal
    whole = reduction("sum", arg, axis, between, keepdims)
    made = ufunc(np.divide, [whole, count(arg, axis)], {})
    return made if made.dtype == goal else cast(made, goal)


def variance(arg: Node, axis: Any, dtype: Any, ddof: float, keepdims: bool) -> Node:
    """Make the node of a variance: of the squares of what is left without the mean."""
    if arg.rows is None:
        options = {"axis": axis, "dtype": dtype, "ddof": ddof, "keepdims": keepdims}
        return small(functools.partial(np.var, **options), arg)
    axis = _axis(axis, arg.ndim)
    center = mean(arg, axis, dtype, True)
    rest = ufunc(np.subtract, [arg, center], {})
    squares = ufunc(np.multiply, [rest, rest], {})
    whole = reduction("sum", squares, axis, None, keepdims)
    left = ufunc(np.subtract, [count(arg, axis), value(ddof)], {})
    left = ufunc(np.maximum, [left, value(0)], {})
    made = ufunc(np.divide, [whole, left], {})
    goal = np.dtype(dtype or (arg.dtype if arg.dtype.kind == "f" else np.float64))
    return made if made.dtype == goal else cast(made, goal)


def cast(arg: Node, dtype: Any) -> Node:
    """Make the node of cells of another type."""
    goal = np.dtype(dtype)
    if goal == arg.dtype and not arg.attrs.get("weak"):
        return arg
    return elementwise(functools.partial(_converted, goal), [arg], "astype")


def _converted(dtype: Any, array: Any) -> Any:
    return np.asarray(array).astype(dtype)


def small(function: Any, *args: Node, dtype: Any = None, shape: Any = None) -> Node:
    """Make the node of a function of what is whole; its shape and type are those of a trial."""
    if dtype is None or shape is None:
        with np.errstate(all="ignore"):
            samples = [np.ones([side or 0 for side in arg.shape], arg.dtype) for arg in args]
            trial = np.asarray(function(*samples))
        dtype, shape = dtype or trial.dtype, trial.shape if shape is None else shape
    return Node("small", args, shape, np.dtype(dtype), None, {"function": function})


def matmul(left: Node, right: Node) -> Node:
    """Make the node of a product of matrices.

    Rows in blocks go with a whole matrix on their right; two arrays of the same rows with the
    first one transposed.
    """
    left, right = _cut_like(left, right)
    if not left.ndim or not right.ndim:
        raise ValueError("np.matmul takes arrays, not numbers; write *")
    _check_inner(left, right)
    loop = np.matmul.resolve_dtypes((left.dtype, right.dtype, None))
    if left.kind == "turned" or (left.ndim == 1 and left.rows is not None):
        inner = left.args[0] if left.kind == "turned" else left
        if right.rows is not None:
            same_rows(right, inner.rows, "matmul")
            return _product(inner, right, loop, (*left.shape[:-1], *right.shape[1:]))
        raise refusal("np.matmul of the transpose", "takes an array with the same rows")
    if left.rows is None and right.rows is None and right.kind != "turned":
        return small(np.matmul, left, right)
    if right.rows is not None or right.kind == "turned":
        raise refusal("np.matmul", "takes a whole matrix on the right, or x.T on the left")
    function = functools.partial(_times, loop)
    attrs = {"name": "matmul", "loop": loop, "function": function}
    shape = (left.shape[0], *right.shape[1:])
    return Node("rows", (left, right), shape, loop[-1], left.rows, attrs)


def _cut_like(left: Node, right: Node) -> tuple[Node, Node]:
    """Cut up what is here and goes with the rows of the other side: ``w @ x``, ``x.T @ w``."""
    if right.rows is not None and left.rows is None and left.kind == "value" and left.ndim:
        data = np.asarray(left.attrs["data"])
        if data.shape[-1] != right.shape[0]:
            _check_inner(left, right)
        if data.ndim == 1:
            return cut_up(data, right.rows), right
        return turned(cut_up(np.ascontiguousarray(data.T), right.rows)), right
    if left.kind == "turned" and right.kind == "value" and right.ndim:
        rows = left.args[0].rows
        if rows is not None and right.shape[0] == left.shape[1]:
            return left, cut_up(np.asarray(right.attrs["data"]), rows)
    vector = left.ndim == 1 and right.kind == "value" and right.ndim > 0
    if left.rows is not None and vector and right.shape[0] == left.shape[0]:
        return left, cut_up(np.asarray(right.attrs["data"]), left.rows)
    return left, right


def _check_inner(left: Node, right: Node) -> None:
    if left.shape[-1] != right.shape[0]:
        raise ValueError(
            f"np.matmul of shapes {left.shape} and {right.shape}: {left.shape[-1]} and "
            f"{right.shape[0]} differ"
        )


def turned(arg: Node) -> Node:
    """Make the node of a transpose."""
    if arg.kind == "turned":
        return arg.args[0]
    if arg.ndim < 2:
        return arg
    if arg.rows is None:
        return small(np.transpose, arg)
    return Node("turned", (arg,), arg.shape[::-1], arg.dtype)


def _product(left: Node, right: Node, loop: Sequence[Any], shape: Any) -> Node:
    function = functools.partial(_inner, loop)
    attrs = {"name": "any" if loop[-1] == TRUTH else "sum", "function": function, "loop": loop}
    return Node("product", (left, right), shape, loop[-1], None, attrs)


def _times(loop: Any, block: Any, whole: Any) -> Any:
    return np.matmul(block, whole, signature=tuple(loop))


def _inner(loop: Any, left: Any, right: Any) -> Any:
    return np.matmul(left.T, right, signature=tuple(loop))
