"""Matrices and frames in files of every format that `freestone.io` knows, and at URLs."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from freestone.errors import FileMissingError, FreestoneError
from freestone.lang.plan.graph import Op
from freestone.lang.types.types import DTYPES, Type, matrix, most_general

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
        said = _of_meta(path, meta)
        if meta.hdfs is None and format_name(path) != "csv":
            _check(path, said, open_dataset(path))
        return said
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


def _check(path: str, said: Type, dataset: Any) -> None:
    """Raise `ValueError` where a `.meta` and the file's own header disagree."""
    import numpy as np

    again = "; correct the .meta or remove it"
    shape = (dataset.rows, width_of(dataset))
    if shape != (said.rows, said.columns):
        wanted = f"{said.rows} x {said.columns}"
        raise ValueError(f"{path} is {shape[0]} x {shape[1]}, and its .meta says {wanted}{again}")
    if dataset.kind == "frame" or said.data == "frame" or format_name(path) == "mtx":
        return
    found, cells = np.dtype(dataset.dtype), np.dtype(DTYPES[said.cell])
    if found.kind in "fc" and cells.kind in "iub":
        raise ValueError(f"{path} has cells of {found}, and its .meta says {said.cell}{again}")


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
    from freestone.lang.kernels.frames import cell_of

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


def read(run: Any, op: Op, path: str) -> Any:
    """Read a matrix or a frame."""
    from freestone.lang.kernels.elementwise import converted
    from freestone.lang.kernels.frames import Frame

    stored, wanted = describe(path), op.results[0].type
    _check_planned(path, stored, wanted)
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
        from freestone.lang.kernels.sparse import Csr

        return Csr.of_scipy(value.astype(DTYPES[wanted.cell]))
    dense = value.toarray() if hasattr(value, "toarray") else value
    return converted(dense, wanted.cell)


def _check_planned(path: str, stored: Type, wanted: Type) -> None:
    """Raise `ValueError` where a file is another one than the script was compiled for."""
    cells = [cell for _, cell in stored.schema or ()] or [stored.cell]
    fits = wanted.rows in (None, stored.rows) and wanted.columns in (None, stored.columns)
    if wanted.data == "frame":
        fits = fits and stored.schema in (None, wanted.schema)
    else:
        fits = fits and most_general([wanted.cell, *cells]) == wanted.cell
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
    from freestone.lang.kernels.frames import Frame

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
    from freestone.collections import write as write_file

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


def holds_entries(path: str) -> bool:
    """Tell whether a file's format has a form for matrices that are not dense."""
    return format_name(path) in SPARSE


def format_name(path: str) -> str:
    """Return what a file's format is called."""
    from freestone.io.formats import format_of

    return format_of(os.path.basename(path)).name


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
