"""What combines all rows, or each row by itself: sums, extremes, products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.lang.arrays.cells import elementwise, same_rows, ufunc
from freestone.lang.arrays.nodes import TRUTH, Node, cut_up, refusal, unknown_rows, value
from freestone.units import is_unknown

REDUCERS: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}
"""What a reduction of no rows is; there are no extremes of none."""
COMBINE = {"any": "max", "all": "min"}
"""How parts of booleans are combined, which are 0 or 1; all others by their own name."""


def reduction(name: str, arg: Node, axis: Any, dtype: Any = None, keepdims: bool = False) -> Node:
    """Make the node of a reduction; the sum of booleans counts them."""
    if arg.rows is None:
        if arg.kind == "turned":
            raise refusal(f"np.{name} of the transpose", "has no rows; take the other axis")
        return small(functools.partial(_whole, name, axis, dtype, keepdims), arg)
    axes = axes_of(axis, arg.ndim)
    if name in ("min", "max") and any(arg.shape[axis] == 0 for axis in axes):
        raise ValueError(f"there is no {name} of no cells: the shape is {arg.shape}")
    out = _accumulated(name, arg, dtype)
    if name in ("any", "all"):
        arg = booleans(arg)
    if 0 not in axes:
        return _each_row(name, arg, axes, out, keepdims)
    made = _all_rows(name, arg, axes, out)
    if keepdims:
        shape = tuple(1 if at in axes else side for at, side in enumerate(arg.shape))
        return small(functools.partial(np.reshape, shape=shape), made)
    return made


def booleans(arg: Node) -> Node:
    """Make the node of which elements are not zero."""
    if arg.dtype.kind in "iufc":
        return ufunc(np.not_equal, [arg, value(0)], {})
    return cast(arg, bool)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes that are meant, in order: all by default."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))


def _accumulated(name: str, arg: Node, dtype: Any) -> np.dtype[Any]:
    _no_dates_as(name, arg, dtype)
    if dtype is not None and name not in ("any", "all"):
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


def _each_row(name: str, arg: Node, axes: tuple[int, ...], dtype: Any, keepdims: bool) -> Node:
    function = functools.partial(_along_rows, name, axes, dtype, keepdims)
    attrs = {"name": name, "function": function}
    kept = [1 if at in axes else side for at, side in enumerate(arg.shape)]
    shape = tuple(side for at, side in enumerate(kept) if keepdims or at not in axes)
    return Node("rows", (arg,), shape, np.dtype(dtype), arg.rows, attrs)


def _along_rows(
    name: str, axes: tuple[int, ...], dtype: Any, keepdims: bool, block: NDArray[Any]
) -> Any:
    return _whole(name, axes, _stated(name, dtype), keepdims, block)


def _stated(name: str, dtype: np.dtype[Any]) -> Any:
    """Return the type to accumulate in, which extremes and booleans have of their own."""
    return None if name in ("any", "all") or dtype.kind in "mM" else dtype


def _all_rows(name: str, arg: Node, axes: tuple[int, ...], dtype: Any) -> Node:
    shape = tuple(side for at, side in enumerate(arg.shape) if at not in axes)
    made = total(name, arg, shape, dtype, axes)
    if name in ("min", "max") and arg.dtype.kind == "f":
        # The engine's extremes pass NaN over; NumPy's are NaN.
        marks = total("max", ufunc(np.isnan, [arg], {}), shape, np.dtype(bool), axes)
        return Node("small", (made, marks), shape, dtype, None, {"function": _marked})
    return made


def _marked(extreme: Any, marks: Any) -> Any:
    return np.where(marks, np.nan, extreme).astype(np.asarray(extreme).dtype)[()]


def total(
    name: str, arg: Node, shape: Any, dtype: Any, axes: tuple[int, ...] | None = None
) -> Node:
    """Make the node of a sum or an extreme of all rows, combined from parts."""
    axes = axes_of(None, arg.ndim) if axes is None else axes
    function = functools.partial(_part, name, axes, np.dtype(dtype))
    attrs = {"name": name, "axes": axes, "function": function}
    return Node("total", (arg,), shape, np.dtype(dtype), None, attrs)


def _part(name: str, axes: tuple[int, ...], dtype: Any, block: NDArray[Any]) -> Any:
    """Reduce one block; None says that it has no part in an extreme."""
    if name in ("min", "max") and not len(block):
        return None
    return np.asarray(_whole(name, axes, _stated(name, dtype), False, block))


def count(arg: Node, axes: tuple[int, ...]) -> Node:
    """Make the node of how many elements a reduction goes over."""
    width = int(np.prod([arg.shape[axis] or 0 for axis in axes if axis]))
    if 0 not in axes or arg.shape[0] is not None:
        return value(width * (arg.shape[0] or 0) if 0 in axes else width)
    attrs = {"name": "sum", "function": functools.partial(_count, width), "width": width}
    return Node("total", (arg,), (), np.dtype(np.int64), None, attrs | {"counts": True})


def _count(width: int, block: NDArray[Any]) -> Any:
    return np.array(len(block) * width)


def mean(arg: Node, axis: Any, dtype: Any = None, keepdims: bool = False) -> Node:
    """Make the node of a mean."""
    if arg.rows is None:
        return small(functools.partial(np.mean, axis=axis, dtype=dtype, keepdims=keepdims), arg)
    axes = axes_of(axis, arg.ndim)
    goal = _trial(np.mean, arg, dtype)
    # Half precision is summed up in single precision, as NumPy does.
    between = np.dtype(np.float32) if goal == np.float16 else goal
    whole = reduction("sum", arg, axes, between, keepdims)
    made = ufunc(np.divide, [whole, count(arg, axes)], {})
    return made if made.dtype == goal else cast(made, goal)


def variance(arg: Node, axis: Any, dtype: Any, ddof: float, keepdims: bool) -> Node:
    """Make the node of a variance: of the squares of what is left without the mean."""
    if arg.rows is None:
        options = {"axis": axis, "dtype": dtype, "ddof": ddof, "keepdims": keepdims}
        return small(functools.partial(np.var, **options), arg)
    axes = axes_of(axis, arg.ndim)
    goal = _trial(np.var, arg, dtype)
    center = mean(arg, axes, dtype, True)
    rest = ufunc(np.subtract, [arg, center], {})
    if rest.dtype.kind == "c":
        squares = elementwise(_squared_length, [rest], "squared length")
    else:
        squares = ufunc(np.multiply, [rest, rest], {})
    whole = reduction("sum", squares, axes, None, keepdims)
    if goal.kind == "c":
        # Complex numbers that are divided by 0 have a part that is NaN.
        whole = cast(whole, goal)
    left = ufunc(np.subtract, [count(arg, axes), value(ddof)], {})
    left = ufunc(np.maximum, [left, value(0)], {})
    made = ufunc(np.divide, [whole, left], {})
    return made if made.dtype == goal else cast(made, goal)


def _squared_length(array: Any) -> Any:
    return array.real**2 + array.imag**2


def _trial(function: Any, arg: Node, dtype: Any) -> np.dtype[Any]:
    """Return the type of a mean or variance, or raise NumPy's error for a type that has none."""
    _no_dates_as(function.__name__, arg, dtype)
    with np.errstate(all="ignore"):
        found: np.dtype[Any] = function(np.ones((1,) * arg.ndim, arg.dtype), dtype=dtype).dtype
    return found


def _no_dates_as(name: str, arg: Node, dtype: Any) -> None:
    if dtype is not None and arg.dtype.kind in "mM":
        raise refusal(f"np.{name} of dates", "takes no dtype=")


def cast(arg: Node, dtype: Any) -> Node:
    """Make the node of cells of another type."""
    goal = np.dtype(dtype)
    if goal == arg.dtype and not arg.attrs.get("weak"):
        return arg
    if arg.kind == "turned":
        return transposed(cast(arg.args[0], goal))
    return elementwise(functools.partial(_converted, goal), [arg], "astype")


def _converted(dtype: Any, array: Any) -> Any:
    return np.asarray(array).astype(dtype)


def _itemsize(dtype: np.dtype[Any]) -> int:
    return dtype.itemsize


def small(function: Any, *args: Node, dtype: Any = None, shape: Any = None) -> Node:
    """Make the node of a function of what is whole; its shape and type are those of a trial."""
    if any(arg.kind == "turned" for arg in args):
        raise refusal("a function of the transpose", "is not computed lazily")
    if dtype is None or shape is None:
        with np.errstate(all="ignore"):
            samples = [np.ones([side or 0 for side in arg.shape], arg.dtype) for arg in args]
            found = function(*samples)
        trial = np.asarray(found)
        if isinstance(found, np.str_ | np.bytes_):
            # A text alone is as long as it is, and others may be longer.
            dtype = max((arg.dtype for arg in args if arg.dtype.kind in "SU"), key=_itemsize)
        dtype, shape = dtype or trial.dtype, trial.shape if shape is None else shape
    return Node("small", args, shape, np.dtype(dtype), None, {"function": function})


def matmul(left: Node, right: Node) -> Node:
    """Make the node of a product of matrices.

    Rows in blocks go with a whole matrix on their right; two arrays of the same rows with the
    first one transposed.
    """
    if max(left.ndim, right.ndim) > 2:
        raise refusal("np.matmul", "takes matrices, and no more dimensions")
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
        return transposed(cut_up(np.ascontiguousarray(data.T), right.rows)), right
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
        if is_unknown(left.shape[-1], right.shape[0]):
            raise unknown_rows("np.matmul", "of a part by a mask goes with no other rows")
        raise ValueError(
            f"np.matmul of shapes {left.shape} and {right.shape}: {left.shape[-1]} and "
            f"{right.shape[0]} differ"
        )


def transposed(arg: Node) -> Node:
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
