"""Matrices in files, or printed, some rows at a time."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from freestone.errors import FreestoneError
from freestone.io import Shape, Writer, open_dataset, open_writer
from freestone.io.contract import sizes_of
from freestone.io.telling import telling
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.output import matrix_header, plain_rows, row_lines
from freestone.storage.drafting import write_beside

_WAITING = os.path.join(tempfile.gettempdir(), "text that waits to be printed")
"""What errors call the temporary file of a `RowPrinter`, which has no name."""
CELLS_AT_ONCE = 1 << 15
"""So many cells become text at once: it is more bytes than they are."""


class RowWriter:
    """Writes a dense matrix to a file of this machine; what was there stays until all is written.

    Parameters
    ----------
    path : str
        Where to; its format has one section of rows.
    dtype : str
        Of the cells.
    shape : (int, int)
        Rows and columns.

    Raises
    ------
    ValueError
        If it can't be written.
    """

    def __init__(self, path: str, dtype: str, shape: tuple[int, int]) -> None:
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._row = 0
        self._path = path
        try:
            with telling(path):
                whole = Shape(kind="array", rows=shape[0], columns=shape[1:], dtype=dtype)
                writer = open_writer(path, whole)
                assert isinstance(writer, Writer)
                self._writer = writer
                draft = writer.location.create(None)
        except FreestoneError as error:
            raise ValueError(str(error)) from None
        assert draft is not None, "a file of this machine"
        self._draft = draft
        self._begin = self._offset = len(writer.head([]))
        sizes = sizes_of(writer, shape[0])
        self._needed = 0 if sizes is None else self._begin + sum(sizes)

    def append(self, cells: np.ndarray[Any, Any]) -> None:
        """Write the next rows."""
        count = max(1, CELLS_AT_ONCE // max(1, cells.shape[1]))
        for start in range(0, len(cells), count):
            rows = np.ascontiguousarray(cells[start : start + count])
            (piece,) = self._writer.encode(rows, self._row)
            with self._telling():
                self._draft.write_at(piece, self._offset)
            self._offset += memoryview(piece).nbytes
            self._row += len(rows)

    def finish(self) -> None:
        """Put the file in its place, and its description beside it."""
        totals = [self._offset - self._begin]
        with self._telling():
            self._draft.write_at(self._writer.head(totals), 0)
            write_beside(self._writer, totals)
            self._draft.commit()

    def abandon(self) -> None:
        """Remove what was written."""
        self._draft.abandon()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Name the file in errors, and count the room on its disk without what was written."""
        with telling(self._path, needed=self._needed):
            try:
                yield
            except OSError:
                self.abandon()
                raise


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
        return np.asarray(
            converted(cells.reshape(stop - start, math.prod(cells.shape[1:])), self._cell)
        )


class RowCollector:
    """Puts the rows of a matrix into a list, as one element, once all are there."""

    def __init__(self, found: list[Any]) -> None:
        self._found = found
        self._rows: list[list[Any]] = []

    def append(self, value: Any) -> None:
        """Take the next rows."""
        self._rows += plain_rows(value)

    def finish(self) -> None:
        """Put them there."""
        self._found.append(self._rows)


class RowPrinter:
    """Prints a matrix; nothing is seen of it before all rows are there.

    Parameters
    ----------
    stream : file
        Where to.
    cell : str
        The type of its cells.

    Notes
    -----
    The text waits in a temporary file.
    """

    def __init__(self, stream: Any, cell: str) -> None:
        self._stream, self._cell = stream, cell
        with telling(_WAITING):
            self._text = tempfile.TemporaryFile("w+", encoding="utf-8", newline="")  # noqa: SIM115
        self._shape = 0, 0
        self._stored = False

    def append(self, value: Any) -> None:
        """Take the next rows."""
        self._shape = self._shape[0] + value.shape[0], value.shape[1]
        self._stored = hasattr(value, "toarray")
        with telling(_WAITING):
            self._text.writelines(line + "\n" for line in row_lines(value))

    def finish(self) -> None:
        """Print all."""
        header = matrix_header(self._cell, self._shape, stored=self._stored)
        with telling(_WAITING):
            self._text.seek(0)
        self._stream.write(header + "\n")
        shutil.copyfileobj(self._text, self._stream, 1 << 16)
        self._text.close()

    def abandon(self) -> None:
        """Forget what was taken, and what could not be written of it."""
        with contextlib.suppress(OSError):
            self._text.close()
