"""The list of edges that `graph500 --edges` wrote, and the clock around a search."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

__all__ = ["measure", "read"]


def read(path: str, scale: int) -> csr_array:
    """Return a symmetric matrix of ones, without loops and twins; shape ``(n, n)``."""
    ends = np.fromfile(path, np.int64).reshape(-1, 2).T
    ends = ends[:, ends[0] != ends[1]].astype(np.int32)
    both = np.concatenate([ends, ends[::-1]], axis=1)
    # Bytes overflow where an edge has many twins; what is stored is not looked at.
    matrix = coo_array((np.ones(both.shape[1], np.float32), both), (1 << scale, 1 << scale))
    return matrix.tocsr()


def measure(
    search: Callable[[int], Any], roots: Sequence[int], reached: Callable[[Any], int], wanted: int
) -> dict[str, Any]:
    """Time a search from each root, after one that is not timed.

    Parameters
    ----------
    search
        Searches from a root.
    roots
        From where.
    reached
        How many vertices the result of a search has reached.
    wanted
        How many the first root's component has; something else is an error.
    """
    found = reached(search(roots[0]))
    if found != wanted:
        raise ValueError(f"from {roots[0]} {found} vertices were reached, not {wanted}")
    seconds = []
    for root in roots:
        started = time.perf_counter()
        search(root)
        seconds.append(time.perf_counter() - started)
    return {"seconds": seconds}
