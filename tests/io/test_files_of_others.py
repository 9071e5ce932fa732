"""Files as other programs write them, in each way that a format has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import freestone as fs

N = 50
TABLE = pa.table(
    {
        "n": np.arange(N),
        "x": np.arange(N) / 7,
        "text": [f"row {n}," if n % 3 else None for n in range(N)],
        "kind": pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
        "list": [[n] * (n % 3) for n in range(N)],
        "when": pa.array(np.arange(N), pa.timestamp("us")),
    }
)
MATRIX = np.random.default_rng(5).normal(size=(20, 6))


def same(path: Path, wanted: Any, **options: Any) -> None:
    """Compare the whole, and some rows of the middle."""
    found = fs.read(path, **options).compute()
    assert found.to_pydict() == wanted.to_pydict()
    part = fs.read(path, **options)[7:33].compute()
    assert part.to_pydict() == wanted.slice(7, 26).to_pydict()


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("row_group_size", [50, 11])
def test_parquet(tmp_path: Path, codec: str, version: str, row_group_size: int) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(
        TABLE, path, compression=codec, data_page_version=version, row_group_size=row_group_size
    )
    same(path, TABLE)


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("rows", [50, 11])
def test_arrow(tmp_path: Path, codec: str | None, rows: int) -> None:
    path = tmp_path / "t.arrow"
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_file(path, TABLE.schema, options=options) as file:
        file.write_table(TABLE, max_chunksize=rows)
    same(path, TABLE)


def test_csv_of_arrow_and_ours_by_arrow(tmp_path: Path) -> None:
    plain = TABLE.select(["n", "x", "text"])
    pyarrow.csv.write_csv(plain, tmp_path / "theirs.csv")
    same(tmp_path / "theirs.csv", plain)
    fs.write(plain, tmp_path / "ours.csv", header=True)
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    found = pyarrow.csv.read_csv(tmp_path / "ours.csv", convert_options=options)
    assert found.to_pydict() == plain.to_pydict()


@pytest.mark.parametrize(
    "options",
    [
        {"zarr_format": 2},
        {"zarr_format": 2, "order": "F"},
        {"zarr_format": 2, "compressors": None},
        {"zarr_format": 3},
        {"zarr_format": 3, "shards": (14, 8)},
        {"zarr_format": 3, "compressors": None},
    ],
    ids=str,
)
def test_zarr(tmp_path: Path, options: dict[str, Any]) -> None:
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "x.zarr"
    store = zarr.create_array(path, shape=MATRIX.shape, chunks=(7, 4), dtype="f8", **options)
    store[:] = MATRIX
    np.testing.assert_array_equal(fs.read(path).compute(), MATRIX)
    np.testing.assert_array_equal(fs.read(path)[5:15].compute(), MATRIX[5:15])


def test_zarr_of_which_nothing_is_stored(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    path = tmp_path / "x.zarr"
    zarr.create_array(path, shape=(5,), chunks=(2,), dtype="i4", fill_value=7)
    np.testing.assert_array_equal(fs.read(path).compute(), np.full(5, 7, "i4"))


def test_tdms_of_several_segments(tmp_path: Path) -> None:
    tdms = pytest.importorskip("nptdms")
    path, columns = tmp_path / "d.tdms", {"a": np.arange(N), "b": np.arange(N) / 3}
    with tdms.TdmsWriter(path) as file:
        for start in range(0, N, 20):
            part = slice(start, start + 20)
            file.write_segment([tdms.ChannelObject("g", k, v[part]) for k, v in columns.items()])
    same(path, pa.table(columns))


def test_tdms_of_scaled_numbers_texts_and_times(tmp_path: Path) -> None:
    tdms = pytest.importorskip("nptdms")
    path = tmp_path / "d.tdms"
    raw, times = np.arange(N, dtype="i2"), np.arange(N).astype("M8[us]")
    scale = {
        "NI_Number_Of_Scales": 1,
        "NI_Scale[0]_Scale_Type": "Linear",
        "NI_Scale[0]_Linear_Slope": 0.5,
        "NI_Scale[0]_Linear_Y_Intercept": 1.0,
        "NI_Scale[0]_Linear_Input_Source": 0xFFFFFFFF,
    }
    texts = [f"é {n}" for n in range(N)]
    with tdms.TdmsWriter(path) as file:
        file.write_segment(
            [
                tdms.ChannelObject("g", "s", raw, properties=scale),
                tdms.ChannelObject("g", "t", texts),
                tdms.ChannelObject("g", "w", times),
            ]
        )
    same(path, pa.table({"s": raw * 0.5 + 1, "t": texts, "w": times}))


@pytest.mark.parametrize("codec", ["ZLIB", "LZMA", "LZ4", "ZSTD"])
def test_trees_with_lists(tmp_path: Path, codec: str) -> None:
    uproot = pytest.importorskip("uproot")
    import awkward as ak

    path, lists = tmp_path / "d.root", [[float(n)] * (n % 3) for n in range(N)]
    with uproot.recreate(path, compression=getattr(uproot, codec)(4)) as file:
        file.mktree("t", {"n": "int32", "l": "var * float64"})
        for start in range(0, N, 20):
            part = slice(start, start + 20)
            file["t"].extend({"n": np.arange(N, dtype="i4")[part], "l": ak.Array(lists[part])})
    found = fs.read(path).compute().to_pydict()
    assert (found["n"], found["l"]) == (list(range(N)), lists)


def test_a_path_with_a_colon(tmp_path: Path) -> None:
    """It is a path, and not the name of something inside of a file."""
    pytest.importorskip("uproot")
    folder = tmp_path / "a.root:b"
    folder.mkdir()
    fs.write(MATRIX, folder / "x.root")
    np.testing.assert_array_equal(fs.read(folder / "x.root").compute(), MATRIX)
