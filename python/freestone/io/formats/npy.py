"""NumPy's `.npy`: one array, whose values lie behind a short header."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.format import Format
from freestone.io.formats.mtx import read_some
from freestone.io.raw import dtype_reported, fill_block, read_values
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer

__all__ = ["FORMAT", "MAX_HEADER", "open_dataset", "open_writer", "rows_at"]

MAX_HEADER = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Rows(Dataset):
    """Rows of an array in row order, or columns of one in column order."""

    offset: int
    by_columns: bool

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        if not self.by_columns:
            return read_values(*self._values(start, stop), threads, unit=self.location.unit)
        source, dtype = self.location.source(self.stamp), np.dtype(self.dtype)
        (width,) = self.columns
        out = np.empty((stop - start, width), dtype)
        for column in range(width):
            offset = self.offset + (column * self.rows + start) * dtype.itemsize
            out[:, column] = read_values(source, offset, (stop - start,), dtype, threads)
        return out

    def _values(self, start: int, stop: int) -> tuple[Any, int, tuple[int, ...], Any]:
        offset = self.offset + start * int(self.row_nbytes)
        return (
            self.location.source(self.stamp),
            offset,
            (stop - start, *self.columns),
            np.dtype(self.dtype),
        )

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        if not self.by_columns:
            read_values(*self._values(start, stop), threads, unit=self.location.unit, out=out)
        return not self.by_columns

    def _fill(self, start: int, stop: int) -> Any:
        if self.by_columns:
            return None
        return fill_block(*self._values(start, stop), unit=self.location.unit)


def open_dataset(location: FileLocation) -> Dataset:
    """Read the header of a `.npy` file."""
    stamp = location.stamp()
    return rows_at(location, stamp, read_some(location, stamp, MAX_HEADER), 0, int(stamp[0]))


def rows_at(
    location: FileLocation, stamp: tuple[Any, ...], content: bytes, offset: int, nbytes: int
) -> Dataset:
    """Read the header of a `.npy` file that lies in another one.

    Parameters
    ----------
    location, stamp
        The outer file, and its version.
    content
        The first bytes of the inner one, `MAX_HEADER` of them if it has so many.
    offset, nbytes
        Where it begins, and its size.
    """
    file = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, by_columns, dtype = read(file)
    except Exception as error:  # the header is Python, and so is what can be wrong with it
        raise FormatError(
            location.url, f"its header is not that of a .npy file ({error})"
        ) from None
    if dtype.hasobject:
        raise FormatError(location.url, "it holds Python objects, which are code (not read)")
    if not shape or any(not 0 <= length < 2**62 for length in shape):
        raise FormatError(
            location.url, f"an array of shape {shape}; it has to be of one dimension or more"
        )
    if by_columns and len(shape) > 2:
        reason = f"an array of shape {shape} in Fortran's order; write it again in C's order"
        raise FormatError(location.url, reason)
    dtype = dtype_reported(location.url, dtype)
    row_nbytes = dtype.itemsize * math.prod(shape[1:])
    wanted = file.tell() + shape[0] * row_nbytes
    if wanted != nbytes:
        reason = f"{wanted:,} bytes are wanted, and it has {nbytes:,} (truncated, or foreign)"
        raise FormatError(location.url, reason)
    return Rows(
        location=location,
        kind="array",
        rows=shape[0],
        columns=tuple(shape[1:]),
        dtype=dtype.str,
        row_nbytes=row_nbytes,
        stamp=stamp,
        offset=offset + file.tell(),
        by_columns=bool(by_columns) and len(shape) == 2,
    )


def open_writer(location: FileLocation, shape: Shape) -> Writer:
    """Write a dense array."""
    if shape.kind == "frame" or shape.sparse:
        raise UsageError(".npy has dense arrays only; write frames as parquet, sparse ones as dbdf")
    return NpyWriter(location=location, shape=shape)


@dataclass(frozen=True, kw_only=True)
class NpyWriter(Writer):
    """One section: the values by rows."""

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the header."""
        file = io.BytesIO()
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(self.shape.dtype)),
            "fortran_order": False,
            "shape": (self.shape.rows, *self.shape.columns),
        }
        np.lib.format.write_array_header_1_0(file, header)
        return file.getvalue()

    def sizes(self, rows: int) -> list[int]:
        """Return the bytes of so many rows."""
        return [rows * int(np.prod(self.shape.columns)) * np.dtype(self.shape.dtype).itemsize]

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the values of a block."""
        return [np.ascontiguousarray(block).reshape(-1).view(np.uint8)]


FORMAT = Format(
    name="npy",
    suffixes=(".npy",),
    open_dataset=open_dataset,
    open_writer=open_writer,
    any_dimensions=True,
)
