"""NumPy's `.npz`: arrays of one of its members, and SciPy's sparse matrices.

Options of a read: `array`, the name of a member, where a file has several; `sparse`, ``"coo"`` for
a sparse matrix of its entries. What `numpy.savez` writes is read by rows; a member that is
compressed, and a sparse matrix, is read as a whole by each process. Python objects are not read.

Options of a write: `array`, the member's name; `compress`.
"""

from __future__ import annotations

import io
import struct
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone.errors import UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.entries import form_of, in_form
from freestone.io.formats.format import Format
from freestone.io.formats.npy import MAX_HEADER, rows_at
from freestone.io.formats.tables import file_of, foreign, not_chosen
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, StreamWriter

__all__ = ["FORMAT", "open_dataset", "open_writer"]

# Where in a member's header the lengths of its name and of what follows are, and its own length.
LENGTHS, HEADER_NBYTES = 26, 30


@dataclass(frozen=True, kw_only=True)
class Packed(Dataset):
    """Rows of a member that is compressed."""

    member: str

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows; all are decompressed."""
        with (
            foreign(self.location),
            file_of(self.location) as file,
            zipfile.ZipFile(file) as archive,
        ):
            values = np.load(io.BytesIO(archive.read(self.member)), allow_pickle=False)
        return np.ascontiguousarray(values[start:stop])


@dataclass(frozen=True, kw_only=True)
class Matrix(Dataset):
    """Rows of a sparse matrix of SciPy."""

    form: str

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows; the whole matrix is read."""
        with foreign(self.location):
            matrix = _sparse(self.location)
        return in_form(matrix[start:stop], self.form)


def _sparse(location: FileLocation) -> Any:
    from scipy import sparse

    with file_of(location) as file:
        found = sparse.load_npz(file)
    if hasattr(found, "check_format"):
        # SciPy's loops follow the indices without another look.
        found.check_format(full_check=True)
    return sparse.csr_array(found)


def open_dataset(
    location: FileLocation, *, array: str | None = None, sparse: bool | str | None = None
) -> Dataset:
    """Look at the members of an `.npz` file."""
    stamp = location.stamp()
    with foreign(location), file_of(location) as file, zipfile.ZipFile(file) as archive:
        names = [one.removesuffix(".npy") for one in archive.namelist() if one.endswith(".npy")]
        if array is None and {"format", "shape", "data"} <= {*names}:
            return _open_sparse(location, stamp, form_of(sparse))
        if sparse not in (None, False):
            raise UsageError(f"{location.url} has no sparse matrix of SciPy; leave sparse= out")
        if array is None and len(names) == 1:
            array = names[0]
        if array not in names:
            raise UsageError(not_chosen(location.url, "array", names, "array", array))
        info = archive.getinfo(f"{array}.npy")
        with archive.open(info) as member:
            content = member.read(MAX_HEADER)
        offset = _offset_of(file, info)
    rows = rows_at(location, stamp, content, offset, info.file_size)
    if info.compress_type == zipfile.ZIP_STORED:
        return rows
    return Packed(
        location=location,
        kind="array",
        stamp=stamp,
        rows=rows.rows,
        columns=rows.columns,
        dtype=rows.dtype,
        row_nbytes=rows.row_nbytes,
        unit_rows=max(rows.rows, 1),
        member=info.filename,
    )


def _offset_of(file: Any, info: zipfile.ZipInfo) -> int:
    """Return where the content of a member begins."""
    file.seek(info.header_offset + LENGTHS)
    name, extra = struct.unpack("<HH", file.read(4))
    return info.header_offset + HEADER_NBYTES + int(name) + int(extra)


def _open_sparse(location: FileLocation, stamp: tuple[Any, ...], form: str) -> Dataset:
    with foreign(location):
        matrix = _sparse(location)
    rows, columns = matrix.shape
    return Matrix(
        location=location,
        kind="array",
        stamp=stamp,
        rows=int(rows),
        columns=(int(columns),),
        dtype=matrix.dtype.str,
        nonzeros=int(matrix.nnz),
        row_nbytes=16.0 * matrix.nnz / max(rows, 1) + 8,
        unit_rows=max(int(rows), 1),
        form=form,
    )


def open_writer(
    location: FileLocation, shape: Shape, *, array: str = "arr_0", compress: bool = False
) -> StreamWriter:
    """Write an array, or a sparse matrix as SciPy's `save_npz` does."""
    if shape.kind == "frame":
        raise UsageError(f"{location.url}: .npz has arrays only; write the frame as parquet or csv")
    if shape.sparse:
        return SparseWriter(location=location, shape=shape, compress=compress)
    return NpzWriter(location=location, shape=shape, array=array, compress=compress)


@dataclass
class _Archive:
    """A file of one member that is being written."""

    archive: zipfile.ZipFile
    member: Any

    def close(self) -> None:
        self.member.close()
        self.archive.close()


@dataclass(frozen=True, kw_only=True)
class NpzWriter(StreamWriter):
    """One member, block after block."""

    array: str
    compress: bool

    def begin(self, path: str, first: Any) -> Any:
        """Open the file, and write the member's header."""
        how = zipfile.ZIP_DEFLATED if self.compress else zipfile.ZIP_STORED
        archive = zipfile.ZipFile(path, "w", how)
        # Without the time of day: one content makes one file.
        info = zipfile.ZipInfo(f"{self.array}.npy")
        info.compress_type = how
        member = archive.open(info, "w", force_zip64=True)
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(self.shape.dtype)),
            "fortran_order": False,
            "shape": (self.shape.rows, *self.shape.columns),
        }
        np.lib.format.write_array_header_1_0(member, header)
        return _Archive(archive, member)

    def append(self, file: Any, block: Any) -> None:
        """Write a block."""
        file.member.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)


@dataclass
class _Blocks:
    """A sparse matrix of which some blocks are here."""

    path: str
    blocks: list[Any] = field(default_factory=list)

    def close(self) -> None:
        """There is no file yet."""


@dataclass(frozen=True, kw_only=True)
class SparseWriter(StreamWriter):
    """A whole matrix: its members can't be written block after block."""

    compress: bool

    def begin(self, path: str, first: Any) -> Any:
        """Begin to collect the blocks."""
        return _Blocks(path)

    def append(self, file: Any, block: Any) -> None:
        """Keep a block."""
        file.blocks.append(block)

    def finish(self, file: Any) -> None:
        """Write all blocks."""
        from scipy import sparse

        matrix = sparse.vstack(file.blocks, format="csr")
        with open(file.path, "wb") as out:
            sparse.save_npz(out, matrix, compressed=self.compress)


FORMAT = Format(
    name="npz",
    suffixes=(".npz",),
    open_dataset=open_dataset,
    open_writer=open_writer,
    any_dimensions=True,
)
