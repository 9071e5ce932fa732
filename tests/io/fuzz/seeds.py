"""The smallest files that have what a format can have, as others write them."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse

from freestone.io.writer import Shape
from tests.io.fuzz.places import Bytes

__all__ = [
    "arrow",
    "avro",
    "netcdf3",
    "npy",
    "parquet",
    "rntuple",
    "root",
    "tdms",
    "written",
    "zarr",
]

X = np.array([[0, 1.5], [0, 0], [2, 3]])
SYNC = b"0123456789abcdef"
S = scipy.sparse.csr_array(X)
TABLE = pa.table({"a": [1, 2, 3], "b": [0.5, None, 2.5], "c": ["x", "", None]})
NESTED = pa.table({"l": [[1], None, [2, 3]], "d": pa.array(["u", "v", "u"]).dictionary_encode()})
MATRIX = pa.table({"col_0": X[:, 0], "col_1": X[:, 1]}).replace_schema_metadata(
    {"freestone.dtype": "<f8"}
)


def written(module: Any) -> list[bytes]:
    """Return a dense and a sparse matrix in a format of freestone's own."""
    return [_written(module, X, False), _written(module, S, True)]


def _written(module: Any, x: Any, sparse: bool) -> bytes:
    nonzeros = x.nnz if sparse else None
    shape = Shape(kind="array", rows=3, columns=(2,), dtype="<f8", sparse=sparse, nonzeros=nonzeros)
    writer = module.open_writer(Bytes("x"), shape)
    pieces = [bytes(piece) for piece in writer.encode(x, 0)]
    return b"".join([writer.head([len(piece) for piece in pieces]), *pieces])


def npy() -> list[bytes]:
    """Return arrays in row and in column order, of several types."""
    return [_saved(x) for x in (X, X.astype("i4").T, np.arange(4.0), np.array(["a", "bc"]))]


def _saved(x: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


def netcdf3() -> list[bytes]:
    """Return variables with and without records, packed, of times and of characters."""
    return [_netcdf3(1, None), _netcdf3(2, 3), _netcdf3(2, None)]


def _netcdf3(version: int, rows: int | None) -> bytes:
    from scipy.io import netcdf_file

    content = io.BytesIO()
    file = netcdf_file(content, "w", version=version)
    for name, length in (("t", rows), ("y", 2), ("n", 3)):
        file.createDimension(name, length)
    along = file.createVariable("y", "d", ("y",))
    along[:] = [1.5, 2.5]
    values = file.createVariable("v", "h", ("t", "y"))
    values[:] = np.arange(6, dtype="i2").reshape(3, 2)
    values.units, values.scale_factor, values._FillValue = "K", 0.5, np.int16(4)
    times = file.createVariable("time", "i", ("t",))
    times[:] = [1, 2, 3]
    times.units = "days since 2001-01-01"
    names = file.createVariable("name", "c", ("t", "n"))
    names[:] = np.array([list("abc")] * 3, "S1")
    file.flush()
    return content.getvalue()


def parquet() -> list[bytes]:
    """Return frames of several row groups, versions, encodings and codecs."""
    return [
        _parquet(TABLE, compression="none", use_dictionary=False, row_group_size=2),
        _parquet(TABLE, compression="snappy", write_page_index=True),
        _parquet(NESTED, compression="zstd", data_page_version="2.0"),
        _parquet(MATRIX, compression="none", use_dictionary=False, store_schema=False),
        _parquet(
            TABLE.select(["a"]),
            use_dictionary=False,
            column_encoding={"a": "DELTA_BINARY_PACKED"},
            compression="none",
        ),
    ]


def _parquet(table: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, **options)
    return file.getvalue()


def arrow() -> list[bytes]:
    """Return frames of one and of two batches, compressed and not."""
    plain, packed = pa.ipc.IpcWriteOptions(), pa.ipc.IpcWriteOptions(compression="zstd")
    return [
        _arrow(TABLE, plain),
        _arrow(TABLE, packed),
        _arrow(NESTED, plain),
        _arrow(MATRIX, plain, 2),
    ]


def _arrow(table: Any, options: Any, rows: int = 3) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return file.getvalue()


def avro() -> list[bytes]:
    """Return files of other writers: blocks, codecs, nested types, decimals and times."""
    field = {"name": "l", "type": {"type": "array", "items": ["null", "string"]}}
    row = {"type": "record", "name": "r", "fields": [{"name": "e", "type": "double"}]}
    nested = [
        field,
        {"name": "m", "type": {"type": "map", "values": row}},
        {"name": "k", "type": {"type": "enum", "name": "k", "symbols": ["u", "v"]}},
        {"name": "f", "type": {"type": "fixed", "name": "f", "size": 2}},
    ]
    money = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    times = [
        {"name": "t", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "d", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "p", "type": money},
        {"name": "b", "type": "boolean"},
    ]
    rows = [{"l": ["x", None], "m": {"y": {"e": 0.5}}, "k": "v", "f": b"ab"}] * 3
    whens = [{"t": 1_000_000 * n, "d": n or None, "p": Decimal(n) / 4, "b": True} for n in range(3)]
    return [
        _avro(nested, rows, "null"),
        _avro(times, whens, "null", 1),
        _avro(times, whens, "deflate"),
    ]


def _avro(fields: list[Any], rows: list[Any], codec: str, nbytes: int = 16_000) -> bytes:
    import fastavro

    file = io.BytesIO()
    schema = {"type": "record", "name": "row", "fields": fields}
    fastavro.writer(
        file, schema, rows, codec, sync_interval=nbytes, sync_marker=b"0123456789abcdef"
    )
    return file.getvalue()


def tdms() -> list[bytes]:
    """Return files of one and of two segments, of texts, times and scaled numbers."""
    import nptdms

    scaled = {
        "NI_Number_Of_Scales": 1,
        "NI_Scale[0]_Scale_Type": "Linear",
        "NI_Scale[0]_Linear_Slope": 2.0,
        "NI_Scale[0]_Linear_Y_Intercept": 1.0,
        "NI_Scale[0]_Linear_Input_Source": 0xFFFFFFFF,
    }
    one = [nptdms.ChannelObject("g", name, X[:, 0]) for name in "ab"]
    texts = [
        nptdms.ChannelObject("g", "t", ["a", "", "bcd"]),
        nptdms.ChannelObject("g", "w", np.array([0, 1, 2], "M8[us]")),
    ]
    more = [nptdms.ChannelObject("g", "s", np.arange(3, dtype="i2"), properties=scaled)]
    return [_tdms(one), _tdms(one, one), _tdms(texts), _tdms(more)]


def _tdms(*segments: Any) -> bytes:
    import nptdms

    file = io.BytesIO()
    with nptdms.TdmsWriter(file) as writer:
        for segment in segments:
            writer.write_segment(segment)
    return file.getvalue()


def root() -> list[bytes]:
    """Return a tree of numbers as it is, and one of lists that is compressed."""
    import awkward as ak

    return [_root("float64", X[:, 0], None), _root("var * float64", ak.Array([[1], [], [2, 3]]), 1)]


def _root(kind: str, values: Any, level: int | None) -> bytes:
    import uproot

    file = io.BytesIO()
    packed = uproot.ZLIB(level) if level else None
    with uproot.recreate(file, compression=packed) as made:
        made.mktree("t", {"a": kind})
        made["t"].extend({"a": values})
        return file.getvalue()


def rntuple() -> list[bytes]:
    """Return an RNTuple of numbers, and one with a text and a list."""
    return [
        _rntuple({"a": X[:, 0], "b": np.arange(3, dtype=np.int32)}),
        _rntuple({"s": ["a", "", "bc"], "l": [[1], [], [2, 3]]}),
    ]


def _rntuple(columns: dict[str, Any]) -> bytes:
    import awkward as ak
    import uproot

    file = io.BytesIO()
    with uproot.recreate(file, compression=None) as made:
        made.mkrntuple("n", ak.Array(columns))
        return file.getvalue()


def zarr(version: int, **options: Any) -> dict[str, bytes]:
    """Return the files of a folder, of two chunks."""
    import zarr as library

    with TemporaryDirectory() as folder:
        store = library.create_array(
            f"{folder}/x", shape=(4, 2), chunks=(2, 2), dtype="f8", zarr_format=version, **options
        )
        store[:] = np.arange(8.0).reshape(4, 2)
        root = Path(folder, "x")
        files = sorted(each for each in root.rglob("*") if each.is_file())
        return {str(each.relative_to(root)): each.read_bytes() for each in files}
