"""Matrices that a script shares with the Python that runs it, in one process.

See docs/decisions/059-addresses-are-handles.md
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from freestone.lang.front.builtins.lending import VALUE_TYPES
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.dtypes import cell_of
from freestone.lang.front.types.types import DTYPES

Array = np.ndarray[Any, Any]

_shared: dict[int, Array] = {}
"""Arrays by address. An address alone would be taken on trust, and so is never read."""


@contextmanager
def sharing(array: Array) -> Iterator[tuple[int, int, int, int]]:
    """Let scripts take an array while the context lasts; what they keep keeps its memory.

    Yields
    ------
    (int, int, int, int)
        What ``receiveFromNumpy`` takes: address, rows, columns and code of the value type.
    """
    cells = np.ascontiguousarray(array.reshape(-1, 1) if array.ndim == 1 else array)
    if cells.ndim != 2 or cell_of(cells.dtype) not in VALUE_TYPES:
        known = ", ".join(VALUE_TYPES)
        raise ValueError(f"lent are matrices of {known}, not {array.dtype} of {array.shape}")
    address, (rows, columns) = cells.ctypes.data, cells.shape
    before = _shared.get(address)
    _shared[address] = cells
    try:
        yield address, rows, columns, VALUE_TYPES.index(cell_of(cells.dtype))
    finally:
        del _shared[address]
        if before is not None:
            _shared[address] = before


def shared_now() -> list[Array]:
    """Return the arrays that are lent."""
    return list(_shared.values())


def receive(run: Any, op: Op, address: Any, rows: Any, columns: Any) -> Array:
    """Take what is lent at an address."""
    cells = _shared.get(int(address))
    dtype, shape = DTYPES[op.results[0].type.cell], (int(rows), int(columns))
    if cells is None:
        raise ValueError(
            f"no array is lent at address {int(address)}: scripts take arrays of the Python "
            "program that runs them, by DaphneContext.lend"
        )
    if (cells.shape, cells.dtype) != (shape, np.dtype(dtype)):
        found = f"a {cells.shape[0]}x{cells.shape[1]} of {cells.dtype}"
        raise ValueError(
            f"the array that is lent is {found}, not a {shape[0]}x{shape[1]} of {dtype}"
        )
    # A view: operations write only over what they own.
    return cells.view()


def save_result(run: Any, op: Op, value: Any) -> None:
    """Keep a value for who runs the script."""
    run.saved.append(value)
