"""Arrays from Zarr stores, and into them: each block is read and written by a worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.errors import FreestoneError, UsageError
from freestone.storage.meters import written

if TYPE_CHECKING:
    from freestone.collections.array import Array
    from freestone.storage.meters import Meter

__all__ = ["open_zarr", "read_rows", "write_chunks"]


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise FreestoneError("Zarr stores need zarr; install freestone[zarr]") from error
    return zarr


def open_zarr(url: str) -> Any:
    """Open the Zarr array at a path or URL for reading."""
    return _zarr().open_array(url, mode="r")


def read_rows(url: str, start: int, stop: int) -> Any:
    """Read rows ``start:stop`` of the Zarr array at a path or URL."""
    return open_zarr(url)[start:stop]


def write_chunks(array: Array, url: str, meter: Meter) -> None:
    """Write an array, a chunk for each block; waits until it is written.

    Blocks of uneven lengths are rechunked first. `meter` is told what is written.
    """
    array._described()
    array = array if _is_even(array) else array.rechunk(array.block_rows)
    rows = max(array.block_rows, 1)
    _create(url, array, rows)
    client, starts = array.client, array.offsets[:-1].tolist()
    if client is None:
        for start, block in zip(starts, array.iter_blocks(), strict=True):
            _native.io.io_count(written=_write(url, start, block))
    else:
        calls = zip([url] * len(starts), starts, array.blocks, strict=True)
        written(client, _write, calls, "write zarr", meter)


def _create(url: str, array: Array, rows: int) -> None:
    """Make a store without values, whose chunks have so many rows."""
    zarr, chunks = _zarr(), (rows, *array.shape[1:])
    try:
        zarr.dtype.parse_dtype(array.dtype, zarr_format=3)
    except ValueError as error:
        raise UsageError(
            f"values of dtype {array.dtype} can't be written as Zarr, which has no type for them; "
            "convert them"
        ) from error
    zarr.create_array(url, shape=array.shape, chunks=chunks, dtype=array.dtype, overwrite=True)


def _is_even(array: Array) -> bool:
    """Tell whether all blocks but the last are of one length, as Zarr chunks have to be."""
    rows = np.diff(array.offsets)
    return bool((rows[:-1] == rows[:1]).all() and (rows[-1:] <= rows[:1]).all())


def _write(url: str, start: int, block: Any) -> int:
    """Write a block; how many bytes it has."""
    target = _zarr().open_array(url, mode="r+")
    dense = block.toarray() if hasattr(block, "toarray") else block
    target[start : start + dense.shape[0]] = dense
    return int(dense.nbytes)
