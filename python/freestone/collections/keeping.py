"""Blocks without a cluster: as one keeps them, copies that nobody can write into."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from freestone.client.future import Future
from freestone.collections.rows import is_sparse, is_table

__all__ = ["copied", "frozen"]


def copied(block: Any) -> Any:
    """Return a block that shares no memory with the one that the program goes on to use."""
    if is_table(block):
        return _copied_table(block)
    if isinstance(block, np.ndarray):
        return block.copy(order="K")
    if is_sparse(block):
        return block.copy()
    return copy.deepcopy(block)


def _copied_table(table: Any) -> Any:
    """Return a table of memory of its own: Arrow takes the columns of others without a copy."""
    import pyarrow as pa

    if not table.num_rows:
        # Nothing would be written, and the categories of a column would be gone.
        return table
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


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
