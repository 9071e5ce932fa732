"""Rows as DBDF."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.errors import UsageError
from freestone.io.formats.dbdf_layout import (
    BLOCK,
    COUNT,
    DENSE,
    DENSE_BLOCK,
    FRAME,
    HEAD,
    SPARSE,
    SPARSE_BLOCK,
    TYPES,
    VERSION,
)
from freestone.io.formats.meta import CODES, Meta, value_type_of, without_order
from freestone.io.writer import Writer

__all__ = ["DbdfWriter", "type_of", "type_of_column"]


def type_of(dtype: str) -> int:
    """Return the code of a dtype's values; booleans are written as 0 and 1."""
    name = value_type_of("u1" if without_order(dtype) == "b1" else dtype)
    if name not in TYPES:
        raise UsageError(f"values of dtype {dtype} can't be written as DBDF; convert them first")
    return TYPES.index(name)


def type_of_column(field: Any) -> int:
    """Return the code of a frame's column, given its Arrow field."""
    import pyarrow as pa

    if not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
        raise UsageError(
            f"column {field.name!r} of type {field.type} can't be written as DBDF, which has "
            "numbers only; write the frame as csv, parquet or arrow"
        )
    return type_of(np.dtype(field.type.to_pandas_dtype()).str)


@dataclass(frozen=True, kw_only=True)
class DbdfWriter(Writer):
    """One section for dense values, three for CSR, and one per column of a frame."""

    types: tuple[int, ...]
    meta: bool

    @property
    def _dtypes(self) -> list[str]:
        return ["<" + CODES[TYPES[code]] for code in self.types]

    def head(self, nbytes: Sequence[int]) -> bytes:
        """Return the header, up to the values."""
        rows, columns = self.shape.rows, self.shape.width
        if self.shape.kind == "frame":
            labels = [str(name).encode() for name in self.shape.columns]
            named = b"".join(struct.pack("<H", len(label)) + label for label in labels)
            return HEAD.pack(VERSION, FRAME, rows, columns) + bytes(self.types) + named
        (code,) = self.types
        sparse = self.shape.sparse
        kind, block = (SPARSE, SPARSE_BLOCK) if sparse else (DENSE, DENSE_BLOCK)
        head = HEAD.pack(VERSION, kind, rows, columns)
        head += BLOCK.pack(code, 0, 0, rows, columns, block, code)
        if sparse:
            # The count of values, and the first row's beginning.
            head += COUNT.pack(nbytes[1] // 8 if nbytes else 0) + COUNT.pack(0)
        return head

    @property
    def sections(self) -> int:
        """As said above."""
        return 3 if self.shape.sparse else len(self.types)

    def sizes(self, rows: int) -> list[int] | None:
        """Return the bytes of so many rows; of CSR matrices only their values tell."""
        if self.shape.sparse:
            return None
        width = self.shape.width if self.shape.kind == "array" else 1
        return [rows * width * np.dtype(dtype).itemsize for dtype in self._dtypes]

    def encode(self, block: Any, start: int) -> list[Any]:
        """Return the values of a block, each section as bytes."""
        if self.shape.kind == "frame":
            return [
                _bytes_of(_values(*column), dtype)
                for *column, dtype in zip(
                    self.shape.columns, block.columns, self._dtypes, strict=True
                )
            ]
        (dtype,) = self._dtypes
        if not self.shape.sparse:
            return [_bytes_of(block, dtype)]
        # Of a COO matrix, entries of one place are added up.
        block = block.tocsr()
        if not block.has_sorted_indices:
            block = block.sorted_indices()
        parts = ((block.indptr[1:], "<u8"), (block.indices, "<u8"), (block.data, dtype))
        return [_bytes_of(part, kind) for part, kind in parts]

    def shift(self, pieces: list[Any], before: Sequence[int]) -> list[Any]:
        """Add to where rows begin how many values stand before the block."""
        if not self.shape.sparse:
            return pieces
        pointers = np.frombuffer(pieces[0], "<u8") + np.uint64(before[1] // 8)
        return [_bytes_of(pointers, "<u8"), *pieces[1:]]

    def beside(self, nbytes: Sequence[int]) -> dict[str, bytes | None]:
        """Return the `.meta` file."""
        if not self.meta:
            return {".meta": None}
        names = [TYPES[code] for code in self.types]
        frame = self.shape.kind == "frame"
        meta = Meta(
            rows=self.shape.rows,
            columns=self.shape.width,
            value_type=None if frame else names[0],
            schema=tuple(zip(map(str, self.shape.columns), names, strict=True)) if frame else (),
            nonzeros=nbytes[1] // 8 if self.shape.sparse else None,
        )
        return {".meta": meta.encode()}


def _values(name: str, column: Any) -> Any:
    if column.null_count:
        raise UsageError(
            f"column {name!r} has {column.null_count} missing values, for which DBDF has no form; "
            "fill them, or write the frame as csv, parquet or arrow"
        )
    return column.to_numpy()


def _bytes_of(array: Any, dtype: str) -> Any:
    kept = np.ascontiguousarray(array)
    if kept.dtype == np.bool_:
        kept = kept.view(np.uint8)
    return kept.astype(dtype, copy=False).reshape(-1).view(np.uint8)
