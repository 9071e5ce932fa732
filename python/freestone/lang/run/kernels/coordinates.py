"""COO matrices: matrices that store fewer cells than they have rows.

See docs/decisions/044-coo-is-for-matrices-with-fewer-elements-than-half-their-rows.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone._native.vector import (
    coo_merge,
    coo_offsets,
    coo_reduce,
    coo_transpose,
)
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.scalars import ZERO_OF_ZERO, ZERO_OF_ZEROS
from freestone.lang.front.types.types import CODES, DTYPES
from freestone.lang.run.kernels.elementwise import computed
from freestone.lang.run.kernels.sparse import Csr

Array = np.ndarray[Any, Any]

MAX_ROWS = 2**32 - 1


class DenseError(Exception):
    """An operation that needs all cells, those that are not stored as well."""


@dataclass(frozen=True, eq=False)
class Coo:
    """A matrix whose cells other than 0 are stored with their rows and columns.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    rows, columns : ndarray of uint32, shape (stored,)
        The place of each stored cell, in the order of rows, and of columns within a row.
    cells : ndarray, shape (stored,)
        The cells.
    """

    shape: tuple[int, int]
    rows: Array
    columns: Array
    cells: Array

    @classmethod
    def of(cls, dense: Array) -> Coo:
        """Take the cells of a dense matrix that are not 0."""
        rows, columns = np.nonzero(dense)
        cells = dense[rows, columns]
        return cls((dense.shape[0], dense.shape[1]), rows.astype("u4"), columns.astype("u4"), cells)

    @classmethod
    def of_csr(cls, value: Csr) -> Coo:
        """Take the cells of CSR.

        Raises
        ------
        DenseError
            If there are more rows than places can tell.
        """
        if value.shape[0] > MAX_ROWS:
            raise DenseError
        rows = np.repeat(np.arange(value.shape[0], dtype="u4"), np.diff(value.indptr))
        return cls(value.shape, rows, value.indices.astype("u4"), value.cells)

    @property
    def dtype(self) -> Any:
        """The type of the cells."""
        return self.cells.dtype

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Rows, columns and cells."""
        return self.rows, self.columns, self.cells

    def with_cells(self, cells: Array) -> Coo:
        """Return a matrix that stores other cells at the same places."""
        return Coo(self.shape, self.rows, self.columns, cells)

    def toarray(self) -> Array:
        """Return all cells, the zeros as well."""
        out = np.zeros(self.shape, self.cells.dtype)
        out[self.rows, self.columns] = self.cells
        return out

    def to_scipy(self) -> Any:
        """Return it as a matrix of SciPy's."""
        from scipy.sparse import coo_array

        return coo_array((self.cells, (self.rows, self.columns)), shape=self.shape)

    def tocsr(self) -> Csr:
        """Return CSR."""
        offsets = np.empty(self.shape[0] + 1, "i8")
        coo_offsets(self.rows, offsets)
        return Csr(self.shape, offsets, self.columns.astype("i4"), self.cells)


def of(value: Any) -> Any:
    """Return CSR as COO, and anything else as it is."""
    return Coo.of_csr(value) if isinstance(value, Csr) else value


def _room(shape: tuple[int, int], count: int, dtype: Any) -> Coo:
    return Coo(shape, np.empty(count, "u4"), np.empty(count, "u4"), np.empty(count, dtype))


def _cut(value: Coo, count: int) -> Coo:
    kept = [array[:count].copy() for array in (value.rows, value.columns, value.cells)]
    return Coo(value.shape, *kept)


def binary(run: Any, op: Op, left: Any, right: Any) -> Coo:
    """Compute cell by cell: of two that store cells, or of one and what broadcasts over it."""
    name, cell, result = op.attrs["name"], op.attrs["cell"], op.results[0].type.cell
    if cell not in CODES:
        raise DenseError
    if isinstance(left, Coo) and isinstance(right, Coo):
        if left.shape != right.shape or name not in ZERO_OF_ZEROS:
            raise DenseError
        return _merged(name, cell, left, right, result)
    if name not in ("mul", "and") and not (name == "div" and isinstance(left, Coo)):
        raise DenseError
    value, other = (left, right) if isinstance(left, Coo) else (right, left)
    picked = _picked(value, other)
    if name == "div" and (np.any(np.equal(picked, 0)) or np.any(np.isnan(picked))):
        raise DenseError
    if not np.isfinite(np.sum(other)):
        # Infinity times what is not stored would be NaN.
        raise DenseError
    if name == "div" and np.any(np.equal(other, 0)):
        raise DenseError
    sides = (value.cells, picked) if value is left else (picked, value.cells)
    return value.with_cells(computed(name, cell, *sides, result))


def _merged(name: str, cell: str, left: Coo, right: Coo, result: str) -> Coo:
    one, other = (side.with_cells(side.cells.astype(DTYPES[cell])) for side in (left, right))
    made = merged(name, CODES[cell], one, other)
    return made.with_cells(made.cells.astype(DTYPES[result], copy=False))


def merged(name: str, code: int, one: Coo, other: Coo) -> Coo:
    """Compute of the cells of two matrices, of the engine's type `code`, where either has one."""
    out = _room(one.shape, len(one.cells) + len(other.cells), one.dtype)
    return _cut(out, coo_merge(name, code, one.arrays, other.arrays, out.arrays))


def _picked(value: Coo, other: Any) -> Any:
    """Return what the other side has at the stored places."""
    if np.ndim(other) == 0:
        return other
    rows, columns = other.shape
    if rows not in (1, value.shape[0]) or columns not in (1, value.shape[1]):
        raise DenseError
    at = 0 if rows == 1 else value.rows
    return other[at, 0 if columns == 1 else value.columns]


def unary(run: Any, op: Op, value: Coo) -> Coo:
    """Compute of each stored cell."""
    from freestone.lang.run.kernels import kernel_of

    if op.attrs["name"] not in ZERO_OF_ZERO:
        raise DenseError
    return value.with_cells(kernel_of("unary")(run, op, value.cells.reshape(-1, 1)).ravel())


def cast(run: Any, op: Op, value: Coo) -> Coo:
    """Convert each stored cell."""
    from freestone.lang.run.kernels.elementwise import converted

    type = op.results[0].type
    if type.data != "matrix" or type.cell == "str":
        raise DenseError
    return value.with_cells(converted(value.cells, type.cell))


def transpose(run: Any, op: Op, value: Coo) -> Coo:
    """Swap rows and columns."""
    out = _room((value.shape[1], value.shape[0]), len(value.cells), value.dtype)
    coo_transpose(_code(value), value.shape[1], value.arrays, out.arrays)
    return out


def agg_all(run: Any, op: Op, value: Coo) -> Any:
    """Aggregate all cells; those that are not stored are 0."""
    from freestone.lang.run.kernels.aggregates import reduced

    name, cell = op.attrs["name"], op.results[0].type.cell
    if name not in ("sum", "min", "max") or 0 in value.shape:
        raise DenseError
    cells = value.cells
    if name != "sum" and len(cells) < value.shape[0] * value.shape[1]:
        cells = np.append(cells, cells.dtype.type(0))
    return reduced(name, cells, cell, None).item()


def agg_row(run: Any, op: Op, value: Coo) -> Array:
    """Aggregate every row."""
    return _aggregated(op, value, value.rows, 0).reshape(-1, 1)


def agg_col(run: Any, op: Op, value: Coo) -> Array:
    """Aggregate every column."""
    return _aggregated(op, value, value.columns, 1).reshape(1, -1)


def _aggregated(op: Op, value: Coo, places: Array, axis: int) -> Array:
    name = op.attrs["name"]
    if name not in ("sum", "min", "max") or 0 in value.shape:
        raise DenseError
    out = np.empty(value.shape[axis], value.dtype)
    across = value.shape[1 - axis]
    coo_reduce(name, _code(value), across, places, value.cells, out)
    return out


def _code(value: Coo) -> int:
    for cell, code in CODES.items():
        if DTYPES[cell] == value.dtype:
            return code
    raise DenseError


KERNELS: dict[str, Callable[..., Any]] = {
    "binary": binary,
    "unary": unary,
    "cast": cast,
    "transpose": transpose,
    "agg_all": agg_all,
    "agg_row": agg_row,
    "agg_col": agg_col,
}
"""What is done with stored cells alone; all else takes the dense matrix."""
