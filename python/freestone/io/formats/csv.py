r"""Comma-separated values: matrices, sparse matrices as triples, and frames.

Options of a read: `separator` (a character, ``"tab"``, or ``r"\s+"`` for any number of blanks;
also called `delimiter`; by default a tab in ``.tsv``, else what the first lines surely have, else a
comma); `header`
(whether the first line names the columns; by default what `.meta` says, or what the cells show, and
a file whose cells do not show it is refused); `skip` (lines in front of that one, of any form);
`missing` (texts that stand for missing values beside the empty cell, such as ``["NA", "-"]``);
`types` (of columns, as ``{"id": "str", "n": "int16", "day": "date32"}``); `dates` (columns of dates
and times: a list of those in ISO 8601, ``{"day": "%d.%m.%Y"}`` with forms of `datetime.strptime`,
or True for all in ISO 8601; else they are texts); `encoding` (of the text, such as ``"latin-1"``;
by default UTF-8); `comment` (how lines begin that are left out, such as ``"#"``); `decimal`
(``","`` for numbers such as ``3,14``; by default what the cells surely have, else ``"."``);
`thousands` (what stands in numbers between thousands); `dtype` (of an array); `kind`
(``"array"`` or ``"frame"``); `sparse` (lines are row, column and value, or row and column: True or
``"csr"``, or ``"coo"`` for a matrix of those entries) with `shape`; `index` (whether to keep where
rows begin in a file beside this one, ``NAME.index``).

Options of a write: `separator`; `header`; `decimals` (floats with so many, as C's ``%.6f``, instead
of the shortest text that reads back as the same bits); `width` (characters of every cell);
`meta` (whether to write DAPHNE's ``NAME.meta``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.decoded import EncodedLocation
from freestone.io.formats.csv_look import Look
from freestone.io.formats.csv_marks import Marks, marks_of
from freestone.io.formats.csv_separator import byte_of
from freestone.io.formats.csv_tidying import TidyLocation, check_comment
from freestone.io.formats.csv_types import wanted_of
from freestone.io.formats.csv_writing import CsvWriter, separator_by_name
from freestone.io.formats.entries import form_of
from freestone.io.formats.format import Format
from freestone.io.formats.meta import Meta, read_meta
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

WIDEST, MAX_DECIMALS = 4096, 300
PADDED = r"\s+"
"""What separates cells that any number of blanks are between, as pandas writes it."""
_UTF_8 = ("utf-8", "utf8", "utf-8-sig")


def open_dataset(
    location: FileLocation,
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
    skip: int = 0,
    missing: str | Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    dates: bool | Sequence[str] | Mapping[str, str | None] | None = None,
    encoding: str = "utf-8",
    comment: str | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
) -> Dataset:
    """Find out what a CSV file holds, in one pass over it or from its `.meta` and index."""
    _require_flag("header", header)
    if encoding not in _UTF_8:
        location = EncodedLocation(location.url, location, encoding)
    meta = read_meta(location)
    if type(skip) is not int or skip < 0:
        raise UsageError(f"skip={skip!r}: it is how many lines stand in front, 0 or more")
    separator = _separator(separator, delimiter) or (meta.separator if meta else None)
    separator = separator or separator_by_name(location)
    # What a .meta describes needs no guess.
    separator = "," if separator is None and meta else separator
    marks = marks_of(decimal, thousands, separator)
    wanted = wanted_of(missing, types, dates, marks)
    if wanted:
        if kind == "array" or dtype is not None or sparse:
            raise UsageError(
                "missing=, types=, dates=, decimal= and thousands= are for frames; leave them out, "
                "or read one"
            )
        kind, sparse = "frame", False
    if isinstance(dtype, Mapping):
        raise UsageError(
            f"dtype={dtype!r:.80} is of an array, which has one; types= has those of a frame's "
            "columns, as types={'column': 'float64'}"
        )
    if dtype is not None:
        if kind == "frame":
            raise UsageError(f'dtype={dtype!r} is of an array, and kind="frame" asks for a frame')
        kind = "array"
    if separator == PADDED or check_comment(comment):
        location = TidyLocation(
            location.url, location, check_comment(comment), skip, is_padded=separator == PADDED
        )
    separator = " " if separator == PADDED else separator
    named = marks if decimal or thousands else None
    look = _looked_at(location, separator, index, whole, skip, named)
    if look.blanks:
        look = _without_blanks(look, location, separator, whole, named)
    look.wanted = wanted
    look.may_guess = decimal is None and thousands != "," and kind != "array"
    if sparse is None:
        sparse = _has_triples(meta, look)
    if sparse is not False:
        found = look.triples(meta, shape, dtype, form_of(sparse))
    elif meta is None:
        found = look.inferred(header, dtype, kind)
    else:
        found = look.by_meta(meta, header, dtype, kind)
    if isinstance(found.location, TidyLocation) and not whole:
        return replace(found, location=found.location.cut(found.stamp))
    return found


def _looked_at(
    location: FileLocation,
    separator: str | None,
    index: bool,
    whole: bool,
    skip: int,
    named: Marks | None,
) -> Look:
    """Look at a file, without the lines that are skipped if a quote in them is in the way."""
    try:
        return Look(location, separator, index, whole, skip, named)
    except FormatError:
        if not skip or isinstance(location, TidyLocation):
            raise
        tidy = TidyLocation(location.url, location, above=skip)
        return Look(tidy, separator, False, whole, skip, named)


def _without_blanks(
    look: Look,
    location: FileLocation,
    separator: str | None,
    whole: bool,
    named: Marks | None,
) -> Look:
    """Look at a file again, without the lines among its rows that have no character."""
    if isinstance(location, TidyLocation):
        tidy = replace(location, has_blanks=False)
    else:
        tidy = TidyLocation(location.url, location, above=look.above, has_blanks=False)
    found = Look(tidy, separator, False, whole, look.above, named)
    left_out = look.index.lines - found.index.lines
    if not left_out:
        # They are in quotes.
        return look
    found.found["blank_lines"] = left_out
    return found


def open_writer(
    location: FileLocation,
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
    _require_flag("header", header)
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
        needs_columns(location, shape)
    if header and shape.kind == "array":
        raise UsageError("an array has no names for a header; make it a frame, or leave header out")
    return CsvWriter(
        location=location,
        shape=shape,
        delimiter=byte_of(_separator(separator, delimiter) or separator_by_name(location) or ","),
        header=header,
        decimals=decimals,
        width=width,
        meta=meta,
    )


def _require_flag(option: str, value: Any) -> None:
    if value is not None and type(value) is not bool:
        raise UsageError(f"{option}={value!r}: it is True or False, or left out")


def _separator(separator: str | None, delimiter: str | None) -> str | None:
    """Return what separates cells, by either of its names; None if nobody says it."""
    if separator is not None and delimiter is not None:
        raise UsageError("separator= and delimiter= are the same; give one of them")
    return separator if delimiter is None else delimiter


def _has_triples(meta: Meta | None, look: Look) -> bool:
    """Tell whether a `.meta` speaks of a sparse matrix whose values are listed one by one."""
    if meta is None or meta.nonzeros is None or meta.schema:
        return False
    if meta.triples:
        return True
    as_triples = meta.nonzeros == look.lines and (meta.nonzeros == 0 or look.width in (2, 3))
    return as_triples and (look.lines, look.width) != (meta.rows, meta.columns)


FORMAT = Format(
    name="csv",
    suffixes=(".csv", ".tsv"),
    open_dataset=open_dataset,
    open_writer=open_writer,
    passes=2,
    is_text=True,
)
