"""Files of all other formats that `freestone.io` knows: ``.npy``, Arrow, TDMS, ROOT, and URLs."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.errors import FreestoneError
from freestone.io import open_dataset
from freestone.lang.kernels.elementwise import converted
from freestone.lang.kernels.frames import Frame, cell_of
from freestone.lang.types.types import Type, matrix

WIDER = {"int16": "int32", "uint16": "uint32", "float16": "float32"}


def described(path: str) -> Type:
    """Find the type and shape of what a file holds.

    Raises
    ------
    ValueError
        If it can't be opened, or holds no numbers and strings.
    """
    try:
        dataset = open_dataset(path)
        if dataset.kind != "frame":
            columns = dataset.columns[0] if dataset.columns else 1
            return matrix(cell_of(_widened(dataset.dtype)), dataset.rows, int(columns))
        table = dataset.read(0, min(dataset.rows, 1))
        pairs = zip(table.column_names, _columns(table), strict=True)
        schema = tuple((name, _cell(column)) for name, column in pairs)
        return Type("frame", "", dataset.rows, len(schema), schema)
    except FreestoneError as error:
        raise ValueError(str(error)) from None


def loaded(path: str, type: Type) -> Any:
    """Read all of a file."""
    try:
        dataset = open_dataset(path)
        block = dataset.read(0, dataset.rows)
    except FreestoneError as error:
        raise ValueError(str(error)) from None
    if type.data == "matrix":
        cells = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        cells = cells.reshape(-1, 1) if cells.ndim == 1 else cells
        return converted(np.ascontiguousarray(cells.astype(_widened(cells.dtype))), type.cell)
    schema = type.schema or ()
    columns = _columns(block)
    return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])


def save(path: str, type: Type, value: Any) -> None:
    """Write a matrix or a frame in the format that the name says."""
    from freestone.collections import write

    if type.data == "frame":
        import pyarrow as pa

        pairs = zip(value.labels, value.columns, strict=True)
        value = pa.table({label: pa.array(column.tolist()) for label, column in pairs})
    try:
        write(value, path)
    except FreestoneError as error:
        raise ValueError(str(error)) from None


def _widened(dtype: Any) -> Any:
    return np.dtype(WIDER.get(np.dtype(dtype).name, dtype))


def _columns(table: Any) -> list[Any]:
    found = [column.to_numpy() for column in table.columns]
    return [column.astype(_widened(column.dtype)) for column in found]


def _cell(column: Any) -> str:
    return "str" if column.dtype == object else cell_of(column.dtype)
