"""Rows as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone import _native
from freestone.errors import UsageError
from freestone.io.formats.meta import Meta, value_type_of, without_order
from freestone.io.stores import FileLocation
from freestone.io.writer import Writer

__all__ = [
    "CsvWriter",
    "as_text",
    "column_type",
    "is_date_or_time",
    "numbers_of",
    "separator_by_name",
]


@dataclass(frozen=True, kw_only=True)
class CsvWriter(Writer):
    """Formats blocks by the native module, several pieces of a block at once.

    `has_names_first` says of a file without a header that its first row has the names of columns,
    as a header would have: the `.meta` says then that it is a row.
    """

    delimiter: int
    header: bool
    decimals: int | None
    width: int | None
    meta: bool
    has_names_first: bool = False

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the names of the columns, if they are to be written."""
        if not self.header:
            return b""
        line, names = io.StringIO(), self.shape.columns
        csv.writer(line, delimiter=chr(self.delimiter), lineterminator="\n").writerow(names)
        text = line.getvalue()
        if text.startswith("\ufeff"):
            # Without quotes it would be a byte order mark, and no part of the name.
            text = f'"{names[0]}"{text[len(names[0]) :]}'
        return text.encode()

    def sizes(self, rows: int) -> list[int] | None:
        """Return the bytes of so many rows, if every cell has as many."""
        return None if self.width is None else [rows * self.shape.width * (self.width + 1)]

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the text of a block."""
        if self.shape.kind == "array" and not self.shape.sparse:
            data, code = numbers_of(block)
            return [
                _native.io.csv_format_dense(
                    data,
                    code=code,
                    columns=self.shape.width,
                    first=start,
                    delimiter=self.delimiter,
                    decimals=self.decimals,
                    width=self.width,
                )
            ]
        columns, rows = self._columns(block, start)
        return [
            _native.io.csv_format_columns(
                columns, rows, delimiter=self.delimiter, decimals=self.decimals
            )
        ]

    def write_rows(
        self, path: str, offset: int, block: Any, start: int, *, threads: int, unit: int = 1
    ) -> int | None:
        """Write a block into a local file, each thread a piece at a time."""
        if self.shape.sparse:
            return None
        if self.shape.kind == "frame":
            columns, rows = self._columns(block, start)
            return _native.io.csv_write_columns(
                path,
                offset,
                columns,
                rows,
                delimiter=self.delimiter,
                threads=threads,
                unit=unit,
                decimals=self.decimals,
            )
        data, code = numbers_of(block)
        return _native.io.csv_write_dense(
            path,
            offset,
            data,
            code=code,
            columns=self.shape.width,
            first=start,
            delimiter=self.delimiter,
            threads=threads,
            unit=unit,
            decimals=self.decimals,
            width=self.width,
        )

    @property
    def may_have_names_first(self) -> bool:
        """Whether the first row may be taken for a header, by the types of the columns."""
        if self.shape.kind != "frame" or self.header or not self.meta:
            return False
        each = zip(self.shape.columns, self.shape.schema, strict=True)
        return all(_is_number(name) or column_type(field) == "str" for name, field in each)

    def begins_with_names(self, block: Any) -> bool:
        """Tell whether the first row of a block has the names of the columns, in any order."""
        [text] = self.encode(block.slice(0, 1), 0)
        [cells] = _native.io.csv_cells(bytes(text), self.delimiter)
        return sorted(cell for cell, _ in cells) == sorted(
            name.encode() for name in self.shape.columns
        )

    def _columns(self, block: Any, start: int) -> tuple[list[Any], int]:
        if self.shape.kind == "frame":
            return table_columns(block), block.num_rows
        block = block.tocoo()
        rows, columns, values = np.asarray(block.row, np.int64) + start, block.col, block.data
        if (np.diff(rows) < 0).any():
            # Sorted, so that whoever reads some rows of the file finds them.
            order = np.argsort(rows, kind="stable")
            rows, columns, values = rows[order], columns[order], values[order]
        parts = [rows, np.ascontiguousarray(columns, np.int64), values]
        return [(*reversed(numbers_of(part)), None, None, 0, 0) for part in parts], block.nnz

    def beside(self, nbytes: Sequence[int]) -> dict[str, bytes | None]:
        """Return the `.meta` file."""
        if not self.meta:
            return {".meta": None}
        schema: tuple[tuple[str, str], ...] = ()
        value_type = nonzeros = None
        if self.shape.kind == "frame":
            kinds = [column_type(field) for field in self.shape.schema]
            schema = tuple(zip(self.shape.columns, kinds, strict=True))
        else:
            value_type = value_type_of(str(self.shape.dtype))
            nonzeros = self.shape.nonzeros
        sign = chr(self.delimiter)
        meta = Meta(
            rows=self.shape.rows,
            columns=self.shape.width,
            value_type=value_type,
            schema=schema,
            nonzeros=nonzeros,
            header=self.header if self.header or self.has_names_first else None,
            triples=self.shape.sparse,
            separator=None if sign == (separator_by_name(self.location) or ",") else sign,
        )
        return {".meta": meta.encode()}


def separator_by_name(location: FileLocation) -> str | None:
    """Return what separates cells, if the file's name says it."""
    return "\t" if location.name.lower().endswith(".tsv") else None


def numbers_of(block: Any) -> tuple[Any, str]:
    """Return an array's bytes, in row order, and the code of its type; booleans as 1 and 0."""
    array = np.ascontiguousarray(block)
    if array.dtype == np.bool_:
        array = array.view(np.uint8)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    code = without_order(array.dtype.str)
    if array.dtype.kind not in "iuf" or code == "f2" or array.dtype.itemsize > 8:
        raise UsageError(f"values of dtype {array.dtype} can't be written as CSV; convert them")
    return array.reshape(-1).view(np.uint8), code


def column_type(field: Any) -> str:
    """Return DAPHNE's name of the type of a frame's column, given its Arrow field."""
    import pyarrow as pa

    kind = field.type
    if pa.types.is_boolean(kind):
        return "bool"
    if _is_text(kind) or is_date_or_time(kind) or pa.types.is_decimal(kind):
        return "str"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return value_type_of(np.dtype(kind.to_pandas_dtype()).str)
    raise UsageError(
        f"column {field.name!r} of type {kind} can't be written as CSV; cast it to text or numbers"
    )


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks) or (
        pa.types.is_dictionary(kind) and _is_text(kind.value_type)
    )


def is_date_or_time(kind: Any) -> bool:
    """Tell whether a type is one of days, or of moments."""
    import pyarrow as pa

    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def as_text(column: Any) -> Any:
    """Return a column as text; dates and times in ISO 8601, those with a zone in UTC.

    Of decimals all digits: as floats some would change.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_timestamp(kind):
        # Arrow writes the fraction of a second with its seconds.
        zone = "Z" if kind.tz else ""
        column = column.cast(pa.timestamp(kind.unit, "UTC")) if kind.tz else column
        column = pc.strftime(column, f"%Y-%m-%dT%H:%M:%S{zone}")
    elif pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.string())
    return column if pa.types.is_large_string(column.type) else column.cast(pa.large_string())


def table_columns(table: Any) -> list[Any]:
    """Return the buffers of a table's columns, as the native module takes them."""
    import pyarrow as pa

    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        value_type = column_type(field)
        if value_type == "str":
            column = as_text(column)
        array = column.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0) if array.num_chunks else pa.array([], array.type)
        columns.append(_arrow_column(array, value_type))
    return columns


def _arrow_column(array: Any, value_type: str) -> Any:
    buffers, first, rows = array.buffers(), array.offset, len(array)
    empty = np.empty(0, np.uint8)
    validity = np.frombuffer(buffers[0], np.uint8) if array.null_count and buffers[0] else None
    data = np.frombuffer(buffers[-1], np.uint8) if buffers[-1] is not None else empty
    if value_type == "str":
        offsets = np.zeros(1, np.int64)
        if buffers[1] is not None and buffers[1].size:
            offsets = np.frombuffer(buffers[1], np.int64)[first : first + rows + 1]
        return "str", data, offsets.view(np.uint8), validity, 0, first
    if value_type == "bool":
        return "b1", data, None, validity, first, first
    code = np.dtype(array.type.to_pandas_dtype()).str
    size = np.dtype(code).itemsize
    values = data[first * size : (first + rows) * size]
    return without_order(code), values, None, validity, 0, first
