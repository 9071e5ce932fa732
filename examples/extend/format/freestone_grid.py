"""Grids: a matrix of 64-bit floats in row order, behind a header of 24 bytes."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io import Dataset, FileLocation, Format, Shape, Writer, read_values

HEADER = struct.Struct("<8sQQ")
MAGIC = b"grid\r\n\x1a\n"


@dataclass(frozen=True, kw_only=True)
class GridRows(Dataset):
    """Rows of a grid. It is pickled and sent to workers, and each reads rows of its own."""

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        shape = (stop - start, *self.columns)
        offset = HEADER.size + start * int(self.row_nbytes)
        return read_values(self.location.source(self.stamp), offset, shape, "<f8", threads)


def open_dataset(location: FileLocation) -> GridRows:
    """Read the header, and check it against the size of the file."""
    stamp = location.stamp()
    nbytes = stamp[0]
    head = bytes(read_values(location.source(stamp), 0, (min(HEADER.size, nbytes),), "u1"))
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise FormatError(location.url, f"it does not begin with the {HEADER.size} bytes of a grid")
    _, rows, columns = HEADER.unpack(head)
    wanted = HEADER.size + 8 * rows * columns
    if nbytes != wanted:
        reason = f"{rows} x {columns} floats take {wanted:,} bytes, and it has {nbytes:,}"
        raise FormatError(location.url, reason)
    return GridRows(
        location=location,
        kind="array",
        rows=rows,
        columns=(columns,),
        dtype="<f8",
        row_nbytes=8 * columns,
        stamp=stamp,
    )


@dataclass(frozen=True, kw_only=True)
class GridWriter(Writer):
    """A header, then the rows of each block. Workers write their blocks at the same time."""

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the header."""
        return HEADER.pack(MAGIC, self.shape.rows, self.shape.width)

    def sizes(self, rows: int) -> list[int]:
        """Return the bytes of so many rows: so each worker knows where its block begins."""
        return [8 * rows * self.shape.width]

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the bytes of a block."""
        return [np.ascontiguousarray(block, "<f8").reshape(-1).view("u1")]


def open_writer(location: FileLocation, shape: Shape) -> GridWriter:
    """Refuse what a grid can't hold, before anything is written."""
    if shape.kind != "array" or shape.sparse or shape.dtype != "<f8":
        raise UsageError(
            f"{location.url}: a grid holds dense arrays of float64 only; convert first"
        )
    return GridWriter(location=location, shape=shape)


FORMAT = Format(
    name="grid", suffixes=(".grid",), open_dataset=open_dataset, open_writer=open_writer
)
