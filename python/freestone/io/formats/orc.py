"""ORC, by pyarrow: frames. A file is read as a whole, but only the columns that are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.tables import foreign, needs, opened, whole
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


@dataclass(frozen=True, kw_only=True)
class OrcWriter(StreamWriter):
    """Stripes, block after block."""

    compression: str

    def begin(self, path: str, first: Any) -> Any:
        """Open the file."""
        orc = needs("pyarrow.orc", "arrow", "ORC")
        return orc.ORCWriter(path, compression=self.compression)

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        file.write(block)


FORMAT = Format(name="orc", suffixes=(".orc",), open_dataset=open_dataset, open_writer=open_writer)
