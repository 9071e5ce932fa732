"""HDF5, NetCDF, ORC and JSON lines: files of their own libraries, read here and by workers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import h5netcdf
import h5py
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, SchemaError, UsageError
from freestone.io import open_dataset
from freestone.io.formats import jsonl

RANDOM = np.random.default_rng(1)
CUBE = RANDOM.normal(size=(20, 3, 2))
RECORDS = np.array([(1, 2.5, b"a"), (2, 3.5, b"bc")] * 4, [("i", "i4"), ("x", "f8"), ("s", "S2")])


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("deep/cube", data=CUBE, chunks=(4, 3, 2), compression="gzip")
        file["records"] = RECORDS
        file["table/x"] = np.arange(6.0)
        file["table/name"] = [f"n{number}" for number in range(6)]
        file["ragged/x"] = np.zeros(2)
        file["ragged/y"] = np.zeros(3)
        file["one"] = 3.0
    return path


def test_hdf5(two_workers: fs.Cluster, deep: Path) -> None:
    found = fs.read(deep, dataset="deep/cube")
    assert (found.compute() == CUBE).all()
    assert open_dataset(deep, dataset="deep/cube", matrix=False).unit_rows == 4
    assert [len(block) for block in found.iter_blocks()] == [12, 8]
    table = fs.read(deep, dataset="records", columns=["s", "i"], where=[("i", "==", 2)]).compute()
    assert table.to_pydict() == {"s": [b"bc"] * 4, "i": [2] * 4}
    table = fs.read(deep, dataset="table", where=[("x", ">", 3)]).compute()
    assert table.to_pydict() == {"name": ["n4", "n5"], "x": [4.0, 5.0]}


HDF5_MISTAKES = [
    ({}, r"datasets 'deep/cube', .*'records', .*; say dataset="),
    ({"dataset": "recods"}, r"no dataset 'recods'; did you mean 'records'\?; there are 'deep/"),
    ({"dataset": "one"}, "one value, and no rows"),
    ({"dataset": "ragged"}, r"one length: 'x' \(2,\), 'y' \(3,\)"),
]


@pytest.mark.parametrize(("options", "reason"), HDF5_MISTAKES)
def test_what_hdf5_does_not_have(deep: Path, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        fs.read(deep, **options)


def test_a_damaged_hdf5_file(deep: Path) -> None:
    deep.write_bytes(deep.read_bytes()[:700])
    with pytest.raises(FormatError, match=r"a\.h5"):
        fs.read(deep, dataset="records")


def test_netcdf(two_workers: fs.Cluster, tmp_path: Path) -> None:
    for number in range(2):
        with h5netcdf.File(tmp_path / f"{number}.nc", "w") as file:
            file.dimensions = {"time": 4, "lat": 3}
            file.create_variable("time", ("time",), data=np.arange(4))
            raw = np.arange(12, dtype="i2").reshape(4, 3) + number
            packed = file.create_variable("t", ("time", "lat"), data=raw, chunks=(2, 3))
            packed.attrs["scale_factor"] = 0.5
            packed.attrs["add_offset"] = 100.0
            packed.attrs["missing_value"] = np.int16(5)
            file.create_variable("n", ("time", "lat"), data=raw)
    found = fs.read(f"{tmp_path}/*.nc", variable="t").compute()
    expected = np.arange(12.0).reshape(4, 3)
    expected = np.concatenate([expected, expected + 1])
    expected = np.where(expected == 5, np.nan, expected * 0.5 + 100)
    np.testing.assert_array_equal(found, expected)
    assert fs.read(tmp_path / "1.nc", variable="n").compute().dtype == np.int16
    with pytest.raises(UsageError, match="variables 'time', 't', 'n'; say variable="):
        fs.read(tmp_path / "0.nc")


def test_orc(two_workers: fs.Cluster, tmp_path: Path) -> None:
    table = pa.table({"x": [1.5, None, 3.0], "s": ["a", "b", None]})
    fs.write(fs.Frame.from_table(table, 2), tmp_path / "a.orc")
    pyarrow.orc.write_table(table, tmp_path / "b.orc")
    assert fs.read(tmp_path / "a.orc").compute().equals(table)
    found = fs.read(tmp_path, columns=["s"], where=[("x", ">", 1)]).compute()
    assert found["s"].to_pylist() == ["a", None] * 2
    (tmp_path / "c.orc").write_bytes(b"ORC no")
    with pytest.raises(FormatError, match=r"c\.orc"):
        fs.read(tmp_path / "c.orc")
    with pytest.raises(UsageError, match="make it a frame"):
        fs.write(np.eye(2), tmp_path / "d.orc")


ROWS = [
    {"x": 1, "s": "2024-01-01", "l": [1]},
    {"x": 2.5, "s": None, "l": []},
    {"x": None, "s": "é"},
]


def test_json_lines(two_workers: fs.Cluster, tmp_path: Path) -> None:
    text = "\n".join(json.dumps(row) for row in ROWS) + "\n\n"
    (tmp_path / "a.jsonl").write_text(text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    expected = [{"l": None, **row} for row in ROWS]
    assert [row | {} for row in fs.read(tmp_path / "a.jsonl").compute().to_pylist()] == expected
    found = fs.read([tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"], columns=["s"])
    assert found.compute()["s"].to_pylist() == ["2024-01-01", None, "é"] * 2
    fs.write(fs.read(tmp_path / "a.jsonl"), tmp_path / "c.jsonl")
    assert fs.read(tmp_path / "c.jsonl").compute().to_pylist() == expected
    with pytest.raises(UsageError, match=r"nan\.jsonl can't be written"):
        fs.write(fs.Frame.from_table({"x": [float("nan")]}, 1), tmp_path / "nan.jsonl")


def test_json_lines_without_rows_have_columns(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path, others = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    table = pa.table({"i": [3], "s": ["x"], "l": [[0.5]]})
    none = fs.Frame.from_table(table, 1).filter(pl.col("i") > 3)
    for frame, schema in ((table[:0], table.schema), (none, none.compute().schema)):
        fs.write(frame, path)
        assert fs.read(path).compute().schema == schema
    fs.write(table, others)
    for paths in ([path, others], [others, path]):
        assert fs.read(paths).compute().to_pylist() == table.to_pylist()
    # Rows have their names themselves.
    fs.write(table.select(["s"]), path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]
    assert fs.read(path).columns == ("s",)


def test_json_lines_without_rows_of_others(tmp_path: Path) -> None:
    path, beside = tmp_path / "a.jsonl", tmp_path / "a.jsonl.meta"
    path.write_text("\n")
    assert fs.read(path).columns == ()
    beside.write_text('{"numRows": 0, "numCols": 1, "arrowSchema": "AAAA"}')
    with pytest.raises(FormatError, match=r"a\.jsonl"):
        fs.read(path)
    beside.write_text("notes")
    fs.write(pa.table({"i": [1]}), path)
    assert beside.read_text() == "notes"


def test_lines_that_are_no_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for text in ('{"x": 1}\n{"x": \n', "1\n2\n", '{"x": 1}\n{"x": "a"}\n'):
        path.write_text(text)
        with pytest.raises(FormatError, match=r"a\.jsonl"):
            fs.read(path).compute()
    (tmp_path / "b.jsonl").write_text('{"x": "a"}\n')
    path.write_text('{"x": 1}\n')
    with pytest.raises(SchemaError):
        fs.read(tmp_path)


OBJECTS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.integers(-99, 99),
            "s": st.text(max_size=5) | st.just("}\n{") | st.none(),
            "of": st.lists(st.fixed_dictionaries({"x": st.booleans()}), max_size=2),
        }
    ),
    max_size=9,
)


@settings(deadline=None, max_examples=50)
@given(OBJECTS, st.integers(1, 90), st.sampled_from([None, 0, 2]))
def test_parts_of_any_size_hold_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[dict[str, Any]],
    nbytes: int,
    indent: int | None,
) -> None:
    path = tmp_path_factory.getbasetemp() / "parts.jsonl"
    # An object of several lines is not in the format's rules, and other readers take it, too.
    lines = (json.dumps(row, ensure_ascii=False, indent=indent) + "\n" for row in rows)
    path.write_text("".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "PART_NBYTES", nbytes)
        dataset = open_dataset(path)
    assert dataset.rows == len(rows)
    for start in range(len(rows) + 1):
        for stop in range(start, len(rows) + 1):
            assert dataset.read(start, stop).to_pylist() == rows[start:stop]


def test_json_lines_of_empty_objects_have_no_columns(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n{}\n")
    with pytest.raises(FormatError, match="its objects are empty"):
        fs.read(tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "kind",
    [
        pa.time32("s"),
        pa.duration("s"),
        pa.binary(),
        pa.decimal128(9, 2),
        pa.list_(pa.date32()),
        pa.map_(pa.string(), pa.int64()),
        pa.month_day_nano_interval(),
    ],
    ids=str,
)
def test_types_that_json_lacks_are_named(tmp_path: Path, kind: pa.DataType) -> None:
    inner = kind.value_type if pa.types.is_list(kind) else kind
    with pytest.raises(UsageError) as caught:
        fs.write(pa.table({"n": [1], "day": pa.nulls(1, kind)}), tmp_path / "a.jsonl")
    assert str(caught.value).endswith(
        f"a.jsonl: column 'day' has type {inner}, for which JSON has no form; make texts or "
        "numbers of it, or write parquet"
    )
    assert not any(tmp_path.iterdir())


def test_values_that_json_would_change_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with pytest.raises(UsageError, match="column 'x' has inf, and JSON neither NaN nor infinity"):
        fs.write(pa.table({"n": [1, 2], "x": [0.5, float("inf")]}), path)
    largest = pa.array([None, 2**63 - 1], pa.uint64())
    fs.write(pa.table({"n": largest}), path)
    assert fs.read(path).compute()["n"].to_pylist() == largest.to_pylist()
    with pytest.raises(UsageError, match=r"column 'n' has 9223372036854775808, .* float64"):
        fs.write(pa.table({"n": pa.array([2**63, 1], pa.uint64())}), path)
    with pytest.raises(UsageError, match="two columns are called 'a', and one would be lost"):
        fs.write(pa.table([[1], [2]], names=["a", "a"]), path)


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_64BIT"])
@pytest.mark.parametrize("packing", [{}, {"scale_factor": 0.5}, {"_FillValue": np.int8(-1)}])
def test_netcdf_has_the_sign_that_it_says(
    tmp_path: Path, form: str, packing: dict[str, Any]
) -> None:
    xarray = pytest.importorskip("xarray")
    stored = np.array([-56, 5, -1], np.int8)
    variable = (("x",), stored, {"_Unsigned": "true", **packing})
    engine = "h5netcdf" if form == "NETCDF4" else "scipy"
    xarray.Dataset({"u": variable}).to_netcdf(tmp_path / "u.nc", engine=engine, format=form)
    found = fs.read(tmp_path / "u.nc", variable="u").compute()
    with xarray.open_dataset(tmp_path / "u.nc") as expected:
        np.testing.assert_array_equal(found, expected["u"].to_numpy())
    assert found.dtype == expected["u"].dtype


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF3_64BIT"])
def test_booleans_of_xarray_are_booleans(tmp_path: Path, form: str) -> None:
    xarray = pytest.importorskip("xarray")
    expected = np.array([[True, False], [False, False], [True, True]])
    engine = "h5netcdf" if form == "NETCDF4" else "scipy"
    dataset = xarray.Dataset({"wet": (("x", "y"), expected)})
    dataset.to_netcdf(tmp_path / "w.nc", engine=engine, format=form)
    found = fs.read(tmp_path / "w.nc", variable="wet").compute()
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)
