"""Matrices whose rows lie in blocks of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.collections import Array
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels import products
from freestone.lang.run.kernels.coordinates import DenseError
from freestone.lang.run.kernels.sparse import Csr

if TYPE_CHECKING:
    from freestone.client.future import Future

__all__ = ["Split", "Transposed", "as_dense", "even_offsets", "joined", "rows_of", "transposed"]

Matrix = np.ndarray[Any, Any] | Csr


class Split:
    """A matrix whose rows lie in blocks of a cluster; the blocks go when nobody refers to it.

    Parameters
    ----------
    blocks : sequence of Future
        Its rows, in order; each dense or CSR.
    offsets : tuple of int
        The row at which each block begins, and the number of rows.
    columns : int
        The number of columns.
    cell : str
        The type of the cells.
    csr : bool
        Whether the blocks are CSR.
    """

    def __init__(
        self,
        blocks: Sequence[Future],
        offsets: tuple[int, ...],
        columns: int,
        cell: str,
        *,
        csr: bool = False,
    ) -> None:
        self.blocks: list[Future[Any]] = list(blocks)
        self.offsets = offsets
        self.columns = columns
        self.cell = cell
        self.csr = csr
        self.whole: Future | None = None
        self._here: Matrix | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.offsets[-1], self.columns

    def fetched(self) -> Matrix:
        """Return all rows, here; they are fetched once."""
        if self._here is None:
            self._here = joined([block.result() for block in self.blocks])
        return self._here

    def array(self) -> Array:
        """Return the same blocks as an `Array`, for dense cells."""
        offsets = np.array(self.offsets, np.int64)
        return Array(
            self.blocks, offsets, name="matrix", columns=(self.columns,), dtype=DTYPES[self.cell]
        )


class Transposed:
    """The transpose of a split matrix: nothing is moved."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.whole: Future | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.split.columns, self.split.offsets[-1]

    def fetched(self) -> Matrix:
        """Return the cells, here; they are fetched once."""
        return transposed(self.split.fetched())


def even_offsets(rows: int, blocks: int) -> tuple[int, ...]:
    """Return where blocks of nearly equal length begin; the first ones have a row more.

    Examples
    --------
    >>> even_offsets(7, 3)
    (0, 3, 5, 7)
    """
    count = max(1, min(rows, blocks))
    share, more = divmod(rows, count)
    return tuple(at * share + min(at, more) for at in range(count + 1))


def joined(parts: Sequence[Matrix]) -> Matrix:
    """Put rows below each other."""
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, Csr) for part in parts):
        return Csr.joined([p if isinstance(p, Csr) else Csr.of(p) for p in parts])
    return np.concatenate([as_dense(part) for part in parts])


def as_dense(value: Matrix) -> np.ndarray[Any, Any]:
    """Return all cells, the zeros as well."""
    return value.toarray() if isinstance(value, Csr) else value


def transposed(value: Matrix) -> Matrix:
    """Swap rows and columns; CSR stay so, if the engine knows their cells."""
    if not isinstance(value, Csr):
        return value.T
    try:
        made: Csr = products.transpose(None, None, value)
    except DenseError:
        return value.toarray().T
    return made


def rows_of(value: Matrix, start: int, stop: int) -> Matrix:
    """Take rows, without a copy of dense ones."""
    return value.rows(start, stop) if isinstance(value, Csr) else value[start:stop]
