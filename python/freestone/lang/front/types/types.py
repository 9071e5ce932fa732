"""Types: of cells, and of the scalars, matrices, frames and lists that hold them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from freestone.enumerations import ENGINE_CELLS

CELLS = ("bool", "si8", "ui8", "si32", "ui32", "index", "si64", "ui64", "f32", "f64", "str")
"""The types of cells, from the least to the most general; ``index`` is that of sizes."""

PRINTED = {
    "bool": "bool",
    "si8": "int8_t",
    "ui8": "uint8_t",
    "si32": "int32_t",
    "ui32": "uint32_t",
    "index": "uint64_t",
    "si64": "int64_t",
    "ui64": "uint64_t",
    "f32": "float",
    "f64": "double",
    "str": "std::string",
}
"""What a script's output calls them."""

DTYPES = {
    "bool": "bool",
    "si8": "int8",
    "ui8": "uint8",
    "si32": "int32",
    "ui32": "uint32",
    "index": "uint64",
    "si64": "int64",
    "ui64": "uint64",
    "f32": "float32",
    "f64": "float64",
    "str": "object",
}
"""The NumPy types that hold them."""

CODES: dict[str, int] = {cell: code for code, cell in enumerate(ENGINE_CELLS)}
CODES["index"] = CODES["ui64"]
"""The engine's numbers of the types of cells that it knows."""

SIZES = dict(zip(CELLS, (1, 1, 1, 4, 4, 8, 8, 8, 4, 8, 64), strict=True))
"""Bytes of a cell; of a string, a guess."""


def common_type(cells: Iterable[str]) -> str:
    """Return the most general of some cell types.

    Examples
    --------
    >>> common_type(["si64", "f32", "bool"])
    'f32'
    """
    return max(cells, key=CELLS.index)


def is_float(cell: str) -> bool:
    """Tell whether cells of this type are floating-point numbers."""
    return cell in ("f32", "f64")


def floating(cell: str) -> str:
    """Return the type of a square root of such a cell: integers become f64."""
    return cell if is_float(cell) else "f64"


@dataclass(frozen=True, slots=True)
class Type:
    """What is known of a value before the script runs.

    Parameters
    ----------
    data : {"scalar", "matrix", "frame", "list", "nothing"}
        What it is.
    cell : str
        The type of its cells; of a frame, "".
    rows, columns : int, optional
        The shape; None where it is not known yet.
    schema : tuple of (str, str), optional
        A frame's labels and cell types.
    csr : bool
        Whether a matrix is held as CSR.
    coo : bool
        Whether a matrix is held as COO.
    sparsity : float, optional
        The share of a matrix's cells that are estimated not to be zero.
    """

    data: str
    cell: str = ""
    rows: int | None = None
    columns: int | None = None
    schema: tuple[tuple[str, str], ...] | None = None
    csr: bool = False
    sparsity: float | None = None
    coo: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sides = (self.data, self.cell, self.rows, self.columns, self.schema)
        object.__setattr__(self, "_hash", hash((*sides, self.csr, self.coo, self.sparsity)))

    def __hash__(self) -> int:
        # Types are parts of the keys of whatever is found out once for them.
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Hashes of strings are other ones in another process.
        sides = (self.data, self.cell, self.rows, self.columns, self.schema)
        return Type, (*sides, self.csr, self.sparsity, self.coo)

    @property
    def form(self) -> str:
        """How a matrix is held: "csr", "coo", or "" where all cells are."""
        return "csr" if self.csr else "coo" if self.coo else ""

    def __str__(self) -> str:
        """Describe it, as in ``matrix<f64> 3x?``."""
        if self.data == "scalar":
            return self.cell
        if self.data == "nothing":
            return "nothing"
        name = self.data + (f"<{self.cell}>" if self.cell else "")
        name += f" {self.form}" if self.form else ""
        if self.schema is not None:
            name += "[" + ", ".join(f"{label}:{cell}" for label, cell in self.schema) + "]"
        if self.rows is None and self.columns is None:
            return name
        return f"{name} {_side(self.rows)}x{_side(self.columns)}"

    def shaped(self, rows: int | None, columns: int | None) -> Type:
        """Return the same type with another shape."""
        return _shaped(self, rows, columns)

    def of(self, cell: str) -> Type:
        """Return the same type with other cells."""
        return _of(self, cell)

    @property
    def nbytes(self) -> int | None:
        """The bytes that a value takes; None where the shape is not known."""
        if self.data == "scalar":
            return 8
        if self.rows is None or self.columns is None or self.data not in ("matrix", "frame"):
            return None
        if self.schema is not None:
            return self.rows * sum(SIZES[cell] for _, cell in self.schema)
        if self.form:
            share = 0.25 if self.sparsity is None else self.sparsity
            cells = int(share * self.rows * self.columns)
            if self.coo:
                return cells * (8 + SIZES[self.cell])
            return 8 * (self.rows + 1) + cells * (4 + SIZES[self.cell])
        return self.rows * self.columns * SIZES.get(self.cell, 8)


@lru_cache(maxsize=4096)
def _shaped(type: Type, rows: int | None, columns: int | None) -> Type:
    return replace(type, rows=rows, columns=columns)


@lru_cache(maxsize=4096)
def _of(type: Type, cell: str) -> Type:
    return replace(type, cell=cell)


def _side(count: int | None) -> str:
    return "?" if count is None else str(count)


NOTHING = Type("nothing")


@lru_cache(maxsize=64)
def scalar(cell: str) -> Type:
    """Make the type of a scalar."""
    return Type("scalar", cell)


@lru_cache(maxsize=4096)
def matrix(cell: str, rows: int | None = None, columns: int | None = None) -> Type:
    """Make the type of a dense matrix."""
    return Type("matrix", cell, rows, columns)


def joined(one: Type, other: Type) -> Type | None:
    """Return the type that covers both, or None if there is none.

    Cells have to agree; what is known of shapes, labels and sparsity is kept where it does.
    """
    if one == other:
        return one
    if one.data != other.data or one.cell != other.cell:
        return None
    if one.data == "frame" and one.schema is not None and other.schema is not None:
        cells = [cell for _, cell in one.schema]
        if cells != [cell for _, cell in other.schema]:
            return replace(one, schema=None, rows=_same(one.rows, other.rows), columns=None)
    return Type(
        one.data,
        one.cell,
        _same(one.rows, other.rows),
        _same(one.columns, other.columns),
        one.schema if one.schema == other.schema else None,
        one.csr and other.csr,
        one.sparsity if one.sparsity == other.sparsity else None,
        one.coo and other.coo,
    )


def _same(one: int | None, other: int | None) -> int | None:
    return one if one == other else None
