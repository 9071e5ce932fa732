"""What formats of other libraries share: one writer that takes blocks in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from freestone.errors import FormatError, UsageError
from freestone.io.stores import Place
from freestone.io.writer import Shape

__all__ = ["foreign", "needs", "opened", "table_of", "to_matrix"]


def needs(module: str, extra: str, what: str) -> Any:
    """Import a library that only one format needs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{what} needs {module.split('.')[0]}; pip install 'freestone[{extra}]'"
        ) from error


@contextlib.contextmanager
def foreign(place: Place) -> Iterator[None]:
    """Say of a library's error which file it is about."""
    from freestone.errors import FreestoneError

    try:
        yield
    except (FreestoneError, FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:
        said = str(error).strip().split("\n")[0] or type(error).__name__
        raise FormatError(place.url, f"{said} ({type(error).__name__})") from error


def opened(place: Place) -> Any:
    """Return what a library opens: a path, or a file-like object that reads from the store."""
    if place.path is not None:
        return place.path
    from freestone.io.stores.reader import Reader

    return Reader(place.source())


def table_of(block: Any, shape: Shape) -> Any:
    """Return a block as an Arrow table; the columns of an array are called ``col_0`` and so on."""
    import pyarrow as pa

    if shape.kind == "frame":
        return block
    if shape.sparse:
        raise UsageError("this format has no sparse arrays; write it as dbdf, mtx or csv")
    columns = block.reshape(len(block), -1).T
    return pa.table({f"col_{number}": column for number, column in enumerate(columns)})


def to_matrix(table: Any, dtype: str) -> Any:
    """Return the columns of a table side by side."""
    import numpy as np

    out = np.empty((table.num_rows, table.num_columns), dtype)
    for number, column in enumerate(table.columns):
        out[:, number] = column.to_numpy()
    return out
