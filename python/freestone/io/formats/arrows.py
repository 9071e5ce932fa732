"""Arrow IPC streams, by pyarrow: frames, and arrays as columns of one type.

Record batches are not cut. A stream has no list of them, so that it is looked through once; then
each process reads its own, but from the beginning if there are dictionaries. Options of a read:
`kind`, as for Parquet.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from freestone.errors import FormatError
from freestone.io.dataset import Dataset
from freestone.io.formats.arrow import ArrowWriter, Batches, dataset_of, source_of
from freestone.io.formats.format import Format
from freestone.io.formats.parquet import dtype_of, marked
from freestone.io.formats.tables import foreign, needs, table_of
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

# What a stream ends with: a message of no length.
END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


@dataclass(frozen=True, kw_only=True)
class StreamBatches(Batches):
    """Those of a stream, which begin at some bytes; at none if they need those before."""

    begins: tuple[int, ...] | None

    def _batches(self, pa: Any, source: Any, first: int, last: int) -> tuple[list[Any], Any]:
        if self.begins is None:
            reader = pa.ipc.open_stream(source)
            return list(itertools.islice(reader, first, last)), self.schema
        batches = []
        for begin in self.begins[first:last]:
            source.seek(begin)
            batches.append(pa.ipc.read_record_batch(pa.ipc.read_message(source), self.schema))
        return batches, self.schema


def open_dataset(location: FileLocation, *, kind: str | None = None) -> Dataset:
    """Look through an Arrow stream: where its batches begin, and how long they are."""
    pa = needs("pyarrow", "arrow", "Arrow streams")
    stamp = location.stamp()
    counts, begins = [], []
    with foreign(location), source_of(pa, location) as source:
        reader = pa.ipc.open_stream(source)
        schema = reader.schema
        begins.append(source.tell())
        try:
            while True:
                counts.append(reader.read_next_batch().num_rows)
                begins.append(source.tell())
        except StopIteration:
            pass
        _check_end(location, source, begins[-1], int(stamp[0]))
        names, dtype = tuple(schema.names), dtype_of(location, schema, kind)
    is_dependent = any(map(_has_dictionary, schema.types))
    starts = None if is_dependent else tuple(begins[:-1])
    return dataset_of(
        StreamBatches, location, stamp, counts, names, dtype, schema=schema, begins=starts
    )


def _check_end(location: FileLocation, source: Any, end: int, nbytes: int) -> None:
    """Raise `FormatError` unless the mark of the end follows, with nothing behind it."""
    source.seek(end)
    if source.read(len(END)) != END or end + len(END) != nbytes:
        reason = (
            f"it does not end at byte {end:,} with the mark of its end (truncated, or appended)"
        )
        raise FormatError(location.url, reason)


def _has_dictionary(kind: Any) -> bool:
    pa = needs("pyarrow", "arrow", "Arrow streams")
    inner = [kind.field(number).type for number in range(kind.num_fields)]
    return pa.types.is_dictionary(kind) or any(map(_has_dictionary, inner))


def open_writer(location: FileLocation, shape: Shape) -> StreamWriter:
    """Write a record batch for each block, or several for one of several chunks."""
    needs("pyarrow", "arrow", "Arrow streams")
    needs_columns(location, shape)
    return StreamOfBatches(location=location, shape=shape)


@dataclass(frozen=True, kw_only=True)
class StreamOfBatches(ArrowWriter):
    """A record batch for each block."""

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        pa = needs("pyarrow", "arrow", "Arrow streams")
        return pa.ipc.new_stream(path, marked(table_of(first, self.shape).schema, self.shape))


FORMAT = Format(
    name="arrows",
    suffixes=(".arrows",),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
