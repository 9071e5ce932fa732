"""Where blocks begin and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.collections.rows import count_rows

__all__ = ["Offsets", "cuts_of", "offsets_of", "total_rows"]

Offsets = NDArray[np.int64]


def offsets_of(rows: Sequence[int] | NDArray[Any]) -> Offsets:
    """Return where blocks of so many rows begin, and where the last one ends."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(rows, out=offsets[1:])
    offsets.flags.writeable = False
    return offsets


def cuts_of(length: int, block_rows: int | Sequence[int] | NDArray[Any]) -> Offsets:
    """Return the offsets of blocks of `block_rows` rows, or the offsets that were given.

    Parameters
    ----------
    length
        How many rows there are.
    block_rows
        Rows per block, the last one may have less; or offsets, from 0 to `length`.
    """
    if isinstance(block_rows, bool | np.bool_) or not isinstance(
        block_rows, int | np.integer | list | tuple | range | np.ndarray
    ):
        raise TypeError(
            f"block_rows={block_rows!r} ({type(block_rows).__name__}): give a whole number of rows "
            f"per block, or offsets from 0 to {length:,}"
        )
    if isinstance(block_rows, int | np.integer):
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows}: a block has at least one row")
        starts = np.arange(0, length, block_rows, dtype=np.int64)
        offsets = np.append(starts, length) if length else np.zeros(2, np.int64)
    else:
        given = np.asarray(block_rows)
        right = given.ndim == 1 and len(given) > 1 and given.dtype.kind in "iu" and given[0] == 0
        offsets = given.astype(np.int64) if right else given
        if not right or offsets[-1] != length or (np.diff(offsets) < 0).any():
            raise ValueError(f"offsets must rise from 0 to {length:,}: {block_rows!r}")
    offsets.flags.writeable = False
    return offsets


def total_rows(blocks: Sequence[Any]) -> Offsets:
    """Return the offsets of blocks that are values."""
    return offsets_of([count_rows(block) for block in blocks])
