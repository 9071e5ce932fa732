"""Frames at run time: a column of cells for every label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.lang.front.types.types import DTYPES, common_type

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns with labels.

    Parameters
    ----------
    columns : list of ndarray, shape (n,)
        The cells.
    labels : list of str
        A label for each.
    cells : list of str
        The type of each column's cells.
    rows : int
        How many rows there are where no column says it.
    """

    columns: list[Array]
    labels: list[str]
    cells: list[str]
    rows: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (len(self.columns[0]) if self.columns else self.rows), len(self.columns)

    def taken(self, rows: Any) -> Frame:
        """Return the frame of some rows."""
        count = self.rows if self.columns else len(np.arange(self.rows)[rows])
        return Frame([column[rows] for column in self.columns], self.labels, self.cells, count)

    def chosen(self, columns: Sequence[int]) -> Frame:
        """Return the frame of some columns."""
        return Frame(
            [self.columns[at] for at in columns],
            [self.labels[at] for at in columns],
            [self.cells[at] for at in columns],
            self.shape[0],
        )

    def matrix(self, cell: str | None = None) -> Array:
        """Return all cells as a matrix."""
        cell = cell or common_type(self.cells)
        out = np.empty(self.shape, DTYPES[cell])
        for at, column in enumerate(self.columns):
            out[:, at] = column
        return out
