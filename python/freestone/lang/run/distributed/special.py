"""Operations on blocks that are more than a call on each: products, slices, means, filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.lang.front.builtins.reorganisation import SIDE_VALUES
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.distributed.files import write_blocks
from freestone.lang.run.distributed.means import mean
from freestone.lang.run.distributed.split import Split, Transposed, as_dense, rows_of
from freestone.lang.run.distributed.transposed import derive, transposed_value
from freestone.lang.run.kernels import shapes

if TYPE_CHECKING:
    from freestone.lang.run.distributed.running import DistributedRun

__all__ = ["SPECIAL"]

Found = Sequence[Any] | None
Rule = Callable[["DistributedRun", Op, list[Any]], Found]


def _shape(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    return [shapes.shape(run, op, operands[0])]


def _transpose(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value = operands[0]
    if isinstance(value, Split) and value.csr and not op.results[0].type.form:
        # Which way a script went decided how it is held; the plan says dense.
        return None
    return [transposed_value(value)]


def _matmul(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    left, right = operands
    if left.shape[1] != right.shape[0]:
        return None
    if isinstance(left, Transposed) or (isinstance(right, Split) and not isinstance(left, Split)):
        # A sum, over the blocks, of products of their rows.
        split = left.split if isinstance(left, Transposed) else right
        cross = derive(run, op, "cross", "cross", op.operands)
        return run.apply(cross, [transposed_value(left), right], split.offsets)
    if isinstance(right, Transposed) and not isinstance(left, Split):
        other = derive(run, op, "turned", "matmul", op.operands)
        found = run.apply(other, [right.split, transposed_value(left)], right.split.offsets)
        return None if found is None else [transposed_value(value) for value in found]
    return None


def _aggregate(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    if op.attrs["name"] in ("mean", "var", "stddev") and isinstance(operands[0], Split):
        return [mean(run, op, operands[0])]
    return None


def _index(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, *sides = operands
    if not isinstance(value, Split):
        return None
    sides = [v.fetched() if isinstance(v, Split | Transposed) else v for v in sides]
    rows, columns = shapes.sides_of(op, value.shape, tuple(sides))
    if isinstance(rows, slice) and op.attrs["kinds"][0] != "all":
        ends = rows.indices(value.shape[0])[:2]
        part = _sliced(run, value, *ends, csr=op.results[0].type.csr)
    elif isinstance(rows, slice):
        width = len(np.arange(value.columns)[columns])
        return run.apply(op, [value, *sides], value.offsets, columns=width)
    else:
        part = _gathered(run, value, rows)
    if op.attrs["kinds"][1] == "all":
        return [part]
    kinds = ("all", op.attrs["kinds"][1])
    skipped = SIDE_VALUES[op.attrs["kinds"][0]]
    left = [op.operands[0], *op.operands[1 + skipped :]]
    other = derive(run, op, "columns", "index", left, kinds=kinds)
    return run.kernel(other, [part, *sides[skipped:]])


def _sliced(run: DistributedRun, value: Split, start: int, stop: int, *, csr: bool) -> Any:
    """Take a range of rows: whole blocks as they are; a little of it comes here."""
    dense = value.csr and not csr
    number = run.client.define(take_rows, "rows")
    blocks, offsets = [], [0]
    for block, (first, last) in zip(value.blocks, pairwise(value.offsets), strict=True):
        begin, end = max(start, first), min(stop, last)
        if begin >= end:
            continue
        if (begin, end) == (first, last) and not dense:
            blocks.append(block)
        else:
            which = slice(begin - first, end - first)
            blocks.append(run.client.call(number, (block, which, dense), {}, 1))
        offsets.append(end - start)
    if not blocks:
        return _none_of(value)
    part = run.split(blocks, tuple(offsets), value.columns, value.cell, csr=csr)
    cell = np.dtype(DTYPES[value.cell]).itemsize
    small = (stop - start) * value.columns * cell < run.settings.distributed_bytes
    return part.fetched() if small or len(offsets) < 3 else part


def _gathered(run: DistributedRun, value: Split, rows: np.ndarray[Any, Any]) -> Any:
    """Take rows by position; only they come here."""
    number = run.client.define(take_rows, "rows")
    home = np.searchsorted(np.array(value.offsets[1:]), rows, side="right")
    futures, places = [], []
    for at in np.unique(home):
        wanted = np.flatnonzero(home == at)
        local = rows[wanted] - value.offsets[at]
        futures.append(run.client.call(number, (value.blocks[at], local, True), {}, 1))
        places.append(wanted)
    if not futures:
        return _none_of(value)
    whole = np.concatenate([future.result() for future in futures])
    out = np.empty_like(whole)
    out[np.concatenate(places)] = whole
    return out


def _none_of(value: Split) -> Any:
    return np.empty((0, value.columns), DTYPES[value.cell])


def take_rows(block: Any, which: slice | np.ndarray[Any, Any], dense: bool) -> Any:
    """Take a range of rows, or rows by position, on a worker."""
    if isinstance(which, slice):
        part = rows_of(block, which.start, which.stop)
        return _native.blocks.Stored(as_dense(part) if dense else part)
    cells: np.ndarray[Any, Any] = as_dense(block)
    return _native.blocks.Stored(cells[which])


def _filter(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    value, bits = operands
    if not isinstance(value, Split):
        return None
    whole = bits.fetched() if isinstance(bits, Split | Transposed) else bits
    if whole.shape != (value.shape[0], 1):
        return None
    kept = np.not_equal(as_dense(whole)[:, 0], 0)
    counts = np.add.reduceat(kept.astype("i8"), value.offsets[:-1])
    ends = (0, *np.cumsum(counts).tolist())
    found = run.apply(op, [value, bits], value.offsets, made_offsets=ends)
    return None if found is None else [_without_empty(run, found[0])]


def _without_empty(run: DistributedRun, value: Split) -> Any:
    """Leave out blocks of no rows: they have no least cell, nor a greatest."""
    parts = zip(value.blocks, pairwise(value.offsets), strict=True)
    left = [(block, last) for block, (first, last) in parts if first < last]
    if not left:
        return _none_of(value)
    blocks, ends = zip(*left, strict=True)
    return run.split(list(blocks), (0, *ends), value.columns, value.cell, csr=value.csr)


def _rbind(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    one, two = operands
    if not isinstance(one, Split) or not isinstance(two, Split) or one.columns != two.columns:
        return None
    if one.csr or two.csr:
        return None
    rows = one.shape[0]
    offsets = (*one.offsets, *(rows + end for end in two.offsets[1:]))
    return [run.split(one.blocks + two.blocks, offsets, one.columns, one.cell)]


def _table(run: DistributedRun, op: Op, operands: list[Any]) -> Found:
    """Sum up small tables of each block; a large one is made here."""
    split = next((value for value in operands if isinstance(value, Split)), None)
    shape = operands[3:]
    if split is None or len(shape) != 2 or np.shape(operands[2]) or min(shape) < 0:
        return None
    if shape[0] * shape[1] > split.shape[0]:
        here = [v.fetched() if isinstance(v, Split | Transposed) else v for v in operands]
        return run.kernel(op, here)
    return run.apply(op, operands, split.offsets)


SPECIAL: dict[str, Rule] = {
    "shape": _shape,
    "transpose": _transpose,
    "matmul": _matmul,
    "agg_all": _aggregate,
    "agg_col": _aggregate,
    "index": _index,
    "filter_rows": _filter,
    "rbind": _rbind,
    "ctable": _table,
    "write": write_blocks,
}
