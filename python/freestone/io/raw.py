"""Bytes that are the values themselves: no parsing, only reading into place."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from freestone.errors import FormatError

__all__ = ["joined", "read_values"]

STEP = 8 << 20


def read_values(
    source: Any, offset: int, shape: tuple[int, ...], dtype: DTypeLike, threads: int = 1
) -> NDArray[Any]:
    """Read an array that lies in a file in row order, at an offset.

    Parameters
    ----------
    source
        A path, or an object with ``read_at(offset, nbytes)``.
    offset
        Its first byte.
    shape, dtype
        Those of the array.
    threads
        How many read at once.

    Raises
    ------
    FormatError
        When the file ends before the array does.
    """
    out = np.empty(shape, dtype)
    view = memoryview(out.reshape(-1).view(np.uint8).data)
    starts = range(0, len(view), STEP)
    if isinstance(source, str):
        descriptor = os.open(source, os.O_RDONLY)
        try:
            _in_threads(
                lambda at: _fill(descriptor, view[at : at + STEP], offset + at), starts, threads
            )
        finally:
            os.close(descriptor)
    else:
        _in_threads(lambda at: _copy(source, view[at : at + STEP], offset + at), starts, threads)
    return out


def _in_threads(function: Any, starts: range, threads: int) -> None:
    if threads <= 1 or len(starts) <= 1:
        for start in starts:
            function(start)
        return
    with ThreadPoolExecutor(min(threads, len(starts))) as pool:
        list(pool.map(function, starts))


def _fill(descriptor: int, view: memoryview, offset: int) -> None:
    while len(view):
        count = os.preadv(descriptor, [view], offset)
        if not count:
            raise FormatError(
                "", f"it ends at byte {offset:,}, {len(view):,} too early (truncated)"
            )
        view, offset = view[count:], offset + count


def _copy(source: Any, view: memoryview, offset: int) -> None:
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
