"""Array expressions as a user sees them."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from freestone.collections import Array
from freestone.collections.base import with_blocks
from freestone.collections.protocols import ArrayMethods
from freestone.collections.rows import is_sparse
from freestone.lang.arrays import totals
from freestone.lang.arrays.cells import elementwise
from freestone.lang.arrays.cells import ufunc as cells_of
from freestone.lang.arrays.functions import FUNCTIONS
from freestone.lang.arrays.indexing import indexed
from freestone.lang.arrays.nodes import Node, NotLazyError, ordered, refusal, source, value
from freestone.units import is_unknown, numpys_shape

__all__ = ["LazyArray", "lazy_of"]

_R = TypeVar("_R")

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

_UNKNOWN_ROWS = (
    "how many rows a mask chooses is known when it is computed: after x.compute_chunk_sizes(), "
    "which computes them and keeps them in blocks, len(x) and x.shape say it; "
    "np.count_nonzero(mask) only counts them"
)

_REDUCING = {
    "add": "sum",
    "multiply": "prod",
    "minimum": "min",
    "maximum": "max",
    "logical_or": "any",
    "logical_and": "all",
}

_OF_TYPES = frozenset(
    {"can_cast", "common_type", "iscomplexobj", "isrealobj", "min_scalar_type", "result_type"}
)
"""Functions that look at types and at no values."""


_OF_TIMES = frozenset({"year", "month", "day", "hour", "minute", "second", "microsecond"})
"""What NumPy asks of an element of a list to take it for a time, as in `np.array([x.min()])`."""


def _as_datetime(time: Any) -> datetime:
    """Return a time of NumPy's as one of Python's; `AttributeError` where it would be another."""
    found = time.astype("M8[us]").item()
    if not isinstance(found, datetime) or time != np.datetime64(found):
        raise AttributeError(f"{time} is no time of Python's, which have microseconds")
    return found


def lazy_of(array: Array) -> LazyArray:
    """Return the expression that stands for an array."""
    return LazyArray(source(array))


def _of_blocks(method: Callable[..., _R]) -> Callable[..., _R]:
    """Make the method of an expression that computes its blocks and calls theirs."""

    @functools.wraps(method)
    def called(self: LazyArray, *args: Any, **options: Any) -> _R:
        return method(self.to_array(), *args, **options)

    return called


class LazyArray(ArrayMethods):
    """An array, or a number, that is computed when it is asked for.

    Made by operators and NumPy's functions of an `Array`. Shapes and dtypes are NumPy's, and are
    checked at once.

    Attributes
    ----------
    shape : tuple
        NaN stands for as many rows as a mask will choose, as in Dask.
    dtype : dtype
        Of the cells.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its shape; NaN stands for as many rows as a mask will choose: `compute_chunk_sizes`."""
        return numpys_shape(self._node.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self._node.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its cells."""
        return self._node.dtype

    if not TYPE_CHECKING:  # else a checker would find no mistake in names

        def __getattr__(self, name: str) -> Any:
            if name in _OF_TIMES and not self.ndim and self.dtype.kind == "M":
                return getattr(_as_datetime(self.compute()), name)
            return super().__getattr__(name)

    def __repr__(self) -> str:
        return f"<LazyArray of shape {self.shape} and dtype {self.dtype}, not computed>"

    def _repr_html_(self) -> str:
        from freestone.observe.html import card

        return card(f"<b>LazyArray</b> {self.shape}, {self.dtype}: not computed; compute() does")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a lazy number has no length")
        rows = self._node.shape[0]
        if rows is None:
            raise TypeError(_UNKNOWN_ROWS)
        return rows

    def __iter__(self) -> Iterator[Any]:
        """Yield the rows; what has rows in blocks is computed where they are, once, before."""
        return iter(self._with_rows())

    def __reversed__(self) -> Iterator[Any]:
        """Yield the rows from the last to the first."""
        return reversed(self._with_rows())

    def _with_rows(self) -> NDArray[Any] | Array:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        found = with_blocks(self)
        return found if isinstance(found, Array) else np.asarray(self)

    # -- what it is computed to -----------------------------------------------------------

    def compute(self) -> Any:
        """Return its value as a NumPy array or number, here.

        Notes
        -----
        One pass over the blocks for what needs no sum of all rows, and one more for each sum
        that needs another. Without a cluster it runs on all cores of this machine.
        """
        from freestone.lang.arrays.computing import computed

        found = computed(self._node)
        return found if self.ndim else np.asarray(found, self.dtype)[()]

    def to_array(self) -> Array:
        """Return an `Array` whose blocks are computed where those are that they come from.

        Raises
        ------
        TypeError
            If it has no rows in blocks: sums of all rows, and transposes.
        """
        from freestone.lang.arrays.computing import as_array

        return as_array(self._node)

    def compute_chunk_sizes(self) -> LazyArray:
        """Compute the rows that a mask chooses, and know their number from then on.

        Returns
        -------
        LazyArray
            This array itself. As Dask's method of this name it changes what the array is made of;
            nothing happens where the shape is known.

        Notes
        -----
        The rows are computed once, as by `to_array`, and stay in blocks. Expressions that were
        made of this array before compute them anew.
        """
        if is_unknown(*self._node.shape):
            inner = self._node.args[0] if self._node.kind == "turned" else self._node
            made = source(LazyArray(inner).to_array())
            self._node = made if inner is self._node else totals.transposed(made)
        return self

    persist = _of_blocks(Array.persist)
    rechunk = _of_blocks(Array.rechunk)
    rechunk_cost = _of_blocks(Array.rechunk_cost)
    map_blocks = _of_blocks(Array.map_blocks)
    iter_blocks = _of_blocks(Array.iter_blocks)
    reduce = _of_blocks(Array.reduce)
    to_zarr = _of_blocks(Array.to_zarr)

    @property
    def blocks(self) -> Any:
        """Its blocks, which are computed; see `Array.blocks`."""
        return self.to_array().blocks

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where its blocks begin and the last one ends, in rows; a part by a mask is computed."""
        rows = self._node.rows
        if rows is None or rows.count is None:
            return self.to_array().offsets
        return rows.offsets

    @property
    def nbytes(self) -> int:
        """The bytes of its cells; a part by a mask is computed."""
        if is_unknown(*self.shape):
            return self.to_array().nbytes
        return self.size * self.dtype.itemsize

    def to_dask(self) -> Any:
        """Return a ``dask.array`` of it; what it is made of row by row is computed first.

        Notes
        -----
        Blocks are computed where those are that they come from, and stay there.
        """
        import dask.array as da

        node = self._node
        if node.kind == "turned":
            return da.transpose(LazyArray(node.args[0]).to_dask())
        if node.rows is None:
            return da.from_array(np.asarray(self.compute()), chunks=-1)
        return self.to_array().to_dask()

    def explain(self) -> str:
        """Return what runs on each block, stage by stage, a line for each operation."""
        from freestone.lang.arrays.explaining import explained

        return explained(self._node)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Compute it as a NumPy array."""
        found = self.compute()
        return np.asarray(found.toarray() if is_sparse(found) else found, dtype=dtype)

    def __index__(self) -> int:
        return operator.index(self._number())

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._number(), digits)

    def __format__(self, form: str) -> str:
        return format(self._number(), form) if form and not self.ndim else super().__format__(form)

    # -- NumPy's protocols ----------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        """Compute a ufunc of NumPy's lazily, or elsewhere at once."""
        try:
            return _of_ufunc(ufunc, method, args, dict(options))
        except NotLazyError as refused:
            return _elsewhere(refused, getattr(ufunc, method), args, options)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        """Compute a function of NumPy's lazily, or elsewhere at once."""
        try:
            return _of_function(function, args, options)
        except NotLazyError as refused:
            return _elsewhere(refused, function, args, options)

    def astype(
        self, dtype: DTypeLike, *, casting: Casting = "unsafe", copy: bool = True
    ) -> LazyArray:
        """Convert every cell.

        Parameters
        ----------
        dtype
            To what.
        casting
            What is allowed; see `numpy.can_cast`.
        copy
            Is there for those who write for NumPy: blocks can't be written into.
        """
        if not np.can_cast(self.dtype, np.dtype(dtype), casting):
            goal = np.dtype(dtype)
            raise TypeError(f"can't cast {self.dtype} to {goal} by the rule {casting!r}")
        return LazyArray(totals.cast(self._node, dtype))

    def _compared(self, operation: Callable[[Any, Any], Any], other: Any) -> Any:
        try:
            return LazyArray(elementwise(operation, [self._node, _node(other)], operation.__name__))
        except NotLazyError as refused:
            return _elsewhere(refused, operation, (self, other), {})

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            "an expression does not change; make another one, such as np.where(mask, value, x), or "
            "change a copy of its values, x.compute()"
        )

    def __getitem__(self, key: Any) -> Any:
        """Take a part: rows by a slice, a number or a mask, columns by anything of NumPy's.

        What moves rows, such as a list of them or a slice with a step, is computed at once.
        """
        if isinstance(key, tuple):
            return self._part(tuple(map(_no_number, key)))
        return self._part(_no_number(key))

    def _part(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        try:
            part = indexed(self._node, tuple(_nodes(one) for one in keys))
        except NotLazyError as refused:
            if isinstance(key, tuple):
                # Dask takes one array in blocks among its indexes.
                key = tuple(np.asarray(k) if isinstance(k, LazyArray | Array) else k for k in key)
            return _elsewhere(refused, operator.getitem, (self, key), {})
        return part.attrs["data"] if part.kind == "source" else LazyArray(part)

    def _sources(self) -> Iterator[Array]:
        """Yield the arrays in blocks that it is made of."""
        for node in ordered([self._node]):
            if node.kind == "source":
                yield node.attrs["data"]


def _no_number(index: Any) -> Any:
    # Dask takes Python's truth values for 0 and 1, but not NumPy's.
    return np.bool_(index) if isinstance(index, bool) else index


def _elsewhere(
    refused: NotLazyError, function: Any, args: Sequence[Any], options: dict[str, Any]
) -> Any:
    # Loaded when it is first used: it needs what is below it, and few programs need it.
    from freestone.lang.arrays.fallback import computed_elsewhere

    return computed_elsewhere(refused, function, args, options)


def _fits(shape: tuple[int, ...], goal: tuple[int, ...]) -> bool:
    """Tell whether what has a shape is repeated to another one without changing that."""
    pairs = zip(reversed(shape), reversed(goal), strict=False)
    return len(shape) <= len(goal) and all(side in (1, wanted) for side, wanted in pairs)


def _of_ufunc(ufunc: np.ufunc, method: str, args: Sequence[Any], options: dict[str, Any]) -> Any:
    name = ufunc.__name__
    outs = options.pop("out", ())
    if method == "__call__" and any(type(out) is np.ndarray for out in outs):
        return _written(ufunc, outs, args, options)
    if any(out is not None for out in outs):
        raise refusal(f"np.{name}", "writes into no other array in blocks: out= can't be given")
    if method == "reduce" and name in _REDUCING:
        options.setdefault("axis", 0)
        return LazyArray(FUNCTIONS[_REDUCING[name]](*map(_node, args), **options))
    if method != "__call__":
        raise refusal(f"np.{name}.{method}", "is not computed lazily")
    nodes = [_node(arg) for arg in args]
    if name == "matmul":
        return LazyArray(totals.matmul(*nodes))
    return LazyArray(cells_of(ufunc, nodes, options))


def _written(ufunc: np.ufunc, outs: Sequence[Any], args: Sequence[Any], options: Any) -> Any:
    """Write what a ufunc makes into arrays of NumPy's, where ``where=`` is true.

    That is also ``y += x`` of an array of NumPy's, which keeps its type.
    """
    if not all(out is None or type(out) is np.ndarray for out in outs):
        raise refusal(f"np.{ufunc.__name__}", "writes into arrays of NumPy's alone, by out=")
    mask = np.asarray(options.pop("where", True))
    made = ufunc(*args, **options)
    written = []
    for out, one in zip(outs, made if ufunc.nout > 1 else (made,), strict=True):
        found = one.compute() if is_unknown(*one.shape) else one
        if out is not None:
            if not _fits(found.shape, out.shape):
                raise ValueError(f"non-broadcastable output operand with shape {out.shape}: {one}")
            casting = options.get("casting", "same_kind")
            np.copyto(out, np.asarray(found), casting=casting, where=mask)
        written.append(found if out is None else out)
    return tuple(written) if ufunc.nout > 1 else written[0]


def _of_function(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    name = function.__name__
    if name in ("shape", "ndim", "size"):
        return _figure(function, **inspect.signature(function).bind(*args, **options).arguments)
    if name in _OF_TYPES:
        return function(*map(_without_rows, args), **options)
    made = FUNCTIONS.get(name)
    if made is None:
        raise refusal(f"np.{name}", "is not computed lazily")
    placed = [_nodes(arg) for arg in args]
    named = {word: _nodes(arg) for word, arg in options.items() if arg is not np._NoValue}
    try:
        return _lazily(made(*placed, **named))
    except TypeError as error:
        if isinstance(error, NotLazyError) or _takes(made, placed, named):
            raise
        raise refusal(
            f"np.{name}", f"is not computed lazily with these arguments: {error}"
        ) from error


def _takes(made: Callable[..., Any], placed: Sequence[Any], named: dict[str, Any]) -> bool:
    """Tell whether a function can be called with some arguments."""
    try:
        inspect.signature(made).bind(*placed, **named)
    except TypeError:
        return False
    return True


def _node(operand: Any) -> Node:
    if isinstance(operand, LazyArray):
        return operand._node
    if isinstance(operand, Array):
        return source(operand)
    return value(operand)


def _lazily(made: Any) -> Any:
    """Return what stands for nodes; what is known already stays as it is."""
    if isinstance(made, tuple):
        if hasattr(made, "_fields"):
            return type(made)(*map(_lazily, made))
        return tuple(_lazily(one) for one in made)
    if isinstance(made, list):
        return [_lazily(one) for one in made]
    return LazyArray(made) if isinstance(made, Node) else made


def _nodes(operand: Any) -> Any:
    """Replace lazy arrays, also in a list, by their nodes; all else stays as it is."""
    if isinstance(operand, LazyArray | Array):
        return _node(operand)
    if isinstance(operand, list | tuple) and any(
        isinstance(one, LazyArray | Array) for one in operand
    ):
        return [_node(one) for one in operand]
    return operand


def _without_rows(operand: Any) -> Any:
    """Return an array of no elements in place of an array in blocks."""
    if not isinstance(operand, ArrayMethods):
        return operand
    node = _node(operand)
    return np.empty((0,) * node.ndim, node.dtype)


def _figure(function: Callable[..., Any], a: Any, **options: Any) -> Any:
    """Return what a function says of an array's shape alone."""
    shape = numpys_shape(_node(a).shape)
    if function is np.shape:
        return shape
    if function is np.ndim:
        return len(shape)
    axes = totals.axes_of(options.get("axis"), len(shape))
    if is_unknown(*(shape[at] for at in axes)):
        return np.nan
    known = [0 if is_unknown(side) else side for side in shape]
    return function(np.broadcast_to(False, known), **options)
