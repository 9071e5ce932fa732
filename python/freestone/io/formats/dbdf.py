"""DBDF, DAPHNE's binary format: dense matrices, CSR matrices and frames.

Little endian and packed. A file has a header of 18 bytes: version (1), data type (1 dense, 2 CSR,
3 frame), rows and columns. Of a matrix a value type follows, then one block: where it begins, its
rows and columns, its type (0 empty, 1 dense, 2 sparse), its value type, and the values: of a dense
block by rows; of a sparse one the number of values, where each row begins, the columns and the
values. DAPHNE's manual numbers value types from 1 and has fewer bytes for where rows begin;
its code numbers them from 0. Both are read: which of both a file has follows from its size. What is
written here is what the code writes.

A frame is written as its columns' types and labels, and then the columns one after the other.

Options of a read: `sparse` (``"csr"`` or ``"coo"``: what a sparse matrix becomes). Of a write:
`meta` (whether to write DAPHNE's ``NAME.meta``).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.dbdf_layout import (
    BLOCK,
    COUNT,
    DENSE,
    DENSE_BLOCK,
    EMPTY_BLOCK,
    FRAME,
    HEAD,
    MAX_BLOCK,
    MAX_LABEL,
    SPARSE,
    SPARSE_BLOCK,
    TYPES,
    VALUES,
    VERSION,
)
from freestone.io.formats.dbdf_writing import DbdfWriter, type_of, type_of_column
from freestone.io.formats.entries import form_of, in_form
from freestone.io.formats.format import Format
from freestone.io.formats.meta import CODES
from freestone.io.raw import fill_block, read_values
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer

__all__ = ["FORMAT", "open_dataset", "open_writer"]

FIRST = 4096


@dataclass(frozen=True, kw_only=True)
class Dense(Dataset):
    """Rows of a dense block."""

    def _values(self, start: int, stop: int) -> tuple[Any, int, tuple[int, ...], Any]:
        offset = VALUES + start * int(self.row_nbytes)
        return (
            self.location.source(self.stamp),
            offset,
            (stop - start, *self.columns),
            str(self.dtype),
        )

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        return read_values(*self._values(start, stop), threads, unit=self.location.unit)

    def _into(self, out: Any, start: int, stop: int, threads: int) -> bool:
        read_values(*self._values(start, stop), threads, unit=self.location.unit, out=out)
        return True

    def _fill(self, start: int, stop: int) -> Any:
        return fill_block(*self._values(start, stop), unit=self.location.unit)


@dataclass(frozen=True, kw_only=True)
class Sparse(Dataset):
    """Rows of a CSR block: where rows begin at `pointers`, columns and values behind them."""

    stored: int
    pointers: int
    columns_at: int
    pointer: str
    form: str

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        import scipy.sparse

        source, columns = self.location.source(self.stamp), int(self.columns[0])
        dtype = np.dtype(self.dtype)
        at = self.pointers + start * np.dtype(self.pointer).itemsize
        found = read_values(source, at, (stop - start + 1,), self.pointer)
        wrong = (
            found[0] > found[-1]
            or found[-1] > self.stored
            or (np.diff(found.astype("f8")) < 0).any()
        )
        if wrong or (start == 0 and found[0] != 0):
            raise FormatError(
                self.location.url, f"byte {at}: where rows begin does not rise to the end"
            )
        first, count = int(found[0]), int(found[-1]) - int(found[0])
        positions = read_values(source, self.columns_at + first * 8, (count,), "<u8", threads)
        if count and int(positions.max()) >= columns:
            at = self.columns_at + (first + int(positions.argmax())) * 8
            raise FormatError(
                self.location.url, f"byte {at}: column {int(positions.max())} of {columns} (from 0)"
            )
        values_at = self.columns_at + self.stored * 8 + first * dtype.itemsize
        values = read_values(source, values_at, (count,), dtype, threads)
        starts = found.astype(np.int64) - first
        small = max(count, columns) < 2**31
        kind = np.int32 if small else np.int64
        parts = (values, positions.astype(kind), starts.astype(kind))
        return in_form(scipy.sparse.csr_array(parts, shape=(stop - start, columns)), self.form)


@dataclass(frozen=True, kw_only=True)
class Empty(Dataset):
    """Rows of a block that has no values: all of them are 0."""

    form: str | None

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        shape = (stop - start, int(self.columns[0]))
        if self.form is not None:
            import scipy.sparse

            return in_form(scipy.sparse.csr_array(shape, dtype=self.dtype), self.form)
        try:
            return np.zeros(shape, self.dtype)
        except (MemoryError, ValueError):
            reason = f"{shape[0]} x {shape[1]} zeros do not fit into memory"
            raise FormatError(self.location.url, reason) from None


@dataclass(frozen=True, kw_only=True)
class Columns(Dataset):
    """Rows of a frame, whose columns lie one after the other."""

    codes: tuple[str, ...]
    at: int

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        import pyarrow as pa

        source, at, arrays = self.location.source(self.stamp), self.at, []
        for code in self.codes:
            size = np.dtype(code).itemsize
            values = read_values(source, at + start * size, (stop - start,), code, threads)
            arrays.append(pa.array(values))
            at += self.rows * size
        return pa.table(arrays, names=[str(name) for name in self.columns])


def open_dataset(location: FileLocation, *, sparse: str | None = None) -> Dataset:
    """Read the header of a DBDF file, and check it against the file's size."""
    stamp = location.stamp()
    return _Header(location, stamp, form_of(sparse)).dataset()


class _Header:
    def __init__(self, location: FileLocation, stamp: tuple[Any, ...], form: str) -> None:
        self.location, self.stamp, self.nbytes, self.form = location, stamp, int(stamp[0]), form
        self._source = location.source(stamp)
        # All that most files have before their values, in one read.
        self._first = self._beginning(FIRST)
        version, self.kind, self.rows, self.columns = HEAD.unpack(self._bytes(0, HEAD.size))
        if version != VERSION:
            raise self._wrong(0, f"version {version}, and only {VERSION} is known (foreign file?)")
        if self.kind not in (DENSE, SPARSE, FRAME):
            raise self._wrong(1, f"data type {self.kind}; there are 1 dense, 2 CSR and 3 frame")
        if max(self.rows, self.columns) >= 2**62:
            raise self._wrong(2, f"{self.rows} rows of {self.columns} columns can't be")

    def _bytes(self, offset: int, count: int) -> bytes:
        if offset + count > self.nbytes:
            raise self._wrong(self.nbytes, f"it ends in its header, {offset + count:,} bytes long")
        if offset + count > len(self._first):
            # The labels of many columns take few reads, of twice as much each time.
            self._first = self._beginning(max(offset + count, 2 * len(self._first)))
        return self._first[offset : offset + count]

    def _beginning(self, count: int) -> bytes:
        return bytes(read_values(self._source, 0, (min(self.nbytes, count),), np.uint8))

    def _wrong(self, offset: int, reason: str) -> FormatError:
        return FormatError(self.location.url, f"byte {offset}: {reason}")

    def _common(self) -> dict[str, Any]:
        return {"location": self.location, "stamp": self.stamp, "rows": self.rows}

    def dataset(self) -> Dataset:
        if self.kind == FRAME:
            return self._frame()
        start = self._bytes(HEAD.size, BLOCK.size - 1)
        if start[-1] == EMPTY_BLOCK:
            return self._empty(start[0])
        matrix_code, first_row, first_column, rows, columns, block, code = BLOCK.unpack(
            self._bytes(HEAD.size, BLOCK.size)
        )
        if matrix_code != code:
            raise self._wrong(44, f"value type {code} of the block, {matrix_code} of the matrix")
        if (first_row, first_column) != (0, 0):
            raise self._wrong(19, "the matrix is of several blocks; only one is known")
        if (rows, columns) != (self.rows & MAX_BLOCK, self.columns & MAX_BLOCK):
            raise self._wrong(
                35,
                f"a block of {rows} x {columns}, the matrix has "
                f"{self.rows} x {self.columns}; more than one block is not known",
            )
        wanted = {DENSE: DENSE_BLOCK, SPARSE: SPARSE_BLOCK}[self.kind]
        if block != wanted:
            raise self._wrong(
                43, f"a block of type {block}, and data type {self.kind} has {wanted}"
            )
        return self._dense(code) if self.kind == DENSE else self._sparse(code)

    def _empty(self, code: int) -> Dataset:
        # The manual ends such a block before its value type.
        if self.nbytes not in (VALUES - 1, VALUES):
            raise self._wrong(VALUES, "values follow a block that says it is empty")
        dtype = self._codes(code)[0][0]
        return Empty(
            kind="array",
            columns=(self.columns,),
            dtype=dtype,
            row_nbytes=float(self.columns) * np.dtype(dtype).itemsize,
            form=self.form if self.kind == SPARSE else None,
            **self._common(),
        )

    def _codes(self, code: int) -> list[tuple[str, bool]]:
        """Return the types that a code stands for: as DAPHNE's code has it, and its manual."""
        choices = [(code, False), (code - 1, True)]
        known = [("<" + CODES[TYPES[at]], manual) for at, manual in choices if 0 <= at < len(TYPES)]
        if not known:
            raise self._wrong(18, f"value type {code}; there are 0 to 7: {' '.join(TYPES)}")
        return known

    def _dense(self, code: int) -> Dataset:
        cells = self.rows * self.columns
        for dtype, _ in self._codes(code):
            size = np.dtype(dtype).itemsize
            if self.nbytes == VALUES + cells * size:
                return Dense(
                    kind="array",
                    columns=(self.columns,),
                    dtype=dtype,
                    row_nbytes=self.columns * size,
                    **self._common(),
                )
        dtype, _ = self._codes(code)[0]
        wanted = VALUES + cells * np.dtype(dtype).itemsize
        raise self._wrong(
            self.nbytes,
            f"{wanted:,} bytes are wanted for {self.rows} x {self.columns} of {dtype[1:]}"
            f", and it has {self.nbytes:,} (truncated, or foreign)",
        )

    def _sparse(self, code: int) -> Dataset:
        (nonzeros,) = COUNT.unpack(self._bytes(VALUES, COUNT.size))
        pointers = VALUES + COUNT.size
        for dtype, manual in self._codes(code):
            size = np.dtype(dtype).itemsize
            pointer = "<u4" if manual else "<u8"
            columns_at = pointers + (self.rows + 1) * np.dtype(pointer).itemsize
            if self.nbytes == columns_at + nonzeros * (8 + size):
                return Sparse(
                    kind="array",
                    columns=(self.columns,),
                    dtype=dtype,
                    row_nbytes=(self.nbytes - VALUES) / max(self.rows, 1),
                    nonzeros=nonzeros,
                    stored=nonzeros,
                    pointers=pointers,
                    columns_at=columns_at,
                    pointer=pointer,
                    form=self.form,
                    **self._common(),
                )
        raise self._wrong(
            self.nbytes,
            f"{self.nbytes:,} bytes do not hold {self.rows} rows with {nonzeros} values "
            f"of value type {code} (truncated, or foreign)",
        )

    def _frame(self) -> Dataset:
        if self.columns > self.nbytes:
            raise self._wrong(10, f"{self.columns} columns do not fit into {self.nbytes:,} bytes")
        types = self._bytes(HEAD.size, self.columns)
        for number, code in enumerate(types):
            if code >= len(TYPES):
                raise self._wrong(HEAD.size + number, f"value type {code}; there are 0 to 7")
        at, labels = HEAD.size + self.columns, []
        for _ in range(self.columns):
            (length,) = struct.unpack("<H", self._bytes(at, 2))
            try:
                labels.append(self._bytes(at + 2, length).decode())
            except UnicodeDecodeError:
                raise self._wrong(at + 2, "a label that is no UTF-8") from None
            at += 2 + length
        codes = tuple("<" + CODES[TYPES[code]] for code in types)
        width = sum(np.dtype(code).itemsize for code in codes)
        if self.nbytes != at + self.rows * width:
            raise self._wrong(
                self.nbytes,
                f"{at + self.rows * width:,} bytes are wanted for {self.rows} rows of "
                f"{width} bytes, and it has {self.nbytes:,} (truncated, or foreign)",
            )
        return Columns(
            kind="frame",
            columns=tuple(labels),
            row_nbytes=width,
            codes=codes,
            at=at,
            **self._common(),
        )


def open_writer(location: FileLocation, shape: Shape, *, meta: bool = True) -> Writer:
    """Write the binary form, and DAPHNE's `.meta` beside it if `meta`."""
    if shape.kind == "frame":
        types = [type_of_column(field) for field in shape.schema]
        longest = max(map(str, shape.columns), key=lambda label: len(label.encode()), default="")
        if len(longest.encode()) > MAX_LABEL:
            raise UsageError(
                f"the label {longest[:20]!r}... has {len(longest.encode()):,} bytes; in DBDF one "
                f"has {MAX_LABEL:,} at most"
            )
    else:
        types = [type_of(str(shape.dtype))]
    if max(shape.rows, shape.width) >= 2**32 and shape.kind == "array":
        raise UsageError(f"a DBDF block has fewer than 2^32 rows; {shape.rows:,} are too many")
    return DbdfWriter(location=location, shape=shape, types=tuple(types), meta=meta)


FORMAT = Format(
    name="dbdf",
    suffixes=(".dbdf",),
    open_dataset=open_dataset,
    open_writer=open_writer,
)
