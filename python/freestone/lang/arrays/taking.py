"""Rows by a list of their numbers, and by slices with a step.

These are computed at once. Rows of a list go from the workers that have them to those that make
the new blocks, and none goes through the program. Those of a slice stay where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.collections import Array
from freestone.collections.blocking import cuts_of, offsets_of
from freestone.lang.arrays.blockwise import called, in_blocks, several
from freestone.lang.arrays.computing import computed
from freestone.lang.arrays.nodes import IndexNotLazyError, Node, refusal

__all__ = ["every", "taken"]

_KINDS = "biufcmMSUV"


def every(array: Array, rows: range) -> Array:
    """Return some rows at equal distances, in this order."""
    if array.blocks and array._first().sparse:
        raise refusal(f"a slice with step {rows.step}", "takes no sparse blocks", IndexNotLazyError)
    if not rows:
        return _none_of(array)
    upward = rows if rows.step > 0 else rows[::-1]
    # How many of the rows there are before each block.
    before = np.clip(-(-(array.offsets - upward.start) // upward.step), 0, len(rows))
    client, blocks, counts = array.client, array.blocks, np.diff(before)
    pieces = []
    for place in np.flatnonzero(counts).tolist():
        first = upward[int(before[place])] - int(array.offsets[place])
        last = upward[int(before[place + 1]) - 1] - int(array.offsets[place])
        pieces.append(called(client, _every, blocks[place], first, last + 1, rows.step))
    counts = counts[counts > 0]
    order = 1 if rows.step > 0 else -1
    return array._alike(pieces[::order], offsets_of(counts[::order]))


def _every(block: Any, start: int, stop: int, step: int) -> Any:
    part = block[start : stop : abs(step)]
    return np.ascontiguousarray(part if step > 0 else part[::-1])


def taken(node: Node, index: Any) -> Array:
    """Return the rows that a list says, or an array of numbers in blocks.

    Raises
    ------
    IndexError
        For a number that no row has; when the result is computed, if the numbers are in blocks.
    """
    array = in_blocks("an index by a list of rows", node, _KINDS)
    client, offsets = array.client, array.offsets
    if isinstance(index, Node) and index.rows is not None:
        wanted = in_blocks("an index by numbers", index, "iu")
        count = len(array.blocks)
        numbers: Sequence[Any] = wanted.blocks
        cut = [several(client, count, _by_block, offsets, one) for one in numbers]
        new = wanted.offsets
    else:
        whole = np.asarray(computed(index) if isinstance(index, Node) else index)
        new = cuts_of(len(whole), max(array.block_rows, 1))
        numbers = np.split(whole.astype(np.intp), new[1:-1])
        cut = [_by_block(offsets, one) for one in numbers]
    pieces = _moved(array, numbers, cut)
    if not pieces:
        return _none_of(array)
    return array._alike(pieces, new)


def _moved(array: Array, numbers: Sequence[Any], cut: Sequence[Sequence[Any]]) -> list[Any]:
    """Have each block give its rows, and put those of each new block in order."""
    client = array.client
    none = next(iter(_none_of(array).blocks), None)
    sources: list[list[Any]] = [[] for _ in numbers]
    for place, piece in enumerate(array.blocks):
        column = [parts[place] for parts in cut]
        targets = [at for at, part in enumerate(column) if _has_rows(part)]
        if targets:
            rows = several(client, len(targets), _rows_at, piece, *[column[at] for at in targets])
            for at, part in zip(targets, rows, strict=True):
                sources[at].append(part)
    return [
        called(client, _placed, array.offsets, one, *parts) if parts else none
        for one, parts in zip(numbers, sources, strict=True)
    ]


def _has_rows(part: Any) -> bool:
    return not isinstance(part, np.ndarray) or len(part) > 0


def _none_of(array: Array) -> Array:
    none: Array = array[:0]
    return none


def _by_block(offsets: NDArray[np.int64], numbers: Any) -> Any:
    """Return the numbers of rows within each block."""
    rows = _counted_up(offsets, numbers)
    blocks = _blocks_of(offsets, rows)
    starts = offsets[:-1].tolist()
    return tuple(rows[blocks == at] - start for at, start in enumerate(starts))


def _blocks_of(offsets: NDArray[np.int64], rows: Any) -> Any:
    return np.searchsorted(offsets, rows, "right") - 1


def _counted_up(offsets: NDArray[np.int64], numbers: Any) -> Any:
    """Return numbers of rows counted from the first, or raise NumPy's error for one too large."""
    count, rows = int(offsets[-1]), np.asarray(numbers)
    wrong = (rows >= count) | (rows < -count) if rows.dtype.kind == "i" else rows >= count
    if wrong.any():
        raise IndexError(f"row {rows[wrong][0]} is out of bounds of an array of {count:,} rows")
    rows = rows.astype(np.intp)
    return np.where(rows < 0, rows + count, rows)


def _rows_at(block: Any, *numbers: Any) -> Any:
    return tuple(block[one] for one in numbers)


def _placed(offsets: NDArray[np.int64], numbers: Any, *parts: Any) -> Any:
    """Put rows that come in order of blocks in the order of their numbers."""
    first = parts[0]
    order = np.argsort(_blocks_of(offsets, _counted_up(offsets, numbers)), kind="stable")
    whole = np.empty((len(order), *first.shape[1:]), first.dtype)
    whole[order] = np.concatenate(parts)
    return whole
