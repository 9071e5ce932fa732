"""NetCDF that is written, as freestone and xarray read it."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError

h5netcdf = pytest.importorskip("h5netcdf")
xr = pytest.importorskip("xarray")

ARRAYS = [
    np.arange(24.0).reshape(6, 4),
    np.arange(24, dtype=">i2").reshape(6, 2, 2),
    np.array([1.5, np.nan, 3], "f4"),
    np.arange(6) % 2 == 0,
    np.array(["a", "é" * 5, "", "b", "c", "d"]),
    np.array(["2024-01-01", "1600-02-03"], "M8[s]")[:1],
    np.array(["2024-01-01", "NaT", "1970-01-01"], "M8[D]"),
    np.array([5, "NaT"], "m8[ms]"),
    np.array([5, 7], "m8[h]"),
    np.zeros((0, 3)),
    np.uint64([2**64 - 1]),
]
DAY = datetime.datetime(2024, 1, 1, 12)
TABLE = pl.DataFrame(
    {
        "z": [1, 2, 3, 4],
        "a": [1.5, float("nan"), 3.0, 4.0],
        "gap": [1.5, None, 3.0, None],
        "text": ["x", "é", "", "yy"],
        "is": [True, False, True, True],
        "day": [DAY.date(), None, DAY.date(), DAY.date()],
        "time": pl.Series([DAY, DAY, None, DAY], dtype=pl.Datetime("ns")),
        "for": pl.Series([1, 2, None, 4], dtype=pl.Duration("ns")),
        "kind": pl.Series(["u", "v", "u", "u"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: f"{x.dtype}{x.shape}")
@pytest.mark.parametrize("compression", [None, "gzip"])
def test_arrays_come_back_here_and_in_xarray(
    tmp_path: Path, x: Any, compression: str | None
) -> None:
    path = tmp_path / "x.nc"
    halves = [x[: len(x) // 2], x[len(x) // 2 :]] if len(x) > 1 else [x]
    fs.write(fs.Array.from_blocks(halves), path, compression=compression)
    found = fs.read(path).compute()
    np.testing.assert_array_equal(found, x)
    assert found.dtype.kind == x.dtype.kind
    with xr.open_dataset(path, decode_timedelta=True) as opened:
        assert list(opened.data_vars) == ["data"]
        assert opened["data"].dims == tuple(f"dim_{axis}" for axis in range(x.ndim))
        np.testing.assert_array_equal(opened["data"].values, x)
    with h5netcdf.File(path) as file:
        assert (file["data"].compression is not None) == (compression is not None and len(x) > 0)


def test_names_coordinates_and_attributes(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path, values = tmp_path / "t.nc", np.arange(24.0).reshape(6, 2, 2)
    times = np.arange("2024-01-01", "2024-01-07", dtype="M8[D]")
    fs.write(
        fs.Array.from_numpy(values, 4) * 2,
        path,
        variable="surface/t2m",
        dimensions=["time", "lat", "lon"],
        coordinates={"time": times, "lat": [45.0, 50.0], "lon": np.array(["w", "e"])},
        attributes={"units": "K"},
    )
    assert fs.read(path, variable="surface/t2m").compute().tolist() == (values * 2).tolist()
    tree = xr.open_datatree(path, engine="h5netcdf")
    found = tree["surface"]["t2m"]
    np.testing.assert_array_equal(found.values, values * 2)
    assert found.dims == ("time", "lat", "lon")
    assert found.attrs == {"units": "K"}
    np.testing.assert_array_equal(found["time"].values, times)
    assert found["lat"].values.tolist() == [45, 50]
    assert found["lon"].values.tolist() == ["w", "e"]
    tree.close()


@pytest.mark.parametrize("blocks", [1, 3])
def test_frames_come_back(two_workers: fs.Cluster, tmp_path: Path, blocks: int) -> None:
    path = tmp_path / "t.nc"
    fs.write(fs.Frame.from_polars(TABLE, blocks), path, attributes={"title": "of a test"})
    found = fs.read(path).to_polars()
    day = pl.col("day").cast(pl.Datetime("ns"))
    assert found.equals(TABLE.with_columns(day, pl.col("kind").cast(str)))
    columns = fs.read(path, columns=["a", "gap"], where=[("z", ">", 2)]).to_polars()
    assert columns.rows() == [(3, 3), (4, None)]
    assert fs.read(path, variable="z").compute().tolist() == [1, 2, 3, 4]
    with xr.open_dataset(path, decode_timedelta=True) as opened:
        assert opened.attrs["title"] == "of a test"
        for name in TABLE.columns:
            wanted = TABLE[name].cast(str) if name == "kind" else TABLE[name]
            assert opened[name].dims == ("index",)
            np.testing.assert_array_equal(opened[name].values, wanted.to_numpy())


def test_a_column_of_the_dimension_is_its_coordinate(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    fs.write(TABLE.select("z", "a"), path, dimensions="z")
    with xr.open_dataset(path) as opened:
        assert opened["a"].sel(z=3).item() == 3
    assert fs.read(path).to_polars().equals(TABLE.select("z", "a"))


def test_tables_are_converted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day,t\n2024-01-01,1.5\n2024-01-02,2.5\n")
    words = ["t.csv", "t.nc", "--write", "dimensions=day"]
    command = [sys.executable, "-m", "freestone", "convert", *words]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with xr.open_dataset(tmp_path / "t.nc") as opened:
        assert opened["t"].sel(day="2024-01-02").item() == 2.5


@pytest.mark.parametrize(
    ("value", "options", "reason"),
    [
        (pl.DataFrame({"z": [1, None]}), {}, "column 'z' of int64 has missing"),
        (pl.DataFrame({"z": [True, None]}), {}, "column 'z' of bool has missing"),
        (pl.DataFrame({"z": ["a", None]}), {}, "column 'z' of .*string has missing"),
        (TABLE.select(pl.col("time").dt.replace_time_zone("UTC")), {}, "column 'time' is of times"),
        (TABLE.rename({"a": "m/s"}), {}, "can be called 'm/s'"),
        (TABLE, {"variable": "x"}, "it names that of an array"),
        (TABLE, {"dimensions": ["x", "y"]}, "it is 1 different names"),
        (np.ones(3, "c16"), {}, "the array is of complex128"),
        (np.ones(3, "f2"), {}, "the array is of float16"),
        (np.array(["2024"], "M8[Y]"), {}, "the array is of datetime64"),
        (np.ones(3), {"variable": "/"}, "it is a name"),
        (np.ones((3, 2)), {"dimensions": ["x", "x"]}, "of 3 x 2 elements"),
        (np.ones((3, 2)), {"coordinates": {"lat": [1]}}, "the dimensions are 'dim_0', 'dim_1'"),
        (np.ones((3, 2)), {"coordinates": {"dim_1": [1]}}, "the dimension has 2 elements"),
        (np.ones(3), {"compression": "lzf"}, "'gzip' or None"),
        (np.ones(3), {"dataset": "x"}, "there are: variable, dimensions, coordinates"),
    ],
)
def test_what_it_has_no_form_for_is_refused(
    tmp_path: Path, value: Any, options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        fs.write(value, tmp_path / "x.nc", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("value", [True, None, datetime.date(2024, 1, 1)])
def test_an_attribute_that_is_none_is_named(tmp_path: Path, value: Any) -> None:
    with pytest.raises(
        UsageError, match=f"the attribute 'when' is {value!r}".replace("(", ".")[:30]
    ):
        fs.write(np.ones((2, 3)), tmp_path / "x.nc", attributes={"when": value})
    assert not list(tmp_path.iterdir())


def test_what_would_change_values_or_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'scale_factor' would have other values read"):
        fs.write(np.ones(3), tmp_path / "x.nc", attributes={"scale_factor": 2.0})
    for values in (np.arange(3.0), np.arange(3), np.ones(3, bool)):
        with pytest.raises(UsageError, match=r"read as dates; write dates, as np.datetime64\("):
            fs.write(values, tmp_path / "x.nc", attributes={"units": "days since 2000-01-01"})
    with pytest.raises(UsageError, match="'a/b' is no name of a dimension"):
        fs.write(np.ones(3), tmp_path / "x.nc", dimensions=["a/b"])
    for values, name in (
        (np.array([1], "m8[s]"), "units"),
        (np.array(["2024-01-01"], "M8[ns]"), "calendar"),
        (np.array([True]), "dtype"),
        (np.array(["a"]), "_Encoding"),
    ):
        with pytest.raises(UsageError, match=f"{name!r}.* read"):
            fs.write(values, tmp_path / "x.nc", attributes={name: "days"})
    assert not list(tmp_path.iterdir())
    fs.write(fs.Frame.from_table({"a": [1]}, 1), tmp_path / "x.nc", attributes={"dtype": "of all"})
    assert fs.read(tmp_path / "x.nc").compute()["a"].to_pylist() == [1]


def test_coordinates_lie_beside_their_variable(tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    fs.write(np.arange(3.0), path, variable="g/h/v", dimensions="x", coordinates={"x": [5, 6, 7]})
    with xr.open_dataset(path, group="g/h") as found:
        assert found["v"].sel(x=6).item() == 1.0
    assert fs.read(path).compute().tolist() == [0, 1, 2]


def test_dates_beyond_nanoseconds_come_back(two_workers: fs.Cluster, tmp_path: Path) -> None:
    dates = np.array(["1066-10-14", "2500-01-01", "NaT", "0001-01-01"], "M8[D]")
    fs.write(fs.Array.from_numpy(dates, 2), tmp_path / "x.nc")
    found = fs.read(tmp_path / "x.nc", time_unit="s").compute()
    assert found.dtype == "M8[s]"
    np.testing.assert_array_equal(found, dates)
    with pytest.raises(FormatError, match=r"to 2262-04-11.*; time_unit='s' has it"):
        fs.read(tmp_path / "x.nc").compute()
    table = pa.table({"day": pa.array(dates), "at": pa.array(dates.astype("M8[us]"))})
    fs.write(table, tmp_path / "t.nc")
    assert fs.read(tmp_path / "t.nc", time_unit="us").compute().to_pydict() == {
        name: column.cast(pa.timestamp("us")).to_pylist()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def test_a_variable_that_is_called_as_its_dimension_comes_back(tmp_path: Path) -> None:
    fs.write(np.arange(3.0), tmp_path / "x.nc", dimensions="x", variable="x")
    np.testing.assert_array_equal(fs.read(tmp_path / "x.nc").compute(), np.arange(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coordinates": 5}, "coordinates=5: it is a dict"),
        ({"attributes": [1]}, r"attributes=\[1\]: it is a dict"),
        ({"dimensions": 5}, "dimensions=5: it is a list of names"),
        ({"coordinates": {"dim_0": [[1], [2, 3]]}}, "coordinates of 'dim_0' are no array"),
        (
            {"coordinates": {"x": [1, 2]}, "dimensions": "x", "variable": "x"},
            "coordinates of 'x': the array itself is called so; leave out or rename one",
        ),
    ],
)
def test_options_of_another_type_are_named(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        fs.write(np.arange(2.0), tmp_path / "x.nc", **options)
    assert not any(tmp_path.iterdir())


def test_a_column_and_a_coordinate_of_one_name_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="coordinates of 'index': a column is called so"):
        fs.write(pa.table({"index": [1]}), tmp_path / "x.nc", coordinates={"index": [1]})
