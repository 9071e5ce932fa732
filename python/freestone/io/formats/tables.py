"""What formats of other libraries share: one writer that takes blocks in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from freestone.errors import FormatError, UsageError, did_you_mean
from freestone.io.stores import FileLocation
from freestone.io.writer import Shape

__all__ = [
    "SHOWN",
    "arrow_column",
    "by_library",
    "file_of",
    "first_line",
    "foreign",
    "needs",
    "not_chosen",
    "opened",
    "repeated",
    "some_of",
    "table_of",
    "to_matrix",
    "whole",
]

SHOWN = 12
"""So many names an error shows of those that there are."""


def needs(module: str, extra: str, what: str) -> Any:
    """Import a library that only one format needs."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"{what} needs {module.split('.')[0]}; pip install 'freestone[{extra}]'"
        ) from error


@contextlib.contextmanager
def foreign(location: FileLocation) -> Iterator[None]:
    """Say of a library's error which file it is about."""
    from freestone.errors import FreestoneError

    try:
        yield
    except (FreestoneError, FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:
        raise FormatError(location.url, _reason(error)) from error


@contextlib.contextmanager
def by_library(location: FileLocation) -> Iterator[None]:
    """Say of a library's refusal to write which file it is about."""
    from freestone.errors import FreestoneError

    try:
        yield
    except (FreestoneError, OSError, MemoryError):
        raise
    except Exception as error:
        raise UsageError(f"{location.url} can't be written: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    message = first_line(error)
    return f"{message} ({type(error).__name__})" if message else type(error).__name__


def first_line(error: Exception) -> str:
    """Return the first line of what a library says: those below it are about its own sources."""
    return str(error).strip().split("\n")[0]


def some_of(names: Sequence[str]) -> str:
    """Return the first of some names, to be shown in an error."""
    shown = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    return shown or "none"


def not_chosen(url: str, noun: str, names: Sequence[str], option: str, wanted: Any) -> str:
    """Say that one of several members of a file has to be named, or that it has no such one."""
    if wanted is None:
        return f"{url} has the {noun}s {some_of(names)}; say {option}="
    hint = did_you_mean(wanted, names) if isinstance(wanted, str) else ""
    return f"{url} has no {noun} {wanted!r}{hint}; there are {some_of(names)}"


def repeated(names: Sequence[str]) -> str | None:
    """Return the first name that is there more than once, if one is."""
    if len(set(names)) == len(names):
        return None
    return next(name for name in names if names.count(name) > 1)


def opened(location: FileLocation) -> Any:
    """Return what a library opens: a path, or a file-like object that reads from the store."""
    if location.path is not None:
        return location.path
    from freestone.io.stores.reader import Reader

    return Reader(location.source())


@contextlib.contextmanager
def file_of(location: FileLocation) -> Iterator[Any]:
    """Give a file-like object, and close it, which libraries forget of files that are damaged.

    To some of them a path is more than that: `uproot` takes what follows a colon for a name inside.
    """
    found = opened(location)
    with open(found, "rb") if isinstance(found, str) else found as file:
        yield file


def whole(table: Any) -> Any:
    """Return a table all of whose values are known to be there.

    Damaged texts and lists are no error of who reads them, but end the process of who uses them.
    """
    table.validate(full=True)
    return table


def table_of(block: Any, shape: Shape) -> Any:
    """Return a block as an Arrow table; the columns of an array are called ``col_0`` and so on."""
    import pyarrow as pa

    if shape.kind == "frame":
        return block
    if shape.sparse:
        raise UsageError("this format has no sparse arrays; write it as dbdf, mtx or csv")
    if block.dtype.kind == "c":
        raise UsageError(
            f"tables have no complex numbers, such as these of {block.dtype}; write x.real and "
            "x.imag as columns, or write it as .npy or .zarr"
        )
    columns = block.reshape(len(block), shape.width).T
    return pa.table({f"col_{number}": arrow_column(each) for number, each in enumerate(columns)})


def arrow_column(values: Any) -> Any:
    """Return a column as one that Arrow takes as it is.

    Arrow ends texts of NumPy's at a NUL, takes no byte order but the machine's, and counts times
    in days, seconds and parts of seconds.
    """
    import numpy as np
    import pyarrow as pa

    if not isinstance(values, np.ndarray):
        return values
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    kind = values.dtype.kind
    if kind in "SU" and values.size:
        nul = b"\0" if kind == "S" else "\0"
        if np.strings.find(values, nul).max() >= 0:
            return pa.array(values.tolist(), pa.binary() if kind == "S" else pa.string())
    # Durations of months and years have no number of seconds.
    units = {"M": ("Y", "M", "W", "h", "m"), "m": ("W", "D", "h", "m")}
    if kind in units and np.datetime_data(values.dtype)[0] in units[kind]:
        return values.astype(f"{kind}8[s]")
    return values


def to_matrix(table: Any, dtype: str) -> Any:
    """Return the columns of a table side by side."""
    import numpy as np

    # Numbers that may be absent have nan, dates and durations NaT.
    has_form = np.dtype(dtype).kind in "fcmM"
    out = np.empty((table.num_rows, table.num_columns), dtype)
    for number, column in enumerate(table.columns):
        if column.null_count and not has_form:
            name = table.schema.names[number]
            raise UsageError(
                f"column {name!r} has {column.null_count:,} missing values, for which {out.dtype} "
                "has no form; read it with kind='frame'"
            )
        out[:, number] = column.to_numpy()
    return out
