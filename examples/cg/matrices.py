"""Sparse systems whose rows each rank makes or reads by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from freestone.errors import FileMissingError, FileUnreadableError

__all__ = ["Elasticity", "MatrixMarket", "System"]

_BLOCK = np.array([[3.0, 0.5, 0.25], [0.5, 3.0, 0.5], [0.25, 0.5, 3.0]])


class Elasticity:
    """A 27-point stencil on a cube times a 3x3 block: the pattern of three-dimensional elasticity.

    A stand-in for Queen_4147, with up to 81 non-zeros a row; symmetric and positive definite,
    since the block is and the stencil is diagonally dominant.

    Parameters
    ----------
    size : int
        Points along each edge; there are ``3 size³`` rows.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows = 3 * size**3
        self.name = f"27-point stencil, {size} points an edge"

    def load(self, start: int, stop: int) -> Any:
        """Return rows ``start`` to ``stop``, as a CSR matrix of shape ``(stop - start, rows)``."""
        first, last = start // 3, -(-stop // 3)
        stencil = self._stencil(first, last)
        rows = scipy.sparse.csr_array(scipy.sparse.kron(stencil, _BLOCK, format="csr"))
        return rows[start - 3 * first : stop - 3 * first]

    def _stencil(self, first: int, last: int) -> Any:
        size = self.size
        points = np.arange(first, last)
        place = np.stack([points // size**2, points // size % size, points % size])
        found = []
        for step in np.ndindex(3, 3, 3):
            to = place + (np.array(step) - 1)[:, None]
            inside = np.all((to >= 0) & (to < size), axis=0)
            columns = (to[0] * size + to[1]) * size + to[2]
            value = 26.5 if step == (1, 1, 1) else -1.0
            mine = np.flatnonzero(inside)
            found.append((mine, columns[inside], np.full(len(mine), value)))
        rows, columns, values = (np.concatenate(part) for part in zip(*found, strict=True))
        shape = (len(points), size**3)
        matrix = scipy.sparse.csr_array((values, (rows, columns)), shape=shape)
        matrix.sort_indices()
        return matrix


class MatrixMarket:
    """A symmetric positive definite matrix from a Matrix Market file, read by each rank.

    Parameters
    ----------
    path : path
        Of the file, which may end in ``.gz``.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise FileMissingError(str(path))
        try:
            self.rows, columns, *_ = scipy.io.mminfo(path)
        except ValueError as error:
            raise FileUnreadableError(str(path)) from error
        if self.rows != columns:
            raise ValueError(f"{path} has {self.rows} rows and {columns} columns: CG needs as many")
        self.name = path.name
        self._path = path

    def load(self, start: int, stop: int) -> Any:
        """Return rows ``start`` to ``stop``, as a CSR matrix of shape ``(stop - start, rows)``."""
        return scipy.sparse.csr_array(scipy.io.mmread(self._path))[start:stop]


System = Elasticity | MatrixMarket
