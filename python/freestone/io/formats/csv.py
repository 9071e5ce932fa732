"""Comma-separated values: matrices, sparse matrices as triples, and frames.

Options of a read: `separator` (a character, or ``"tab"``; also called `delimiter`; a comma by
default, or a tab in ``.tsv``, and a file that surely has another one is refused); `header`
(whether the first line names the columns; by default what `.meta` says, or what the cells show, and
a file whose cells do not show it is refused); `dtype` (of an array); `kind`
(``"array"`` or ``"frame"``); `sparse` (lines are row, column and value, or row and column: True or
``"csr"``, or ``"coo"`` for a matrix of those entries) with `shape`; `index` (whether to keep where
rows begin in a file beside this one, ``NAME.index``).

Options of a write: `separator`; `header`; `decimals` (floats with so many, as C's ``%.6f``, instead
of the shortest text that reads back as the same bits); `width` (characters of every cell);
`meta` (whether to write DAPHNE's ``NAME.meta``).
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import Any

from freestone import _native
from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.csv_guess import (
    BIG,
    BOOL,
    EMPTY,
    NEGATIVE,
    REAL,
    SMALL,
    TEXT,
    heading,
    is_date,
    is_index,
    is_numbered,
    other_separator,
)
from freestone.io.formats.csv_rows import Columns, Numbers, Triples
from freestone.io.formats.csv_writing import CsvWriter
from freestone.io.formats.entries import form_of
from freestone.io.formats.format import Format
from freestone.io.formats.meta import CODES, Meta, read_meta
from freestone.io.held import fetched
from freestone.io.stores import Place
from freestone.io.writer import Shape, Writer, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

WIDEST, MAX_DECIMALS = 4096, 300
OTHER, FLOAT = 1, 2
# Marks of texts with two bytes for a character.
WIDE = (b"\xff\xfe", b"\xfe\xff")
SAMPLE_LINES, SAMPLE_NBYTES = 20, 1 << 16


def open_dataset(
    place: Place,
    whole: bool = False,
    *,
    separator: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    dtype: Any = None,
    kind: str | None = None,
    sparse: bool | str | None = None,
    shape: tuple[int, int] | None = None,
    index: bool = True,
) -> Dataset:
    """Find out what a CSV file holds, in one pass over it or from its `.meta` and index."""
    meta = read_meta(place)
    separator = _separator(separator, delimiter) or _by_name(place)
    # What a .meta describes needs no guess.
    look = _Look(place, "," if separator is None and meta else separator, index, whole)
    if sparse is None:
        sparse = _has_triples(meta, look)
    if sparse is not False:
        return look.triples(meta, shape, dtype, form_of(sparse))
    if meta is None:
        return look.inferred(header, dtype, kind)
    return look.as_reported(meta, header, dtype, kind)


def open_writer(
    place: Place,
    shape: Shape,
    *,
    separator: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    decimals: int | None = None,
    width: int | None = None,
    meta: bool = True,
) -> Writer:
    """Write rows as text."""
    if header is None:
        # Else the names of the columns would be nowhere.
        header = shape.kind == "frame" and not meta
    for option, value in (("width", width), ("decimals", decimals)):
        if value is not None and type(value) is not int:
            raise UsageError(f"{option}={value!r}: give a whole number")
    if width is not None and (shape.kind == "frame" or shape.sparse):
        raise UsageError("width= is for dense arrays; leave it out for frames and sparse ones")
    if width is not None and not 1 <= width <= WIDEST:
        raise UsageError(f"width={width}: a cell has 1 to {WIDEST} characters")
    if decimals is not None and not 0 <= decimals <= MAX_DECIMALS:
        raise UsageError(f"decimals={decimals}: a float has 0 to {MAX_DECIMALS}")
    if not shape.sparse:
        needs_columns(place, shape)
    if header and shape.kind == "array":
        raise UsageError("an array has no names for a header; make it a frame, or leave header out")
    return CsvWriter(
        place=place,
        shape=shape,
        delimiter=_byte(_separator(separator, delimiter) or _by_name(place) or ","),
        header=header,
        decimals=decimals,
        width=width,
        meta=meta,
    )


def _separator(separator: str | None, delimiter: str | None) -> str | None:
    """Return what separates cells, by either of its names; None if nobody says it."""
    if separator is not None and delimiter is not None:
        raise UsageError("separator= and delimiter= are the same; give one of them")
    return separator if delimiter is None else delimiter


def _by_name(place: Place) -> str | None:
    """Return what separates cells, if the file's name says it."""
    return "tab" if place.name.lower().endswith(".tsv") else None


def _byte(delimiter: str) -> int:
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, str(delimiter))
    if (
        len(delimiter) != 1
        or not delimiter.isascii()
        or delimiter in '"\r\n.-+'
        or delimiter.isalnum()
    ):
        raise UsageError(
            f"separator={delimiter!r}: it is one ASCII character that no number, quote or line end "
            "has"
        )
    return ord(delimiter)


def _has_triples(meta: Meta | None, look: _Look) -> bool:
    """Tell whether a `.meta` speaks of a sparse matrix whose values are listed one by one."""
    if meta is None or meta.nonzeros is None or meta.schema:
        return False
    if meta.triples:
        return True
    as_triples = meta.nonzeros == look.lines and (meta.nonzeros == 0 or look.width in (2, 3))
    return as_triples and (look.lines, look.width) != (meta.rows, meta.columns)


class _Look:
    """What one pass over a file tells."""

    def __init__(self, place: Place, separator: str | None, keep: bool, whole: bool) -> None:
        self.delimiter = _byte("," if separator is None else separator)
        self.stamp = place.stamp()
        self.threads = len(os.sched_getaffinity(0))
        self.place = fetched(place, self.stamp) if whole else place
        # To count lines in memory takes less than to ask a store for the index.
        is_here = self.place is not place
        index = None if is_here else self._kept()
        text = self.place if is_here or index else fetched(place, self.stamp)
        self.source = text.source(self.stamp)
        self.index = index or self._scan(keep and not is_here)
        self.lines = self.index.lines
        if self.index.kinds & OTHER and self._bytes(0, 2) in WIDE:
            raise FormatError(place.url, "it is UTF-16; convert it to UTF-8")
        if separator is None and self.index.kinds & OTHER:
            self._refuse_other_separators()
        self.first = self._line(0) if self.lines else []
        self.width = len(self.first)

    # -- the index beside the file ------------------------------------------------------------

    def _mark(self) -> bytes:
        return f"{self.delimiter} {self.stamp!r}\n".encode()

    def _kept(self) -> Any:
        """Return the index that an earlier read left, if it is of this version of the file."""
        beside = self.place.beside(".index")
        try:
            content = beside.read_bytes()
        except OSError:
            return None
        mark = self._mark()
        if not content.startswith(mark):
            return None
        return _native.io.CsvIndex.decode(content[len(mark) :])

    def _scan(self, keep: bool) -> Any:
        index = _native.io.CsvIndex.scan(self.source, self.delimiter, self.threads)
        if keep and index.nbytes > 1 << 20:
            # In a folder that only others may write to, the next reader finds it anew.
            with contextlib.suppress(OSError):
                self.place.beside(".index").write_bytes(self._mark() + index.encode())
        return index

    def _refuse_other_separators(self) -> None:
        text = self._sample()
        if self.lines == 1 and b"\r" in text.rstrip(b"\r\n"):
            raise FormatError(self.place.url, "its lines end in CR alone; convert them to LF")
        found = other_separator(text)
        if found is not None:
            reason = (
                f"its cells look separated by {found!r}, not by commas; pass separator={found!r}, "
                'or separator="," if they are not'
            )
            raise FormatError(self.place.url, reason)

    # -- lines --------------------------------------------------------------------------------

    def _line(self, number: int) -> list[tuple[bytes, bool]]:
        start = self.index.offset_of(self.source, number)
        stop = self.index.offset_of(self.source, number + 1)
        row = self._bytes(start, stop)
        cells = _native.io.csv_cells(row if row.endswith(b"\n") else row + b"\n", self.delimiter)
        return cells[0]

    def _sample(self) -> bytes:
        """Return the first lines, the first one alone if they are long."""
        stop = self.index.offset_of(self.source, min(self.lines, SAMPLE_LINES))
        if stop > SAMPLE_NBYTES:
            stop = self.index.offset_of(self.source, 1)
        return self._bytes(self.index.offset_of(self.source, 0), stop)

    def _sampled(self) -> list[list[tuple[bytes, bool]]]:
        text = self._sample()
        try:
            return _native.io.csv_cells(
                text if text.endswith(b"\n") else text + b"\n", self.delimiter
            )
        except ValueError:
            # Whoever reads those lines says what is wrong with them.
            return [self.first]

    def _bytes(self, start: int, stop: int) -> bytes:
        if isinstance(self.source, str):
            with open(self.source, "rb") as file:
                file.seek(start)
                return file.read(stop - start)
        if hasattr(self.source, "read_at"):
            return bytes(self.source.read_at(start, stop - start))
        return bytes(self.source[start:stop])

    def _infer(self, start: int, stop: int) -> list[int]:
        return _native.io.csv_infer(
            self.source,
            self.index,
            columns=self.width,
            delimiter=self.delimiter,
            start=start,
            stop=stop,
            threads=self.threads,
        )

    def _names(self, skip: int) -> tuple[str, ...]:
        if not skip:
            return tuple(f"col_{number}" for number in range(self.width))
        try:
            names = tuple(text.decode() for text, _ in self.first)
        except UnicodeDecodeError as error:
            raise FormatError(
                self.place.url, f"the names of its columns are no UTF-8 ({error})"
            ) from None
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            reason = f"two columns are called {twice[0]!r}; give them names of their own"
            raise FormatError(self.place.url, reason, row=1)
        return names

    # -- datasets -----------------------------------------------------------------------------

    def _common(self, skip: int) -> dict[str, Any]:
        return {
            "place": self.place,
            "stamp": self.stamp,
            "index": self.index.encode(),
            "delimiter": self.delimiter,
            "skip": skip,
        }

    def _array(self, skip: int, code: str) -> Dataset:
        columns = (self.width,)
        rows = self.lines - skip
        nbytes = self.width * float(code[1:])
        return Numbers(
            kind="array",
            rows=rows,
            columns=columns,
            dtype=code,
            row_nbytes=nbytes,
            **self._common(skip),
        )

    def _frame(self, skip: int, names: tuple[str, ...], codes: tuple[str, ...]) -> Dataset:
        rows = self.lines - skip
        nbytes = self.index.nbytes / max(rows, 1)
        return Columns(
            kind="frame",
            rows=rows,
            columns=names,
            codes=codes,
            row_nbytes=nbytes,
            **self._common(skip),
        )

    def inferred(self, header: bool | None, dtype: Any, kind: str | None) -> Dataset:
        """Say what the file holds from its bytes alone."""
        if not self.lines:
            if kind != "frame" and dtype is None:
                raise FormatError(
                    self.place.url,
                    "it is empty; say what it holds by kind= and dtype=, or by a .meta",
                )
            return self._array(0, _code(dtype)) if kind != "frame" else self._frame(0, (), ())
        if not self.index.kinds & OTHER and not header and kind != "frame" and self._has_numbers():
            if header is None and self.index.kinds & FLOAT and is_numbered(self.first):
                raise self._undecided()
            plain = "f8" if self.index.kinds & FLOAT else "i8"
            return self._array(0, _code(dtype) if dtype is not None else plain)
        below = self._infer(1, self.lines)
        top = self._infer(0, 1)
        if header is None:
            header = heading(top, below, self._sampled())
        if header is None and kind == "array":
            # An array has no names: text in its first row is refused with its place.
            header = False
        if header is None:
            raise self._undecided()
        skip = int(header)
        kinds = below if skip else [one | other for one, other in zip(top, below, strict=True)]
        codes = tuple(_type_of(found) for found in kinds)
        numeric = all(
            code not in ("str", "b1") and not found & EMPTY
            for code, found in zip(codes, kinds, strict=True)
        )
        if kind == "array" or (kind is None and numeric and not skip):
            code = _code(dtype) if dtype is not None else _common_code(codes)
            return self._array(skip, code)
        return self._frame(skip, self._names(skip), codes)

    def _has_numbers(self) -> bool:
        """Tell whether the first line is of numbers: dates have the same characters."""
        is_numbered = not self.first[0][0] and is_index(SMALL, self._sampled())
        return not is_numbered and not any(is_date(text) for text, _ in self.first)

    def _undecided(self) -> FormatError:
        shown = ", ".join(repr(text.decode(errors="replace")) for text, _ in self.first[:5])
        reason = (
            f"nothing shows whether its first line, {shown}, names the columns; pass header=True "
            "if it does, header=False if it is a row, or describe the file by a .meta"
        )
        return FormatError(self.place.url, reason)

    def as_reported(self, meta: Meta, header: bool | None, dtype: Any, kind: str | None) -> Dataset:
        """Say what the file holds from its `.meta`, which it has to agree with."""
        skip = int(meta.header if header is None else header)
        if meta.rows == 0 and self.lines == skip:
            self.width = meta.columns
        found = (self.lines - skip, self.width)
        if found != (meta.rows, meta.columns):
            reason = (
                f"its .meta says {meta.rows} rows of {meta.columns} columns, and it has {found[0]} "
                f"rows, the first of {found[1]} cells; correct the .meta or remove it"
            )
            raise FormatError(self.place.url, reason)
        if (meta.schema and kind != "array") or kind == "frame":
            names = tuple(name for name, _ in meta.schema) or self._names(skip)
            types = [one for _, one in meta.schema] or [meta.value_type or "f64"] * self.width
            return self._frame(skip, names, tuple(CODES[one] for one in types))
        code = _code(dtype) if dtype is not None else CODES[meta.value_type or "f64"]
        if code == "str":
            return self._frame(skip, self._names(skip), ("str",) * self.width)
        return self._array(skip, code)

    def triples(
        self, meta: Meta | None, shape: tuple[int, int] | None, dtype: Any, form: str
    ) -> Dataset:
        """Read lines of row, column and value as a sparse matrix."""
        if shape is None and meta is not None:
            shape = (meta.rows, meta.columns)
        if shape is None:
            raise UsageError(f"{self.place.url} says no shape; say shape=(rows, columns)")
        if self.lines and self.width not in (2, 3):
            reason = f"its first line has {self.width} cells; triples have row, column and value"
            raise FormatError(self.place.url, reason, row=1)
        if meta is not None and meta.nonzeros not in (None, self.lines):
            reason = (
                f"its .meta says {meta.nonzeros} values, and it has {self.lines} lines; correct "
                "the .meta or remove it"
            )
            raise FormatError(self.place.url, reason)
        reported = CODES[meta.value_type or "f64"] if meta is not None else "f8"
        code = _code(dtype) if dtype is not None else reported
        rows, columns = shape
        return Triples(
            kind="array",
            rows=rows,
            columns=(columns,),
            dtype=code,
            lines=self.lines,
            nonzeros=self.lines,
            cells=self.width or 3,
            form=form,
            row_nbytes=16.0 * self.lines / max(rows, 1) + 8,
            **self._common(0),
        )


def _code(dtype: Any) -> str:
    import numpy as np

    try:
        code = str(np.dtype(dtype).str).lstrip("<>=|")
    except TypeError:
        code = ""
    if code not in CODES.values():
        raise UsageError(f"dtype={dtype!r}: cells are numbers of {', '.join(CODES)}")
    return code


def _type_of(kinds: int) -> str:
    """Return the type that holds all cells of a column exactly."""
    integers, numbers = NEGATIVE | SMALL | BIG, NEGATIVE | SMALL | BIG | REAL
    if kinds & TEXT or not kinds & ~EMPTY or (kinds & BOOL and kinds & numbers):
        return "str"
    if kinds & BOOL:
        return "b1"
    if kinds & REAL:
        return "f8"
    if kinds & BIG:
        return "str" if kinds & NEGATIVE else "u8"
    assert kinds & integers
    return "i8"


def _common_code(codes: tuple[str, ...]) -> str:
    """Return the type that holds the numbers of all columns; of those that hold others, too."""
    numbers = set(codes) - {"str", "b1"}
    return numbers.pop() if len(numbers) == 1 else "f8"


FORMAT = Format(
    name="csv",
    suffixes=(".csv", ".tsv"),
    open_dataset=open_dataset,
    open_writer=open_writer,
    passes=2,
    is_text=True,
)
