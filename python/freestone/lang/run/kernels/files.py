"""Matrices and frames in files of every format that `freestone.io` knows, and at URLs."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from freestone.errors import FreestoneError
from freestone.lang.front.file_types import describe, format_name, holds_entries, widened
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES, Type, common_type, matrix


def read(run: Any, op: Op, path: str) -> Any:
    """Read a matrix or a frame."""
    from freestone.lang.run.kernels.elementwise import converted
    from freestone.lang.run.kernels.frames import Frame

    stored, wanted = describe(path), op.results[0].type
    check_planned(path, stored, wanted)
    if wanted.data == "matrix" and wanted.cell == "str" and _is_guessed(path, stored):
        # Texts as they are written: 007 is not 7, and 1e5 not 100000.
        labels = [label for label, _ in stored.schema or ()]
        stored = replace(stored, schema=tuple((label, "str") for label in labels))
        value = _loaded(path, stored, types=dict.fromkeys(labels, "str"))
    else:
        value = _loaded(path, stored)
    if wanted.data == "frame" and not isinstance(value, Frame):
        schema = wanted.schema or ()
        dense = value.toarray() if hasattr(value, "toarray") else value
        columns = [dense[:, at].copy() for at in range(dense.shape[1])]
        return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])
    if wanted.data != "matrix":
        return value
    if isinstance(value, Frame):
        return converted(value.matrix(wanted.cell), wanted.cell)
    if hasattr(value, "toarray") and wanted.form:
        from freestone.lang.run.kernels.sparse import Csr

        return Csr.of_scipy(value.astype(DTYPES[wanted.cell]))
    dense = value.toarray() if hasattr(value, "toarray") else value
    return converted(dense, wanted.cell)


def _is_guessed(path: str, stored: Type) -> bool:
    """Tell whether types of columns were found in the text alone."""
    from freestone.io.formats.meta import read_meta
    from freestone.io.stores import locate

    is_text = stored.data == "frame" and format_name(path) == "csv"
    return is_text and read_meta(locate(path)) is None


def check_planned(path: str, stored: Type, wanted: Type) -> None:
    """Raise `ValueError` where a file is another one than the script was compiled for."""
    cells = [cell for _, cell in stored.schema or ()] or [stored.cell]
    fits = wanted.rows in (None, stored.rows) and wanted.columns in (None, stored.columns)
    if wanted.data == "frame":
        fits = fits and stored.schema in (None, wanted.schema)
    else:
        fits = fits and common_type([wanted.cell, *cells]) == wanted.cell
    if not fits:
        problem = f"{path} is a {stored} now, and was a {wanted} when the script was compiled"
        raise ValueError(f"{problem}: write what is read to a file of its own")


def _loaded(path: str, type: Type, **options: Any) -> Any:
    """Read all of a file: an array, a SciPy matrix, or a frame of the cells that a type says."""
    import numpy as np

    from freestone.io import open_dataset

    try:
        dataset = open_dataset(path, whole=True, **options)
        block = dataset.read(0, dataset.rows, threads=len(os.sched_getaffinity(0)))
    except FreestoneError as error:
        raise ValueError(str(error)) from None
    if dataset.kind == "frame":
        return framed(path, block, type)
    if hasattr(block, "toarray"):
        return block
    cells = block.reshape(-1, 1) if block.ndim == 1 else block
    return np.ascontiguousarray(cells.astype(widened(cells.dtype), copy=False))


def framed(path: str, table: Any, type: Type) -> Any:
    """Make a frame of a table, with cells of the types that a type says."""
    from freestone.lang.run.kernels.frames import Frame

    labels = list(map(str, table.column_names))
    cells = [cell for _, cell in type.schema or ()] or [type.cell] * len(labels)
    columns = []
    for label, cell, column in zip(labels, cells, table.columns, strict=True):
        if column.null_count and cell == "str":
            column = column.fill_null("")
        if column.null_count and cell not in ("f32", "f64"):
            raise ValueError(f"{path}: column {label!r} of {cell} has missing cells; fill them")
        columns.append(column.to_numpy().astype(DTYPES[cell]))
    return Frame(columns, labels, cells)


def read_csv_file(run: Any, op: Op, path: str, rows: Any, columns: Any, delimiter: str) -> Any:
    """Read a matrix of numbers from text, whatever a `.meta` says."""
    type = matrix("f64", int(rows), int(columns))
    found = _loaded(path, type, delimiter=delimiter, kind="array", dtype="f8", header=False)
    if found.shape != (type.rows, type.columns):
        raise ValueError(f"{path} is {found.shape}, not {type.rows}x{type.columns}")
    return found


def write(run: Any, op: Op, value: Any, path: str) -> None:
    """Write a matrix or a frame, and its description; what was there stays until all is written."""
    is_frame = op.operands[0].type.data == "frame"
    written(_table(value.labels, value.columns) if is_frame else _matrix(value, path), path)


def written(given: Any, path: str) -> None:
    """Write what `freestone.write` takes, in folders that are made if they are not there."""
    from freestone.storage import write as write_file

    if "\0" in path:
        raise ValueError(f"no file can be called {path!r}")
    folder = "" if "://" in path else os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    try:
        write_file(given, path, progress=False)
    except FreestoneError as error:
        raise ValueError(str(error)) from None


def _matrix(value: Any, path: str) -> Any:
    """Return a matrix as what is written: entries where the format has them, texts as a table."""
    if hasattr(value, "toarray") and holds_entries(path):
        return value.to_scipy()
    if hasattr(value, "toarray"):
        return value.toarray()
    if value.dtype == object:
        return _table([f"col_{at}" for at in range(value.shape[1])], list(value.T))
    return value


def _table(labels: list[str], columns: list[Any]) -> Any:
    import pyarrow as pa

    made = [
        pa.array(column.tolist(), pa.large_string()) if column.dtype == object else pa.array(column)
        for column in columns
    ]
    return pa.table(made, names=list(map(str, labels)))


def open_file(run: Any, op: Op, path: str) -> str:
    """Check that a file is there."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path!r}")
    return path


def open_device(run: Any, op: Op, path: str) -> str:
    """Check that a device is there: the folder where it is mounted."""
    if not os.path.isdir(path):
        raise FileNotFoundError(f"there is no device {path!r}: give the folder where it is mounted")
    return path


def open_on_device(run: Any, op: Op, device: str, path: str) -> str:
    """Check that a file is on a device."""
    return open_file(run, op, os.path.join(device, path))


def close(run: Any, op: Op, path: str) -> None:
    """Let go of a file; nothing is held between reads."""
