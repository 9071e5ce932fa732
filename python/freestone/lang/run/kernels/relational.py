"""Joins, groups and labels of frames, with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.errors import ExplodingJoinError
from freestone.lang.front.graph.graph import Op
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.frames import Frame
from freestone.units import machine_nbytes

Array = np.ndarray[Any, Any]

DENSE_KEYS = 4
"""Whole numbers are counted, not sorted, if there are at most so many for each row."""


def _made(op: Op, columns: list[Array], at: int = 0) -> Frame:
    schema = op.results[at].type.schema or ()
    return Frame(columns, [label for label, _ in schema], [cell for _, cell in schema])


def cartesian(run: Any, op: Op, left: Frame, right: Frame) -> Frame:
    """Pair every row with every row."""
    rows, others = left.shape[0], right.shape[0]
    _refuse_explosion(rows, others, rows * others, how="cross")
    one, two = np.repeat(np.arange(rows), others), np.tile(np.arange(others), rows)
    return _paired(op, left, right, one, two)


def _paired(op: Op, left: Frame, right: Frame, one: Array, two: Array) -> Frame:
    columns = [column[one] for column in left.columns]
    return _made(op, columns + [column[two] for column in right.columns])


def _partners(left: Array, right: Array) -> tuple[Array, Array]:
    """Return the positions of all pairs that are equal, in the order of the left side."""
    low, span = _span(left, right)
    if span:
        left, right = _distances(left, low), _distances(right, low)
        found = _only_partners(left, right, span)
        if found is not None:
            return found
        order, starts = _counted(right, span)
        first = starts[left]
        counts = starts[left + 1] - first
    else:
        order = np.argsort(right, kind="stable")
        ordered = right[order]
        first = np.searchsorted(ordered, left, "left")
        counts = np.searchsorted(ordered, left, "right") - first
    _refuse_explosion(len(left), len(right), int(counts.sum()))
    one = np.repeat(np.arange(len(left)), counts)
    before = np.cumsum(counts) - counts
    return one, order[np.repeat(first - before, counts) + np.arange(len(one))]


def _refuse_explosion(left: int, right: int, pairs: int, how: str = "inner") -> None:
    """Refuse pairs of rows whose positions alone take more memory than there is."""
    nbytes = 4 * np.dtype(np.intp).itemsize * pairs
    if nbytes > machine_nbytes():
        raise ExplodingJoinError(
            left_rows=left, right_rows=right, rows=pairs, nbytes=nbytes, how=how
        )


def _span(left: Array, right: Array) -> tuple[int, int]:
    """Return the least whole number, and how many lie up to the greatest; 0 if far too many."""
    if (
        not len(left)
        or not len(right)
        or left.dtype.kind not in "iu"
        or right.dtype.kind not in "iu"
    ):
        return 0, 0
    low = min(int(left.min()), int(right.min()))
    span = max(int(left.max()), int(right.max())) - low + 1
    return low, span if span <= DENSE_KEYS * (len(left) + len(right)) else 0


def _distances(keys: Array, low: int) -> Array:
    """Return how far whole numbers are above a least one; cells of 8 bits could not hold it."""
    wide = keys if keys.dtype == np.uint64 and low >= 0 else keys.astype("i8", copy=False)
    return (wide - low).astype("i8", copy=False)


def _only_partners(left: Array, right: Array, span: int) -> tuple[Array, Array] | None:
    """Return the positions of all pairs if no two keys on the right are equal, else None."""
    places, order = np.full(span, -1), np.arange(len(right))
    places[right] = order
    if not np.array_equal(places[right], order):
        return None
    two = places[left]
    one = np.flatnonzero(two >= 0)
    return one, two[one]


def _counted(keys: Array, span: int) -> tuple[Array, Array]:
    """Return the order of whole numbers below a span, and where each one begins in it."""
    from freestone._native.vector import coo_transpose

    count = len(keys)
    places, at = keys.astype("u4"), np.arange(count, dtype="u4")
    cells = np.zeros(count, "i1")
    ordered, order, rest = np.empty(count, "u4"), np.empty(count, "u4"), np.empty(count, "i1")
    coo_transpose(0, span, (at, places, cells), (ordered, order, rest))
    starts = np.zeros(span + 1, "i8")
    np.cumsum(np.bincount(places, minlength=span), out=starts[1:])
    return order.astype(np.intp), starts


def _keys(op: Op, left: Frame, right: Frame) -> tuple[Array, Array]:
    at, other = op.attrs["on"]
    one, two = left.columns[at], right.columns[other]
    if (one.dtype == object) != (two.dtype == object):
        raise ValueError(
            f"keys are {left.labels[at]!r} of {left.cells[at]} and {right.labels[other]!r} of "
            f"{right.cells[other]}, and texts equal no numbers: convert one of them"
        )
    return one, two


def inner_join(run: Any, op: Op, left: Frame, right: Frame) -> Frame:
    """Pair the rows that are equal in one column each."""
    return _paired(op, left, right, *_partners(*_keys(op, left, right)))


def semi_join(run: Any, op: Op, left: Frame, right: Frame) -> tuple[Frame, Array]:
    """Keep the keys of the left rows that have a partner."""
    keys, others = _keys(op, left, right)
    places = np.flatnonzero(np.isin(keys, others))
    return _made(op, [keys[places]]), places.astype("i8").reshape(-1, 1)


def group_join(run: Any, op: Op, left: Frame, right: Frame) -> tuple[Frame, Array]:
    """Sum a column of the right per partner on the left."""
    keys, others = _keys(op, left, right)
    one, two = _partners(keys, others)
    cells = right.columns[op.attrs["summed"]]
    sums = np.zeros(len(keys), cells.dtype)
    np.add.at(sums, one, cells[two])
    places = np.unique(one)
    return _made(op, [keys[places], sums[places]]), places.astype("i8").reshape(-1, 1)


def group_sum(run: Any, op: Op, frame: Frame) -> Frame:
    """Sum a column per group of others; groups come in ascending order."""
    *groups, summed = op.attrs["places"]
    keys = [frame.columns[at] for at in groups]
    cells = frame.columns[summed]
    low, span = _span(keys[0], keys[0])
    if len(keys) == 1 and span and cells.dtype == np.float64:
        places = _distances(keys[0], low)
        found = np.flatnonzero(np.bincount(places, minlength=span))
        sums = np.bincount(places, cells, span)[found]
        return _made(op, [found.astype(keys[0].dtype) + keys[0].dtype.type(low), sums])
    order = np.lexsort([_codes(key) for key in reversed(keys)])
    ordered = [key[order] for key in keys]
    changes = np.zeros(len(order), bool)
    changes[:1] = True
    for key in ordered:
        changes[1:] |= key[1:] != key[:-1]
    starts = np.flatnonzero(changes)
    sums = np.add.reduceat(cells[order], starts) if len(starts) else cells[:0]
    return _made(op, [*(key[starts] for key in ordered), sums.astype(cells.dtype)])


def _codes(key: Array) -> Array:
    return np.unique(key, return_inverse=True)[1] if key.dtype == object else key


def relabel(run: Any, op: Op, frame: Frame) -> Frame:
    """Give the columns other labels."""
    return _made(op, frame.columns)


def set_operation(run: Any, op: Op, left: Frame, right: Frame) -> Frame:
    """Intersect, unite or subtract the sets of rows, in order of appearance."""
    rows = dict.fromkeys(_rows(left))
    others = dict.fromkeys(_rows(right))
    name = op.attrs["name"]
    if name == "merge":
        kept = list(rows | others)
    else:
        kept = [row for row in rows if (row in others) == (name == "intersect")]
    columns = zip(*kept, strict=True) if kept else ([] for _ in left.columns)
    pairs = zip(columns, left.columns, strict=True)
    return _made(op, [np.array(list(cells), column.dtype) for cells, column in pairs])


def _rows(frame: Frame) -> list[tuple[Any, ...]]:
    return list(zip(*(column.tolist() for column in frame.columns), strict=True))


def frame_to_matrix(run: Any, op: Op, frame: Frame) -> Array:
    """Convert all columns to one type."""
    cell = op.results[0].type.cell
    columns = [converted(column.reshape(-1, 1), cell) for column in frame.columns]
    return np.hstack(columns)


def to_frame(run: Any, op: Op, value: Array) -> Frame:
    """Make a frame of a matrix's columns."""
    labels = [f"col_{at}" for at in range(value.shape[1])]
    cells = [op.operands[0].type.cell] * value.shape[1]
    return Frame([np.ascontiguousarray(column) for column in value.T], labels, cells)
