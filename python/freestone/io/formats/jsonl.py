"""JSON lines, by pyarrow: frames, an object in each line. Types are those that hold all lines.

Options of a read: `types` of columns, as of CSV: values are cast from the texts that they have in
the file, by a slower parser. `dates`, columns of dates and times in texts, as of CSV: True, names,
or names and forms; all other texts stay texts. Dates and times are written in ISO 8601. A column of
whole numbers beyond 64 bits with a sign, or of some beside fractions, is of float64, and refused if
that can't hold them. A file is looked through once, and then read in parts that end with a line;
each worker parses its own.

Only rows have names. Those of a frame without rows are in a `.meta` beside the file, with the types
as Arrow has them.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.csv_kinds import cast_of
from freestone.io.formats.csv_types import Cast, Sight, Wanted, times_in, wanted_of
from freestone.io.formats.csv_writing import as_text, is_date_or_time
from freestone.io.formats.format import Format
from freestone.io.formats.json_numbers import check_whole_numbers, largest
from freestone.io.formats.json_texts import texts_apart
from freestone.io.formats.meta import Meta, read_meta
from freestone.io.formats.tables import by_library, first_line, foreign, needs, repeated
from freestone.io.raw import read_values
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

# Bytes of a part, about; an object is never cut.
PART_NBYTES = 8 << 20
# Between two objects of JSON that are not in an array, and so nowhere within one.
JOINT = re.compile(rb"\}[ \t\r]*\n\s*(?=\{)")


@dataclass(frozen=True, kw_only=True)
class Lines(Dataset):
    """Rows of lines; the parts of the file begin at some bytes and rows.

    `schema` is that of the lines, before texts are cast; `typed` are the columns of `types=`.
    """

    schema: Any
    typed: tuple[str, ...]
    casts: Mapping[str, Cast]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        pa = needs("pyarrow", "arrow", "JSON lines")
        ends = np.array(self.ends, np.int64)
        first = min(int(np.searchsorted(ends, start, "right")) - 1, len(self.begins) - 2)
        last = max(int(np.searchsorted(ends, stop, "left")), first + 1)
        tables = []
        for part in range(max(first, 0), min(last, len(self.begins) - 1)):
            text = _bytes(self.location, self.stamp, self.begins[part], self.begins[part + 1])
            table = _parsed(self.location, text, self.schema, self.ends[part], self.typed)
            tables.append(self._cast(table, self.ends[part]))
        if not tables or stop == start:
            return self.arrow_schema().empty_table()
        return pa.concat_tables(tables).slice(start - self.ends[first], stop - start)

    def arrow_schema(self) -> Any:
        """Return the schema, which was found when the file was looked through."""
        return self._cast(self.schema.empty_table(), 0).schema

    def _cast(self, table: Any, row: int) -> Any:
        """Return rows with the dates of some texts; the first row is number `row`, from 0."""
        pa = needs("pyarrow", "arrow", "JSON lines")
        for name, cast in self.casts.items():
            place = table.schema.get_field_index(name)
            texts = table.column(place).cast(pa.large_string()).combine_chunks()
            if isinstance(texts, pa.ChunkedArray):
                texts = pa.concat_arrays(texts.chunks or [pa.array([], pa.large_string())])
            values = cast.apply(texts, self.location.url, row, place)
            table = table.set_column(place, name, values)
        return table


def _bytes(location: FileLocation, stamp: tuple[Any, ...], start: int, stop: int) -> bytes:
    return read_values(location.source(stamp), start, (stop - start,), np.uint8).tobytes()


def _parsed(
    location: FileLocation, text: bytes, schema: Any, row: int, typed: Sequence[str]
) -> Any:
    """Return the rows of some lines, in a schema if one is known; `typed` columns are texts."""
    if not typed:
        return _parsed_by_arrow(location, text, schema, row)
    try:
        rest, texts = texts_apart(location, text, typed, row)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        # The other parser says where.
        _parsed_by_arrow(location, text, None, row)
        reason = getattr(error, "msg", str(error))
        raise FormatError(location.url, f"behind row {row:,}: {reason}") from None
    pa = needs("pyarrow", "arrow", "JSON lines")
    table = _parsed_by_arrow(location, rest, schema, row)
    for name in typed:
        place = table.schema.get_field_index(name)
        if place >= 0:
            table = table.set_column(place, name, pa.array(texts[name], pa.large_string()))
    return table


def _parsed_by_arrow(location: FileLocation, text: bytes, schema: Any, row: int) -> Any:
    pa, reader = (
        needs("pyarrow", "arrow", "JSON lines"),
        needs("pyarrow.json", "arrow", "JSON lines"),
    )
    # One block of the parser: a value in another form is then found in each part alike.
    how = reader.ReadOptions(use_threads=False, block_size=max(len(text), 1))
    form = reader.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "error"
    )
    try:
        table = reader.read_json(io.BytesIO(text), read_options=how, parse_options=form)
        check_whole_numbers(location, text, table, row)
        return table
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise FormatError(location.url, _reason(text, row, first_line(error))) from None


def _reason(text: bytes, row: int, error: str) -> str:
    """Say what the parser found wrong in lines behind `row` others; errors count rows from 1."""
    if text.lstrip().startswith(b"["):
        return (
            f"row {row + 1:,} begins with '[', and JSON lines have an object in each line; of an "
            "array of objects, polars.read_json makes a table for fs.Frame.from_polars"
        )
    numbered, count = re.subn(r"in row (\d+)", lambda at: f"in row {row + int(at[1]) + 1:,}", error)
    return numbered if count else f"behind row {row:,}: {error}"


def _parts(location: FileLocation, stamp: tuple[Any, ...]) -> Iterator[bytes]:
    """Yield the text in parts that end with an object, which may take several lines."""
    nbytes, at, rest = int(stamp[0]), 0, b""
    while at < nbytes:
        stop = min(at + PART_NBYTES, nbytes)
        text = rest + _bytes(location, stamp, at, stop)
        cut = len(text) if stop == nbytes else _last_joint(text)
        if cut:
            yield text[:cut]
        rest, at = text[cut:], stop


def _last_joint(text: bytes) -> int:
    """Return where the last object begins, or 0; of other text, where its last line does."""
    if not text.lstrip().startswith(b"{"):
        return text.rfind(b"\n") + 1
    looked_at = 1 << 12
    while True:
        joints = [found.end() for found in JOINT.finditer(text, max(len(text) - looked_at, 0))]
        if joints or looked_at >= len(text):
            return joints[-1] if joints else 0
        looked_at *= 8


def open_dataset(
    location: FileLocation,
    *,
    types: Mapping[str, Any] | None = None,
    dates: bool | Sequence[str] | Mapping[str, str | None] | None = None,
) -> Dataset:
    """Look through the lines of a file: how many there are, and what they hold."""
    pa = needs("pyarrow", "arrow", "JSON lines")
    stamp, wanted = location.stamp(), wanted_of(None, types, dates)
    typed = tuple(wanted.types)
    schemas, begins, ends = [pa.schema([])], [0], [0]
    sights: dict[str, Sight] = {}
    for text in _parts(location, stamp):
        if text.strip():
            table = _parsed(location, text, None, ends[-1], typed)
            schemas.append(_with_texts(table.schema))
            if wanted.dates:
                _see(_parsed(location, text, schemas[-1], ends[-1], typed), wanted, sights)
            ends.append(ends[-1] + table.num_rows)
        else:
            ends.append(ends[-1])
        begins.append(begins[-1] + len(text))
    with foreign(location):
        if not ends[-1]:
            schemas.append(_kept_schema(location) or pa.schema([]))
        schema = pa.unify_schemas(schemas, promote_options="permissive")
    if ends[-1] and not schema.names:
        raise FormatError(location.url, "its objects are empty, {}, so that there are no columns")
    if len(set(schema.names)) < len(schema.names):
        raise FormatError(location.url, "an object has two values of one name")
    if schema.names:
        # A file of neither rows nor names goes with all.
        wanted.check(location.url, schema.names)
    casts = _casts(location, schema, wanted, sights)
    counts = np.diff(ends)
    return Lines(
        location=location,
        kind="frame",
        stamp=stamp,
        rows=ends[-1],
        columns=tuple(schema.names),
        unit_rows=int(max(counts, default=1)) or 1,
        row_nbytes=stamp[0] / max(ends[-1], 1),
        schema=schema,
        typed=typed,
        casts=casts,
        untyped=_untyped(schema, wanted, sights),
        begins=tuple(begins),
        ends=tuple(ends),
    )


def _see(table: Any, wanted: Wanted, sights: dict[str, Sight]) -> None:
    """Look at the texts of columns that may be dates."""
    pa = needs("pyarrow", "arrow", "JSON lines")
    for field, column in zip(table.schema, table.columns, strict=True):
        is_named = isinstance(wanted.dates, dict) and field.name in wanted.dates
        if pa.types.is_string(field.type) and (is_named or wanted.dates is True):
            sight = sights.setdefault(field.name, Sight())
            for chunk in column.chunks:
                sight.times |= times_in(chunk.cast(pa.large_string()))


def _casts(
    location: FileLocation, schema: Any, wanted: Wanted, sights: dict[str, Sight]
) -> dict[str, Cast]:
    """Say of columns that have types, or are of dates, what is made of their texts."""
    types = needs("pyarrow", "arrow", "JSON lines").types
    casts: dict[str, Cast] = {}
    for field in schema:
        if field.name in wanted.types:
            advice = "change types=, or leave the column out of it"
            casts[field.name] = Cast((), *wanted.types[field.name], advice=advice)
            continue
        is_named = isinstance(wanted.dates, dict) and field.name in wanted.dates
        if is_named and types.is_nested(field.type):
            raise UsageError(
                f"{location.url}: column {field.name!r} is {field.type}, and dates= is for texts"
            )
        cast = cast_of(wanted, field.name, "str", sights.setdefault(field.name, Sight()))
        if cast is not None:
            casts[field.name] = replace(cast, advice="change dates=, or leave the column out of it")
    return casts


def _untyped(schema: Any, wanted: Wanted, sights: Mapping[str, Sight]) -> tuple[str, ...]:
    """Return columns that may be of dates, and have no value from which it could be seen."""
    types = needs("pyarrow", "arrow", "JSON lines").types
    may_be = [
        field.name
        for field in schema
        if not wanted.gives_type(field.name)
        and (types.is_string(field.type) if wanted.dates is True else field.name in wanted.names)
    ]
    return tuple(name for name in may_be if not sights[name].times)


def _kept_schema(location: FileLocation) -> Any:
    """Return the schema that was written beside a file without rows; None if none was."""
    meta = read_meta(location)
    if meta is None or not meta.arrow_schema:
        return None
    pa = needs("pyarrow", "arrow", "JSON lines")
    return pa.ipc.read_schema(pa.py_buffer(meta.arrow_schema))


def _with_texts(schema: Any) -> Any:
    """Return a schema with texts where the parser took them for times."""
    pa = needs("pyarrow", "arrow", "JSON lines")

    def plain(kind: Any) -> Any:
        if pa.types.is_timestamp(kind):
            return pa.string()
        if pa.types.is_list(kind):
            return pa.list_(plain(kind.value_type))
        if pa.types.is_struct(kind):
            inner = [kind.field(number) for number in range(kind.num_fields)]
            return pa.struct([pa.field(one.name, plain(one.type)) for one in inner])
        return kind

    return pa.schema([pa.field(one.name, plain(one.type)) for one in schema])


def open_writer(location: FileLocation, shape: Shape) -> Writer:
    """Write an object in each line."""
    if shape.kind != "frame":
        raise UsageError(f"{location.url}: JSON lines have names; make it a frame, or write csv")
    needs_columns(location, shape)
    twice = repeated(shape.columns)
    if twice is not None:
        raise UsageError(
            f"{location.url}: two columns are called {twice!r}, and one would be lost; rename one"
        )
    for column in shape.schema:
        if not is_date_or_time(column.type):
            _check_type(location, column.name, column.type)
    return JsonWriter(location=location, shape=shape)


def _check_type(location: FileLocation, column: str, kind: Any) -> None:
    """Raise `UsageError` for a type whose values would not come back."""
    types = needs("pyarrow", "arrow", "JSON lines").types
    inner = [kind.field(at) for at in range(kind.num_fields)] if _has_form(types, kind) else []
    twice = repeated([field.name for field in inner])
    if twice is not None:
        raise UsageError(
            f"{location.url}: column {column!r} has two fields called {twice!r}, and one would be "
            "lost; rename one"
        )
    for field in inner:
        _check_type(location, column, field.type)
    if types.is_dictionary(kind):
        _check_type(location, column, kind.value_type)
    scalars = (types.is_boolean, types.is_integer, types.is_floating, types.is_null)
    texts = (types.is_string, types.is_large_string, types.is_string_view)
    coded = (types.is_dictionary, types.is_run_end_encoded)
    if _has_form(types, kind) or any(fits(kind) for fits in (*scalars, *texts, *coded)):
        return
    raise UsageError(
        f"{location.url}: column {column!r} has type {kind}, for which JSON has no form; make "
        "texts or numbers of it, or write parquet"
    )


def _has_form(types: Any, kind: Any) -> bool:
    """Tell whether a type is one of lists or records, which JSON has."""
    return bool(types.is_nested(kind)) and not (types.is_map(kind) or types.is_union(kind))


@dataclass(frozen=True, kw_only=True)
class JsonWriter(Writer):
    """Lines of text; workers write their blocks at the same time."""

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the lines of a block."""
        block = _with_dates_as_texts(block)
        rows = block.to_pylist()
        try:
            with by_library(self.location):
                lines = [json.dumps(row, allow_nan=False, ensure_ascii=False) for row in rows]
        except UsageError:
            self._check_numbers(rows)
            raise
        self._check_large(block)
        return ["".join(f"{line}\n" for line in lines).encode()]

    def beside(self, nbytes: Sequence[int]) -> dict[str, bytes | None]:
        """Return the `.meta` of a frame without rows; one of an earlier file is removed."""
        if self.shape.rows:
            return {".meta": None} if self._keeps_schema() else {}
        table = _with_dates_as_texts(self.shape.schema.empty_table())
        schema = table.schema.remove_metadata().serialize().to_pybytes()
        meta = Meta(rows=0, columns=self.shape.width, arrow_schema=schema)
        return {".meta": meta.encode()}

    def _keeps_schema(self) -> bool:
        try:
            meta = read_meta(self.location)
        except FormatError:
            # Of that name, and not written by freestone.
            return False
        return meta is not None and bool(meta.arrow_schema)

    def _check_numbers(self, rows: list[dict[str, Any]]) -> None:
        """Raise the error for the first column that has NaN or infinities."""
        for row in rows:
            for name, value in row.items():
                try:
                    json.dumps(value, allow_nan=False)
                except ValueError:
                    raise UsageError(
                        f"{self.location.url} can't be written: column {name!r} has {value}, and "
                        "JSON neither NaN nor infinity; make them missing, or write parquet"
                    ) from None

    def _check_large(self, block: Any) -> None:
        """Raise the error for numbers that would be read as others."""
        for column, values in zip(block.schema, block.columns, strict=True):
            number = largest(values, "uint64")
            if number >= 1 << 63:
                raise UsageError(
                    f"{self.location.url} can't be written: column {column.name!r} has {number}, "
                    "which is read as a float64 from JSON; make texts of it, or write parquet"
                )


def _with_dates_as_texts(table: Any) -> Any:
    """Return a table with the texts that JSON has for dates and times."""
    pa = needs("pyarrow", "arrow", "JSON lines")
    for place, field in enumerate(table.schema):
        if is_date_or_time(field.type):
            texts = as_text(table.column(place)).cast(pa.string())
            table = table.set_column(place, field.name, texts)
    return table


FORMAT = Format(
    name="jsonl",
    suffixes=(".jsonl", ".ndjson"),
    open_dataset=open_dataset,
    open_writer=open_writer,
    is_text=True,
)
