"""Rows as Matrix Market."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone import _native
from freestone.errors import FormatError
from freestone.io.formats.csv_writing import numbers_of
from freestone.io.formats.mtx_symmetry import is_kept
from freestone.io.writer import Writer

__all__ = ["BANNER", "MtxWriter"]

BANNER = "%%MatrixMarket"


@dataclass(frozen=True, kw_only=True)
class MtxWriter(Writer):
    """One section of entries, or one for each column of a dense array.

    Attributes
    ----------
    decimals : int or None
        Of floats; None writes the shortest text that reads back as the same bits.
    pattern : bool
        Whether the ones of a sparse matrix are left out.
    symmetry : str
        One of `SYMMETRIES`. Of a matrix that is its own mirror image only one half is written; that
        it is, is checked beforehand.
    entries : int or None
        How many entries that half has, of a sparse matrix.
    """

    decimals: int | None
    pattern: bool
    symmetry: str = "general"
    entries: int | None = None

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the first line and the sizes."""
        dtype = np.dtype(self.shape.dtype)
        field = {"f": "real", "c": "complex"}.get(dtype.kind, "integer")
        field = "unsigned-integer" if dtype == np.uint64 else field
        field = "pattern" if self.pattern else field
        layout, sizes = "array", f"{self.shape.rows} {self.shape.width}"
        if self.shape.sparse:
            entries = self.shape.nonzeros if self.entries is None else self.entries
            layout, sizes = "coordinate", f"{sizes} {entries}"
        return f"{BANNER} matrix {layout} {field} {self.symmetry}\n{sizes}\n".encode()

    @property
    def sections(self) -> int:
        """As said above."""
        return 1 if self.shape.sparse else self.shape.width

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the entries of a block."""
        if self.shape.sparse:
            return [self._text(self._entries(block, start))]
        table = np.asarray(block)
        table = table if table.ndim == 2 else table[:, np.newaxis]
        if self.symmetry == "general":
            return [self._text(_parts(column)) for column in table.T]
        if self._is_skew:
            rows = np.arange(len(table))
            self._check_diagonal(rows + start, table[rows, rows + start])
        # Column by column, from the diagonal down, or from below it.
        first = [max(at + self._is_skew - start, 0) for at in range(table.shape[1])]
        return [self._text(_parts(column[at:])) for at, column in zip(first, table.T, strict=True)]

    @property
    def _is_skew(self) -> bool:
        return self.symmetry == "skew-symmetric"

    def _entries(self, block: Any, start: int) -> list[Any]:
        """Return rows and columns, from 1, and values, if there are any, of a sparse block."""
        found = block.tocoo()
        rows, columns, values = found.row.astype(np.int64) + start, found.col, found.data
        if self._is_skew:
            on = rows == columns
            self._check_diagonal(rows[on], values[on])
        if self.symmetry != "general":
            kept = is_kept(rows, columns, self.symmetry)
            rows, columns, values = rows[kept], columns[kept], values[kept]
        positions = [rows + 1, columns.astype(np.int64) + 1]
        if self.pattern:
            self._check_ones(rows + 1, columns + 1, values)
            return positions
        return [*positions, *_parts(values)]

    def _check_ones(self, rows: Any, columns: Any, values: Any) -> None:
        """Refuse a value that a pattern has no room for."""
        wrong = values != 1
        if wrong.any():
            at = int(wrong.argmax())
            reason = f"a pattern has ones only, and there is {values[at]}; leave pattern out"
            raise self._wrong(int(rows[at]), int(columns[at]), reason)

    def _check_diagonal(self, rows: Any, values: Any) -> None:
        """Refuse a diagonal that is not 0: a skew-symmetric file has none."""
        wrong = values != 0
        if wrong.any():
            at = int(wrong.argmax())
            row = int(rows[at]) + 1
            reason = f"a diagonal of zeros is wanted, and there is {values[at]}; leave symmetry out"
            raise self._wrong(row, row, reason)

    def _wrong(self, row: int, column: int, reason: str) -> FormatError:
        text = f"row {row}, column {column}: {reason}"
        return FormatError(self.location.url, text, row=row, column=column)

    def _text(self, columns: list[Any]) -> Any:
        given = [(*reversed(numbers_of(column)), None, None, 0, 0) for column in columns]
        return _native.io.csv_format_columns(
            given, len(columns[0]), delimiter=ord(" "), decimals=self.decimals
        )


def _parts(values: Any) -> list[Any]:
    """Return numbers as the format has them, of 64 bits: real, or real and imaginary parts."""
    if values.dtype.kind != "c":
        # The shortest text of a number of 32 bits is that of another number of 64 bits.
        return [values.astype(np.float64) if values.dtype == np.float32 else values]
    values = values.astype(np.complex128) if values.dtype == np.complex64 else values
    return [np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)]
