"""Blocks that are here, cut and joined for the engine or for NumPy.

The engine cuts rows into tiles and has threads of its own: blocks that are neighbours in memory
become one array again. NumPy has neither: for it rows are cut so that what is between two
operations stays in the cache, and tiles are shared out over threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from freestone.collections import Array
from freestone.collections.pieces import value_of
from freestone.lang.arrays.calls import CallLowering
from freestone.lang.arrays.lowering import Lowering

TILE_NBYTES = 1 << 20
"""Bytes of all arrays of a tile for NumPy: they and what is made of them fit the cache."""

Tile = tuple[Any, ...]
T = TypeVar("T")


def tiles_of(lowering: Lowering | CallLowering) -> list[Tile]:
    """Return what a plan is run on, one after the other: blocks that go together."""
    arrays: Sequence[Array] = [node.attrs["data"] for node in lowering.sources]
    columns = [[value_of(piece) for piece in array.blocks] for array in arrays]
    whole = [_whole_of(column) for column in columns]
    if any(one is None for one in whole):
        tiles = list(zip(*columns, strict=True))
        for number, tile in enumerate(tiles):
            for block, expected in zip(tile, lowering.plan.blocks, strict=True):
                expected.check(block, number)
        return tiles
    joined = tuple(one for one in whole if one is not None)
    if not lowering.plan.calls_numpy:
        return [joined]
    count = len(joined[0])
    nbytes = sum(one.nbytes for one in joined)
    rows = max(1, TILE_NBYTES * count // max(nbytes, 1))
    starts = range(0, count, rows) or [0]
    return [tuple(one[start : start + rows] for one in joined) for start in starts]


def each(
    function: Callable[[Tile, int], T], tiles: Sequence[Tile], lowering: Lowering | CallLowering
) -> list[T]:
    """Call a function with each tile and how many cores it may use; results in order."""
    cores = len(os.sched_getaffinity(0))
    if len(tiles) == 1 or cores == 1 or not lowering.plan.calls_numpy:
        return [function(tile, 0) for tile in tiles]
    with ThreadPoolExecutor(min(cores, len(tiles))) as pool:
        return list(pool.map(lambda tile: function(tile, 1), tiles))


def _whole_of(blocks: list[Any]) -> NDArray[Any] | None:
    """Return the array of which blocks are all the rows, one after the other; None if of none."""
    first = blocks[0]
    if len(blocks) == 1:
        return first if isinstance(first, np.ndarray) else None
    if not all(isinstance(block, np.ndarray) and block.flags.c_contiguous for block in blocks):
        return None
    base = first.base
    if not isinstance(base, np.ndarray) or any(block.base is not base for block in blocks):
        return None
    at = first.ctypes.data
    for block in blocks:
        if block.ctypes.data != at or block.dtype != first.dtype:
            return None
        at += block.nbytes
    rows = sum(len(block) for block in blocks)
    return np.ndarray((rows, *first.shape[1:]), first.dtype, base, first.ctypes.data - _begin(base))


def _begin(base: NDArray[Any]) -> int:
    return int(base.ctypes.data)
