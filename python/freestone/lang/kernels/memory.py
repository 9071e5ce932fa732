"""Memory of large results: kept for the next one, and placed by the NUMA policy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

FROM = 4 << 20
"""Arrays of fewer bytes are NumPy's own: their pages are in use already, as a rule."""


def empty(run: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Make an array of any content."""
    dtype, count = np.dtype(dtype), math.prod(shape)
    if count * dtype.itemsize < FROM or dtype.hasobject:
        return np.empty(shape, dtype)
    from freestone._native import VectorMemory

    settings = run.settings
    # Any: that it is a buffer can be told to type checkers only from Python 3.12 on.
    memory: Any = VectorMemory(count * dtype.itemsize, settings.numa, settings.numa_node)
    cells: Array = np.frombuffer(memory, dtype, count)
    return cells.reshape(shape)
