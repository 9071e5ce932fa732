"""Matrix Market: coordinate and array; real, integer, complex and pattern; every symmetry.

A coordinate file has its entries in any order, so whoever reads some rows reads the whole file and
keeps theirs; one reader with several threads parses each byte once.

Options of a read: `sparse` (``"csr"`` or ``"coo"``: what a coordinate file becomes). Of a write:
`decimals` (floats with so many); `pattern` (a sparse matrix of ones, without the ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone import _native
from freestone.errors import FormatError, UsageError
from freestone.io.dataset import Dataset
from freestone.io.formats.csv_writing import numbers_of
from freestone.io.formats.entries import form_of, in_form
from freestone.io.raw import joined
from freestone.io.stores import Place
from freestone.io.writer import Shape, Writer

__all__ = ["open_dataset", "open_writer"]

BANNER = "%%MatrixMarket"
FIELDS = {
    "real": ("f8", 1),
    "double": ("f8", 1),
    "integer": ("i8", 1),
    "complex": ("c16", 2),
    "pattern": ("f8", 0),
}
SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
LONGEST_HEADER = 1 << 20
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

    def _read(self, start: int, stop: int, threads: int) -> Any:
        import scipy.sparse

        rows, columns, values = self._entries(threads)
        found = len(values) if self.layout == "array" else len(rows)
        if found != self.entries:
            reason = f"its header says {self.entries} entries, and it has {found} (truncated?)"
            raise FormatError(self.place.url, reason)
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
        code = "i8" if self.dtype == "i8" else "f8"
        parts = _native.mtx_read(
            self.place.source(),
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
        above = _mirror(self.symmetry, values[off])
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
        whole[columns[off], rows[off]] = _mirror(self.symmetry, values[off])
        return whole


def _mirror(symmetry: str, values: Any) -> Any:
    if symmetry == "skew-symmetric":
        return -values
    return np.conj(values) if symmetry == "hermitian" else values


def open_dataset(place: Place, *, sparse: str | None = None) -> Dataset:
    """Read the header of a Matrix Market file."""
    form = form_of(sparse)
    stamp = place.stamp()
    nbytes = int(stamp[0])
    banner, sizes, start = _header(place, nbytes)
    words = banner.split()
    if len(words) != 5 or words[0].lower() != BANNER.lower() or words[1].lower() != "matrix":
        raise FormatError(
            place.url, f"it does not begin with {BANNER} matrix: {banner[:60]!r}", row=1
        )
    layout, field, symmetry = (word.lower() for word in words[2:])
    _check(place, layout, ("coordinate", "array"))
    _check(place, field, tuple(FIELDS))
    _check(place, symmetry, SYMMETRIES)
    dtype, values = FIELDS[field]
    try:
        numbers = [int(word) for word in sizes.split()]
    except ValueError:
        numbers = []
    count = 3 if layout == "coordinate" else 2
    if len(numbers) != count or not all(0 <= number < LARGEST for number in numbers):
        raise FormatError(place.url, f"{sizes[:60]!r} is no line of sizes")
    rows, columns = numbers[:2]
    if symmetry != "general" and rows != columns:
        raise FormatError(place.url, f"a {symmetry} matrix of {rows} x {columns} is not square")
    if layout == "array" and values == 0:
        raise FormatError(place.url, "an array of a pattern has no values; it is a coordinate one")
    if layout == "array":
        half = rows * (rows - 1) // 2
        wanted = {"general": rows * columns, "skew-symmetric": half}.get(symmetry, half + rows)
    else:
        wanted = numbers[2]
    # An entry is at least a digit and a line end.
    if wanted * 2 > nbytes - start + 1:
        reason = f"its header says {wanted} entries, too many for {nbytes:,} bytes (truncated?)"
        raise FormatError(place.url, reason)
    return Matrix(
        place=place,
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


def _check(place: Place, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        raise FormatError(
            place.url, f"{word!r} in its first line; there are {', '.join(known)}", row=1
        )


def _header(place: Place, nbytes: int) -> tuple[str, str, int]:
    """Return the first line, the line of sizes, and where the entries begin."""
    content = read_some(place, min(nbytes, LONGEST_HEADER))
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
    raise FormatError(place.url, "it has no line of sizes behind its comments (truncated?)")


def read_some(place: Place, nbytes: int) -> bytes:
    """Return the first bytes of a file."""
    source = place.source()
    if isinstance(source, str):
        with open(source, "rb") as file:
            return file.read(nbytes)
    return bytes(source.read_at(0, nbytes)) if nbytes else b""


def open_writer(
    place: Place, shape: Shape, *, decimals: int | None = None, pattern: bool = False
) -> Writer:
    """Write dense arrays as ``array`` and sparse ones as ``coordinate``, both ``general``."""
    if shape.kind == "frame":
        raise UsageError("Matrix Market has matrices only; write the frame as csv or parquet")
    kind = np.dtype(shape.dtype).kind
    if kind not in "biufc" or np.dtype(shape.dtype).itemsize > 16 or str(shape.dtype)[1:] == "f2":
        raise UsageError(f"values of dtype {shape.dtype} can't be written as Matrix Market")
    if pattern and not shape.sparse:
        raise UsageError("pattern= is for sparse arrays; leave it out for dense ones")
    return MtxWriter(place=place, shape=shape, decimals=decimals, pattern=pattern)


@dataclass(frozen=True, kw_only=True)
class MtxWriter(Writer):
    """One section of entries, or one for each column of a dense array."""

    decimals: int | None
    pattern: bool

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the first line and the sizes."""
        kind = np.dtype(self.shape.dtype).kind
        field = {"f": "real", "c": "complex"}.get(kind, "integer")
        field = "pattern" if self.pattern else field
        layout, sizes = "array", f"{self.shape.rows} {self.shape.width}"
        if self.shape.sparse:
            layout, sizes = "coordinate", f"{sizes} {self.shape.nonzeros}"
        return f"{BANNER} matrix {layout} {field} general\n{sizes}\n".encode()

    @property
    def sections(self) -> int:
        """As said above."""
        return 1 if self.shape.sparse else self.shape.width

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the entries of a block."""
        if self.shape.sparse:
            block = block.tocoo()
            positions = [block.row.astype(np.int64) + (start + 1), block.col.astype(np.int64) + 1]
            values = self._of_pattern(block, start) if self.pattern else _parts(block.data)
            return [self._text([*positions, *values])]
        table = np.asarray(block).reshape(len(block), self.shape.width)
        return [self._text(_parts(column)) for column in table.T]

    def _of_pattern(self, block: Any, start: int) -> list[Any]:
        """Return no values, once it is known that all are 1."""
        wrong = block.data != 1
        if wrong.any():
            at = int(wrong.argmax())
            row, column = start + int(block.row[at]) + 1, int(block.col[at]) + 1
            reason = (
                f"row {row}, column {column}: a pattern has ones only, and there is "
                f"{block.data[at]}; leave pattern out"
            )
            raise FormatError(self.place.url, reason, row=row, column=column)
        return []

    def _text(self, columns: list[Any]) -> Any:
        given = [(*reversed(numbers_of(column)), None, None, 0, 0) for column in columns]
        return _native.csv_format_columns(
            given, len(columns[0]), delimiter=ord(" "), decimals=self.decimals
        )


def _parts(values: Any) -> list[Any]:
    if values.dtype.kind != "c":
        return [values]
    return [np.ascontiguousarray(values.real), np.ascontiguousarray(values.imag)]
