"""Arrow IPC files (Feather), by pyarrow: frames, and arrays as columns of one type.

Record batches are not cut. Options of a read: `kind`, as for Parquet.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.parquet import dtype_of, marked
from freestone.io.formats.tables import foreign, needs, opened, some_of, table_of, to_matrix, whole
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = [
    "FORMAT",
    "ArrowWriter",
    "Batches",
    "dataset_of",
    "open_dataset",
    "open_writer",
    "source_of",
]


@dataclass(frozen=True, kw_only=True)
class Batches(Dataset):
    """Rows of record batches, of which only those that are needed are read."""

    ends: tuple[int, ...]
    schema: Any = None

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        pa = needs("pyarrow", "arrow", "Arrow IPC")
        ends = np.array(self.ends, np.int64)
        first = max(int(np.searchsorted(ends, start, "right")) - 1, 0)
        last = int(np.searchsorted(ends, stop, "left"))
        with foreign(self.location), source_of(pa, self.location) as source:
            batches, schema = self._batches(pa, source, first, last)
            table = whole(pa.Table.from_batches(batches, schema))
            table = table.slice(start - self.ends[first], stop - start)
            return table if self.kind == "frame" else to_matrix(table, str(self.dtype))

    @abstractmethod
    def _batches(self, pa: Any, source: Any, first: int, last: int) -> tuple[list[Any], Any]:
        """Return some batches and their schema."""

    def arrow_schema(self) -> Any:
        """Return the schema, from the footer of a file or the beginning of a stream."""
        return self.schema


@dataclass(frozen=True, kw_only=True)
class FileBatches(Batches):
    """Those of a file, whose footer lists them."""

    is_columnar: ClassVar[bool] = True
    selected: bool = False

    def _batches(self, pa: Any, source: Any, first: int, last: int) -> tuple[list[Any], Any]:
        file = pa.ipc.open_file(source, options=self._options(pa))
        batches = [file.get_batch(number) for number in range(first, last)]
        return batches, self.schema if self.selected else file.schema

    def _options(self, pa: Any) -> Any:
        """Return how the columns that are selected are read alone, in the file's order."""
        if not self.selected:
            return None
        names = set(self.columns)
        with source_of(pa, self.location) as source:
            every = pa.ipc.open_file(source).schema.names
        return pa.ipc.IpcReadOptions(
            included_fields=[at for at, one in enumerate(every) if one in names]
        )

    def select(self, columns: tuple[str, ...]) -> FileBatches:
        """Return the frame with some of its columns only."""
        schema = needs("pyarrow", "arrow", "Arrow IPC").schema(
            [self.schema.field(one) for one in columns]
        )
        return self._with_columns(columns, schema=schema, selected=True)


def source_of(pa: Any, location: FileLocation) -> Any:
    """Return what pyarrow reads a file from."""
    return (
        pa.OSFile(location.path)
        if location.path is not None
        else pa.PythonFile(opened(location), "r")
    )


def open_dataset(location: FileLocation, *, kind: str | None = None) -> Dataset:
    """Read the footer of an Arrow file, and how long its batches are."""
    pa = needs("pyarrow", "arrow", "Arrow IPC")
    stamp = location.stamp()
    with foreign(location), source_of(pa, location) as source:
        file = pa.ipc.open_file(source)
        counts = [file.get_batch(number).num_rows for number in range(file.num_record_batches)]
        # Names that are no UTF-8 are an error of the file, too.
        schema = file.schema
        names, dtype = tuple(schema.names), dtype_of(location, schema, kind)
    return dataset_of(FileBatches, location, stamp, counts, names, dtype, schema=schema)


def dataset_of(
    form: type[Batches],
    location: FileLocation,
    stamp: tuple[Any, ...],
    counts: list[int],
    names: tuple[str, ...],
    dtype: Any,
    **more: Any,
) -> Batches:
    """Return the frame of these batches' rows, or the array if they are of one type."""
    rows = sum(counts)
    is_frame = dtype is None
    return form(
        location=location,
        stamp=stamp,
        kind="frame" if is_frame else "array",
        columns=names if is_frame else (len(names),),
        dtype=dtype,
        rows=rows,
        unit_rows=max(counts, default=1) or 1,
        row_nbytes=stamp[0] / max(rows, 1),
        ends=tuple(np.cumsum([0, *counts]).tolist()),
        **more,
    )


def open_writer(location: FileLocation, shape: Shape) -> StreamWriter:
    """Write a record batch for each block, or several for one of several chunks."""
    needs("pyarrow", "arrow", "Arrow IPC")
    needs_columns(location, shape)
    return ArrowWriter(location=location, shape=shape)


@dataclass(frozen=True, kw_only=True)
class ArrowWriter(StreamWriter):
    """A record batch for each block."""

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        pa = needs("pyarrow", "arrow", "Arrow IPC")
        return pa.ipc.new_file(path, marked(table_of(first, self.shape).schema, self.shape))

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        table = table_of(block, self.shape).combine_chunks()
        if self.shape.kind == "array":
            table = table.replace_schema_metadata(marked(table.schema, self.shape).metadata)
        try:
            file.write_table(table)
        except needs("pyarrow", "arrow", "Arrow IPC").ArrowInvalid as error:
            if "Dictionary replacement" not in str(error):
                raise
            raise UsageError(
                f"{self.location.url} can't be written: categories differ from block to block, and "
                "an Arrow file has one list of them for all; write .arrows or .parquet, or cast "
                f"{_categories(table)} to the type of the values"
            ) from None


def _categories(table: Any) -> str:
    types = needs("pyarrow", "arrow", "Arrow IPC").types
    return some_of([one.name for one in table.schema if types.is_dictionary(one.type)])


FORMAT = Format(
    name="arrow",
    suffixes=(".arrow", ".feather"),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
