"""Parquet, by pyarrow: frames, and arrays as columns of one type. Row groups are not cut.

Options of a read: `kind` (``"array"`` for columns that are all numbers). Of a write:
`compression`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import foreign, needs, opened, table_of, to_matrix, whole
from freestone.io.raw import dtype_reported
from freestone.io.stores import Place
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

MARK = b"freestone.dtype"


@dataclass(frozen=True, kw_only=True)
class Groups(Dataset):
    """Rows of row groups, of which only those that are needed are read."""

    ends: tuple[int, ...]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        parquet = needs("pyarrow.parquet", "arrow", "Parquet")
        ends = np.array(self.ends, np.int64)
        with foreign(self.place), parquet.ParquetFile(opened(self.place)) as file:
            first = int(np.searchsorted(ends, start, "right")) - 1
            last = max(int(np.searchsorted(ends, stop, "left")), first + 1)
            groups = list(range(first, min(last, len(ends) - 1)))
            table = whole(file.read_row_groups(groups, use_threads=threads > 1))
            table = table.slice(start - self.ends[first], stop - start)
            return table if self.kind == "frame" else to_matrix(table, str(self.dtype))


def open_dataset(place: Place, *, kind: str | None = None) -> Dataset:
    """Read the footer of a Parquet file."""
    parquet = needs("pyarrow.parquet", "arrow", "Parquet")
    stamp = place.stamp()
    with foreign(place), parquet.ParquetFile(opened(place)) as file:
        meta, schema = file.metadata, file.schema_arrow
        # Names that are no UTF-8 are an error of the file, too.
        names, dtype = tuple(schema.names), dtype_of(place, schema, kind)
        counts = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
        nbytes = sum(meta.row_group(number).total_byte_size for number in range(len(counts)))
    if min(counts, default=0) < 0 or sum(counts) != meta.num_rows:
        reason = f"its footer says {meta.num_rows:,} rows, and its row groups {sum(counts):,}"
        raise FormatError(place.url, reason)
    common: dict[str, Any] = {
        "place": place,
        "stamp": stamp,
        "rows": meta.num_rows,
        "unit_rows": max(counts, default=1) or 1,
        "row_nbytes": nbytes / max(meta.num_rows, 1),
        "ends": tuple(np.cumsum([0, *counts]).tolist()),
    }
    if dtype is None:
        return Groups(kind="frame", columns=names, **common)
    return Groups(kind="array", columns=(len(names),), dtype=dtype, **common)


def dtype_of(place: Place, schema: Any, kind: str | None) -> str | None:
    """Return the dtype of a file that was written from an array, or None of a frame."""
    reported = (schema.metadata or {}).get(MARK)
    if kind == "frame" or (kind is None and reported is None):
        return None
    if reported is not None:
        return dtype_reported(place.url, reported.decode()).str
    types = [field.type.to_pandas_dtype() for field in schema]
    dtype = np.result_type(*types) if types else np.dtype(float)
    if dtype.kind not in "biufc":
        raise UsageError("not all columns are numbers; read it as a frame, without kind='array'")
    return dtype.str


def marked(schema: Any, shape: Shape) -> Any:
    """Return the schema with a note that it is of an array."""
    if shape.kind == "frame":
        return schema
    return schema.with_metadata({MARK: str(shape.dtype).encode()})


def open_writer(place: Place, shape: Shape, *, compression: str = "zstd") -> StreamWriter:
    """Write a row group for each block."""
    needs("pyarrow.parquet", "arrow", "Parquet")
    needs_columns(place, shape)
    return ParquetWriter(place=place, shape=shape, compression=compression)


@dataclass(frozen=True, kw_only=True)
class ParquetWriter(StreamWriter):
    """A row group for each block."""

    compression: str

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        parquet = needs("pyarrow.parquet", "arrow", "Parquet")
        schema = marked(table_of(first, self.shape).schema, self.shape)
        return parquet.ParquetWriter(path, schema, compression=self.compression)

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        table = table_of(block, self.shape)
        file.write_table(table.replace_schema_metadata(file.schema.metadata))


FORMAT = Format(
    name="parquet",
    suffixes=(".parquet",),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
