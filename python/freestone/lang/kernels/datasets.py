"""Files of all other formats that `freestone.io` knows: ``.npy``, Arrow, TDMS, ROOT, and URLs."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from freestone.errors import FreestoneError
from freestone.io import Dataset, open_dataset
from freestone.lang.kernels.elementwise import converted
from freestone.lang.kernels.files import sparse
from freestone.lang.kernels.frames import Frame, cell_of
from freestone.lang.kernels.sparse import Csr
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
            type = matrix(cell_of(_widened(dataset.dtype)), dataset.rows, int(columns))
            return sparse(type, getattr(dataset, "nonzeros", None))
        table = dataset.read(0, min(dataset.rows, 1))
        pairs = zip(table.column_names, _columns(table), strict=True)
        schema = tuple((name, _cell(column)) for name, column in pairs)
        return Type("frame", "", dataset.rows, len(schema), schema)
    except FreestoneError as error:
        raise ValueError(str(error)) from None


def loaded(
    path: str, type: Type, *, csr: bool = False, options: dict[str, Any] | None = None
) -> Any:
    """Read all of a file, a matrix as `rows_of` does; `options` are those of the format.

    Raises
    ------
    ValueError
        If it is not what its name or its description says.
    """
    try:
        dataset = open_dataset(path, **(options or {}))
        threads = len(os.sched_getaffinity(0))
        if type.data == "matrix":
            _check(dataset, type)
            return rows_of(dataset, 0, dataset.rows, type.cell, csr=csr, threads=threads)
        block = dataset.read(0, dataset.rows, threads=threads)
    except FreestoneError as error:
        raise ValueError(str(error)) from None
    schema = type.schema or ()
    columns = _columns(block)
    return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])


def _check(dataset: Dataset, type: Type) -> None:
    columns = len(dataset.columns) if dataset.kind == "frame" else (*dataset.columns, 1)[0]
    if (dataset.rows, columns) != (type.rows, type.columns):
        found = f"{dataset.rows}x{columns}"
        raise ValueError(f"{dataset.place.url} is {found}, not {type.rows}x{type.columns}")


def rows_of(
    dataset: Dataset, start: int, stop: int, cell: str, *, csr: bool, threads: int = 1
) -> Any:
    """Read some rows as a matrix, by as many threads; compressed ones never become dense first.

    Parameters
    ----------
    dataset : Dataset
        What the file holds.
    start, stop : int
        The first row, and the one after the last.
    cell : str
        The type of the cells.
    csr : bool
        Whether to give compressed rows.
    """
    block = dataset.read(start, stop, threads=threads)
    if hasattr(block, "tocsr"):
        if not csr:
            return _cells(block.toarray(), cell)
        made = Csr.of_scipy(block)
        return made.with_cells(_cells(made.cells, cell))
    if dataset.kind == "frame":
        block = Frame(_columns(block), [], []).matrix(cell)
    cells = _cells(block, cell)
    cells = cells.reshape(-1, 1) if cells.ndim == 1 else cells
    return Csr.of(cells) if csr else cells


def _cells(cells: Any, cell: str) -> Any:
    cells = np.ascontiguousarray(cells)
    return converted(cells.astype(_widened(cells.dtype), copy=False), cell)


def save(path: str, type: Type, value: Any) -> None:
    """Write a matrix or a frame in the format that the name says; a matrix may be an `Array`."""
    from freestone.collections import write

    if "://" not in path:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
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
