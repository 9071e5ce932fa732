"""Bytes that are the values themselves: no parsing, only reading into place."""

from __future__ import annotations

import itertools
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from freestone import _native
from freestone.errors import FormatError

__all__ = ["dtype_reported", "fill_block", "joined", "read_values"]

STEP = 8 << 20
# That of the blocks in a cache.
PROTOCOL = 5
# Booleans, numbers, texts of one length, times.
PLAIN = "biufcSUmM"


def dtype_reported(url: str, reported: Any) -> np.dtype[Any]:
    """Return the dtype that a file says its values have.

    Raises
    ------
    FormatError
        When it is none, or one of records or objects, which are no values by themselves.
    """
    try:
        found: np.dtype[Any] = np.dtype(reported)
    except (TypeError, ValueError) as error:
        raise FormatError(url, f"{reported!r} is no type of values ({error})") from None
    if found.kind not in PLAIN:
        raise FormatError(url, f"its values are of type {found}; they have to be numbers or texts")
    return found


def read_values(
    source: Any,
    offset: int,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    threads: int = 1,
    *,
    unit: int = 1,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Read an array that lies in a file in row order, at an offset.

    Parameters
    ----------
    source
        A path, or an object with ``read_at(offset, nbytes)``; one that also has
        ``read_into(offset, view)`` fills memory without a copy in between, and one that says
        ``at_once`` is far away, and asked for so many ranges at once.
    offset
        Its first byte.
    shape, dtype
        Those of the array.
    threads
        How many read at once.
    unit
        Bytes that one call does not cross, such as a stripe; 1 if that makes no difference.
    out
        Where the array is put, in row order; new memory by default.

    Raises
    ------
    FormatError
        When the file ends before the array does.
    """
    if out is None:
        out = np.empty(shape, dtype)
    view: Any = memoryview(out.reshape(-1).view(np.uint8).data)
    pieces = _pieces(offset, len(view), unit if unit > 1 else STEP)
    if isinstance(source, str):
        descriptor = os.open(source, os.O_RDONLY)
        try:
            _in_threads(
                lambda piece: _fill(descriptor, view[piece], offset + piece.start), pieces, threads
            )
        finally:
            os.close(descriptor)
    else:
        at_once = max(threads, getattr(source, "at_once", 1))
        _in_threads(lambda piece: _copy(source, view[piece], offset + piece.start), pieces, at_once)
    return out


def fill_block(
    source: Any, offset: int, shape: tuple[int, ...], dtype: DTypeLike, *, unit: int = 1
) -> Any:
    """Copy an array that lies in a file in row order into a block of this executor's cache.

    Returns
    -------
    freestone._native.blocks.Filled or None
        None where that can't be done: in other processes, from stores that are neither a file
        system of this machine nor give packets, from stripes, and of no bytes.
    """
    # Nothing of it is touched: it is only there to be pickled.
    like = np.empty(shape, dtype)
    is_read_along = isinstance(source, str) or hasattr(source, "packets")
    if not is_read_along or unit > 1 or not like.nbytes:
        return None
    buffers: list[Any] = []
    stream = pickle.dumps(like, PROTOCOL, buffer_callback=buffers.append)
    if len(buffers) != 1:
        return None
    try:
        return _native.blocks.fill_block(source, offset, like.nbytes, stream)
    except OSError as error:
        if error.errno or type(error) is not OSError:
            raise
        # The system has no number for a file that ends too early.
        raise FormatError("", f"it ends before byte {offset + like.nbytes:,} (truncated)") from None


def _pieces(offset: int, nbytes: int, step: int) -> list[slice]:
    """Cut bytes from an offset on where the file's offsets are multiples of a step."""
    cuts = [0, *range(step - offset % step, nbytes, step), nbytes]
    return [slice(start, stop) for start, stop in itertools.pairwise(cuts) if start < stop]


def _in_threads(function: Any, pieces: list[slice], threads: int) -> None:
    if threads <= 1 or len(pieces) <= 1:
        for piece in pieces:
            function(piece)
        return
    with ThreadPoolExecutor(min(threads, len(pieces))) as pool:
        list(pool.map(function, pieces))


def _fill(descriptor: int, view: memoryview, offset: int) -> None:
    while len(view):
        count = os.preadv(descriptor, [view], offset)
        if not count:
            raise FormatError(
                "", f"it ends at byte {offset:,}, {len(view):,} too early (truncated)"
            )
        _native.io.io_count(read=count)
        view, offset = view[count:], offset + count


def _copy(source: Any, view: memoryview, offset: int) -> None:
    if hasattr(source, "read_into"):
        count = source.read_into(offset, view)
        view, offset = view[count:], offset + count
    while len(view):
        found = source.read_at(offset, len(view))
        if not len(found):
            raise FormatError(
                "", f"it ends at byte {offset:,}, {len(view):,} too early (truncated)"
            )
        view[: len(found)] = found
        view, offset = view[len(found) :], offset + len(found)


def joined(parts: Sequence[Sequence[Any]], dtypes: Sequence[DTypeLike]) -> list[NDArray[Any]]:
    """Return arrays, each made of one buffer of every part."""
    return [
        np.concatenate([np.frombuffer(part[at], dtype) for part in parts] or [np.empty(0, dtype)])
        for at, dtype in enumerate(dtypes)
    ]
