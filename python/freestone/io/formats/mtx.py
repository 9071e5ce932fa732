"""Matrix Market: coordinate and array; real, integer, complex and pattern; every symmetry.

Unsigned integers of 64 bits have the field ``unsigned-integer``, as SciPy writes them.

A coordinate file has its entries in any order, so whoever reads some rows reads the whole file and
keeps theirs; one reader with several threads parses each byte once.

Options of a read: `sparse` (``"csr"`` or ``"coo"``: what a coordinate file becomes). Of a write:
`decimals` (floats with so many); `pattern` (a sparse matrix of ones, without the ones); `symmetry`
(``"symmetric"``, ``"skew-symmetric"`` or ``"hermitian"``: only the half below the diagonal is
written, once it is known that the other one follows from it; else ``"general"``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone import _native
from freestone.errors import FormatError, UsageError, did_you_mean
from freestone.io.dataset import Dataset
from freestone.io.formats.entries import form_of, in_form
from freestone.io.formats.format import Format
from freestone.io.formats.mtx_symmetry import SYMMETRIES, mirrored
from freestone.io.formats.mtx_writing import BANNER, MtxWriter
from freestone.io.raw import joined
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape, Writer

__all__ = ["FORMAT", "open_dataset", "open_writer"]

FIELDS = {
    "real": ("f8", 1),
    "double": ("f8", 1),
    "integer": ("i8", 1),
    "unsigned-integer": ("u8", 1),
    "complex": ("c16", 2),
    "pattern": ("f8", 0),
}
MAX_HEADER = 1 << 20
LARGEST = 1 << 62


@dataclass(frozen=True, kw_only=True)
class Matrix(Dataset):
    """The entries of a file, behind its header."""

    layout: str
    values: int
    symmetry: str
    entries: int
    start: int
    length: int
    form: str

    def read_rows(self, start: int, stop: int, threads: int) -> Any:
        """Read some rows."""
        import scipy.sparse

        rows, columns, values = self._entries(threads)
        found = len(values) if self.layout == "array" else len(rows)
        if found != self.entries:
            reason = f"its header says {self.entries} entries, and it has {found} (truncated?)"
            raise FormatError(self.location.url, reason)
        if self.layout == "array":
            return np.ascontiguousarray(self._dense(values)[start:stop])
        rows, columns, values = self._mirrored(rows, columns, values)
        kept = (rows >= start) & (rows < stop)
        if not kept.all():
            rows, columns, values = rows[kept], columns[kept], values[kept]
        shape = (stop - start, *self.columns)
        made = scipy.sparse.coo_array((values, (rows - start, columns)), shape=shape)
        return in_form(made, self.form)

    def _entries(self, threads: int) -> tuple[Any, Any, Any]:
        code = "f8" if self.dtype == "c16" else str(self.dtype)
        parts = _native.io.mtx_read(
            self.location.source(self.stamp),
            self.start,
            self.length,
            code=code,
            positions=self.layout == "coordinate",
            values=self.values,
            shape=(self.rows, int(self.columns[0])),
            threads=threads,
        )
        rows, columns, values = joined(parts, (np.int64, np.int64, code))
        if self.values == 0:
            values = np.ones(len(rows))
        return rows, columns, values.view(self.dtype)

    def _mirrored(self, rows: Any, columns: Any, values: Any) -> tuple[Any, Any, Any]:
        """Add the entries above the diagonal of a symmetric matrix."""
        if self.symmetry == "general":
            return rows, columns, values
        off = rows != columns
        above = mirrored(self.symmetry, values[off])
        return (
            np.concatenate([rows, columns[off]]),
            np.concatenate([columns, rows[off]]),
            np.concatenate([values, above]),
        )

    def _dense(self, values: Any) -> Any:
        shape = (self.rows, int(self.columns[0]))
        if self.symmetry == "general":
            return values.reshape(shape, order="F")
        whole = np.zeros(shape, values.dtype)
        # Column by column, from the diagonal down, or from below it.
        first = 1 if self.symmetry == "skew-symmetric" else 0
        columns, rows = np.triu_indices(self.rows, first)
        whole[rows, columns] = values
        off = rows != columns
        whole[columns[off], rows[off]] = mirrored(self.symmetry, values[off])
        return whole


def open_dataset(location: FileLocation, *, sparse: str | None = None) -> Dataset:
    """Read the header of a Matrix Market file."""
    form = form_of(sparse)
    stamp = location.stamp()
    nbytes = int(stamp[0])
    banner, sizes, start = _header(location, stamp)
    words = banner.split()
    if len(words) != 5 or words[0].lower() != BANNER.lower() or words[1].lower() != "matrix":
        raise FormatError(
            location.url, f"it does not begin with {BANNER} matrix: {banner[:60]!r}", row=1
        )
    layout, field, symmetry = (word.lower() for word in words[2:])
    _check(location, layout, ("coordinate", "array"))
    _check(location, field, tuple(FIELDS))
    _check(location, symmetry, SYMMETRIES)
    dtype, values = FIELDS[field]
    try:
        numbers = [int(word) for word in sizes.split()]
    except ValueError:
        numbers = []
    count = 3 if layout == "coordinate" else 2
    if len(numbers) != count or not all(0 <= number < LARGEST for number in numbers):
        raise FormatError(location.url, f"{sizes[:60]!r} is no line of sizes")
    rows, columns = numbers[:2]
    if symmetry != "general" and rows != columns:
        raise FormatError(location.url, f"a {symmetry} matrix of {rows} x {columns} is not square")
    if symmetry == "skew-symmetric" and dtype == "u8":
        raise FormatError(location.url, f"a {symmetry} matrix of {field}: half would have no sign")
    if layout == "array" and values == 0:
        raise FormatError(
            location.url, "an array of a pattern has no values; it is a coordinate one"
        )
    if layout == "array":
        half = rows * (rows - 1) // 2
        wanted = {"general": rows * columns, "skew-symmetric": half}.get(symmetry, half + rows)
    else:
        wanted = numbers[2]
    # An entry is at least a digit and a line end.
    if wanted * 2 > nbytes - start + 1:
        reason = f"its header says {wanted} entries, too many for {nbytes:,} bytes (truncated?)"
        raise FormatError(location.url, reason)
    return Matrix(
        location=location,
        kind="array",
        rows=rows,
        columns=(columns,),
        dtype=dtype,
        row_nbytes=(np.dtype(dtype).itemsize + 8) * wanted / max(rows, 1) + 8,
        stamp=stamp,
        layout=layout,
        values=values,
        symmetry=symmetry,
        entries=wanted,
        start=start,
        length=nbytes,
        form=form,
        nonzeros=None if layout == "array" else wanted * (1 if symmetry == "general" else 2),
    )


def _check(location: FileLocation, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise FormatError(
            location.url, f"{word!r} in its first line; there are {', '.join(known)}", row=1
        )


def _header(location: FileLocation, stamp: tuple[Any, ...]) -> tuple[str, str, int]:
    """Return the first line, the line of sizes, and where the entries begin."""
    nbytes = int(stamp[0])
    content = read_some(location, stamp, MAX_HEADER)
    at, banner = 0, None
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        line = content[at:end].decode("utf-8", "replace").strip()
        at = end + 1
        if banner is None:
            banner = line
        elif line and not line.startswith("%"):
            return banner, line, min(at, nbytes)
    raise FormatError(location.url, "it has no line of sizes behind its comments (truncated?)")


def read_some(location: FileLocation, stamp: tuple[Any, ...], nbytes: int) -> bytes:
    """Return the first bytes of a version of a file, so many if it has them."""
    source = location.source(stamp)
    nbytes = min(int(stamp[0]), nbytes)
    if isinstance(source, str):
        with open(source, "rb") as file:
            return file.read(nbytes)
    return bytes(source.read_at(0, nbytes)) if nbytes else b""


def open_writer(
    location: FileLocation,
    shape: Shape,
    *,
    decimals: int | None = None,
    pattern: bool = False,
    symmetry: str = "general",
) -> Writer:
    """Write dense arrays as ``array`` and sparse ones as ``coordinate``."""
    if shape.kind == "frame":
        raise UsageError("Matrix Market has matrices only; write the frame as csv or parquet")
    dtype = np.dtype(shape.dtype)
    kind, nbytes = dtype.kind, dtype.itemsize
    if kind not in "biufc" or nbytes > (16 if kind == "c" else 8) or (kind, nbytes) == ("f", 2):
        raise UsageError(
            f"values of dtype {dtype} can't be written as Matrix Market; convert them, to float64 "
            "for instance"
        )
    if pattern and not shape.sparse:
        raise UsageError("pattern= is for sparse arrays; leave it out for dense ones")
    _check_symmetry(shape, kind, pattern, symmetry)
    return MtxWriter(
        location=location, shape=shape, decimals=decimals, pattern=pattern, symmetry=symmetry
    )


def _check_symmetry(shape: Shape, kind: str, pattern: bool, symmetry: str) -> None:
    """Refuse a symmetry that no matrix of a shape and type can have."""
    text = f"symmetry={symmetry!r}"
    if symmetry not in SYMMETRIES:
        hint, known = did_you_mean(str(symmetry), SYMMETRIES), ", ".join(SYMMETRIES)
        raise UsageError(f"{text}{hint}: a matrix is one of {known}")
    if symmetry == "general":
        return
    if shape.rows != shape.width:
        raise UsageError(f"{text} is for square matrices, and this is {shape.rows} x {shape.width}")
    if symmetry == "hermitian" and kind != "c":
        raise UsageError(f"{text} is for complex values, and these are {shape.dtype}: symmetric?")
    if symmetry == "skew-symmetric" and kind in "bu":
        raise UsageError(f"{text} is for values with a sign, and these are {shape.dtype}")
    if symmetry != "symmetric" and pattern:
        raise UsageError(f"{text} says more than a pattern does: those are symmetric or general")


FORMAT = Format(
    name="mtx",
    suffixes=(".mtx",),
    open_dataset=open_dataset,
    open_writer=open_writer,
    is_text=True,
)
