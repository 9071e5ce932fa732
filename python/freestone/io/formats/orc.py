"""ORC, by pyarrow: frames. A file is read as a whole, but only the columns that are needed."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any, ClassVar

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import first_line, foreign, needs, opened, whole
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter, needs_columns

__all__ = ["FORMAT", "open_dataset", "open_writer"]


@dataclass(frozen=True, kw_only=True)
class OrcRows(Dataset):
    """Rows of a file."""

    is_columnar: ClassVar[bool] = True
    schema: Any

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        orc = needs("pyarrow.orc", "arrow", "ORC")
        with foreign(self.location):
            table = whole(orc.ORCFile(opened(self.location)).read(columns=list(self.columns)))
            return table.select(list(self.columns)).slice(start, stop - start)

    def arrow_schema(self) -> Any:
        """Return the schema, from the footer."""
        return self.schema

    def select(self, columns: tuple[str, ...]) -> OrcRows:
        """Return the frame with some of its columns only."""
        schema = needs("pyarrow", "arrow", "ORC").schema(
            [self.schema.field(one) for one in columns]
        )
        return self._with_columns(columns, schema=schema)


def open_dataset(location: FileLocation) -> Dataset:
    """Read the footer of an ORC file."""
    orc = needs("pyarrow.orc", "arrow", "ORC")
    stamp = location.stamp()
    with foreign(location):
        file = orc.ORCFile(opened(location))
        rows, schema = int(file.nrows), file.schema
    return OrcRows(
        location=location,
        kind="frame",
        stamp=stamp,
        rows=rows,
        columns=tuple(schema.names),
        # The library does not say how many rows each stripe has.
        unit_rows=max(rows, 1),
        row_nbytes=stamp[0] / max(rows, 1),
        schema=schema,
    )


def open_writer(location: FileLocation, shape: Shape, *, compression: str = "zstd") -> StreamWriter:
    """Write a stripe or several for each block."""
    needs("pyarrow.orc", "arrow", "ORC")
    if shape.kind != "frame":
        raise UsageError(
            f"{location.url}: ORC has columns with names; make it a frame, or write parquet"
        )
    needs_columns(location, shape)
    return OrcWriter(location=location, shape=shape, compression=compression)


class Sink(io.RawIOBase):
    """A file that takes all that it is given, and raises later what went wrong.

    The library ends the process when its file can't be written any more, as on a disk that is full.
    """

    def __init__(self, path: str) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - it is closed with this
        self._error: OSError | None = None

    def writable(self) -> bool:
        """Tell that it is written to."""
        return True

    def write(self, part: Any) -> int:
        """Write a part, unless one before it was not."""
        if self._error is None:
            try:
                self._file.write(part)
            except OSError as error:
                self._error = error
        return len(part)

    def check(self) -> None:
        """Raise what went wrong."""
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Write what is left, and close."""
        super().close()
        try:
            self._file.close()
        except OSError as error:
            self._error = self._error or error


@dataclass(frozen=True)
class OrcFile:
    """What writes, and where."""

    writer: Any
    sink: Sink

    def close(self) -> None:
        """Write the footer, and close."""
        self.writer.close()
        self.sink.close()
        self.sink.check()


@dataclass(frozen=True, kw_only=True)
class OrcWriter(StreamWriter):
    """Stripes, block after block."""

    compression: str

    def begin(self, path: str, first: Any) -> OrcFile:
        """Open the file."""
        orc = needs("pyarrow.orc", "arrow", "ORC")
        for field in self._as_written(first.schema.empty_table()).schema:
            self._check_type(field)
        sink = Sink(path)
        return OrcFile(orc.ORCWriter(sink, compression=self.compression), sink)

    def append(self, file: OrcFile, block: Any) -> None:
        """Write a block."""
        file.writer.write(self._as_written(block))
        file.sink.check()

    def _check_type(self, field: Any) -> None:
        """Raise `UsageError` for a type whose values ORC does not have."""
        if str(field.type) in ("uint8", "uint16", "uint32", "uint64"):
            raise UsageError(
                f"{self.location.url}: column {field.name!r} is of {field.type}, and ORC has "
                "no numbers without a sign; cast it to a wider type, such as int64"
            )
        pa, orc = needs("pyarrow", "arrow", "ORC"), needs("pyarrow.orc", "arrow", "ORC")
        try:
            orc.write_table(pa.schema([field]).empty_table(), io.BytesIO())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise UsageError(
                f"{self.location.url}: column {field.name!r} is of {field.type}, for which ORC has "
                "no form; cast it, to text for instance, or write parquet"
            ) from None

    def _as_written(self, block: Any) -> Any:
        """Return categories as their values, and times in the unit in which they will be read."""
        pa = needs("pyarrow", "arrow", "ORC")
        for place, field in enumerate(block.schema):
            kind = field.type
            if pa.types.is_dictionary(kind):
                wanted = kind.value_type
            elif pa.types.is_timestamp(kind) and kind.unit != "ns":
                wanted = pa.timestamp("ns", kind.tz)
            else:
                continue
            try:
                column = block.column(place).cast(wanted)
            except pa.ArrowInvalid as error:
                raise UsageError(
                    f"{self.location.url}: column {field.name!r} can't be written, since ORC is "
                    f"read in nanoseconds, from 1677 to 2262: {first_line(error)}; write parquet"
                ) from None
            block = block.set_column(place, field.with_type(wanted), column)
        return block


FORMAT = Format(name="orc", suffixes=(".orc",), open_dataset=open_dataset, open_writer=open_writer)
