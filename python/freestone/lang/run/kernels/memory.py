"""Memory of large results: kept for the next one, and placed by the NUMA policy."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from freestone._native.vector import VectorMemory, copy_rows

Array = np.ndarray[Any, Any]

FROM = 4 << 20
"""Arrays of fewer bytes are NumPy's own: their pages are in use already, as a rule."""

MIN_ROW = 256
"""Bytes of a row from which on its start no longer counts."""
PATTERN = 1024
"""Elements that are filled once, and copied from then on: they leave room in the first cache."""


def empty(run: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Make an array of any content."""
    dtype, count = np.dtype(dtype), math.prod(shape)
    if count * dtype.itemsize < FROM or dtype.hasobject:
        return np.empty(shape, dtype)
    settings = run.settings
    # Any: that it is a buffer can be told to type checkers only from Python 3.12 on.
    memory: Any = VectorMemory(count * dtype.itemsize, settings.numa, settings.numa_node)
    cells: Array = np.frombuffer(memory, dtype, count)
    return cells.reshape(shape)


def workers(run: Any) -> int:
    """Return how many workers the settings ask for."""
    return run.settings.num_threads or len(os.sched_getaffinity(0))


def plain(array: Any) -> Array:
    """Return an array as the engine reads it: without gaps, and aligned."""
    even: Array = np.ascontiguousarray(array)
    return even if even.flags.aligned else even.copy()


def copy(run: Any, source: Array, target: Array) -> None:
    """Copy a matrix into one of its shape: large rows without gaps by all threads."""
    itemsize = target.itemsize
    columns = target.shape[1]
    fits = source.dtype == target.dtype and target.dtype.kind in "biuf"
    even = columns > 0 and source.strides[1] == target.strides[1] == itemsize
    if target.nbytes < FROM or columns * itemsize < MIN_ROW or not (fits and even):
        np.copyto(target, source)
        return
    copy_rows(source, target, workers(run))


def fill_with(run: Any, target: Array, value: Any) -> None:
    """Write a number into all cells of a matrix without gaps, on all threads if it is large."""
    cells = target.reshape(-1)
    if target.nbytes < FROM or target.dtype.hasobject:
        np.copyto(cells, value, casting="unsafe")
        return
    pattern = np.empty(PATTERN, target.dtype)
    np.copyto(pattern, value, casting="unsafe")
    whole = cells.size - cells.size % PATTERN
    rows = cells[:whole].reshape(-1, PATTERN)
    copy(run, np.broadcast_to(pattern, rows.shape), rows)
    cells[whole:] = pattern[: cells.size - whole]
