"""Matrices and frames in files: CSV, DAPHNE's binary form, Matrix Market, Parquet."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from freestone.lang.plan.graph import Op
from freestone.lang.types.types import DTYPES, Type, matrix

MTX_CELLS = {"real": "f64", "double": "f64", "integer": "si64", "pattern": "f64"}


def meta_path(path: str) -> str:
    """Return where a file is described."""
    return path + ".meta"


def describe(path: str) -> Type:
    """Find the type and shape of a file's contents, without reading them.

    Raises
    ------
    ValueError
        If nothing describes it, or its description makes no sense.
    """
    if os.path.exists(meta_path(path)):
        return _from_meta(path)
    suffix = Path(path).suffix
    if suffix == ".mtx":
        return _mtx_type(path)
    if suffix == ".parquet":
        return _parquet_type(path)
    if suffix == ".csv" and "://" not in path:
        raise ValueError(f"{path} is not described: write its shape and type to {meta_path(path)}")
    from freestone.lang.kernels.datasets import described

    return described(path)


def _from_meta(path: str) -> Type:
    try:
        data = json.loads(Path(meta_path(path)).read_text())
        rows, columns = int(data["numRows"]), int(data["numCols"])
        default = data.get("valueType", "")
        if "schema" not in data:
            return sparse(matrix(_cell(default), rows, columns), data.get("numNonZeros"))
        schema = tuple(
            (item["label"], _cell(item.get("valueType") or default)) for item in data["schema"]
        )
        return Type("frame", "", rows, columns, schema)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{meta_path(path)} makes no sense: {error}") from None


def _cell(name: str) -> str:
    if name not in DTYPES or name == "index":
        raise ValueError(f"{name!r} is no value type")
    return name


def sparse(type: Type, stored: Any) -> Type:
    """Note the share of cells that a file stores, where it tells; -1 is for those that do not."""
    cells = (type.rows or 0) * (type.columns or 0)
    if not isinstance(stored, int) or stored < 0 or not cells:
        return type
    return replace(type, sparsity=min(1.0, stored / cells))


def _mtx_head(path: str) -> tuple[list[str], list[int]]:
    with open(path) as file:
        words = file.readline().lower().split()
        if len(words) != 5 or words[0] != "%%matrixmarket" or words[3] not in MTX_CELLS:
            raise ValueError(f"{path} is no Matrix Market file of numbers")
        for line in file:
            if line.strip() and not line.startswith("%"):
                return words, [int(word) for word in line.split()]
    raise ValueError(f"{path} has no shape")


def _mtx_type(path: str) -> Type:
    words, sizes = _mtx_head(path)
    type = matrix(MTX_CELLS[words[3]], sizes[0], sizes[1])
    # Of a symmetric matrix one half is stored.
    times = 1 if words[4] == "general" else 2
    return sparse(type, sizes[2] * times) if words[2] == "coordinate" else type


def _parquet_type(path: str) -> Type:
    from pyarrow import parquet

    from freestone.lang.kernels.frames import cell_of

    about = parquet.ParquetFile(path)
    schema = tuple(
        (field.name, cell_of(field.type.to_pandas_dtype())) for field in about.schema_arrow
    )
    return Type("frame", "", about.metadata.num_rows, len(schema), schema)


def read(run: Any, op: Op, path: str) -> Any:
    """Read a matrix or a frame."""
    from freestone.lang.kernels.datasets import loaded
    from freestone.lang.kernels.frames import Frame

    stored, wanted = describe(path), op.results[0].type
    if wanted.data == "matrix" and wanted.cell != "str":
        type = matrix(wanted.cell, stored.rows, stored.columns)
        return loaded(path, type, csr=wanted.csr)
    readers = {".csv": _csv, ".parquet": _parquet}
    reader = readers.get(Path(path).suffix, loaded) if "://" not in path else loaded
    numbers = stored.data == "matrix" and stored.cell != "str"
    value = loaded(path, stored) if numbers else reader(path, stored)
    if wanted.data == "frame" and not isinstance(value, Frame):
        schema = wanted.schema or ()
        columns = [value[:, at].copy() for at in range(value.shape[1])]
        return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])
    return value.matrix(wanted.cell) if wanted.data == "matrix" and stored.schema else value


def _csv(path: str, type: Type) -> Any:
    import csv

    import numpy as np

    from freestone.lang.kernels.frames import Frame

    with open(path, newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if len(rows) != type.rows or any(len(row) != type.columns for row in rows):
        raise ValueError(f"{path} has {len(rows)} rows, or other columns than its description")
    if type.data == "matrix":
        return np.array(rows, object).reshape(type.rows or 0, type.columns or 0)
    schema = type.schema or ()
    columns = []
    for at, (_, cell) in enumerate(schema):
        cells = [row[at] for row in rows]
        dtype = DTYPES[cell]
        columns.append(np.array(cells, object if cell == "str" else "U").astype(dtype))
    return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])


def read_csv_file(run: Any, op: Op, path: str, rows: Any, columns: Any, delimiter: str) -> Any:
    """Read a matrix of numbers from text."""
    from freestone.lang.kernels.datasets import loaded

    type = matrix("f64", int(rows), int(columns))
    options = {"delimiter": delimiter, "header": False, "dtype": "f8", "kind": "array"}
    return loaded(path, type, options=options)


def _parquet(path: str, type: Type) -> Any:
    from pyarrow import parquet

    from freestone.lang.kernels.frames import Frame, cell_of

    table = parquet.read_table(path)
    columns = [column.to_numpy() for column in table.columns]
    return Frame(columns, table.column_names, [cell_of(column.dtype) for column in columns])


def write(run: Any, op: Op, value: Any, path: str) -> None:
    """Write a matrix or a frame, and its description; what was there stays until all is written."""
    type = op.operands[0].type
    texts = type.data == "frame" or type.cell == "str"
    if texts and Path(path).suffix == ".csv" and "://" not in path:
        _write_csv(path, type, value)
        return _write_meta(path, type, value)
    from freestone.lang.kernels.datasets import save

    return save(path, type, value)


def _write_csv(path: str, type: Type, value: Any) -> None:
    columns = value.columns if type.data == "frame" else value.T
    rows = zip(*(map(_text, column.tolist()) for column in columns), strict=True)
    _replace(path, "".join(",".join(row) + "\n" for row in rows).encode())


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        # The shortest form that reads back: six decimals would lose digits.
        return repr(cell)
    if isinstance(cell, str):
        quoted = any(letter in cell for letter in ',"\n\r')
        return '"' + cell.replace('"', '""') + '"' if quoted else cell
    return str(int(cell))


def _write_meta(path: str, type: Type, value: Any) -> None:
    rows, columns = value.shape
    data: dict[str, Any] = {"numRows": rows, "numCols": columns}
    if type.data == "matrix":
        data["valueType"] = _stored(type.cell)
    else:
        pairs = zip(value.labels, value.cells, strict=True)
        data["schema"] = [{"label": name, "valueType": _stored(cell)} for name, cell in pairs]
    _replace(meta_path(path), json.dumps(data, indent=4).encode())


def _stored(cell: str) -> str:
    return "ui64" if cell == "index" else cell


def _replace(path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    try:
        Path(temporary).write_bytes(data)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


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
