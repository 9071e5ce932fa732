"""CSR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.lang.run.kernels.memory import plain

Array = np.ndarray[Any, Any]

MAX_COLUMNS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Csr:
    """A matrix whose cells other than 0 are stored row by row.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns.
    indptr : ndarray of int64, shape (rows + 1,)
        Where each row begins.
    indices : ndarray of int32, shape (stored,)
        The column of each stored cell, ascending within a row. 32 bits are a third less to read
        than 64, so there are no CSR of more than `MAX_COLUMNS`.
    cells : ndarray, shape (stored,)
        The cells.
    """

    shape: tuple[int, int]
    indptr: Array
    indices: Array
    cells: Array

    @classmethod
    def of(cls, dense: Array) -> Csr:
        """Compress a dense matrix."""
        rows, columns = np.nonzero(dense)
        counts = np.bincount(rows, minlength=dense.shape[0])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype("i8")
        return cls(dense.shape, indptr, columns.astype("i4"), dense[rows, columns])

    @classmethod
    def of_scipy(cls, array: Any) -> Csr:
        """Take CSR of SciPy's, in place where they are sorted and have no duplicates.

        Raises
        ------
        ValueError
            If there are more columns than `MAX_COLUMNS`, or a column that is none.
        """
        rows = array.tocsr()
        # First of all: SciPy's own functions do not look, and write where nothing is theirs.
        steps = np.diff(rows.indptr)
        if rows.indptr[0] != 0 or np.any(steps < 0) or rows.indptr[-1] > len(rows.indices):
            raise ValueError("indptr has to ascend from 0 to the number of stored cells at most")
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        wide = rows.shape[1] > MAX_COLUMNS
        if wide or (rows.nnz and not 0 <= rows.indices.min() <= rows.indices.max() < rows.shape[1]):
            found = rows.shape[1] if wide else (int(rows.indices.min()), int(rows.indices.max()))
            raise ValueError(f"columns are below {MAX_COLUMNS} and the shape's, not {found}")
        places = plain(rows.indices.astype("i4", copy=False))
        return cls(rows.shape, rows.indptr.astype("i8"), places, plain(rows.data))

    @property
    def dtype(self) -> Any:
        """The type of the cells."""
        return self.cells.dtype

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Offsets, columns and cells."""
        return self.indptr, self.indices, self.cells

    @property
    def structure(self) -> tuple[Array, Array]:
        """Offsets and columns."""
        return self.indptr, self.indices

    def same_places(self, other: Csr) -> bool:
        """Tell whether another matrix stores the same cells, in the same memory."""
        return self.indptr is other.indptr and self.indices is other.indices

    def with_cells(self, cells: Array) -> Csr:
        """Return a matrix that stores other cells at the same places."""
        return Csr(self.shape, self.indptr, self.indices, cells)

    def toarray(self) -> Array:
        """Return all cells, the zeros as well."""
        out = np.zeros(self.shape, self.cells.dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        out[rows, self.indices] = self.cells
        return out

    def to_scipy(self) -> Any:
        """Return it as a matrix of SciPy's, over the same memory."""
        from scipy.sparse import csr_array

        return csr_array((self.cells, self.indices, self.indptr), shape=self.shape)

    def rows(self, start: int, stop: int) -> Csr:
        """Return rows ``start:stop``; only their offsets are copied."""
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        offsets = self.indptr[start : stop + 1] - first
        shape = stop - start, self.shape[1]
        return Csr(shape, offsets, self.indices[first:last], self.cells[first:last])

    @classmethod
    def joined(cls, parts: Sequence[Csr]) -> Csr:
        """Put the rows of matrices below each other."""
        ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
        offsets = [part.indptr[:-1] + end for part, end in zip(parts, ends, strict=False)]
        rows = sum(part.shape[0] for part in parts)
        return cls(
            (rows, parts[0].shape[1]),
            np.concatenate([*offsets, ends[-1:]]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.cells for part in parts]),
        )
