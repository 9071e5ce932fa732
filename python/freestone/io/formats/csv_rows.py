"""Rows of CSV files, in each form that they can have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.errors import FormatError
from freestone.io.dataset import Dataset
from freestone.io.formats.entries import in_form
from freestone.io.formats.tables import needs
from freestone.io.raw import joined

if TYPE_CHECKING:
    from freestone.io.formats.csv_types import Cast

# Beyond it a float64 has not all whole numbers; it has 16 digits.
EXACT = 1 << 53
_MANY_DIGITS = r"^\s*[-+]?\d{16,}\s*$"

__all__ = ["Columns", "Numbers", "Triples", "arrow_array", "arrow_type"]


@dataclass(frozen=True, kw_only=True)
class _Lines(Dataset):
    """What all forms have: where lines begin, and how many stand before the first row."""

    index: bytes
    delimiter: int
    skip: int

    def _given(self) -> tuple[Any, Any]:
        return self.location.source(self.stamp), _native.io.CsvIndex.decode(self.index)

    def _cells(self, found: Any, line: int, column: int = 0) -> Any:
        """Return the cells of some columns, the first of them in `line` and `column`, from 0."""
        if self.dtype != "b1":
            return found
        wrong = found > 1
        if wrong.any():
            row, at = divmod(int(wrong.argmax()), found.shape[1])
            place = {"row": line + row + 1, "column": column + at + 1}
            cell = f'row {place["row"]}, column {place["column"]}: "{found[row, at]}"'
            raise FormatError(self.location.url, f"{cell} is not 0 or 1", **place)
        return found.view(np.bool_)


def _stored(dtype: str | None) -> str:
    """Return the code of the numbers that stand for values: booleans are 0 and 1."""
    return "u1" if dtype == "b1" else str(dtype)


@contextmanager
def _advising() -> Iterator[None]:
    """Say of an empty cell how files with missing values are read."""
    try:
        yield
    except FormatError as error:
        if ': "" is not' not in error.reason:
            raise
        reason = f'{error.reason}; kind="frame" makes missing values of empty cells'
        raise FormatError(error.file, reason, row=error.row, column=error.column) from None


@dataclass(frozen=True, kw_only=True)
class Numbers(_Lines):
    """Numbers of one type; booleans are 0 and 1."""

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        out = np.empty((stop - start, *self.columns), self.dtype)
        self._into(out, start, stop, threads)
        return out

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        with _advising():
            _native.io.csv_read_dense(
                *self._given(),
                out.reshape(-1).view(np.uint8),
                code=_stored(self.dtype),
                columns=self.columns[0],
                delimiter=self.delimiter,
                skip=self.skip,
                start=start,
                threads=threads,
            )
        self._cells(out.view(_stored(self.dtype)), self.skip + start)
        return True


@dataclass(frozen=True, kw_only=True)
class Columns(_Lines):
    """Columns of their own types.

    Attributes
    ----------
    codes : tuple of str
        What the native module makes of each.
    casts : tuple of (Cast or None)
        What is made of the texts of those that it reads as text first.
    is_ended : bool
        Whether a separator ends each line, behind which is an empty cell that is no column.
    mixed : tuple of int
        Columns that are floats because some cells are fractions, and whole numbers otherwise.
    """

    codes: tuple[str, ...]
    casts: tuple[Cast | None, ...] = ()
    is_ended: bool = False
    mixed: tuple[int, ...] = ()

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        pa = needs("pyarrow", "arrow", "a frame")

        if not self.codes:
            return pa.schema([]).empty_table()
        types = [arrow_type(code) for code in self.codes]
        parts = _native.io.csv_read_columns(
            *self._given(),
            codes=[*self.codes, *["str"] * self.is_ended],
            delimiter=self.delimiter,
            start=self.skip + start,
            stop=self.skip + stop,
            threads=threads,
        )
        schema, batches, line = self.arrow_schema(), [], self.skip + start
        for rows, columns in parts:
            arrays = [
                arrow_array(kind, rows, *column)
                for kind, column in zip(types, columns[: len(types)], strict=True)
            ]
            made = self._cast(arrays, line)
            for column in self.mixed:
                self._check_digits(made[column], line, column)
            batches.append(pa.RecordBatch.from_arrays(made, schema=schema))
            line += rows
        return pa.Table.from_batches(batches, schema)

    def _cast(self, arrays: list[Any], line: int) -> list[Any]:
        """Return columns, those that were read as text as what they are."""
        for column, cast in enumerate(self.casts):
            if cast is not None:
                arrays[column] = cast.apply(arrays[column], self.location.url, line, column)
        return arrays

    def _check_digits(self, values: Any, line: int, column: int) -> None:
        """Raise `FormatError` for a whole number that floats round, from line `line` on.

        The text is looked at once more only where a float is as large.
        """
        pa, pc = needs("pyarrow", "arrow", "a frame"), needs("pyarrow.compute", "arrow", "a frame")
        count = values.offset + len(values)
        if not len(values) or not _has_large(
            np.frombuffer(values.buffers()[1], np.float64, count)[values.offset :]
        ):
            return
        parts = _native.io.csv_read_columns(
            *self._given(),
            codes=["str"] * (len(self.codes) + self.is_ended),
            delimiter=self.delimiter,
            start=line,
            stop=line + len(values),
            threads=1,
        )
        kind = pa.large_string()
        texts = pa.concat_arrays([arrow_array(kind, n, *each[column]) for n, each in parts])
        long = texts.filter(pc.match_substring_regex(texts, _MANY_DIGITS)).drop_null().unique()
        for text in long.to_pylist():
            if not _is_kept(text):
                place = {"row": line + texts.index(text).as_py() + 1, "column": column + 1}
                name = str(self.columns[column])
                reason = (
                    f'row {place["row"]}, column {place["column"]}: "{text}" has more digits than '
                    f"a float64, and other cells are fractions; types={{{name!r}: 'str'}} keeps "
                    f"all digits, and types={{{name!r}: 'f8'}} rounds them"
                )
                raise FormatError(self.location.url, reason, **place)

    def arrow_schema(self) -> Any:
        """Return the schema, which was found when the file was opened."""
        pa = needs("pyarrow", "arrow", "a frame")

        casts = self.casts or (None,) * len(self.codes)
        types = [
            arrow_type(code) if cast is None else cast.type or arrow_type(cast.code or "str")
            for code, cast in zip(self.codes, casts, strict=True)
        ]
        return pa.schema(list(zip(map(str, self.columns), types, strict=True)))


def _has_large(floats: Any) -> bool:
    """Tell whether one of some floats is as large that floats round whole numbers there."""
    # Extremes take a fraction of the time of comparisons, and are NaN if any is.
    low, high = floats.min(), floats.max()
    if -EXACT < low <= high < EXACT:
        return False
    return bool((np.abs(floats) >= EXACT).any())


def _is_kept(text: str) -> bool:
    """Tell whether a float64 is a whole number, or is written as it, as JavaScript does."""
    value = float(text)
    return int(value) == int(text) or Decimal(repr(value)) == int(text)


def arrow_type(code: str) -> Any:
    """Return Arrow's type of what has a code."""
    pa = needs("pyarrow", "arrow", "a frame")

    if code == "str":
        return pa.large_string()
    return pa.bool_() if code == "b1" else pa.from_numpy_dtype(np.dtype(code))


def arrow_array(kind: Any, rows: int, data: Any, offsets: Any, validity: Any, missing: int) -> Any:
    """Return a column of Arrow, made of the native module's buffers."""
    pa = needs("pyarrow", "arrow", "a frame")

    valid = pa.py_buffer(validity) if missing else None
    buffers = [valid, pa.py_buffer(data)]
    if pa.types.is_large_string(kind):
        buffers.insert(1, pa.py_buffer(offsets))
    return pa.Array.from_buffers(kind, rows, buffers, missing)


@dataclass(frozen=True, kw_only=True)
class Triples(_Lines):
    """Lines of row, column and value, sorted by row where parts of the file are read."""

    lines: int
    cells: int
    form: str = "csr"

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        import scipy.sparse

        whole = (start, stop) == (0, self.rows)
        first = 0 if whole else self._line_of(start)
        last = self.lines if whole else self._line_of(stop)
        rows, columns, values = self._triples(first, last, threads)
        outside = (rows < start) | (rows >= stop)
        if outside.any() or (not whole and (np.diff(rows) < 0).any()):
            line = first + int(np.argmax(outside)) if outside.any() else first
            reason = f"line {line + 1}: rows are not in order; sort the lines to read parts of them"
            raise FormatError(self.location.url, reason, row=line + 1)
        shape = (stop - start, *self.columns)
        made = scipy.sparse.coo_array((values, (rows - start, columns)), shape=shape)
        return in_form(made, self.form)

    def _triples(self, first: int, last: int, threads: int = 1) -> tuple[Any, Any, Any]:
        parts = _native.io.csv_read_triples(
            *self._given(),
            code=_stored(self.dtype),
            cells=self.cells,
            shape=(self.rows, int(self.columns[0])),
            delimiter=self.delimiter,
            start=first,
            stop=last,
            threads=threads,
        )
        rows, columns, values = joined(parts, (np.int64, np.int64, _stored(self.dtype)))
        return rows, columns, self._cells(values[:, np.newaxis], first, 2)[:, 0]

    def _line_of(self, row: int) -> int:
        """Return the first line of a row, or of one behind it, by bisection."""
        low, high = 0, self.lines
        while low < high:
            middle = (low + high) // 2
            if self._triples(middle, middle + 1)[0][0] < row:
                low = middle + 1
            else:
                high = middle
        return low
