"""Parquet, by pyarrow: frames, and arrays as columns of one type. Row groups are not cut.

Options of a read: `kind` (``"array"`` for columns that are all numbers). Of a write:
`compression`, and `row_group_size` (at most so many rows in a row group; by default a block, or a
million rows, is one).
"""

from __future__ import annotations

import bisect
import itertools
import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Bounds, Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import foreign, needs, opened, table_of, to_matrix, whole
from freestone.io.kept import Kept
from freestone.io.raw import dtype_reported
from freestone.io.stores import FileLocation
from freestone.io.telling import telling
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

MARK = b"freestone.dtype"
# Footers are read once for what is asked of many files, and again for their rows.
_FOOTERS = Kept(32 << 20)


@dataclass(frozen=True, kw_only=True)
class Groups(Dataset):
    """Rows of row groups, of which only those that are needed are read."""

    is_columnar: ClassVar[bool] = True
    has_bounds: ClassVar[bool] = True
    ends: tuple[int, ...]
    selected: bool = False

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        ends, kept = self.ends, _kept_footer(self.location, self.stamp)
        content = None if kept is None else kept.content
        with foreign(self.location), _reader(self.location, content) as reader:
            footer = kept or _keep_footer(self.location, self.stamp, reader.metadata)
            first = bisect.bisect_right(ends, start) - 1
            last = max(bisect.bisect_left(ends, stop), first + 1)
            groups = list(range(first, min(last, len(ends) - 1)))
            leaves = footer.layout.leaves(self.columns) if self.selected else None
            table = whole(reader.read_row_groups(groups, leaves, use_threads=threads > 1))
            if self.selected:
                # A name with a dot may mean a part of another column, too.
                table = table.select(list(self.columns))
            table = table.slice(start - self.ends[first], stop - start)
            return table if self.kind == "frame" else to_matrix(table, str(self.dtype))

    def arrow_schema(self) -> Any:
        """Return the schema, from the footer."""
        with foreign(self.location):
            layout = _footer(self.location, self.stamp).layout
        return layout.schema_of(self.columns) if self.selected else layout.schema

    def select(self, columns: tuple[str, ...]) -> Groups:
        """Return the frame with some of its columns only."""
        footer = _footer(self.location, self.stamp)
        leaves = footer.layout.leaves(columns)
        nbytes = 0
        for number in range(footer.content.num_row_groups):
            group = footer.content.row_group(number)
            nbytes += sum(group.column(which).total_uncompressed_size for which in leaves)
        return replace(self, columns=columns, row_nbytes=nbytes / max(self.rows, 1), selected=True)

    def bounds(self, columns: Sequence[str]) -> list[Bounds]:
        """Return the statistics of each row group."""
        footer = _footer(self.location, self.stamp)
        schema, paths = footer.layout.schema, footer.layout.paths
        leaves = {path: which for which, path in enumerate(paths)}
        found = []
        for number, (start, stop) in enumerate(itertools.pairwise(self.ends)):
            group = footer.content.row_group(number)
            ranges: dict[str, tuple[Any, Any, bool]] = {}
            for name in columns:
                if name in leaves:
                    kind = schema.field(name).type
                    known = _range(group.column(leaves[name]).statistics, kind, stop - start)
                    ranges |= {} if known is None else {name: known}
            found.append(Bounds(start, stop, ranges))
        return found


class Footer(NamedTuple):
    """What a footer says of its own file, and what that has in common with others."""

    content: Any
    layout: Layout


def _footer(location: FileLocation, stamp: tuple[Any, ...]) -> Footer:
    """Return the footer of a version of a file; those that were read last are kept."""
    return _kept_footer(location, stamp) or _read_footer(location, stamp)


def _kept_footer(location: FileLocation, stamp: tuple[Any, ...]) -> Footer | None:
    found: Footer | None = _FOOTERS.get((location.url, stamp, os.getpid()))
    return found


def _keep_footer(location: FileLocation, stamp: tuple[Any, ...], content: Any) -> Footer:
    footer = Footer(content, _layout(content))
    _FOOTERS.keep((location.url, stamp, os.getpid()), footer, content.serialized_size)
    return footer


def _read_footer(location: FileLocation, stamp: tuple[Any, ...]) -> Footer:
    with telling(location.url), foreign(location), _reader(location) as reader:
        return _keep_footer(location, stamp, reader.metadata)


@contextmanager
def _reader(location: FileLocation, footer: Any = None) -> Iterator[Any]:
    """Give the reader that is in pyarrow's `ParquetFile`.

    That itself lists the columns of each file, for which it takes as long as for three of 100.
    """
    reader = needs("pyarrow.parquet.core", "arrow", "Parquet").ParquetReader()
    reader.open(opened(location), metadata=footer, pre_buffer=location.path is None)
    try:
        yield reader
    finally:
        reader.close()


class Layout:
    """What files with the same columns have alike."""

    def __init__(self, footer: Any) -> None:
        self.footer = footer
        self.schema = footer.schema.to_arrow_schema()
        # Names that are no UTF-8 are an error of the file, too.
        self.names = tuple(self.schema.names)
        count = len(footer.schema)
        self.paths = tuple(footer.schema.column(which).path for which in range(count))
        self._leaves: dict[tuple[str, ...], list[int]] = {}
        self._schemas: dict[tuple[str, ...], Any] = {}

    def is_of(self, footer: Any) -> bool:
        """Tell whether another file has the same columns, types and notes on them."""
        if not self.footer.schema.equals(footer.schema):
            return False
        return bool(self.footer.metadata == footer.metadata)

    def schema_of(self, columns: tuple[str, ...]) -> Any:
        """Return the schema of some columns."""
        if columns not in self._schemas:
            fields = [self.schema.field(one) for one in columns]
            self._schemas[columns] = needs("pyarrow", "arrow", "Parquet").schema(fields)
        return self._schemas[columns]

    def leaves(self, columns: tuple[str, ...]) -> list[int]:
        """Return the numbers, as Parquet counts, of what some columns of a frame are made of."""
        if columns not in self._leaves:
            roots = {*columns, *(name.split(".", 1)[0] for name in columns)}
            self._leaves[columns] = [
                which
                for which, path in enumerate(self.paths)
                if path in roots or path.split(".", 1)[0] in roots
            ]
        return self._leaves[columns]


_LAYOUTS: deque[Layout] = deque(maxlen=4)


def _layout(footer: Any) -> Layout:
    """Return the layout of a file; those that were met last are kept."""
    for known in tuple(_LAYOUTS):
        if known.is_of(footer):
            return known
    found = Layout(footer)
    _LAYOUTS.append(found)
    return found


def _range(statistics: Any, kind: Any, rows: int) -> tuple[Any, Any, bool] | None:
    """Return a column's smallest and largest value in a row group, and whether some are missing."""
    pa = needs("pyarrow", "arrow", "Parquet")
    if statistics is None:
        return None
    nulls = statistics.null_count if statistics.has_null_count else None
    if nulls == rows:
        return None, None, True
    if not statistics.has_min_max:
        return None
    try:
        low, high = pa.scalar(statistics.min, kind), pa.scalar(statistics.max, kind)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        # Of a type whose statistics the library does not give as such values.
        return None
    if pa.types.is_floating(kind) and not (low.as_py() <= high.as_py()):
        return None
    return low, high, nulls != 0


def open_dataset(location: FileLocation, *, kind: str | None = None) -> Dataset:
    """Read the footer of a Parquet file."""
    needs("pyarrow.parquet", "arrow", "Parquet")
    stamp = location.stamp()
    # It is opened in any case: who reads it may no longer be allowed to.
    meta, layout = _read_footer(location, stamp)
    with foreign(location):
        names, dtype = layout.names, dtype_of(location, layout.schema, kind)
        groups = [meta.row_group(number) for number in range(meta.num_row_groups)]
        counts = [group.num_rows for group in groups]
        nbytes = sum(group.total_byte_size for group in groups)
    if min(counts, default=0) < 0 or sum(counts) != meta.num_rows:
        reason = f"its footer says {meta.num_rows:,} rows, and its row groups {sum(counts):,}"
        raise FormatError(location.url, reason)
    common: dict[str, Any] = {
        "location": location,
        "stamp": stamp,
        "rows": meta.num_rows,
        "unit_rows": max(counts, default=1) or 1,
        "row_nbytes": nbytes / max(meta.num_rows, 1),
        "ends": tuple(itertools.accumulate(counts, initial=0)),
    }
    if dtype is None:
        return Groups(kind="frame", columns=names, **common)
    return Groups(kind="array", columns=(len(names),), dtype=dtype, **common)


def dtype_of(location: FileLocation, schema: Any, kind: str | None) -> str | None:
    """Return the dtype of a file that was written from an array, or None of a frame."""
    marked_dtype = (schema.metadata or {}).get(MARK)
    if kind == "frame" or (kind is None and marked_dtype is None):
        return None
    if marked_dtype is not None:
        return dtype_reported(location.url, marked_dtype.decode()).str
    types = [field.type.to_pandas_dtype() for field in schema]
    dtype = np.result_type(*types) if types else np.dtype(float)
    if dtype.kind not in "biufc":
        raise UsageError("not all columns are numbers; read it with kind='frame'")
    return dtype.str


def marked(schema: Any, shape: Shape) -> Any:
    """Return the schema with a note that it is of an array."""
    if shape.kind == "frame":
        return schema
    return schema.with_metadata({MARK: str(shape.dtype).encode()})


def open_writer(
    location: FileLocation,
    shape: Shape,
    *,
    compression: str = "zstd",
    row_group_size: int | None = None,
) -> StreamWriter:
    """Write a row group for each block, or several."""
    is_whole = isinstance(row_group_size, int | np.integer) and type(row_group_size) is not bool
    if row_group_size is not None and not (is_whole and row_group_size >= 1):
        raise UsageError(
            f"row_group_size={row_group_size!r}: it is how many rows a row group has at most, 1 or "
            "more"
        )
    needs("pyarrow.parquet", "arrow", "Parquet")
    needs_columns(location, shape)
    return ParquetWriter(
        location=location, shape=shape, compression=compression, row_group_size=row_group_size
    )


@dataclass(frozen=True, kw_only=True)
class ParquetWriter(StreamWriter):
    """A row group for each block, or several of so many rows."""

    compression: str
    row_group_size: int | None = None

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        parquet = needs("pyarrow.parquet", "arrow", "Parquet")
        schema = marked(table_of(first, self.shape).schema, self.shape)
        return parquet.ParquetWriter(path, schema, compression=self.compression)

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        table = table_of(block, self.shape)
        table = table.replace_schema_metadata(file.schema.metadata)
        file.write_table(table, self.row_group_size)


FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
