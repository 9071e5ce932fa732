"""Random matrices that store few of their cells, with the numbers that DAPHNE draws for CSR.

They come of the minimal standard generator of Park and Miller: first the cells, then what chooses
how many of them each row has, then their columns. The generator goes on from any later draw at
once, so cells are drawn beside their columns, some rows at a time.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from copy import copy
from typing import Any

import numpy as np

from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels.coordinates import MAX_ROWS, Coo

Array = np.ndarray[Any, Any]

MODULUS = 2**31 - 1
FACTOR = 16_807
RANGE = MODULUS - 1
"""How many numbers can be drawn."""
DRAWS_AT_ONCE = 1 << 10
DRAWS = {"f64": 2, "f32": 1}
"""How many numbers a cell takes; those of integers may be drawn anew."""


def _powers() -> Array:
    """Return the powers of the factor from 1 on: a number times them are those drawn next."""
    found = np.array([FACTOR], "u8")
    while len(found) < 2 * DRAWS_AT_ONCE:
        found = np.concatenate([found, found * found[-1] % MODULUS])
    return found


POWERS = _powers()


class Minimal:
    """The generator.

    Parameters
    ----------
    seed : int
        Of which only the remainder counts.
    """

    def __init__(self, seed: int) -> None:
        self._state = seed % 2**64 % MODULUS or 1

    def jump(self, count: int) -> None:
        """Go on as if so many numbers had been drawn."""
        self._state = self._state * pow(FACTOR, count, MODULUS) % MODULUS

    def draw(self, count: int) -> Array:
        """Draw numbers below `RANGE`; no more than twice `DRAWS_AT_ONCE`."""
        found = np.uint64(self._state) * POWERS[:count] % MODULUS
        if count:
            self._state = int(found[-1])
        return found - np.uint64(1)

    def below(self, count: int, number: int) -> Array:
        """Draw numbers below `number`; what leaves the range is drawn anew."""
        if number > RANGE:
            return np.array([self._large(number - 1) for _ in range(count)], "u8")
        scale = (RANGE - 1) // number if number < RANGE else 1
        parts, left = [np.empty(0, "u8")], count
        while left:
            drawn = self.draw(min(left, DRAWS_AT_ONCE))
            parts.append(drawn[drawn < scale * number] // np.uint64(scale))
            left -= len(parts[-1])
        return np.concatenate(parts)

    def _large(self, most: int) -> int:
        """Draw a number up to one that needs several draws."""
        while True:
            high = RANGE * int(self.below(1, most // RANGE + 1)[0])
            drawn = high + int(self.draw(1)[0])
            if drawn <= most:
                return drawn

    def cells(self, work: str, count: int, low: Any, high: Any) -> Array:
        """Draw cells of a type from a range."""
        if work == "si64":
            found = self.below(count, int(high) - int(low) + 1)
            return (found + np.uint64(int(low) % 2**64)).view("i8")
        dtype = np.dtype(DTYPES[work]).type
        out = np.empty(count, dtype)
        for begin in range(0, count, DRAWS_AT_ONCE):
            part = out[begin : begin + DRAWS_AT_ONCE]
            part[:] = self._shares(dtype, len(part)) * (dtype(high) - dtype(low)) + dtype(low)
        return out

    def _shares(self, dtype: Any, count: int) -> Array:
        """Draw numbers of reals from 0 up to 1."""
        scale = dtype(RANGE)
        if dtype is np.float32:
            share = self.draw(count).astype(dtype) / scale
        else:
            drawn = self.draw(2 * count).astype(dtype)
            share = (drawn[::2] + drawn[1::2] * scale) / (scale * scale)
        return np.asarray(np.minimum(share, np.nextafter(dtype(1), dtype(0))))


def _steps(count: int, most: int) -> Iterator[int]:
    for done in range(0, count, most):
        yield min(most, count - done)


class StoredDrawing:
    """Draws the stored cells of a matrix, as many rows at a time as are asked for.

    Parameters
    ----------
    work : str
        The type of the cells: ``f64``, ``f32`` or ``si64``.
    shape : (int, int)
        Of the whole matrix.
    low, high
        The least and the greatest number.
    sparsity : float
        The share of cells that are stored.
    seed : int
        Where the generator begins.

    Raises
    ------
    ValueError
        If rows or columns can't be numbered.

    Notes
    -----
    Time and memory are those of the stored cells.
    """

    def __init__(
        self, work: str, shape: tuple[int, int], low: Any, high: Any, sparsity: float, seed: int
    ) -> None:
        if max(shape) > MAX_ROWS:
            raise ValueError(
                f"a sparse matrix of {shape[0]}x{shape[1]} has too many rows or columns"
            )
        self._work, self._shape, self._ends = work, shape, (low, high)
        every = shape[0] * shape[1]
        wanted = math.floor(every * sparsity + 0.5)
        # Above a half, the columns are drawn that have no cell.
        self._gaps = sparsity > 0.5
        self._values, self._columns = Minimal(seed), Minimal(seed)
        self._pass_cells(self._columns, wanted)
        self._rows, self._counts = self._per_row(every - wanted if self._gaps else wanted)
        self._row = 0

    def copy(self) -> StoredDrawing:
        """Return another that goes on from the same row."""
        made = copy(self)
        made._values, made._columns = copy(self._values), copy(self._columns)
        return made

    def _pass_cells(self, generator: Minimal, count: int) -> None:
        if self._work != "si64":
            generator.jump(DRAWS[self._work] * count)
            return
        for part in _steps(count, DRAWS_AT_ONCE):
            generator.cells(self._work, part, *self._ends)

    def _per_row(self, count: int) -> tuple[Array, Array]:
        """Draw the row of each column that is drawn; return such rows, and how many each has."""
        rows, width = self._shape
        before = copy(self._columns)
        if count < rows // 4:
            found = np.unique(self._columns.below(count, rows), return_counts=True)
        else:
            each = np.zeros(rows, "i8")
            for part in _steps(count, max(rows, DRAWS_AT_ONCE)):
                each += np.bincount(self._columns.below(part, rows).view("i8"), minlength=rows)
            found = np.flatnonzero(each).astype("u8"), each[each > 0]
        if not count or found[1].max() <= width:
            return found
        # A row that is full takes no more: the draws after it belong to others.
        self._columns = before
        counts, left = dict[int, int](), count
        while left:
            for row in self._columns.below(min(left, DRAWS_AT_ONCE), rows).tolist():
                if counts.get(row, 0) < width:
                    counts[row] = counts.get(row, 0) + 1
                    left -= 1
        order = sorted(counts)
        return np.array(order, "u8"), np.array([counts[row] for row in order])

    def rows(self, count: int) -> Coo:
        """Draw the next rows; they count from 0."""
        first, width = self._row, self._shape[1]
        self._row = last = min(first + count, self._shape[0])
        begin, end = np.searchsorted(self._rows, np.array([first, last], self._rows.dtype))
        places, counts = self._rows[begin:end].astype("i8") - first, self._counts[begin:end]
        if self._gaps:
            drawn = np.zeros(last - first, "i8")
            drawn[places] = counts
            places, counts = np.arange(last - first), drawn
        columns = np.frombuffer(self._drawn_columns(counts.tolist()), "u4")
        if self._gaps:
            counts = width - counts
        rows = np.repeat(places.astype("u4"), counts)
        cells = self._values.cells(self._work, len(columns), *self._ends)
        return Coo((last - first, width), rows, columns, cells)

    def _drawn_columns(self, counts: list[int]) -> array[int]:
        """Draw so many different columns for each row; return those that have a cell, in order."""
        width, left = self._shape[1], sum(counts)
        found, buffer, at = array("I"), list[int](), 0
        for count in counts:
            chosen = set[int]()
            while len(chosen) < count:
                if at == len(buffer):
                    # As many as are missing, so that none is drawn that nobody takes.
                    buffer, at = self._columns.below(min(left, DRAWS_AT_ONCE), width).tolist(), 0
                missing = count - len(chosen)
                taken = buffer[at : at + missing]
                chosen.update(taken)
                at += len(taken)
                left -= missing - (count - len(chosen))
            if self._gaps:
                found.extend(np.setdiff1d(np.arange(width), list(chosen)).tolist())
            else:
                found.extend(sorted(chosen))
        return found
