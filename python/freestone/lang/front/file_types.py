"""What is in a file: its type and shape, in the words of the language.

A script is compiled for the files that are there, so this reads their descriptions and headers.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from freestone.errors import FileMissingError, FreestoneError
from freestone.lang.front.types.types import DTYPES, Type

__all__ = ["describe", "format_name", "holds_entries", "kept", "widened", "width_of"]

WIDER = {"int16": "int32", "uint16": "uint32", "float16": "float32"}
"""What holds numbers of types that scripts do not have."""

KEPT = {
    "dbdf": {"bool": "ui8"},
    "mtx": dict.fromkeys(("bool", "si8", "ui8", "si32", "ui32"), "si64") | {"f32": "f64"},
}
"""The types that cells come back in from formats that do not know theirs."""

SPARSE = frozenset({"csv", "dbdf", "mtx"})
"""Formats that have a form for matrices that are not dense."""


def describe(path: str) -> Type:
    """Find the type and shape of a file's contents: in its `.meta`, else by looking at it.

    Raises
    ------
    ValueError
        If nothing says it, or what says it makes no sense, or is not what the file says of itself.
    """
    from freestone.io import open_dataset
    from freestone.io.formats.meta import read_meta
    from freestone.io.stores import locate

    if "\0" in path:
        raise ValueError(f"there is no file {path!r}")
    try:
        meta = read_meta(locate(path))
        if meta is None:
            return _of_dataset(open_dataset(path))
        described = _of_meta(path, meta)
        if meta.hdfs is None and format_name(path) != "csv":
            _check(path, described, open_dataset(path))
        return described
    except FileMissingError:
        raise ValueError(f"there is no file {path!r}") from None
    except FreestoneError as error:
        raise ValueError(str(error)) from None


def kept(path: str, type: Type) -> Type:
    """Return what is read of a value of a type that was written to a file."""
    changed = KEPT.get(format_name(path), {}) | {"index": "ui64"}
    schema = type.schema and tuple((name, changed.get(cell, cell)) for name, cell in type.schema)
    return replace(type, cell=changed.get(type.cell, type.cell), schema=schema)


def _of_meta(path: str, meta: Any) -> Type:
    if meta.schema:
        schema = tuple((label, _cell(name)) for label, name in meta.schema)
        return Type("frame", "", meta.rows, meta.columns, schema)
    if meta.value_type is None:
        raise ValueError(f"{path}.meta makes no sense: it says neither valueType nor schema")
    share = _share(meta.nonzeros, meta.rows, meta.columns)
    return Type("matrix", _cell(meta.value_type), meta.rows, meta.columns, sparsity=share)


def _check(path: str, described: Type, dataset: Any) -> None:
    """Raise `ValueError` where a `.meta` and the file's own header disagree."""
    import numpy as np

    again = "; correct the .meta or remove it"
    shape = (dataset.rows, width_of(dataset))
    if shape != (described.rows, described.columns):
        wanted = f"{described.rows} x {described.columns}"
        raise ValueError(f"{path} is {shape[0]} x {shape[1]}, and its .meta says {wanted}{again}")
    if dataset.kind == "frame" or described.data == "frame" or format_name(path) == "mtx":
        return
    found, cells = np.dtype(dataset.dtype), np.dtype(DTYPES[described.cell])
    if found.kind in "fc" and cells.kind in "iub":
        raise ValueError(f"{path} has cells of {found}, and its .meta says {described.cell}{again}")


def width_of(dataset: Any) -> int:
    """Return how many columns a file has; a vector has one."""
    if dataset.kind == "frame":
        return len(dataset.columns)
    return int(dataset.columns[0]) if dataset.columns else 1


def _share(nonzeros: int | None, rows: int, columns: int) -> float | None:
    if nonzeros is None or not rows * columns:
        return None
    return min(nonzeros / (rows * columns), 1.0)


def _cell(name: str) -> str:
    if name in ("si16", "ui16"):
        return name.replace("16", "32")
    return name


def _of_dataset(dataset: Any) -> Type:
    from freestone.lang.front.types.dtypes import cell_of

    if dataset.kind != "frame":
        columns = width_of(dataset)
        share = _share(dataset.nonzeros, dataset.rows, columns)
        cell = cell_of(widened(dataset.dtype))
        return Type("matrix", cell, dataset.rows, columns, sparsity=share)
    # No rows say the types as well as all of them.
    found = _columns(dataset.read(0, min(dataset.rows, 1)))
    cells = ["str" if column.dtype == object else cell_of(column.dtype) for column in found]
    schema = tuple(zip(map(str, dataset.columns), cells, strict=True))
    return Type("frame", "", dataset.rows, len(schema), schema)


def widened(dtype: Any) -> Any:
    """Return the type of cells that scripts have for one of a file."""
    import numpy as np

    return np.dtype(WIDER.get(np.dtype(dtype).name, dtype))


def _columns(table: Any) -> list[Any]:
    found = [column.to_numpy() for column in table.columns]
    return [column.astype(widened(column.dtype)) for column in found]


def holds_entries(path: str) -> bool:
    """Tell whether a file's format has a form for matrices that are not dense."""
    return format_name(path) in SPARSE


def format_name(path: str) -> str:
    """Return what a file's format is called."""
    from freestone.io.formats import format_of

    return format_of(os.path.basename(path)).name
