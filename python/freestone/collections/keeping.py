"""Blocks without a cluster: as one keeps them, copies that nobody can write into."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from freestone.client.future import Future
from freestone.collections.compacting import compact
from freestone.collections.rows import is_sparse, is_table

__all__ = ["copied", "frozen"]


def copied(block: Any) -> Any:
    """Return a block that shares no memory with the one that the program goes on to use."""
    if is_table(block):
        return compact(block)
    if isinstance(block, np.ndarray):
        return block.copy(order="K")
    if is_sparse(block):
        return block.copy()
    return copy.deepcopy(block)


def frozen(block: Any) -> Any:
    """Return a block, over the same memory, into which nobody can write; a future as it is.

    Notes
    -----
    Arrow's tables can't be written into, and lists stay as they are.
    """
    if isinstance(block, Future):
        return block
    if isinstance(block, np.ndarray):
        return _frozen_values(block)
    if is_sparse(block) and block.format in ("csr", "coo"):
        return _frozen_matrix(block)
    return block


def _frozen_values(values: Any) -> Any:
    if not values.flags.writeable:
        return values
    view = values.view()
    view.flags.writeable = False
    return view


def _frozen_matrix(matrix: Any) -> Any:
    if not matrix.data.flags.writeable:
        return matrix
    view = copy.copy(matrix)
    for name in ("data", *(("indices", "indptr") if view.format == "csr" else ("row", "col"))):
        setattr(view, name, _frozen_values(getattr(view, name)))
    return view
