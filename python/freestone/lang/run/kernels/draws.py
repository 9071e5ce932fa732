"""Random numbers of some rows of a matrix at a time, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels.generation import (
    drawing,
    drawn,
    drawn_as,
    drawn_stored,
    stored_drawing,
)

CELLS_AT_ONCE = 1 << 13
"""So many numbers are drawn at a time that nobody wants."""
CELLS_OF_MARK = 1 << 16
"""A mark in the sequence takes as many bytes as a thousand numbers: this far apart they are few."""


class Draws:
    """Draws the rows of a random matrix.

    Parameters
    ----------
    op : Op
        What makes the matrix.
    shape : (int, int)
        Of the whole matrix.
    how : tuple
        The least and greatest number, the share of those that are not 0, and the seed.

    Notes
    -----
    Numbers come in one order, that of the rows. Rows out of order are reached from a mark before
    them; so to go through all from the last to the first takes twice as long as the other way.
    """

    def __init__(self, op: Op, shape: tuple[int, int], how: tuple[Any, ...]) -> None:
        self._op, self._columns = op, shape[1]
        self._stored = bool(op.results[0].type.form)
        self._drawing = (stored_drawing if self._stored else drawing)(op, shape, *how)
        self._row = 0
        self._marks = {0: self._drawing.copy()}

    def rows(self, run: Any, start: int, stop: int) -> Any:
        """Draw rows ``start:stop``."""
        if start != self._row and start != stop:
            self._wind(start, stop - start)
        if start != stop:
            self._row = stop
        shape = stop - start, self._columns
        if self._stored:
            return drawn_stored(self._drawing, self._op, stop - start)
        return drawn(run, self._drawing, self._op, shape)

    def _wind(self, start: int, count: int) -> None:
        """Go to a row, and leave marks from which as many rows before it can be reached."""
        self._row = max(row for row in self._marks if row <= start)
        self._drawing = self._marks[self._row].copy()
        step = count * max(1, CELLS_OF_MARK // max(1, count * self._columns))
        while self._row < start:
            rows = (start - self._row) % step or step
            self._skip(rows)
            self._row += rows
            if rows == step:
                self._marks[self._row] = self._drawing.copy()

    def _skip(self, rows: int) -> None:
        if self._stored:
            self._drawing.rows(rows)
            return
        cells = rows * self._columns
        room = np.empty(min(cells, CELLS_AT_ONCE), DTYPES[drawn_as(self._op)])
        for done in range(0, cells, CELLS_AT_ONCE):
            self._drawing.fill(room[: cells - done])
