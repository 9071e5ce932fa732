"""Matrices and frames in files: CSV, DAPHNE's binary form, Matrix Market, Parquet."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

from freestone.lang.plan.graph import Op
from freestone.lang.types.types import DTYPES, Type, matrix

DBDF_CELLS = ("si8", "si32", "si64", "ui8", "ui32", "ui64", "f32", "f64", "str")
DBDF_HEAD = struct.Struct("<BBQQBQQIIBB")
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
    if suffix == ".dbdf":
        return _dbdf_type(path)
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
            return matrix(_cell(default), rows, columns)
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


def _dbdf_type(path: str) -> Type:
    with open(path, "rb") as file:
        head = file.read(DBDF_HEAD.size)
    if len(head) < DBDF_HEAD.size:
        raise ValueError(f"{path} is too short for its head")
    version, kind, rows, columns, code, *_ = DBDF_HEAD.unpack(head)
    if version != 1 or kind not in (1, 2) or code >= len(DBDF_CELLS):
        raise ValueError(f"{path} is no matrix of version 1: {version}, {kind}, {code}")
    return matrix(DBDF_CELLS[code], rows, columns)


def _mtx_head(path: str) -> tuple[list[str], list[int], int]:
    with open(path) as file:
        words = file.readline().lower().split()
        if len(words) != 5 or words[0] != "%%matrixmarket" or words[3] not in MTX_CELLS:
            raise ValueError(f"{path} is no Matrix Market file of numbers")
        count = 1
        for line in file:
            count += 1
            if line.strip() and not line.startswith("%"):
                return words, [int(word) for word in line.split()], count
    raise ValueError(f"{path} has no shape")


def _mtx_type(path: str) -> Type:
    words, sizes, _ = _mtx_head(path)
    return matrix(MTX_CELLS[words[3]], sizes[0], sizes[1])


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
    from freestone.lang.kernels.elementwise import converted
    from freestone.lang.kernels.frames import Frame

    stored, wanted = describe(path), op.results[0].type
    from freestone.lang.kernels.datasets import loaded

    readers = {".csv": _csv, ".dbdf": _dbdf, ".mtx": _mtx, ".parquet": _parquet}
    suffix = Path(path).suffix
    own = suffix in readers and "://" not in path
    value = readers[suffix](path, stored) if own else loaded(path, stored)
    if wanted.data == "frame" and not isinstance(value, Frame):
        schema = wanted.schema or ()
        columns = [value[:, at].copy() for at in range(value.shape[1])]
        return Frame(columns, [name for name, _ in schema], [cell for _, cell in schema])
    if wanted.data == "matrix":
        value = value.matrix(wanted.cell) if isinstance(value, Frame) else value
        return converted(value, wanted.cell)
    return value


def _csv(path: str, type: Type) -> Any:
    import csv

    import numpy as np

    from freestone.lang.kernels.frames import Frame

    if type.data == "matrix" and type.cell != "str":
        return parse_numbers(path, type, ",")
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


def parse_numbers(path: str, type: Type, delimiter: str) -> Any:
    """Read a matrix of numbers from text."""
    import warnings

    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        value = np.loadtxt(path, DTYPES[type.cell], delimiter=delimiter, ndmin=2, comments=None)
    if value.size == 0:
        value = value.reshape(type.rows or 0, type.columns or 0)
    if value.shape != (type.rows, type.columns):
        raise ValueError(f"{path} is {value.shape}, not {type.rows}x{type.columns}")
    return value


def read_csv_file(run: Any, op: Op, path: str, rows: Any, columns: Any, delimiter: str) -> Any:
    """Read a matrix of numbers from text."""
    return parse_numbers(path, matrix("f64", int(rows), int(columns)), delimiter)


def _dbdf(path: str, type: Type) -> Any:
    import numpy as np

    data = Path(path).read_bytes()
    _, kind, rows, columns, *_, block, code = DBDF_HEAD.unpack_from(data)
    dtype = np.dtype(DTYPES[DBDF_CELLS[code]])
    if block == 0:
        return np.zeros((rows, columns), dtype)
    offset = DBDF_HEAD.size
    if kind == 1:
        cells = np.frombuffer(data, dtype, rows * columns, offset)
        return cells.reshape(rows, columns).copy()
    (nnz,) = struct.unpack_from("<Q", data, offset)
    starts = np.frombuffer(data, "<u8", rows + 1, offset + 8).astype("i8")
    places = np.frombuffer(data, "<u8", nnz, offset + 8 + 8 * (rows + 1)).astype("i8")
    cells = np.frombuffer(data, dtype, nnz, offset + 8 + 8 * (rows + 1 + nnz))
    out = np.zeros((rows, columns), dtype)
    out[np.repeat(np.arange(rows), np.diff(starts)), places] = cells
    return out


def _mtx(path: str, type: Type) -> Any:
    import numpy as np

    words, sizes, skip = _mtx_head(path)
    rows, columns = sizes[:2]
    body = np.loadtxt(path, ndmin=2, skiprows=skip, comments="%")
    out = np.zeros((rows, columns), DTYPES[type.cell])
    if words[2] == "array":
        out[:] = body.reshape(columns, rows).T
    elif body.size:
        left, right = body[:, 0].astype("i8") - 1, body[:, 1].astype("i8") - 1
        cells = np.ones(len(body)) if words[3] == "pattern" else body[:, 2]
        out[left, right] = cells
        if words[4] != "general":
            mirrored = -cells if words[4] == "skew-symmetric" else cells
            keep = left != right
            out[right[keep], left[keep]] = mirrored[keep]
    return out


def _parquet(path: str, type: Type) -> Any:
    from pyarrow import parquet

    from freestone.lang.kernels.frames import Frame, cell_of

    table = parquet.read_table(path)
    columns = [column.to_numpy() for column in table.columns]
    return Frame(columns, table.column_names, [cell_of(column.dtype) for column in columns])


def write(run: Any, op: Op, value: Any, path: str) -> None:
    """Write a matrix or a frame, and its description; what was there stays until all is written."""
    type = op.operands[0].type
    if type.data == "matrix" and by_rows(path, type):
        from freestone.lang.kernels.row_files import RowWriter

        writer = RowWriter(path, type, value.shape)
        try:
            writer.append(value)
            writer.finish()
        finally:
            writer.abandon()
    elif Path(path).suffix == ".csv" and "://" not in path:
        _write_csv(path, value)
        write_meta(path, type, value.shape, value)
    else:
        from freestone.lang.kernels.datasets import save

        save(path, type, value)


def by_rows(path: str, type: Type) -> bool:
    """Tell whether a matrix can be written to a file some rows at a time."""
    suffix = Path(path).suffix
    known = suffix == ".csv" or (suffix == ".dbdf" and type.cell in DBDF_CELLS[:-1])
    return known and "://" not in path


def _write_csv(path: str, frame: Any) -> None:
    rows = zip(*(map(csv_text, column.tolist()) for column in frame.columns), strict=True)
    _replace(path, "".join(",".join(row) + "\n" for row in rows).encode())


def csv_text(cell: Any) -> str:
    """Return how a cell is written."""
    if isinstance(cell, float):
        # The shortest form that reads back: six decimals would lose digits.
        return repr(cell)
    if isinstance(cell, str):
        quoted = any(letter in cell for letter in ',"\n\r')
        return '"' + cell.replace('"', '""') + '"' if quoted else cell
    return str(int(cell))


def write_meta(path: str, type: Type, shape: tuple[int, int], frame: Any = None) -> None:
    """Write the description of a file."""
    data: dict[str, Any] = {"numRows": shape[0], "numCols": shape[1]}
    if frame is None:
        data["valueType"] = _stored(type.cell)
    else:
        pairs = zip(frame.labels, frame.cells, strict=True)
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


def close(run: Any, op: Op, path: str) -> None:
    """Let go of a file; nothing is held between reads."""
