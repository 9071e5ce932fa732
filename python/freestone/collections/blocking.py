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
    if isinstance(block_rows, int | np.integer):
        if block_rows < 1:
            raise ValueError(f"block_rows={block_rows}: a block has at least one row")
        starts = np.arange(0, length, block_rows, dtype=np.int64)
        offsets = np.append(starts, length) if length else np.zeros(2, np.int64)
    else:
        offsets = np.array(block_rows, np.int64)
        right = offsets.ndim == 1 and len(offsets) > 1 and offsets[0] == 0
        if not right or offsets[-1] != length or (np.diff(offsets) < 0).any():
            raise ValueError(f"offsets must rise from 0 to {length:,}: {block_rows!r}")
    offsets.flags.writeable = False
    return offsets


def total_rows(blocks: Sequence[Any]) -> Offsets:
    """Return the offsets of blocks that are values."""
    return offsets_of([count_rows(block) for block in blocks])
