"""Parts of expressions: rows by slices, numbers and masks; columns by anything of NumPy's."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.lang.arrays.computing import as_array, computed
from freestone.lang.arrays.nodes import (
    IndexNotLazyError,
    Node,
    Rows,
    cut_up,
    ordered,
    refusal,
    source,
    unknown_rows,
    unwritten,
)
from freestone.lang.arrays.taking import every, taken
from freestone.lang.arrays.totals import small, total
from freestone.units import is_unknown

Key = tuple[Any, ...]

MAX_STEPS = 128
"""Steps of an expression that are done again for a slice of it.

A loop that adds up slices of what it has made, as in ``z = (z + z[::-1]) / 2``, would double them
each time.
"""


def indexed(node: Node, key: Key) -> Node:
    """Make the node of ``x[key]``."""
    if node.kind == "turned":
        raise refusal("an index into the transpose", "has no rows; index x and not x.T")
    key = tuple(map(_as_known, key))
    if len(key) == 1 and _is_field(key[0]) and node.dtype.names is not None:
        return _field(node, key[0])
    if node.rows is None:
        whole = tuple(computed(one) if isinstance(one, Node) else one for one in key)
        return small(functools.partial(_taken, whole), node)
    if len(key) == 1 and _is_mask(key[0]):
        return filtered(node, key[0])
    key = _without_ellipsis(key, node.ndim)
    rows, columns = (key[0], key[1:]) if key else (slice(None), ())
    # Positions along other axes are few, and every block needs all of them.
    columns = tuple(np.asarray(computed(one)) if isinstance(one, Node) else one for one in columns)
    for one in key:
        _check_kind(one)
    # None in front of the rows adds an axis, and takes none.
    if rows is not None and sum(one is not None for one in columns) > node.ndim - 1:
        raise IndexError(f"too many indexes for {node.ndim} dimensions: {key}")
    if _is_mask(rows):
        if any(map(_is_list_or_mask, columns)):
            raise refusal("an index by a mask of rows and lists of columns", "would pair them")
        return _columns(filtered(node, rows), columns)
    if isinstance(rows, slice):
        if _is_apart(columns):
            raise refusal("an index by lists apart from each other", "would put their axis first")
        return _columns(sliced(node, rows), columns)
    if isinstance(rows, bool | np.bool_):
        raise refusal(f"an index by {rows}", "adds an axis; take a mask of rows")
    if isinstance(rows, int | np.integer):
        return _row(node, int(rows), columns)
    if _is_list(rows):
        return _columns(_listed(node, rows, columns), columns)
    kind = type(rows).__name__
    raise IndexNotLazyError(
        f"rows are taken by a number, a slice or a mask, not by {rows!r:.60} ({kind})"
    )


def _is_field(one: Any) -> bool:
    return isinstance(one, str) or (
        isinstance(one, list) and bool(one) and all(isinstance(name, str) for name in one)
    )


def _field(node: Node, name: str | list[str]) -> Node:
    """Make the node of a field of records, or of records of some of their fields."""
    try:
        part = np.empty((1, *[side or 0 for side in node.shape[1:]]), node.dtype)[name]
    except (KeyError, ValueError):
        known = ", ".join(map(repr, node.dtype.names or ()))
        raise ValueError(f"no field of name {name!r}; there are {known}") from None
    function = functools.partial(_field_of, name)
    if node.rows is None:
        return small(function, node)
    shape = (*node.shape, *part.shape[node.ndim :])
    return Node("rows", (node,), shape, part.dtype, node.rows, {"function": function})


def _field_of(name: str | list[str], block: NDArray[Any]) -> Any:
    return block[name]


def _as_known(one: Any) -> Any:
    """Return an index that is whole as it is computed, and an array without axes as its number."""
    if isinstance(one, Node) and one.rows is None and one.kind != "turned":
        one = np.asarray(computed(one))
    is_number = isinstance(one, np.ndarray) and not one.ndim and one.dtype.kind in "iu"
    return one[()] if is_number else one


def _check_kind(one: Any) -> None:
    """Raise NumPy's error for what is no index, some of which Dask takes."""
    if isinstance(one, slice) or one is None:
        return
    if not hasattr(one, "dtype"):
        one = np.asarray(one) if np.size(one) else np.empty(0, int)
    if one.dtype.kind not in "biu":
        raise IndexError(
            f"rows are taken by a number, a slice or a mask, not by {one!r:.60}; as in NumPy, only "
            "integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are "
            "indices"
        )


def _is_list_or_mask(one: Any) -> bool:
    return one is not None and not isinstance(one, slice | int | np.integer)


def _is_apart(columns: Key) -> bool:
    """Tell whether slices lie between lists and numbers, so that NumPy puts their axis first."""
    if not any(map(_is_list_or_mask, columns)):
        return False
    places = [at for at, one in enumerate(columns) if not (one is None or isinstance(one, slice))]
    return places[-1] - places[0] >= len(places)


def _without_ellipsis(key: Key, ndim: int) -> Key:
    """Put slices of all in place of an ellipsis."""
    places = [place for place, one in enumerate(key) if isinstance(one, type(Ellipsis))]
    if len(places) != 1:
        return key
    before, after = key[: places[0]], key[places[0] + 1 :]
    used = sum(np.ndim(one) if _is_mask(one) else one is not None for one in (*before, *after))
    return (*before, *[slice(None)] * (ndim - used), *after)


def _is_list(rows: Any) -> bool:
    """Tell whether an index is of numbers of rows."""
    if isinstance(rows, Node):
        return rows.dtype.kind in "iu"
    if not isinstance(rows, list | tuple | range | np.ndarray):
        return False
    return np.asarray(rows).dtype.kind in "iu" or len(rows) == 0


def _listed(node: Node, rows: Any, columns: Key) -> Node:
    """Make the node of the rows of a list, which are moved at once."""
    ndim = rows.ndim if isinstance(rows, Node) else np.ndim(rows)
    if ndim != 1 or not all(one is None or isinstance(one, slice) for one in columns):
        raise refusal("an index by lists of rows and columns", "would pair them")
    return source(taken(node, rows))


def _taken(key: Key, array: Any) -> Any:
    # Names of fields are no indexes of axes, which a tuple has.
    return array[key[0] if len(key) == 1 else key]


def _taken_of_row(columns: Key, row: Any) -> Any:
    # A number beside lists is one of them, which decides where NumPy puts their axis.
    return row[None][(0, *columns)]


def _unwritten(key: Key) -> Key:
    """Copy lists and arrays of positions: the program may write into them later."""
    return tuple(
        unwritten(one) if isinstance(one, np.ndarray) else copy.deepcopy(one) for one in key
    )


def _is_mask(key: Any) -> bool:
    if isinstance(key, Node):
        return key.dtype == bool
    return isinstance(key, np.ndarray | list) and np.asarray(key).dtype == bool


def filtered(node: Node, mask: Any) -> Node:
    """Make the node of the rows, or cells, where a mask of the same rows is true."""
    assert node.rows is not None
    shape = mask.shape if isinstance(mask, Node) else np.shape(mask)
    rows = mask.rows if isinstance(mask, Node) else None
    if (node.rows.count is None or is_unknown(*shape[:1])) and rows != node.rows:
        raise unknown_rows("a mask of rows", "that another mask chose may not fit")
    if shape == (0,) and node.shape[0]:
        # NumPy takes a mask without elements for one that chooses no row, of any array.
        return _listed(node, np.empty(0, np.intp), ())
    if shape != node.shape[: len(shape)]:
        sides = zip(shape, node.shape, strict=False)
        if len(shape) > node.ndim or not all(side in (0, whole) for side, whole in sides):
            raise IndexError(f"a mask of shape {shape} for an array of shape {node.shape}")
        mask = np.zeros(node.shape[: len(shape)], bool)
    if not isinstance(mask, Node):
        mask = cut_up(np.asarray(mask), node.rows)
    if mask.rows != node.rows:
        mask = _cut_like(mask, node)
    shape = (None, *node.shape[mask.ndim :])
    rows = Rows(mask, node.rows.offsets)
    return Node("filter", (node, mask), shape, node.dtype, rows, {"function": select})


def _cut_like(mask: Node, node: Node) -> Node:
    """Cut a mask into the blocks of what it chooses from; it is computed now."""
    assert node.rows is not None
    if mask.rows is None:
        return cut_up(np.asarray(computed(mask)), node.rows)
    return source(as_array(mask).rechunk(node.rows.offsets))


def select(block: NDArray[Any], mask: NDArray[Any]) -> Any:
    """Take the rows, or elements, where a mask is true."""
    return block[mask]


def sliced(node: Node, rows: slice) -> Node:
    """Make the node of some rows, of the same rows of all that it is made of."""
    if rows == slice(None):
        return node
    assert node.rows is not None
    count = node.rows.count
    if count is None:
        raise unknown_rows("rows of what a mask chose", "have no numbers yet")
    start, stop, step = rows.indices(count)
    chosen = range(start, stop, step)
    made: dict[Node, Node] = {}
    renewed: Rows | None = None
    steps = list(ordered([node], of_rows=True))
    if len(steps) > MAX_STEPS:
        steps = [_held(node)]
    for one in steps:
        if one.rows is None:
            made[one] = one
        elif one.kind == "source":
            array = one.attrs["data"]
            part = array[start : max(start, stop)] if step == 1 else every(array, chosen)
            made[one] = source(part)
            renewed = made[one].rows
        else:
            args = tuple(made[arg] for arg in one.args)
            shape = (len(chosen), *one.shape[1:])
            made[one] = Node(one.kind, args, shape, one.dtype, renewed, one.attrs)
    return made[node]


def _held(node: Node) -> Node:
    """Compute an expression, for all that it is part of, and return its node."""
    array = as_array(node)
    node.kind, node.args, node.attrs = "source", (), {"data": array}
    return node


def _columns(node: Node, key: Key) -> Node:
    if not key or all(isinstance(one, slice) and one == slice(None) for one in key):
        return node
    whole = np.empty((1, *[side or 0 for side in node.shape[1:]]), node.dtype)
    try:
        part = whole[(slice(None), *key)]
    except IndexError as error:
        raise IndexError(f"{error}: the shape is {node.shape}") from None
    function = functools.partial(_part_of, _unwritten(key))
    shape = (node.shape[0], *part.shape[1:])
    return Node("rows", (node,), shape, node.dtype, node.rows, {"function": function})


def _part_of(key: Key, block: NDArray[Any]) -> Any:
    return block[(slice(None), *key)]


def _row(node: Node, number: int, columns: Key) -> Node:
    count = node.shape[0]
    if count is None:
        raise unknown_rows("a row of what a mask chose", "has no number yet")
    if not -count <= number < count:
        raise IndexError(f"row {number} is out of bounds of an array of {count} rows")
    number %= count
    one = sliced(node, slice(number, number + 1))
    whole = total("sum", one, node.shape[1:], node.dtype, (0,))
    # A sum of one row, without a type of its own: any cells will do.
    whole.attrs["function"] = _only
    whole.attrs["counts"] = True
    taken_of_row = functools.partial(_taken_of_row, _unwritten(columns))
    return small(taken_of_row, whole) if columns else whole


def _only(block: NDArray[Any]) -> Any:
    # An array without axes, not a scalar: a record on its way would lose its type.
    return block[:1].reshape(block.shape[1:]) if len(block) else None
