"""Variables of NetCDF along one dimension are read as the columns of a frame."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import MissingColumnError, SchemaError, UsageError

xr = pytest.importorskip("xarray")
h5netcdf = pytest.importorskip("h5netcdf")

DAYS = np.array(["2024-01-01", "2024-01-02", "2024-01-03"], "M8[ns]")
ENGINES = ["h5netcdf", "scipy"]


def station(units: str = "K", **more: Any) -> Any:
    variables = {
        "t": (("time",), np.array([1.5, np.nan, 3.0], "f4"), {"units": units}),
        "n": (("time",), np.array([1, 2, 3], "i2")),
        "name": (("time",), np.array(["a", "bb", "c"])),
        "crs": ((), 0),
    }
    return xr.Dataset(variables | more, coords={"time": DAYS})


def with_spectrum() -> Any:
    return station(spectrum=(("time", "f"), np.arange(6.0).reshape(3, 2)))


COLUMNS = {"time": DAYS.tolist(), "t": [1.5, None, 3.0], "n": [1, 2, 3], "name": ["a", "bb", "c"]}


def columns_of(frame: Any) -> dict[str, Any]:
    table = frame.compute()
    return {
        name: table[name].to_numpy().tolist() if name == "time" else table[name].to_pylist()
        for name in table.schema.names
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_of_one_dimension_is_a_frame(
    engine: Any, two_workers: fs.Cluster, tmp_path: Path
) -> None:
    station().to_netcdf(tmp_path / "a.nc", engine=engine)
    found = fs.read(tmp_path / "a.nc", block_rows=2)
    assert isinstance(found, fs.Frame)
    assert found.columns[0] == "time"
    assert columns_of(found) == COLUMNS
    assert columns_of(found.filter(n=3).select("name")) == {"name": ["c"]}


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_are_taken_beside_variables_of_more_dimensions(engine: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with_spectrum().to_netcdf(path, engine=engine)
    found = fs.read(path, columns=["t", "time"], where=[("n", ">", 1)])
    assert columns_of(found) == {"t": [None, 3.0], "time": DAYS[1:].tolist()}
    assert fs.read(path, variable="spectrum").shape == (3, 2)
    with pytest.raises(UsageError, match=r"say variable=, or columns=\['\w+', '\w+'\] for a frame"):
        fs.read(path)


def test_a_single_variable_is_an_array_unless_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    station().drop_vars(["n", "name"]).to_netcdf(path, engine="h5netcdf")
    np.testing.assert_array_equal(fs.read(path), np.array([1.5, np.nan, 3.0], "f4"))
    found = columns_of(fs.read(path, columns=["time", "t"]))
    assert found == {"time": COLUMNS["time"], "t": COLUMNS["t"]}


def test_columns_lie_in_groups_too(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    xr.Dataset({"x": ("k", [1, 2])}).to_netcdf(path, engine="h5netcdf")
    station().to_netcdf(path, engine="h5netcdf", group="met", mode="a")
    assert columns_of(fs.read(path, columns=["met/n", "met/t"])) == {
        "met/n": COLUMNS["n"],
        "met/t": COLUMNS["t"],
    }


MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"columns": ["t", "tim"]}, MissingColumnError, "did you mean 'time'"),
    ({"columns": ["x"]}, MissingColumnError, 'no variable "x"'),
    ({"columns": ["t", "spectrum"]}, UsageError, r"'spectrum' has the shape \(3, 2\).*variable="),
    ({"columns": ["t", "f"]}, UsageError, "'t' along 'time', 'f' along 'f'"),
    ({"variable": ["t", "n"]}, UsageError, "columns= names several of one dimension"),
]


@pytest.mark.parametrize(("options", "kind", "reason"), MISTAKES)
def test_mistakes_are_named(
    options: dict[str, Any], kind: type[Exception], reason: str, tmp_path: Path
) -> None:
    with_spectrum().assign_coords(f=[0.5, 1.0]).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(kind, match=reason):
        fs.read(tmp_path / "a.nc", **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_files_are_joined_if_their_units_agree(
    engine: Any, two_workers: fs.Cluster, tmp_path: Path
) -> None:
    for number, units in enumerate(("K", "K", "degC")):
        station(units).to_netcdf(tmp_path / f"{number}.nc", engine=engine)
    both = [tmp_path / "0.nc", tmp_path / "1.nc"]
    assert columns_of(fs.read(both))["t"] == COLUMNS["t"] * 2
    assert columns_of(fs.read(f"{tmp_path}/*.nc", columns=["n"])) == {"n": COLUMNS["n"] * 3}
    with pytest.raises(SchemaError, match="units of 't' are degC, and the other's K"):
        fs.read(f"{tmp_path}/*.nc").compute()


CALENDAR = (("time",), np.arange(3.0), {"units": "days since 2001-01-01", "calendar": "noleap"})


def test_a_calendar_that_is_not_asked_for_is_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    station(model_time=CALENDAR).to_netcdf(path, engine="h5netcdf")
    assert columns_of(fs.read(path, columns=["n"])) == {"n": COLUMNS["n"]}
    read: list[Callable[[], Any]] = [
        lambda: fs.read(path),
        lambda: fs.read(path, columns=["n", "model_time"]),
    ]
    for call in read:
        with pytest.raises(UsageError, match="noleap"):
            call()
    assert fs.read(path, decode_cf=False).compute()["model_time"].to_pylist() == [0.0, 1.0, 2.0]


def test_groups_have_the_dimensions_of_those_above(tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    with h5netcdf.File(path, "w") as file:
        file.dimensions["time"] = 3
        for name in ("time", "g/t", "g/deep/w"):
            file.create_variable(name, ("time",), "i4", data=np.arange(3, dtype="i4"))
        file.create_group("h").dimensions["time"] = 3
        file["h"].create_variable("u", ("time",), "i4", data=np.arange(3, dtype="i4"))
    found = fs.read(path, columns=["g/t", "time", "g/deep/w"], where=[("time", ">", 1)])
    assert found.compute().to_pydict() == {"g/t": [2], "time": [2], "g/deep/w": [2]}
    with pytest.raises(UsageError, match="'h/u' along 'h/time'"):
        fs.read(path, columns=["h/u", "time"])
