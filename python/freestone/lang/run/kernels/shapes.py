"""Reorganisation and indexing, with NumPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import PRINTED
from freestone.lang.run.kernels.frames import Frame
from freestone.lang.run.kernels.generation import count
from freestone.lang.run.kernels.memory import FROM, copy, empty
from freestone.lang.run.kernels.output import header

Array = np.ndarray[Any, Any]


def shape(run: Any, op: Op, value: Any) -> int:
    """Count rows, columns or cells."""
    rows, columns = value.shape
    return int({"nrow": rows, "ncol": columns, "ncell": rows * columns}[op.attrs["name"]])


def type_of(run: Any, op: Op, value: Any) -> str:
    """Name a type, as ``print`` does."""
    type = op.operands[0].type
    if type.data == "scalar":
        return "const char*" if type.cell == "str" else PRINTED[type.cell]
    if type.data == "list":
        return f"List({len(value)}, DenseMatrix, {PRINTED[type.cell]})"
    if isinstance(value, Frame):
        cells = ", ".join(PRINTED[cell] for cell in value.cells)
        return f"Frame({value.shape[0]}x{value.shape[1]}, {cells})"
    return header(type, value)


def reshape(run: Any, op: Op, value: Array, rows: Any, columns: Any) -> Array:
    """Give the cells another shape."""
    goal = count(rows, "numRows"), count(columns, "numCols")
    if value.size != goal[0] * goal[1]:
        raise ValueError(f"{value.shape[0]}x{value.shape[1]} cells can't be {goal[0]}x{goal[1]}")
    return value.reshape(goal)


def transpose(run: Any, op: Op, value: Array) -> Array:
    """Swap rows and columns."""
    return value.T


def cbind(run: Any, op: Op, left: Any, right: Any) -> Any:
    """Put side by side."""
    if left.shape[0] != right.shape[0]:
        raise ValueError(f"cbind of {left.shape[0]} and {right.shape[0]} rows")
    if isinstance(left, Frame):
        columns = left.columns + right.columns
        return Frame(columns, left.labels + right.labels, left.cells + right.cells)
    return _joined(run, left, right, 1)


def _joined(run: Any, left: Array, right: Array, axis: int) -> Array:
    """Put two matrices next to each other; large ones into memory that was used before."""
    if left.dtype != right.dtype or left.nbytes + right.nbytes < FROM:
        return np.concatenate([left, right], axis)
    rows, columns = left.shape
    more = right.shape[axis]
    out = empty(run, (rows, columns + more) if axis else (rows + more, columns), left.dtype)
    first = out[:, :columns] if axis else out[:rows]
    copy(run, left, first)
    copy(run, right, out[:, columns:] if axis else out[rows:])
    return out


def rbind(run: Any, op: Op, left: Any, right: Any) -> Any:
    """Put below each other."""
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"rbind of {left.shape[1]} and {right.shape[1]} columns")
    if isinstance(left, Frame):
        pairs = zip(left.columns, right.columns, strict=True)
        return Frame([np.concatenate(pair) for pair in pairs], left.labels, left.cells)
    return _joined(run, left, right, 0)


def reverse(run: Any, op: Op, value: Array) -> Array:
    """Turn the order of the rows round."""
    return value[::-1]


def order(run: Any, op: Op, value: Any, *rest: Any) -> Any:
    """Sort rows by columns; equal rows keep their order."""
    half = len(rest) // 2
    places: Any = slice(None)
    for column, ascending in reversed(list(zip(rest[:half], rest[half:], strict=True))):
        at = position(column, value.shape[1], "column")
        cells = value.columns[at] if isinstance(value, Frame) else value[:, at]
        found = sorted_places(cells[places], bool(ascending))
        places = found if isinstance(places, slice) else places[found]
    if op.attrs["indexes"]:
        return places.astype("u8").reshape(-1, 1)
    return value.taken(places) if isinstance(value, Frame) else value[places]


def sorted_places(cells: Array, ascending: bool) -> Array:
    """Return where cells are in their order; equal ones keep theirs."""
    if ascending:
        return np.argsort(cells, kind="stable")
    # The last of the reversed order is the first of equal ones.
    return (len(cells) - 1 - np.argsort(cells[::-1], kind="stable"))[::-1]


def position(value: Any, length: int, what: str) -> int:
    """Cut a position off at its point, and count negative ones from the end."""
    at = int(value)
    if not -length <= at < length:
        raise IndexError(f"{what} {at} is outside of 0 to {length - 1}")
    return at + length if at < 0 else at


def sides_of(op: Op, shape: tuple[int, int], values: tuple[Any, ...]) -> list[slice | Array]:
    """Return the rows and the columns that an index means, counted from the begin."""
    sides: list[slice | Array] = []
    rest = list(values)
    for kind, length, what in zip(op.attrs["kinds"], shape, ("row", "column"), strict=True):
        if kind == "all":
            sides.append(slice(None))
        elif kind == "at":
            at = position(rest.pop(0), length, what)
            sides.append(slice(at, at + 1))
        elif kind == "list":
            sides.append(_positions(rest.pop(0), length, what))
        elif kind == "slice":
            begin, end, step = (int(rest.pop(0)) for _ in range(3))
            sides.append(_clipped(slice(begin, end, step), length))
        else:
            begin = int(rest.pop(0))
            end = length if kind == "from" else int(rest.pop(0))
            sides.append(_range(begin, end, length, what))
    return sides


def _range(begin: int, end: int, length: int, what: str) -> slice:
    first = begin + length if begin < 0 else begin
    last = end + length if end < 0 else end
    if not 0 <= first <= last <= length:
        raise IndexError(f"the {what}s {begin}:{end} are not inside of 0:{length}")
    return slice(first, last)


def _clipped(side: slice, length: int) -> slice | Array:
    """Return what a slice of Python's means of so many rows or columns, as NumPy cuts it."""
    begin, end, step = side.indices(length)
    return slice(begin, max(begin, end)) if step == 1 else np.arange(begin, end, step)


def _positions(value: Array, length: int, what: str) -> Array:
    if value.shape[1] != 1:
        raise ValueError(f"positions are one column, not {value.shape[1]}")
    wholes = np.trunc(value[:, 0])
    # No number, such as NaN, is inside.
    wrong = wholes[~((wholes >= -length) & (wholes < length))]
    if wrong.size:
        raise IndexError(f"{what} {wrong[0]:.0f} is outside of 0 to {length - 1}")
    places = wholes.astype("i8")
    return np.where(places < 0, places + length, places)


def index(run: Any, op: Op, value: Any, *sides: Any) -> Any:
    """Take rows and columns."""
    rows, columns = sides_of(op, value.shape, sides)
    if isinstance(value, Frame):
        chosen = value.chosen(np.arange(value.shape[1])[columns].tolist())
        return chosen.taken(rows)
    return value[rows][:, columns]


def insert(run: Any, op: Op, whole: Array, part: Array, *sides: Any) -> Array:
    """Write a part into a copy, or in place where nobody else has the matrix."""
    rows, columns = sides_of(op, whole.shape, sides)
    goal = whole[rows, columns].shape
    if part.shape != goal:
        raise ValueError(f"a {goal[0]}x{goal[1]} part can't be set to {part.shape} cells")
    alone = sys.getrefcount(whole) <= run.own_references and whole.base is None
    target = whole if alone and whole.flags.writeable else whole.copy()
    target[rows, columns] = part
    return target


def _bits(bits: Array, length: int) -> Array:
    if bits.shape != (length, 1):
        raise ValueError(f"a filter of {length} needs as many bits, not {bits.shape}")
    return np.asarray(bits[:, 0] != 0)


def filter_rows(run: Any, op: Op, value: Any, bits: Array) -> Any:
    """Keep the rows whose bit is set."""
    keep = _bits(bits, value.shape[0])
    return value.taken(keep) if isinstance(value, Frame) else value[keep]


def filter_columns(run: Any, op: Op, value: Any, bits: Array) -> Any:
    """Keep the columns whose bit is set."""
    keep = _bits(bits, value.shape[1])
    if isinstance(value, Frame):
        return value.chosen(np.flatnonzero(keep).tolist())
    return value[:, keep]
