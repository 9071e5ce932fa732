"""Avro, by fastavro: frames. Options of a write: `compression`, ``"null"`` for none.

A file is looked through once, from block to block without what they hold, and then read in parts
that end with a block; each worker decodes its own.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import by_library, foreign, needs, opened
from freestone.io.raw import read_values
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]

# Bytes of a part, about: blocks are small, and there may be many.
PART_NBYTES = 1 << 20
# Bytes of a block that is written, before it is compressed.
BLOCK_NBYTES = 64 << 10
# What a file far away is asked for at once, while it is looked through.
BUFFER_NBYTES = 1 << 20
# Seven bits of a number of 64 in each byte.
MAX_VARINT = 10
# Each takes a byte at least, packed or not.
MAX_ROWS = 1 << 60
SYNC_NBYTES = 16


@dataclass(frozen=True, kw_only=True)
class Records(Dataset):
    """Rows of blocks; the parts of the file begin at some bytes and rows.

    `head` is that of the file, with dates and times as the numbers that they are stored as.
    """

    schema: Any
    head: bytes
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        if start == stop:
            return self.schema.empty_table()
        ends = np.array(self.ends, np.int64)
        first = int(np.searchsorted(ends, start, "right")) - 1
        last = int(np.searchsorted(ends, stop, "left"))
        begin, end = self.begins[first], self.begins[last]
        blocks = read_values(self.location.source(self.stamp), begin, (end - begin,), np.uint8)
        with foreign(self.location):
            rows = self._decoded(self.head + blocks.tobytes())
            return self._table(rows).slice(start - self.ends[first], stop - start)

    def _decoded(self, content: bytes) -> list[dict[str, Any]]:
        """Return the records of a file that has some of the blocks."""
        fastavro = needs("fastavro", "avro", "Avro")
        rows: list[dict[str, Any]] = []
        for block in fastavro.block_reader(io.BytesIO(content)):
            rows.extend(block)
            if block.bytes_.read(1):
                reason = f"a block has more than the {block.num_records:,} records that it says"
                raise FormatError(self.location.url, reason)
        return rows

    def _table(self, rows: list[dict[str, Any]]) -> Any:
        from freestone.io.formats.avro_types import stored

        pa = needs("pyarrow", "arrow", "Avro")
        kinds = pa.schema([pa.field(one.name, stored(one.type)) for one in self.schema])
        columns = [pa.array([row[one.name] for row in rows], one.type) for one in kinds]
        return pa.table(columns, schema=kinds).cast(self.schema)

    def arrow_schema(self) -> Any:
        """Return the schema, from the file's head."""
        return self.schema


def open_dataset(location: FileLocation) -> Dataset:
    """Read the head of an Avro file, and where its blocks begin and how many rows they have."""
    from freestone.io.formats.avro_types import plain

    fastavro = needs("fastavro", "avro", "Avro")
    stamp = location.stamp()
    with _buffered(location) as file:
        with foreign(location):
            found = fastavro.reader(file)
            written, meta = json.loads(found.metadata["avro.schema"]), found.metadata
            schema = _schema(location, found.writer_schema)
            head = _head(meta | {"avro.schema": json.dumps(plain(written))}, found._header["sync"])
        begins, ends = _parts(location, file, found._header["sync"], int(stamp[0]))
    rows = ends[-1]
    return Records(
        location=location,
        kind="frame",
        stamp=stamp,
        rows=rows,
        columns=tuple(schema.names),
        unit_rows=int(max(np.diff(ends), default=1)) or 1,
        row_nbytes=stamp[0] / max(rows, 1),
        schema=schema,
        head=head,
        begins=tuple(begins),
        ends=tuple(ends),
    )


def _buffered(location: FileLocation) -> Any:
    file = opened(location)
    return open(file, "rb") if isinstance(file, str) else io.BufferedReader(file, BUFFER_NBYTES)


def _head(meta: dict[str, str], sync: bytes) -> bytes:
    """Return what a file begins with."""
    fastavro = needs("fastavro", "avro", "Avro")
    schema = {
        "type": "record",
        "name": "Header",
        "fields": [
            {"name": "magic", "type": {"type": "fixed", "name": "Magic", "size": 4}},
            {"name": "meta", "type": {"type": "map", "values": "bytes"}},
            {"name": "sync", "type": {"type": "fixed", "name": "Sync", "size": SYNC_NBYTES}},
        ],
    }
    values = {key: value.encode() for key, value in meta.items()}
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, {"magic": b"Obj\x01", "meta": values, "sync": sync})
    return out.getvalue()


def _schema(location: FileLocation, written: Any) -> Any:
    """Return the columns of a file's records."""
    from freestone.io.formats.avro_types import Unfit, arrow_type, takes_no_bytes

    pa = needs("pyarrow", "arrow", "Avro")
    if not (isinstance(written, dict) and written.get("type") == "record"):
        raise FormatError(location.url, "its values are no records, of which columns could be made")
    try:
        kind = arrow_type(written)
    except Unfit as unfit:
        raise FormatError(location.url, _where(written, unfit)) from None
    if takes_no_bytes(written):
        raise FormatError(
            location.url, "its records take no bytes, so that there may be any number"
        )
    return pa.schema([kind.field(number) for number in range(kind.num_fields)])


def _where(written: Any, unfit: Exception) -> str:
    """Return why a schema has no form in Arrow, with the column that is why."""
    from freestone.io.formats.avro_types import Unfit, arrow_type

    for field in written["fields"]:
        try:
            arrow_type(field["type"])
        except Unfit as here:
            return f"column {field['name']!r}: {here}"
        except Exception:
            # A name that an earlier column gives: only all of them together can be understood.
            continue
    return str(unfit)


def _parts(
    location: FileLocation, file: Any, sync: bytes, nbytes: int
) -> tuple[list[int], list[int]]:
    """Return where parts begin, and after how many rows they end."""
    begins, ends, rows, end = [file.tell()], [0], 0, file.tell()
    for count, end in _blocks(location, file, sync, nbytes):
        rows += count
        if rows > MAX_ROWS:
            reason = f"its blocks say that they have {rows:,} records (damaged)"
            raise FormatError(location.url, reason)
        if end - begins[-1] >= PART_NBYTES:
            begins.append(end)
            ends.append(rows)
    if end > begins[-1]:
        begins.append(end)
        ends.append(rows)
    return begins, ends


def _blocks(
    location: FileLocation, file: Any, sync: bytes, nbytes: int
) -> Iterator[tuple[int, int]]:
    """Yield how many records each block has, and at which byte it ends."""
    at = file.tell()
    while at < nbytes:
        count, size = _varint(location, file, at), _varint(location, file, at)
        end = file.tell() + size + SYNC_NBYTES
        if count < 0 or size < 0 or end > nbytes:
            reason = (
                f"the block at byte {at:,} says that it has {count:,} records in {size:,} bytes, "
                f"of a file of {nbytes:,} (truncated, or damaged)"
            )
            raise FormatError(location.url, reason)
        file.seek(size, io.SEEK_CUR)
        if file.read(SYNC_NBYTES) != sync:
            reason = f"the block at byte {at:,} does not end with the mark of the file (damaged)"
            raise FormatError(location.url, reason)
        yield count, end
        at = end


def _varint(location: FileLocation, file: Any, at: int) -> int:
    """Read a number: seven bits in each byte, the lowest first; its lowest bit is the sign."""
    value: int = 0
    for number in range(MAX_VARINT):
        byte = file.read(1)
        if not byte:
            break
        value |= (byte[0] & 127) << (7 * number)
        if byte[0] < 128:
            sign: int = value & 1
            return (value >> 1) ^ -sign
    raise FormatError(location.url, f"no block begins at byte {at:,} (truncated, or damaged)")


def open_writer(location: FileLocation, shape: Shape, *, compression: str = "deflate") -> Writer:
    """Write blocks of records; each value may be missing."""
    needs("fastavro", "avro", "Avro")
    if shape.kind != "frame":
        raise UsageError(
            f"{location.url}: Avro has columns with names; make it a frame, or write parquet"
        )
    needs_columns(location, shape)
    writer = AvroWriter(location=location, shape=shape, compression=compression)
    # What can't be written is refused before anything is: first types that Avro does not have.
    writer.head([])
    writer.encode(shape.schema.empty_table(), 0)
    return writer


@dataclass(frozen=True, kw_only=True)
class AvroWriter(Writer):
    """Blocks of records; workers write theirs at the same time."""

    compression: str

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The schema of the records."""
        from freestone.io.formats.avro_types import Unfit, avro_fields

        try:
            fields = avro_fields(list(self.shape.schema))
        except Unfit as unfit:
            raise UsageError(f"{self.location.url}: {unfit}") from None
        return {"type": "record", "name": "row", "fields": fields}

    @cached_property
    def sync(self) -> bytes:
        """The mark that all blocks end with: that of a file is its own, and no two differ in it."""
        content = f"{self.location.url}\n{json.dumps(self.schema)}".encode()
        return hashlib.blake2b(content, digest_size=SYNC_NBYTES).digest()

    def head(self, nbytes: Any) -> bytes:
        """Return the schema, the codec and the mark."""
        meta = {"avro.schema": json.dumps(self.schema), "avro.codec": self.compression}
        return _head(meta, self.sync)

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the records of a block."""
        from freestone.io.formats.avro_types import plain, stored

        pa = needs("pyarrow", "arrow", "Avro")
        schema, out = plain(self.schema), io.BytesIO()
        kinds = pa.schema([pa.field(one.name, stored(one.type)) for one in block.schema])
        with by_library(self.location):
            writer = needs("fastavro.write", "avro", "Avro").Writer(
                out, schema, self.compression, BLOCK_NBYTES, sync_marker=self.sync
            )
            begin = out.tell()
            for row in block.cast(kinds).to_pylist(maps_as_pydicts="strict"):
                writer.write(row)
            writer.flush()
        return [out.getvalue()[begin:]]


FORMAT = Format(
    name="avro", suffixes=(".avro",), open_dataset=open_dataset, open_writer=open_writer
)
