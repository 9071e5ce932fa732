"""What an array is made of: runs of elements of one type, with a global order."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = ["Form", "Part", "assemble", "form_of", "pieces", "problem_of"]

Kind = Literal["dense", "csr"]


@dataclass(frozen=True)
class Part:
    """Elements of one type that belong to rows.

    Attributes
    ----------
    dtype : numpy.dtype
        Their type.
    per_row : int or None
        Elements of each row, if all have the same number.
    total : int
        Elements of all rows.
    """

    dtype: np.dtype[Any]
    per_row: int | None
    total: int

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all rows."""
        return self.total * self.itemsize

    def position(self, row: int, ragged: Mapping[int, int]) -> int:
        """Return where a row begins, in bytes.

        Parameters
        ----------
        row : int
            Which; the number of rows for the end of the last.
        ragged : mapping of int to int
            The elements before each row that is asked for, where rows differ.
        """
        elements = ragged[row] if self.per_row is None else row * self.per_row
        return elements * self.itemsize

    def spans(
        self, runs: Iterable[tuple[int, int]], ragged: Mapping[int, int]
    ) -> list[tuple[int, int]]:
        """Return where runs of rows begin and end, in bytes."""
        return [(self.position(start, ragged), self.position(stop, ragged)) for start, stop in runs]


@dataclass(frozen=True)
class Form:
    """What all ranks know of an array.

    Attributes
    ----------
    kind : {"dense", "csr"}
        What the user sees.
    rows : int
        Of all ranks.
    trailing : tuple of int
        The shape of a row of a dense array; the number of columns of a CSR matrix.
    parts : tuple of Part
        A dense array's values; a CSR matrix's row lengths, columns and values.
    container : str
        SciPy's class of a CSR matrix.
    """

    kind: Kind
    rows: int
    trailing: tuple[int, ...]
    parts: tuple[Part, ...]
    container: str = ""
    is_ragged: bool = field(default=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all rows on all ranks."""
        return sum(part.nbytes for part in self.parts)

    def of(self, rows: int, nonzeros: int) -> Form:
        """Return the same with other numbers of rows, and of non-zeros of a CSR matrix."""
        totals = [nonzeros if p.per_row is None else rows * p.per_row for p in self.parts]
        pairs = zip(self.parts, totals, strict=True)
        parts = tuple(replace(part, total=total) for part, total in pairs)
        return replace(self, rows=rows, parts=parts)


def form_of(local: Any, rows: int, nonzeros: int) -> Form:
    """Return the form of an array of which `local` is one rank's share.

    Parameters
    ----------
    local : array of shape (k, ...) or CSR matrix of shape (k, m)
        The rows of one rank.
    rows : int
        Rows of all ranks.
    nonzeros : int
        Non-zeros of all ranks, of a CSR matrix.
    """
    if _is_csr(local):
        kinds = (np.dtype(local.indices.dtype), np.dtype(local.data.dtype))
        # Of the type of the pointers, which are their sums: NumPy adds them up faster so.
        lengths = Part(kinds[0], 1, rows)
        ragged = tuple(Part(kind, None, nonzeros) for kind in kinds)
        columns = (int(local.shape[1]),)
        return Form("csr", rows, columns, (lengths, *ragged), type(local).__name__, True)
    trailing = tuple(int(size) for size in local.shape[1:])
    per_row = int(np.prod(trailing, dtype=np.int64))
    values = Part(local.dtype, per_row, rows * per_row)
    return Form("dense", rows, trailing, (values,))


def _is_csr(local: Any) -> bool:
    return getattr(local, "format", None) == "csr"


def pieces(local: Any) -> list[npt.NDArray[Any]]:
    """Return the parts of a rank's share, each contiguous and of one dimension."""
    if _is_csr(local):
        lengths = np.diff(local.indptr)
        stop = int(local.indptr[-1])
        return [lengths, local.indices[:stop], local.data[:stop]]
    return [np.ascontiguousarray(local).reshape(-1)]


def assemble(form: Form, rows: int, parts: list[npt.NDArray[Any]]) -> Any:
    """Return what the user sees: views of the parts, no copies, but for a CSR matrix's pointers."""
    if form.kind == "dense":
        return parts[0].reshape(rows, *form.trailing)
    lengths, columns, values = parts
    if len(values) > np.iinfo(columns.dtype).max:
        columns = columns.astype(np.int64)
    pointers = np.zeros(len(lengths) + 1, columns.dtype)
    np.cumsum(lengths, dtype=pointers.dtype, out=pointers[1:])
    # Given to the constructor, a view of less than half of its memory is copied: SciPy prunes it.
    matrix = _container(form.container)((len(lengths), form.trailing[0]))
    matrix.data, matrix.indices, matrix.indptr = values, columns, pointers
    return matrix


def problem_of(matrix: Any, parts: list[npt.NDArray[Any]]) -> str:
    """Put what a CSR matrix holds into the parts it was made of; return why it can't be.

    A program may have given it an array of other values, or other non-zeros.
    """
    lengths, columns, values = parts
    is_same = np.array_equal(np.diff(matrix.indptr), lengths)
    if is_same and matrix.data is values and matrix.indices is columns:
        return ""
    is_same = is_same and np.array_equal(matrix.indices, columns)
    if not is_same or matrix.data.shape != values.shape:
        return "other non-zeros than it was registered with, and only values may change"
    if not np.can_cast(matrix.data.dtype, values.dtype, "same_kind"):
        return f"values of type {matrix.data.dtype} where it was registered with {values.dtype}"
    values[...] = matrix.data
    return ""


@functools.cache
def _container(name: str) -> Any:
    from scipy import sparse

    return getattr(sparse, name)
