"""Matrices in files, some rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from freestone.errors import FreestoneError
from freestone.lang.kernels.elementwise import converted
from freestone.lang.kernels.files import DBDF_CELLS, DBDF_HEAD, csv_text, write_meta
from freestone.lang.types.types import DTYPES, Type

CELLS_AT_ONCE = 1 << 14
"""So many cells become text at once: Python's strings are ten times as large as they are."""


class RowWriter:
    """Writes a matrix to a ``.csv`` or ``.dbdf`` file; what was there stays until all is written.

    Parameters
    ----------
    path : str
        Where to.
    type : Type
        What is known of the matrix.
    shape : (int, int)
        Rows and columns.
    """

    def __init__(self, path: str, type: Type, shape: tuple[int, int]) -> None:
        self._path, self._type, self._shape = path, type, shape
        self._temporary = f"{path}.{os.getpid()}.part"
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._file = open(self._temporary, "wb")  # noqa: SIM115 - open from strip to strip
        self._is_text = Path(path).suffix == ".csv"
        if not self._is_text:
            rows, columns = shape
            code = DBDF_CELLS.index(type.cell)
            head = DBDF_HEAD.pack(1, 1, rows, columns, code, 0, 0, rows, columns, 1, code)
            self._file.write(head)

    def append(self, cells: np.ndarray[Any, Any]) -> None:
        """Write the next rows."""
        if self._is_text:
            self._file.writelines(_lines(cells))
        else:
            self._file.write(np.ascontiguousarray(cells, DTYPES[self._type.cell]).data)

    def finish(self) -> None:
        """Put the file in its place, and its description beside it."""
        self._file.close()
        os.replace(self._temporary, self._path)
        write_meta(self._path, self._type, self._shape)

    def abandon(self) -> None:
        """Remove what was written, if it is not in its place."""
        self._file.close()
        Path(self._temporary).unlink(missing_ok=True)


def _lines(cells: np.ndarray[Any, Any]) -> Iterator[bytes]:
    count = max(1, CELLS_AT_ONCE // max(1, cells.shape[1]))
    for start in range(0, len(cells), count):
        rows = cells[start : start + count].tolist()
        yield "".join(",".join(map(csv_text, row)) + "\n" for row in rows).encode()


class RowReader:
    """Reads rows of a matrix in a file.

    Parameters
    ----------
    path : str
        Where it is.
    cell : str
        What its cells become.

    Raises
    ------
    ValueError
        If it can't be read.
    """

    def __init__(self, path: str, cell: str) -> None:
        # Not needed by who only writes, and slow to load.
        from freestone.io import open_dataset

        self._cell = cell
        try:
            self._dataset = open_dataset(path)
        except FreestoneError as error:
            raise ValueError(str(error)) from None

    def rows(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Read some rows."""
        try:
            block = self._dataset.read(start, stop)
        except FreestoneError as error:
            raise ValueError(str(error)) from None
        cells = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        return np.asarray(converted(cells.reshape(stop - start, -1), self._cell))
