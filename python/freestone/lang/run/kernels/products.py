"""Products, and transposes, of CSR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from freestone._native.vector import csr_panel, csr_product, csr_product_sizes, csr_transpose
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import CODES, DTYPES
from freestone.lang.run.kernels.coordinates import DenseError
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.memory import empty, plain, workers
from freestone.lang.run.kernels.sparse import MAX_COLUMNS, Csr

Array = np.ndarray[Any, Any]


def matmul(run: Any, op: Op, left: Any, right: Any) -> Any:
    """Multiply CSR with CSR, or with a dense matrix."""
    cell = op.results[0].type.cell
    if not isinstance(left, Csr) or cell not in CODES:
        raise DenseError
    if left.shape[1] != right.shape[0]:
        raise ValueError(
            f"@ of a {left.shape[0]}x{left.shape[1]} and a {right.shape[0]}x{right.shape[1]} matrix"
        )
    one = left.with_cells(converted(left.cells, cell))
    if isinstance(right, Csr):
        return _sparse(run, cell, one, right.with_cells(converted(right.cells, cell)))
    dense = plain(converted(right, cell))
    out = empty(run, (left.shape[0], right.shape[1]), DTYPES[cell])
    csr_panel(CODES[cell], one.arrays, dense, right.shape[1], workers(run), out)
    return out


def _sparse(run: Any, cell: str, left: Csr, right: Csr) -> Csr:
    offsets = np.zeros(left.shape[0] + 1, "i8")
    shared = (CODES[cell], left.arrays, right.arrays, right.shape[1], workers(run))
    csr_product_sizes(*shared, offsets[1:])
    np.cumsum(offsets, out=offsets)
    columns = np.empty(offsets[-1], "i4")
    cells = empty(run, (int(offsets[-1]),), DTYPES[cell])
    csr_product(*shared, (offsets, columns, cells))
    return Csr((left.shape[0], right.shape[1]), offsets, columns, cells)


def transpose(run: Any, op: Op | None, value: Csr) -> Csr:
    """Swap rows and columns."""
    code = next((c for cell, c in CODES.items() if DTYPES[cell] == value.dtype), None)
    if code is None or value.shape[0] > MAX_COLUMNS:
        raise DenseError
    count = len(value.cells)
    offsets, columns = np.empty(value.shape[1] + 1, "i8"), np.empty(count, "i4")
    out = Csr((value.shape[1], value.shape[0]), offsets, columns, np.empty(count, value.dtype))
    csr_transpose(code, value.arrays, out.arrays)
    return out


def sum_of(one: Csr, two: Csr) -> Csr:
    """Add CSR of the same shape and cells."""
    from freestone.lang.run.kernels.coordinates import Coo, merged

    code = next(code for cell, code in CODES.items() if DTYPES[cell] == one.dtype)
    return merged("add", code, Coo.of_csr(one), Coo.of_csr(two)).tocsr()


def gemv(run: Any, op: Op, value: Any, right: Any) -> Any:
    """Multiply the transpose of CSR with a column."""
    return cross(run, op, value, right)


def syrk(run: Any, op: Op, value: Any) -> Any:
    """Multiply the transpose of CSR with them."""
    return cross(run, op, value, value)


def cross(run: Any, op: Op, left: Any, right: Any) -> Any:
    """Multiply the transpose of one side with the other, into the form that the plan says."""
    if left.shape[0] != right.shape[0]:
        raise DenseError
    if isinstance(left, Csr):
        made = matmul(run, op, transpose(run, op, left), right)
    elif isinstance(right, Csr):
        made = np.ascontiguousarray(matmul(run, op, transpose(run, op, right), left).T)
    else:
        raise DenseError
    return made.toarray() if isinstance(made, Csr) and not op.results[0].type.csr else made


KERNELS: dict[str, Callable[..., Any]] = {
    "matmul": matmul,
    "transpose": transpose,
    "gemv": gemv,
    "syrk": syrk,
    "cross": cross,
}
"""What is done with CSR outside of pipelines; all else takes the dense matrix."""
