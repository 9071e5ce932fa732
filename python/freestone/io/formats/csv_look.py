"""What a pass over a CSV file finds: its lines, separator, header, and types of columns."""

from __future__ import annotations

import contextlib
import functools
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from freestone import _native
from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.csv_guess import (
    EMPTY,
    INTEGER,
    REAL,
    SMALL,
    TEXT,
    heading,
    is_date,
    is_index,
    is_numbered,
)
from freestone.io.formats.csv_kinds import cast_of, code_of, common_code, kinds_of, type_of
from freestone.io.formats.csv_marks import PLAIN, Marks, guessed_marks
from freestone.io.formats.csv_rows import Columns, Numbers, Triples
from freestone.io.formats.csv_separator import NONE, byte_of, has_bare_returns, separator_of
from freestone.io.formats.csv_types import Cast, Sight, wanted_of
from freestone.io.formats.meta import CODES, Meta
from freestone.io.held import fetched
from freestone.io.stores import FileLocation

__all__ = ["Look"]

OTHER, FLOAT = 1, 2
COMMA = ord(",")
# Bytes of text, about, that are looked at together where columns are not of one type each.
PART_NBYTES = 8 << 20
# Marks of texts with two bytes for a character.
WIDE = (b"\xff\xfe", b"\xfe\xff")
SAMPLE_LINES, SAMPLE_NBYTES = 20, 1 << 16
# So many lines without a character are looked for at the end.
MAX_ENDS = 100
_COMMENTS = ("#", "%", "!")


class Look:
    """What one pass over a file tells."""

    def __init__(
        self,
        location: FileLocation,
        separator: str | None,
        keep: bool,
        whole: bool,
        above: int,
        named: Marks | None = None,
    ) -> None:
        self.delimiter = byte_of("," if separator is None else separator)
        self.stamp = location.stamp()
        self.threads = len(os.sched_getaffinity(0))
        self.location = fetched(location, self.stamp) if whole else location
        self.wanted = wanted_of(None, None, None)
        self.may_guess = False
        self.found: dict[str, Any] = {}
        # To count lines in memory takes less than to ask a store for the index.
        is_here = self.location is not location
        index = None if is_here else self._kept(separator is None)
        text = self.location if is_here or index else fetched(location, self.stamp)
        self.source = text.source(self.stamp)
        keeps = keep and not is_here
        self.index = index or self._scan(keeps)
        self.lines, self.above = self.index.lines, above
        if self.index.kinds & OTHER and self._bytes(0, 2) in WIDE:
            raise FormatError(location.url, "it is UTF-16; say encoding='utf-16'")
        self._check_above()
        if self.lines == 1 and has_bare_returns(self._sample()):
            raise FormatError(location.url, "its lines end in CR alone; convert them to LF")
        if separator is None:
            self._find_separator(keeps, named)
        self.first = self._line(above) if self.lines > above else []
        self.width = len(self.first)
        self.is_ended = False
        self.blanks = self._blanks() if self.index.blanks else 0

    # -- the index beside the file ------------------------------------------------------------

    def _mark(self) -> bytes:
        return f"{self.delimiter} {self.stamp!r}\n".encode()

    def _kept(self, of_any: bool) -> Any:
        """Return the index that an earlier read left, if it is of this version of the file.

        `of_any` says that its separator may be any; that becomes the one of this read.
        """
        beside = self.location.beside(".index")
        try:
            content = beside.read_bytes()
        except OSError:
            return None
        if of_any and (number := content.split(b" ", 1)[0]).isdigit() and len(number) < 4:
            self.delimiter = int(number)
        mark = self._mark()
        index = (
            _native.io.CsvIndex.decode(content[len(mark) :]) if content.startswith(mark) else None
        )
        if index is None and of_any:
            self.delimiter = COMMA
        return index

    def _scan(self, keep: bool) -> Any:
        index = _native.io.CsvIndex.scan(self.source, self.delimiter, self.threads)
        if keep and index.nbytes > 1 << 20:
            # In a folder that only others may write to, the next reader finds it anew.
            with contextlib.suppress(OSError):
                self.location.beside(".index").write_bytes(self._mark() + index.encode())
        return index

    def _find_separator(self, keep: bool, named: Marks | None) -> None:
        """Take the separator that the first lines surely have; a comma if there is none.

        A mark of numbers that is `named` is none, unless such numbers are in quotes.
        """
        found = COMMA
        if self.delimiter != COMMA or self.index.kinds & OTHER or named:
            text = self._sample()
            try:
                found = byte_of(separator_of(text, named))
            except ValueError as error:
                raise FormatError(self.location.url, str(error)) from None
        if found != ord(NONE):
            self.found["separator"] = chr(found)
        if found != self.delimiter:
            # What kinds of bytes there are depends on it.
            self.delimiter = found
            self.index = self._scan(keep)

    def _check_above(self) -> None:
        """Raise `FormatError` unless there are as many lines in front as are to be skipped."""
        if self.above > self.lines:
            reason = f"skip={self.above}: it has {self.lines:,} lines"
            raise FormatError(self.location.url, reason)
        text = self._bytes(0, self.index.offset_of(self.source, self.above)) if self.above else b""
        if len(text.splitlines()) != self.above:
            reason = (
                f"skip={self.above}: a quote in these lines has no other in its line; remove it"
            )
            raise FormatError(self.location.url, reason)

    # -- lines --------------------------------------------------------------------------------

    def _line(self, number: int) -> list[tuple[bytes, bool]]:
        start = self.index.offset_of(self.source, number)
        stop = self.index.offset_of(self.source, number + 1)
        row = self._bytes(start, stop)
        cells = _native.io.csv_cells(row if row.endswith(b"\n") else row + b"\n", self.delimiter)
        return cells[0]

    def _blanks(self) -> int:
        """Return how many lines that have no character are among the rows; drop those at the end.

        Of a single column they are missing values.
        """
        lines = self._sampled()
        if max(map(len, lines), default=0) < 2:
            return 0
        above = self._bytes(0, self.index.offset_of(self.source, self.above)).splitlines()
        blanks = int(self.index.blanks) - above.count(b"")
        while blanks and self.lines > self.above + 1 and self.index.lines - self.lines < MAX_ENDS:
            start = self.index.offset_of(self.source, self.lines - 1)
            stop = self.index.offset_of(self.source, self.lines)
            if stop - start > 2 or self._bytes(start, stop).strip(b"\r\n"):
                break
            self.lines -= 1
            blanks -= 1
        return blanks

    def _sample(self) -> bytes:
        """Return the first lines, the first one alone if they are long."""
        start = self.index.offset_of(self.source, self.above)
        last = min(self.lines, self.above + SAMPLE_LINES)
        stop = self.index.offset_of(self.source, last)
        if stop - start > SAMPLE_NBYTES:
            stop = self.index.offset_of(self.source, min(self.lines, self.above + 1))
        return self._bytes(start, stop)

    def _sampled(self) -> list[list[tuple[bytes, bool]]]:
        text = self._sample()
        try:
            lines = _native.io.csv_cells(
                text if text.endswith(b"\n") else text + b"\n", self.delimiter
            )
        except ValueError:
            # Whoever reads those lines says what is wrong with them.
            return [self.first]
        missing = {text.encode() for text in self.wanted.missing}
        if not missing:
            return lines
        return [[(b"", False) if c[0].strip() in missing else c for c in line] for line in lines]

    def _bytes(self, start: int, stop: int) -> bytes:
        if isinstance(self.source, str):
            with open(self.source, "rb") as file:
                file.seek(start)
                return file.read(stop - start)
        if hasattr(self.source, "read_at"):
            return bytes(self.source.read_at(start, stop - start))
        return bytes(self.source[start:stop])

    def _ends_in_separators(self) -> bool:
        """Tell whether rows have an empty cell more than the header, as instruments write them."""
        ends = [line[self.width :] for line in self._sampled()[1:]]
        return bool(ends) and all(end == [(b"", False)] for end in ends)

    def _infer(self, start: int, stop: int, width: int) -> list[int]:
        if start >= stop:
            return [0] * width
        return _native.io.csv_infer(
            self.source,
            self.index,
            columns=width,
            delimiter=self.delimiter,
            start=start,
            stop=stop,
            threads=self.threads,
        )

    def _seen(self, start: int, stop: int) -> list[Sight]:
        """Look at the cells of some lines, column by column."""
        is_ended = self.is_ended and start > self.above
        try:
            sights = self._sights(start, stop, self.width + is_ended)
        except FormatError as error:
            advice = self._advice(error)
            if not advice:
                raise
            reason = f"{error.reason}{advice}"
            raise FormatError(error.file, reason, row=error.row, column=error.column) from None
        if is_ended and sights.pop().kinds & ~EMPTY:
            reason = (
                f"its rows have {self.width + 1} cells and its header {self.width}, and the last "
                "cell is not empty in all rows; give the header a name for it"
            )
            raise FormatError(self.location.url, reason)
        return sights

    def _advice(self, error: FormatError) -> str:
        """Say what could be the matter with a line that has more or fewer cells than the first."""
        if error.row is None or " cells, and " not in error.reason:
            return ""
        line = self._line(error.row - 1)
        advice = _advice_on_comments(self.first[0][0]) or _advice_on_comments(line[0][0])
        if advice:
            return advice
        if len(line) == 1 and not line[0][0].strip():
            return "; it has blanks alone; remove it"
        if self.width == 1:
            return (
                f"; skip={error.row - 1} leaves out what stands above the header, and separator= "
                "says what is between cells"
            )
        if len(line) == self.width + 1 and line[-1] == (b"", False):
            return "; it ends in a separator, and the first line does not: add one there"
        if len(line) == self.width and self.is_ended:
            return "; it does not end in a separator, as rows before it do: add one there"
        if len(line) == self.width + 1 and error.row == self.above + 2:
            return (
                "; if rows begin with a name or number that the header does not name, add a name "
                f"to the header, or read them by skip={self.above + 1} and header=False"
            )
        return ""

    def _sights(self, start: int, stop: int, width: int) -> list[Sight]:
        """Look at the cells, at their texts if that is needed."""
        sights = [Sight() for _ in range(width)]
        if not self.wanted.needs_sight:
            for sight, kinds in zip(sights, self._infer(start, stop, width), strict=True):
                sight.kinds = kinds
            return sights
        rows = max(int(PART_NBYTES * self.lines / max(self.index.nbytes, 1)), 1)
        texts = self._texts(width)
        for first in range(start, stop, rows):
            table = texts.read_rows(first, min(first + rows, stop), self.threads)
            for sight, column in zip(sights, table.columns, strict=True):
                for chunk in column.chunks:
                    sight.see(chunk, self.wanted)
        return sights

    def _texts(self, width: int) -> Columns:
        """Return all lines, also those above the rows, as columns of text."""
        names = tuple(f"col_{number}" for number in range(width))
        codes = ("str",) * width
        return Columns(kind="frame", rows=self.lines, columns=names, codes=codes, **self._common(0))

    def _is_named(self) -> bool:
        """Tell whether the first line has all the names that options give columns."""
        texts = {text.decode(errors="replace") for text, _ in self.first}
        return bool(self.wanted.names) and texts.issuperset(self.wanted.names)

    def _names(self, has_header: bool) -> tuple[str, ...]:
        if not has_header:
            return tuple(f"col_{number}" for number in range(self.width))
        try:
            names = tuple(text.decode() for text, _ in self.first)
        except UnicodeDecodeError as error:
            raise FormatError(
                self.location.url,
                f"the names of its columns are no UTF-8 ({error}); say encoding=, such as "
                "'latin-1'",
            ) from None
        if names.count("") > 1:
            # Lines that end in commas, as spreadsheets write them, have several such columns.
            names = tuple(name or f"col_{number}" for number, name in enumerate(names))
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            reason = f"two columns are called {twice[0]!r}; give them names of their own"
            raise FormatError(self.location.url, reason, row=self.above + 1)
        return names

    # -- datasets -----------------------------------------------------------------------------

    def _common(self, skip: int) -> dict[str, Any]:
        return {
            "location": self.location,
            "stamp": self.stamp,
            "index": self.index.encode(),
            "delimiter": self.delimiter,
            "skip": skip,
            "found": tuple(self.found.items()),
        }

    def _array(self, has_header: bool, code: str) -> Dataset:
        columns = (self.width,)
        skip = self.above + has_header
        nbytes = self.width * float(code[1:])
        return Numbers(
            kind="array",
            rows=self.lines - skip,
            columns=columns,
            dtype=code,
            row_nbytes=nbytes,
            **self._common(skip),
        )

    def _frame(
        self,
        has_header: bool,
        names: tuple[str, ...],
        codes: tuple[str, ...],
        sights: list[Sight] | None = None,
    ) -> Dataset:
        skip = self.above + has_header
        rows = self.lines - skip
        if self.first:
            # An empty file has no columns, and goes with all that have some.
            self.wanted.check(self.location.url, names)
        seen = self._seen(skip, self.lines) if self.wanted.dates and sights is None else sights
        casts = self._casts(skip, names, codes, seen)
        kept = list(zip(names, codes, casts, strict=True))
        each = () if seen is None else zip(names, codes, kinds_of(seen), strict=True)
        is_open = functools.partial(self.wanted.leaves_open, has_codes=sights is None)
        untyped = [name for name, code, found in each if not found & ~EMPTY and is_open(name, code)]
        return Columns(
            kind="frame",
            rows=rows,
            columns=names,
            codes=tuple(self._code(name, code, cast) for name, code, cast in kept),
            casts=casts if any(casts) else (),
            untyped=tuple(untyped),
            mixed=() if sights is None else self._mixed(kept, kinds_of(sights)),
            is_ended=self.is_ended,
            row_nbytes=self.index.nbytes / max(rows, 1),
            **self._common(skip),
        )

    def _mixed(
        self, columns: Sequence[tuple[str, str, Cast | None]], kinds: Sequence[int]
    ) -> tuple[int, ...]:
        """Return which columns are floats, of whole numbers and fractions, and nobody said so."""
        return tuple(
            at
            for at, ((name, code, cast), found) in enumerate(zip(columns, kinds, strict=True))
            if found & REAL and found & INTEGER and name not in self.wanted.types
            if code == "f8" and (cast is None or cast.code == "f8")
        )

    def _code(self, name: str, code: str, cast: Cast | None) -> str:
        """Return what the native module makes of a column."""
        return "str" if cast is not None else self.wanted.types.get(name, (code,))[0] or "str"

    def _casts(
        self,
        skip: int,
        names: tuple[str, ...],
        codes: tuple[str, ...],
        sights: list[Sight] | None,
    ) -> tuple[Cast | None, ...]:
        """Say of each column what is made of its texts, if it can't be read at once."""
        if not self.wanted:
            return (None,) * len(names)
        sights = sights or self._seen(skip, self.lines)
        each = zip(names, codes, sights, strict=True)
        return tuple(cast_of(self.wanted, name, code, sight) for name, code, sight in each)

    def inferred(self, header: bool | None, dtype: Any, kind: str | None) -> Dataset:
        """Say what the file holds from its bytes alone."""
        if not self.first:
            if kind != "frame" and dtype is None:
                raise FormatError(
                    self.location.url,
                    "it is empty; say what it holds by kind= and dtype=, or by a .meta",
                )
            is_array = kind != "frame"
            return self._array(False, code_of(dtype)) if is_array else self._frame(False, (), ())
        given = header is not None
        self.is_ended = (
            header is not False and kind != "array" and dtype is None and self._ends_in_separators()
        )
        if self.is_ended:
            self.found["trailing_separator"] = True
        if header is None and (self.is_ended or self._is_named()):
            header = True
        if header is None and self._is_blank():
            raise FormatError(
                self.location.url,
                'it has blank lines alone; kind="frame" and header=False read each as a missing '
                "value of one column",
            )
        if not self.index.kinds & OTHER and not header and kind != "frame" and self._has_numbers():
            if header is None and self.index.kinds & FLOAT and is_numbered(self.first):
                raise self._undecided()
            plain = "f8" if self.index.kinds & FLOAT else "i8"
            return self._array(False, code_of(dtype) if dtype is not None else plain)
        top, below = self._seen_with_marks(header)
        if header is None:
            header = heading(kinds_of(top), kinds_of(below), self._sampled())
        if header is None and kind == "array":
            # An array has no names: text in its first row is refused with its place.
            header = False
        if header is None:
            raise self._undecided()
        if not given:
            self.found["header"] = header
        sights = below if header else [one | more for one, more in zip(top, below, strict=True)]
        kinds = kinds_of(sights)
        codes = tuple(type_of(found) for found in kinds)
        numeric = all(
            code not in ("str", "b1") and not found & EMPTY
            for code, found in zip(codes, kinds, strict=True)
        )
        is_plain = numeric and not header and not self.wanted
        if kind == "array" or (kind is None and is_plain):
            code = code_of(dtype) if dtype is not None else common_code(kinds)
            return self._array(header, code)
        return self._frame(header, self._names(header), codes, sights)

    def _seen_with_marks(self, header: bool | None) -> tuple[list[Sight], list[Sight]]:
        """Look at the first line and at the others; take commas for decimal points if they are."""
        top, below = self._top_and_below()
        marks = self._guessed_marks(header)
        if not marks:
            return top, below
        plain, self.wanted = self.wanted, replace(self.wanted, marks=marks)
        seen = self._top_and_below()
        before, after = (below, seen[1]) if header else ([*top, *below], [*seen[0], *seen[1]])
        if any(map(_has_points, kinds_of(before), kinds_of(after))):
            self.wanted = plain
            return top, below
        given = vars(plain.marks)
        self.found |= {name: mark for name, mark in vars(marks).items() if mark != given[name]}
        return seen

    def _top_and_below(self) -> tuple[list[Sight], list[Sight]]:
        return self._seen(self.above, self.above + 1), self._seen(self.above + 1, self.lines)

    def _guessed_marks(self, header: bool | None) -> Marks:
        """Return decimal commas if the first lines have such; none if nobody may guess them."""
        if not self.may_guess or self.delimiter == COMMA:
            return PLAIN
        width = self.width + self.is_ended
        lines = [line for line in self._sampled()[bool(header) :] if len(line) == width]
        columns = ([line[column][0] for line in lines] for column in range(self.width))
        return guessed_marks(columns, self.wanted.marks.thousands, may_have_names=header is None)

    def _has_numbers(self) -> bool:
        """Tell whether the first line is of numbers: dates have the same characters."""
        is_numbered = not self.first[0][0] and is_index(SMALL, self._sampled())
        return not is_numbered and not any(is_date(text) for text, _ in self.first)

    def _is_blank(self) -> bool:
        """Tell whether the file has nothing but blanks and line ends below what is skipped."""
        start = self.index.offset_of(self.source, self.above)
        # The first bytes tell of all files but such.
        steps = range(start, self.index.nbytes, SAMPLE_NBYTES)
        return not any(self._bytes(at, at + SAMPLE_NBYTES).strip() for at in steps)

    def _undecided(self) -> FormatError:
        shown = ", ".join(repr(text.decode(errors="replace")) for text, _ in self.first[:5])
        reason = (
            f"nothing shows whether its first line, {shown}, names the columns; pass header=True "
            "if it does, header=False if it is a row, or describe the file by a .meta"
        )
        advice = _advice_on_comments(self.first[0][0])
        if self.first[0][0].startswith(b"sep="):
            advice = "; skip=1 leaves it out, as which a spreadsheet has written the separator"
        lines = [line[0][0].split() for line in self._sampled() if len(line) == 1]
        if not advice and self.width == 1 and len(lines[0]) > 1 and len({*map(len, lines)}) == 1:
            advice = '; separator=r"\\s+" takes any number of blanks for what is between cells'
        return FormatError(self.location.url, reason + advice)

    def by_meta(self, meta: Meta, header: bool | None, dtype: Any, kind: str | None) -> Dataset:
        """Say what the file holds from its `.meta`, which it has to agree with."""
        given, header = header is not None, bool(meta.header) if header is None else header
        rows = self.lines - self.above - header
        if meta.rows == 0 and rows == 0:
            self.width = meta.columns
        found = (rows, self.width)
        if found != (meta.rows, meta.columns):
            reason = (
                f"its .meta says {meta.rows} rows of {meta.columns} columns, and it has {found[0]} "
                f"rows, the first of {found[1]} cells; correct the .meta or remove it"
            )
            raise FormatError(self.location.url, reason)
        if not given:
            self._require_labels(meta, header)
        if (meta.schema and kind != "array") or kind == "frame":
            names = tuple(name for name, _ in meta.schema) or self._names(header)
            types = [one for _, one in meta.schema] or [meta.value_type or "f64"] * self.width
            return self._frame(header, names, tuple(CODES[one] for one in types))
        code = code_of(dtype) if dtype is not None else CODES[meta.value_type or "f64"]
        if code == "str":
            return self._frame(header, self._names(header), ("str",) * self.width)
        return self._array(header, code)

    def _require_labels(self, meta: Meta, header: bool) -> None:
        """Refuse a `.meta` of another file, whose first line has its labels where they can't be."""
        labels = [label for label, _ in meta.schema]
        cells = [text.decode(errors="replace") for text, _ in self.first]
        is_named = bool(labels) and sorted(cells) == sorted(labels)
        if is_named and (meta.header is None or (header and cells != labels)):
            order = "in another order" if header else "and is no row"
            reason = (
                f"its first line, {', '.join(cells)}, has the names of the columns that its .meta "
                f"has, {', '.join(labels)}, {order}; correct the .meta or remove it, or pass "
                f"header={header} if it is right"
            )
            raise FormatError(self.location.url, reason)

    def triples(
        self, meta: Meta | None, shape: tuple[int, int] | None, dtype: Any, form: str
    ) -> Dataset:
        """Read lines of row, column and value as a sparse matrix."""
        if self.above:
            raise UsageError("skip= is for rows of cells, not for those of triples; leave it out")
        if shape is None and meta is not None:
            shape = (meta.rows, meta.columns)
        if shape is None:
            raise UsageError(f"{self.location.url} says no shape; say shape=(rows, columns)")
        if self.lines and self.width not in (2, 3):
            reason = f"its first line has {self.width} cells; triples have row, column and value"
            raise FormatError(self.location.url, reason, row=1)
        if meta is not None and meta.nonzeros not in (None, self.lines):
            reason = (
                f"its .meta says {meta.nonzeros} values, and it has {self.lines} lines; correct "
                "the .meta or remove it"
            )
            raise FormatError(self.location.url, reason)
        of_meta = CODES[meta.value_type or "f64"] if meta is not None else "f8"
        code = code_of(dtype) if dtype is not None else of_meta
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


def _has_points(before: int, after: int) -> bool:
    """Tell whether a column is of numbers with points, which are others beside decimal commas."""
    return bool(before & REAL) and not before & TEXT and before != after


def _advice_on_comments(cell: bytes) -> str:
    """Say how lines are left out that begin as a cell does, if that looks like a comment."""
    sign = cell.strip()[:1].decode(errors="replace")
    if sign not in _COMMENTS:
        return ""
    return f"; comment={sign!r} leaves lines out that begin with {sign!r}"
