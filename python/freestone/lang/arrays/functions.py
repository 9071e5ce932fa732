"""NumPy's functions beyond its ufuncs that are computed lazily, by name."""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.lang.arrays import quantiles, selecting, shares, sorting, totals
from freestone.lang.arrays.cells import elementwise, same_rows, ufunc
from freestone.lang.arrays.histograms import histogram, histogram2d, histogramdd
from freestone.lang.arrays.indexing import indexed
from freestone.lang.arrays.least_squares import lstsq
from freestone.lang.arrays.nodes import Node, cut_up, refusal, source, unknown_rows, value
from freestone.lang.arrays.stacking import one_below_the_other
from freestone.units import is_unknown

Made = Callable[..., Any]
FUNCTIONS: dict[str, Made] = {}
"""By NumPy's name; each takes nodes where NumPy takes arrays."""


def lazily(*names: str) -> Callable[[Made], Made]:
    """Register what makes the node of a function."""

    def register(made: Made) -> Made:
        FUNCTIONS.update(dict.fromkeys(names, made))
        return made

    return register


def _node(operand: Any) -> Node:
    return operand if isinstance(operand, Node) else value(operand)


def _register_reduction(name: str, *names: str) -> None:
    def made(arg: Node, axis: Any = None, dtype: Any = None, **options: Any) -> Node:
        _no_options(name, options, {"keepdims"})
        return totals.reduction(name, arg, axis, dtype, bool(options.get("keepdims", False)))

    lazily(name, *names)(made)


_register_reduction("sum")
_register_reduction("prod")
_register_reduction("min", "amin")
_register_reduction("max", "amax")
_register_reduction("any")
_register_reduction("all")


def _no_options(name: str, options: dict[str, Any], known: set[str]) -> None:
    given = {word for word, what in options.items() if what is not None and word not in known}
    if given:
        raise refusal(f"np.{name}", f"takes no {', '.join(sorted(given))} here")


@lazily("mean")
def _mean(arg: Node, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Node:
    return totals.mean(arg, axis, dtype, keepdims)


@lazily("average")
def _average(arg: Node, axis: Any = None) -> Node:
    if arg.dtype.kind in "mM":
        raise refusal("np.average", "takes no dates; call mean()")
    made = totals.mean(arg, axis)
    if 0 in made.shape:
        raise ZeroDivisionError(f"np.average of no elements: the shape is {arg.shape}")
    return made


@lazily("var")
def _var(
    arg: Node, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
) -> Node:
    _no_integers("var", dtype)
    return totals.variance(arg, axis, dtype, ddof, keepdims)


def _no_integers(name: str, dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise refusal(f"np.{name}", f"takes no dtype={np.dtype(dtype)}, only reals and complex")


@lazily("std")
def _std(
    arg: Node, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False
) -> Node:
    _no_integers("std", dtype)
    return ufunc(np.sqrt, [totals.variance(arg, axis, dtype, ddof, keepdims)], {})


@lazily("nansum")
def _nansum(arg: Node, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Node:
    return totals.reduction("sum", _without_nan("nansum", arg, 0), axis, dtype, keepdims)


@lazily("nanmean")
def _nanmean(arg: Node, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Node:
    if arg.dtype.kind in "biu":
        return totals.mean(arg, axis, dtype, keepdims)
    whole: Node = _nansum(arg, axis, dtype, keepdims)
    made = ufunc(np.divide, [whole, _count_known(arg, axis, keepdims)], {})
    return made if made.dtype == whole.dtype else totals.cast(made, whole.dtype)


@lazily("nanvar")
def _nanvar(arg: Node, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Node:
    if arg.dtype.kind in "biu":
        return totals.variance(arg, axis, None, ddof, keepdims)
    if arg.dtype.kind != "f" or arg.dtype == np.float16:
        raise refusal("np.nanvar", f"takes no {arg.dtype} here")
    center: Node = _nanmean(arg, axis, None, True)
    rest = ufunc(np.subtract, [arg, center], {})
    zero = value(arg.dtype.type(0))
    known: Node = _where(ufunc(np.isnan, [arg], {}), zero, rest)
    whole = totals.reduction("sum", ufunc(np.multiply, [known, known], {}), axis, None, keepdims)
    left = ufunc(np.subtract, [_count_known(arg, axis, keepdims), value(ddof)], {})
    made = totals.cast(ufunc(np.divide, [whole, left], {}), whole.dtype)
    few = ufunc(np.less_equal, [left, value(0)], {})
    found: Node = _where(few, value(arg.dtype.type(np.nan)), made)
    return found


@lazily("nanstd")
def _nanstd(arg: Node, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Node:
    return ufunc(np.sqrt, [_nanvar(arg, axis, ddof=ddof, keepdims=keepdims)], {})


def _register_extreme(name: str, ufunc_name: str, beyond: float) -> None:
    def made(arg: Node, axis: Any = None, keepdims: bool = False) -> Node:
        filled = _without_nan(name, arg, beyond, "biuf")
        found = totals.reduction(ufunc_name, filled, axis, None, keepdims)
        if arg.dtype.kind != "f":
            return found
        is_none = ufunc(np.equal, [_count_known(arg, axis, keepdims), value(0)], {})
        known: Node = _where(is_none, value(arg.dtype.type(np.nan)), found)
        return known

    lazily(name)(made)


_register_extreme("nanmin", "min", np.inf)
_register_extreme("nanmax", "max", -np.inf)


def _without_nan(name: str, arg: Node, instead: float, kinds: str = "biufc") -> Node:
    """Make the node of numbers with another one in place of NaN."""
    if arg.dtype.kind not in kinds or arg.dtype == np.float16:
        raise refusal(f"np.{name}", f"takes no {arg.dtype} here")
    if arg.dtype.kind not in "fc":
        return arg
    filled: Node = _where(ufunc(np.isnan, [arg], {}), value(arg.dtype.type(instead)), arg)
    return filled


def _count_known(arg: Node, axis: Any, keepdims: bool) -> Node:
    """Make the node of how many numbers are not NaN."""
    known = ufunc(np.logical_not, [ufunc(np.isnan, [arg], {})], {})
    return totals.reduction("sum", known, axis, np.intp, keepdims)


@lazily("real")
def _real(arg: Node) -> Node:
    return arg if arg.dtype.kind != "c" else elementwise(np.real, [arg], "real")


@lazily("imag")
def _imag(arg: Node) -> Node:
    return elementwise(np.imag, [arg], "imag")


@lazily("count_nonzero")
def _count_nonzero(arg: Node, axis: Any = None, keepdims: bool = False) -> Node:
    return totals.reduction("sum", totals.booleans(arg), axis, None, keepdims)


@lazily("ptp")
def _ptp(arg: Node, axis: Any = None) -> Node:
    sides = [totals.reduction(name, arg, axis) for name in ("max", "min")]
    return ufunc(np.subtract, sides, {})


@lazily("transpose")
def _transpose(arg: Node, axes: Any = None) -> Node:
    if axes is not None and tuple(axes) != tuple(reversed(range(arg.ndim))):
        raise refusal("np.transpose", f"takes no axes={axes}")
    return totals.transposed(arg)


@lazily("flip")
def _flip(arg: Node, axis: Any = None) -> Node:
    axes = totals.axes_of(axis, arg.ndim)
    steps = [-1 if at in axes else None for at in range(arg.ndim)]
    return indexed(arg, tuple(slice(None, None, step) for step in steps))


@lazily("flipud")
def _flipud(arg: Node) -> Any:
    return _flip(arg, 0)


@lazily("take")
def _take(arg: Node, indices: Any, axis: Any = None) -> Any:
    numbers = indices if isinstance(indices, Node) else np.asarray(indices)
    if not arg.ndim:
        # NumPy takes a value for its one element.
        arg = indexed(arg, (None,))
    by_rows = axis in (0, -arg.ndim) or (axis is None and arg.ndim == 1)
    if not by_rows or numbers.dtype.kind not in "iu":
        raise refusal("np.take", "takes rows by whole numbers")
    return indexed(arg, (numbers,))


@lazily("dot")
def _dot(left: Any, right: Any) -> Node:
    left, right = _node(left), _node(right)
    if not left.ndim or not right.ndim:
        if any(side.dtype.kind not in "biufc" for side in (left, right)):
            raise refusal("np.dot", f"takes no {left.dtype} and {right.dtype}")
        # To this function Python's numbers are arrays of their own type.
        typed = [
            value(np.asarray(s.attrs["data"])) if s.kind == "value" else s for s in (left, right)
        ]
        return ufunc(np.multiply, typed, {})
    return totals.matmul(left, right)


@lazily("where")
def _where(condition: Any, *sides: Any) -> Node:
    if len(sides) != 2:
        raise refusal("np.where with a condition alone", "gives positions; give both sides")
    args = [_node(condition), *map(_node, sides)]
    return elementwise(np.where, args, "where")


@lazily("select")
def _select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Node:
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"np.select of {len(condlist)} conditions and {len(choicelist)} choices")
    nodes = [_node(one) for one in (default, *choicelist)]
    # Of all choices together, among which numbers of Python's decide least.
    kinds = [node.attrs["data"] if node.attrs.get("weak") else node.dtype for node in nodes]
    made, *choices = (totals.cast(node, np.result_type(*kinds)) for node in nodes)
    for condition, choice in zip(reversed(condlist), reversed(choices), strict=True):
        if _node(condition).dtype != bool:
            raise TypeError(f"np.select takes booleans as conditions, not {_node(condition).dtype}")
        made = _where(condition, choice, made)
    return made


@lazily("clip")
def _clip(arg: Node, a_min: Any = None, a_max: Any = None, **options: Any) -> Node:
    _no_options("clip", options, {"min", "max"})
    low, high = options.get("min", a_min), options.get("max", a_max)
    if arg.dtype.kind in "iu":
        limits = np.iinfo(arg.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    if low is None and high is None:
        return elementwise(functools.partial(np.clip, a_min=None, a_max=None), [arg], "clip")
    if low is not None and high is not None:
        return _between(arg, _node(low), _node(high))
    if low is not None:
        return ufunc(np.maximum, [arg, _node(low)], {})
    return arg if high is None else ufunc(np.minimum, [arg, _node(high)], {})


def _between(arg: Node, low: Node, high: Node) -> Node:
    """Make the node of two bounds: two operations that fuse, if they are of the result's type."""
    whole = elementwise(np.clip, [arg, low, high], "clip")
    with contextlib.suppress(TypeError, OverflowError):
        above = ufunc(np.maximum, [arg, low], {})
        made = ufunc(np.minimum, [above, high], {})
        if above.dtype == made.dtype == whole.dtype:
            return made
    return whole


@lazily("round", "around")
def _round(arg: Node, decimals: int = 0) -> Node:
    return elementwise(functools.partial(np.round, decimals=decimals), [arg], "round")


@lazily("nan_to_num")
def _nan_to_num(arg: Node, copy: bool = True, **options: Any) -> Node:
    return elementwise(functools.partial(np.nan_to_num, **options), [arg], "nan_to_num")


@lazily("isclose")
def _isclose(left: Any, right: Any, **options: Any) -> Node:
    function = functools.partial(np.isclose, **options)
    return elementwise(function, [_node(left), _node(right)], "isclose")


@lazily("allclose")
def _allclose(left: Any, right: Any, **options: Any) -> Node:
    return totals.reduction("all", _isclose(left, right, **options), None)


@lazily("array_equal")
def _array_equal(left: Any, right: Any) -> Node:
    left, right = _node(left), _node(right)
    if left.shape != right.shape:
        if is_unknown(*left.shape, *right.shape):
            raise unknown_rows("np.array_equal", "takes no part by a mask beside another array")
        return value(np.False_)
    try:
        equal = ufunc(np.equal, [left, right], {})
    except TypeError:
        # Of types that can't be compared, such as texts and numbers: NumPy's operator says that all
        # elements differ.
        equal = elementwise(operator.eq, [left, right], "equal")
    return totals.reduction("all", equal, None)


@lazily("full_like")
def _full_like(arg: Node, fill_value: Any, dtype: Any = None) -> Node:
    goal = np.dtype(dtype or arg.dtype)
    return elementwise(functools.partial(_full, goal), [arg, _node(fill_value)], "full_like")


def _full(dtype: Any, array: Any, fill: Any) -> Any:
    return np.full(np.shape(array), fill, dtype)


FUNCTIONS["zeros_like"] = lambda arg, dtype=None: _full_like(
    arg, np.zeros((), dtype or arg.dtype)[()], dtype
)
FUNCTIONS["ones_like"] = lambda arg, dtype=None: _full_like(arg, 1, dtype)


def _along_rows(name: str, arg: Node, axis: Any, **options: Any) -> Node:
    """Make the node of what each row gives by itself, along one of the axes behind the first."""
    if arg.rows is None:
        return totals.small(functools.partial(getattr(np, name), axis=axis, **options), arg)
    if 0 in totals.axes_of(axis, arg.ndim):
        raise refusal(f"np.{name}", f"goes along rows only, axis=1, not axis={axis}")
    function = functools.partial(getattr(np, name), axis=axis, **options)
    sample = np.asarray(function(np.ones((1, *[side or 0 for side in arg.shape[1:]]), arg.dtype)))
    shape = (arg.shape[0], *sample.shape[1:])
    attrs = {"function": functools.partial(_of_some_rows, function, sample[:0])}
    return Node("rows", (arg,), shape, sample.dtype, arg.rows, attrs)


def _of_some_rows(function: Callable[..., Any], empty: Any, block: Any) -> Any:
    # NumPy's medians of no rows along several axes fail.
    return function(block) if len(block) else empty


def _register_along_rows(name: str) -> None:
    def made(arg: Node, axis: Any = None) -> Node:
        return _along_rows(name, arg, axis)

    lazily(name)(made)


for _name in ("argmin", "argmax", "cumsum", "cumprod", "diff"):
    _register_along_rows(_name)


def _register_quantile(name: str, *, is_median: bool) -> None:
    def made(arg: Node, *args: Any, **options: Any) -> Any:
        q, axis, options = _arguments(name, arg, args, options)
        if arg.kind == "turned" and arg.ndim == 2 and axis and not options.get("keepdims"):
            return made(arg.args[0], *q, axis=1 - axis[0], **options)
        named = {} if is_median else {"q": q[0]}
        if arg.rows is None and arg.kind != "turned":
            return _along_rows(name, arg, axis, **named, **options)
        if axis is None or len(axis) == arg.ndim:
            return selecting.of_all(name, arg, *q, **options)
        if 0 in axis:
            return quantiles.along_columns(name, arg, axis, *q, **options)
        if q and np.ndim(q[0]):
            return quantiles.along_rows(name, arg, axis, q[0], **options)
        return _along_rows(name, arg, axis, **named, **options)

    lazily(name)(made)


for _name in ("median", "nanmedian"):
    _register_quantile(_name, is_median=True)
for _name in ("quantile", "percentile", "nanquantile", "nanpercentile"):
    _register_quantile(_name, is_median=False)


_OPTIONS = ("keepdims", "method")
"""Those of quantiles that change the result."""


def _arguments(
    name: str, arg: Node, args: Sequence[Any], options: dict[str, Any]
) -> tuple[tuple[Any, ...], tuple[int, ...] | None, dict[str, Any]]:
    """Return the quantiles if there are any, the axes, and the options that are given."""
    given = inspect.signature(getattr(np, name)).bind(arg, *args, **options).arguments
    if any(given.get(word) is not None for word in ("interpolation", "out", "weights")):
        raise refusal(f"np.{name}", "takes no out=, weights= or interpolation= here")
    axis = given.get("axis")
    axes = None if axis is None else totals.axes_of(axis, arg.ndim)
    kept: dict[str, Any] = {word: given[word] for word in _OPTIONS if word in given}
    return tuple(given[word] for word in ("q",) if word in given), axes, kept


def _register_order(name: str) -> None:
    def made(
        arg: Node, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        if order is not None:
            raise refusal(f"np.{name}", "takes no order= here")
        options = {"kind": kind, "stable": stable}
        getattr(np, name)(np.empty(0), **options)  # NumPy's error for what it does not know
        if arg.rows is None and arg.kind != "turned":
            return _along_rows(name, arg, axis, **options)
        along = axis if axis is None else np.lib.array_utils.normalize_axis_index(axis, arg.ndim)
        if arg.kind == "turned" and along is not None:
            inner = made(arg.args[0], arg.ndim - 1 - along, kind, stable=stable)
            return totals.transposed(inner if isinstance(inner, Node) else source(inner))
        if arg.rows is None or along:
            return _along_rows(name, arg, axis, **options)
        if along is None or arg.ndim == 1:
            return sorting.of_all(name, arg)
        return sorting.along_columns(name, arg, **options)

    lazily(name)(made)


for _name in ("sort", "argsort"):
    _register_order(_name)


@lazily("column_stack")
def _column_stack(arrays: Sequence[Any]) -> Node:
    return _side_by_side([_node(array) for array in arrays])


@lazily("hstack")
def _hstack(arrays: Sequence[Any]) -> Node:
    nodes = [_node(array) for array in arrays]
    if all(node.rows is None and node.kind != "turned" for node in nodes):
        return totals.small(lambda *wholes: np.hstack(wholes), *nodes)
    found: Node = _concatenate(nodes, 0 if nodes and nodes[0].ndim == 1 else 1)
    return found


@lazily("concatenate")
def _concatenate(arrays: Sequence[Any], axis: Any = 0) -> Node:
    nodes = [_node(array) for array in arrays]
    if axis is None:
        raise refusal("np.concatenate", "joins rows or columns, and makes no vector of matrices")
    ndims = {node.ndim for node in nodes}
    if len(ndims) > 1 or ndims == {0}:
        raise ValueError(f"np.concatenate of arrays of {sorted(ndims)} dimensions")
    (ndim,) = ndims
    if np.lib.array_utils.normalize_axis_index(axis, ndim) == 0:
        return one_below_the_other(nodes)
    if ndim > 2:
        raise refusal("np.concatenate", "of more than two dimensions goes by rows only, axis=0")
    return _side_by_side(nodes)


@lazily("vstack")
def _vstack(arrays: Sequence[Any]) -> Node:
    nodes = [_node(array) for array in arrays]
    if any(node.ndim < 2 for node in nodes):
        raise refusal("np.vstack", "puts arrays of two dimensions or more below each other")
    return one_below_the_other(nodes)


for _counting in (histogram, histogram2d, histogramdd):
    lazily(_counting.__name__)(_counting)
for _eager in (lstsq, shares.unique, shares.bincount, shares.qr, sorting.lexsort):
    lazily(_eager.__name__)(_eager)


@lazily("may_share_memory", "shares_memory")
def _share_memory(one: Any, other: Any, max_work: Any = None) -> bool:
    return False


def _side_by_side(nodes: list[Node]) -> Node:
    rows = next((node.rows for node in nodes if node.rows is not None), None)
    if rows is None:
        return totals.small(lambda *arrays: np.column_stack(arrays), *nodes)
    fitted = [
        cut_up(np.asarray(node.attrs["data"]), rows)
        if node.kind == "value" and node.ndim and node.shape[0] == rows.count
        else node
        for node in nodes
    ]
    for node in fitted:
        same_rows(node, rows, "column_stack")
        if node.rows is None:
            raise refusal("np.column_stack", "takes arrays with as many rows")
    deeper, *others = {node.shape[2:] for node in fitted}
    if others:
        shapes = ", ".join(str(node.shape) for node in fitted)
        raise ValueError(f"np.column_stack of arrays that differ beyond their columns: {shapes}")
    width = sum(node.shape[1] or 0 if node.ndim > 1 else 1 for node in fitted)
    dtype = np.result_type(*[node.dtype for node in fitted])
    shape = (fitted[0].shape[0], width, *deeper)
    return Node("rows", tuple(fitted), shape, dtype, rows, {"function": _stacked})


def _stacked(*blocks: Any) -> Any:
    return np.column_stack(blocks)
