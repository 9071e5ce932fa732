"""Rows and columns of lazy matrices and frames, by what stands in Python's brackets."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.lang.daphnelib.lazy import Lazy, as_row
from freestone.lang.daphnelib.truth import is_truth
from freestone.lang.front.builtins import lower
from freestone.lang.front.builtins.meta import counted
from freestone.lang.front.builtins.reorganisation import indexed_type, inserted, position
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import DTYPES, Type, matrix

__all__ = ["indexed", "written"]

FURTHEST = 2**63 - 1
"""The last row or column that there may be."""

Lift = Callable[[Any], Value]
Side = tuple[str, list[Value], int | None]


def indexed(emitter: Emitter, value: Value, key: Any, lift: Lift) -> Value:
    """Take rows and columns; the result is a matrix or a frame, however small.

    Parameters
    ----------
    emitter : Emitter
        Where the operation goes.
    value : Value
        A matrix or a frame.
    key
        Rows, or rows and columns; of a frame also labels of columns alone. Each a position, a
        slice, positions, or a mask: truth values, of NumPy's or lazy.
    lift : callable
        Makes a value of what Python has.
    """
    rows, columns = _parts(value.type, key)
    value, rows = _chosen(emitter, value, rows, lift, by_row=True)
    value, columns = _chosen(emitter, value, columns, lift, by_row=False)
    kinds, values, counts = _sides(emitter, value.type, (rows, columns), lift)
    if kinds == ("all", "all"):
        return value
    type = indexed_type(value.type, kinds[1], values, counts)
    return emitter.emit("index", [value, *values], type, kinds=kinds)


def written(emitter: Emitter, value: Value, key: Any, part: Any, lift: Lift) -> Value:
    """Make a matrix with other cells, which may be Python's, at some rows and columns."""
    kinds, values, counts = _sides(emitter, value.type, key, lift)
    if isinstance(part, int | float | np.number):
        part = _element(part, value.type.cell)
    cells = lift(as_row(part, counts[1]))
    if cells.type.data == "scalar":
        cells = _filled(emitter, cells, value, kinds, values, counts)
    return inserted(emitter, "the matrix", value, cells, kinds, values, counts)


def _element(number: Any, cell: str) -> Any:
    """Return a number of Python's as an element of a matrix, if it is one without loss."""
    dtype = np.dtype(DTYPES[cell])
    is_integer = isinstance(number, int | np.integer)
    if dtype.kind == "f" or (is_integer and dtype.kind in "iub"):
        return dtype.type(number)
    return number


def _filled(
    emitter: Emitter,
    element: Value,
    value: Value,
    kinds: tuple[str, str],
    values: list[Value],
    counts: Sequence[int | None],
) -> Value:
    """Return a matrix of one element, of the shape of the rows and columns of another."""
    if None in counts and kinds != ("all", "all"):
        # How many rows or columns these are is known only when they are taken.
        type = indexed_type(value.type, kinds[1], values, counts)
        value = emitter.emit("index", [value, *values], type, kinds=kinds)
    sides = [
        counted(emitter, name, value) if count is None else emitter.constant(count, "index")
        for count, name in zip(counts, ("nrow", "ncol"), strict=True)
    ]
    [made] = lower(emitter, "fill", [element, *sides], {})
    return made


def _sides(
    emitter: Emitter, type: Type, key: Any, lift: Lift
) -> tuple[tuple[str, str], list[Value], list[int | None]]:
    rows, columns = _parts(type, key)
    one = _side(emitter, type, rows, type.rows, lift, is_column=False)
    other = _side(emitter, type, columns, type.columns, lift, is_column=True)
    return (one[0], other[0]), one[1] + other[1], [one[2], other[2]]


def _parts(type: Type, key: Any) -> tuple[Any, Any]:
    if not isinstance(key, tuple):
        labels = type.data == "frame" and _is_label(key)
        key = (slice(None), key) if labels else (key, slice(None))
    if len(key) != 2:
        raise IndexError(f"a lazy value has rows and columns, and {len(key)} are given in brackets")
    rows, columns = key
    return (
        _plain(_of_all(rows, type.rows, type), type.rows),
        _plain(_of_all(columns, type.columns, type), type.columns),
    )


def _plain(side: Any, count: int | None) -> Any:
    """Return what is in brackets, lists, and slices with steps of known rows, as positions."""
    if isinstance(side, Lazy) or side is Ellipsis or _is_label(side):
        return slice(None) if side is Ellipsis else side
    if isinstance(side, slice):
        return _stepped(side, count)
    if isinstance(side, list | range):
        side = np.asarray(side) if len(side) else np.empty(0, "i8")
    kind = np.asarray(side).dtype.kind
    if kind == "f" or (kind == "b" and not np.ndim(side)):
        raise IndexError(
            f"{side} is no position; rows and columns are chosen by integers, slices and masks"
        )
    if isinstance(side, int) and not -(2**63) <= side < 2**63:
        raise IndexError(f"position {side} is outside of all rows and columns")
    return side


def _of_all(side: Any, count: int | None, type: Type) -> Any:
    """Return what `None` in NumPy's brackets means where rows and columns are always there."""
    if side is None and count != 1:
        raise IndexError(
            f"a lazy value has rows and columns, and None, as in x[:, None], adds neither to a "
            f"{type}; leave it out, or say x.reshape(rows, columns)"
        )
    return slice(None) if side is None else side


def _stepped(side: slice, count: int | None) -> Any:
    """Return a slice whose ends Python knows with integers; one with a step as positions."""
    ends = [_end(end) for end in (side.start, side.stop, side.step)]
    side = slice(*ends)
    if count is None or any(isinstance(end, Lazy) for end in ends) or side.step in (None, 1):
        return side
    return np.arange(*side.indices(count))


def _end(end: Any) -> Any:
    """Return an end, or the step, of a slice: an integer of Python's, a lazy value or None."""
    if end is None or isinstance(end, Lazy):
        return end
    try:
        return operator.index(end)
    except TypeError:
        raise IndexError(f"{end!r} is no end of a slice; ends and steps are integers") from None


def _chosen(
    emitter: Emitter, value: Value, side: Any, lift: Lift, *, by_row: bool
) -> tuple[Value, Any]:
    """Take the rows, or columns, at which a mask is true, if there is one."""
    count = value.type.rows if by_row else value.type.columns
    if isinstance(side, np.ndarray) and side.dtype.kind == "b":
        side = _mask(side, count)
        if count is not None:
            return value, np.flatnonzero(side)
    elif not isinstance(side, Lazy):
        return value, side
    bits = lift(side)
    if bits.type.data != "matrix" or not _is_mask(bits):
        return value, side
    type = value.type
    if bits.type.rows == 1 and bits.type.columns != 1:
        [bits] = lower(emitter, "t", [bits], {})
    emitter.equal(bits.type.columns, 1, "a mask is one row or one column; columns")
    emitter.equal(bits.type.rows, count, "a mask has a cell for each row or column; cells")
    kind, made = "filter_rows", type.shaped(None, type.columns)
    if not by_row:
        kind, made = "filter_columns", type.shaped(type.rows, None)
        if type.data == "frame":
            made = Type("frame", "", type.rows, None, None)
    return emitter.emit(kind, [value, bits], made), slice(None)


def _is_mask(value: Value) -> bool:
    found = is_truth(value)
    if found is None:
        raise IndexError(
            f"the {value.type} in brackets comes from a loop or a condition, and may be a mask or "
            "positions: write x[m != 0] for a mask, and x[m + 0] for positions"
        )
    return found


def _mask(side: np.ndarray[Any, Any], count: int | None) -> np.ndarray[Any, Any]:
    """Return truth values of NumPy's in one dimension."""
    if side.size != max(side.shape):
        raise IndexError(f"a mask is one row or one column, not of the shape {side.shape}")
    if count not in (None, side.size):
        raise IndexError(f"a mask of {side.size} truth values for {count} rows or columns")
    return side.ravel()


def _is_label(key: Any) -> bool:
    return isinstance(key, str) or (
        isinstance(key, list) and key != [] and all(map(_is_label, key))
    )


def _no_labels(type: Type, side: Any) -> str:
    """Say why rows and columns are not chosen by labels."""
    if type.data == "matrix":
        return f"a {type} has no labels, as {side!r}; columns have positions: x[:, 0]"
    return f"rows have positions, not labels, as {side!r}; columns of frames have: f[:, {side!r}]"


def _side(
    emitter: Emitter, type: Type, side: Any, count: int | None, lift: Lift, *, is_column: bool
) -> Side:
    if isinstance(side, slice):
        return _range(emitter, side, count, lift)
    if _is_label(side):
        if type.data == "matrix" or not is_column:
            raise IndexError(_no_labels(type, side))
        return _labels(emitter, type, side)
    value = lift(side)
    if is_truth(value):
        raise IndexError(
            f"rows and columns are not assigned by a mask, and a truth value is no position, as "
            f"this {value.type}; choose elements: np.where(mask, part, x)"
        )
    if value.type.data == "scalar":
        emitter.number(value, "a position")
        _check(value, count)
        return "at", [value], 1
    positions = emitter.numbers(value, "positions")
    emitter.equal(positions.columns, 1, "positions are one column; columns")
    return "list", [value], positions.rows


def _check(value: Value, count: int | None) -> None:
    if value.const is None or count is None:
        return
    at = int(float(value.const) // 1)
    if not -count <= at < count:
        raise IndexError(f"position {at} is outside of 0 to {count - 1}")


def _labels(emitter: Emitter, type: Type, side: str | list[str]) -> Side:
    places = [position(emitter, type, name) for name in ([side] if isinstance(side, str) else side)]
    values = [emitter.constant(place, "si64") for place in places]
    if isinstance(side, str):
        return "at", values, 1
    made = emitter.emit("literal", values, matrix("si64", len(values), 1))
    return "list", [made], len(values)


def _range(emitter: Emitter, side: slice, count: int | None, lift: Lift) -> Side:
    begin, end, step = side.start, side.stop, side.step
    # Compared one by one: an end may be lazy, and so is what it is compared with.
    if begin is None and end is None and step is None:
        return "all", [], count
    if count is not None and not any(isinstance(each, Lazy) for each in (begin, end, step)):
        begin, end, _ = side.indices(count)
        known = [emitter.constant(at, "si64") for at in (begin, max(begin, end))]
        return "range", known, max(end - begin, 0)
    ends = _with_ends(begin, end, step)
    return "slice", [_end_value(emitter, lift, each) for each in ends], None


def _with_ends(begin: Any, end: Any, step: Any) -> tuple[Any, Any, Any]:
    """Return a slice with numbers for the ends that are left out, which are clipped later."""
    step = 1 if step is None else step
    if isinstance(step, Lazy) and (begin is None or end is None):
        raise IndexError("a slice with a lazy step has a begin and an end; the sign decides them")
    if not isinstance(step, Lazy) and step == 0:
        raise ValueError("slice step cannot be zero")
    first, last = (0, FURTHEST) if isinstance(step, Lazy) or step > 0 else (FURTHEST, -FURTHEST - 1)
    return first if begin is None else begin, last if end is None else end, step


def _end_value(emitter: Emitter, lift: Lift, end: Any) -> Value:
    """Make a value of an end of a slice; those that are outside of all rows are clipped."""
    if not isinstance(end, Lazy):
        return emitter.constant(min(max(end, -FURTHEST - 1), FURTHEST), "si64")
    value = lift(end)
    emitter.number(value, "an end of a slice")
    return value
