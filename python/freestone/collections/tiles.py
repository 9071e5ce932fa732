"""Rows of blocks of any size, in arrays of about one size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from freestone.collections.rows import concatenate, count_rows, take_rows

__all__ = ["TILE_NBYTES", "joined"]

TILE_NBYTES = 1 << 20
"""Fits in a core's own cache, and is much for one call of NumPy's."""


def joined(blocks: Iterable[tuple[Any, ...]], rows: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of blocks in order, about so many at a time.

    Parameters
    ----------
    blocks
        Tuples of blocks that go together, of as many rows each.
    rows
        How many rows a tile is to have. Blocks of at least half as many are not copied.

    Notes
    -----
    A tile has at most 1.5 times as many rows.
    """
    waiting: list[tuple[Any, ...]] = []
    held = 0
    for block in blocks:
        count = count_rows(block[0])
        is_large = 2 * count >= rows
        if waiting and (is_large or held + count > rows):
            yield _one(waiting)
            waiting, held = [], 0
        if is_large:
            yield from _cut(block, count, rows)
        else:
            waiting.append(block)
            held += count
    if waiting:
        yield _one(waiting)


def _one(blocks: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(concatenate(list(column)) for column in zip(*blocks, strict=True))


def _cut(block: tuple[Any, ...], count: int, rows: int) -> Iterator[tuple[Any, ...]]:
    """Cut a block into the fewest parts of like length that are not too long."""
    parts = max(1, round(count / rows))
    if parts == 1:
        yield block
        return
    for part in range(parts):
        start, stop = count * part // parts, count * (part + 1) // parts
        yield tuple(take_rows(column, start, stop) for column in block)
