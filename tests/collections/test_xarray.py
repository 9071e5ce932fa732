"""xarray on a cluster: its datasets of Dask's arrays, and of arrays in blocks."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import freestone as fs
from freestone.collections.base import Collection

xr = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")
pytest.importorskip("zarr")
pd = pytest.importorskip("pandas")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is not computed lazily"),
    # Of zarr, xarray and Dask themselves.
    pytest.mark.filterwarnings("ignore:Consolidated metadata"),
    pytest.mark.filterwarnings("ignore:The specified chunks separate"),
]

PIPELINES: dict[str, Callable[[Any], Any]] = {
    "mean of groups": lambda ds: ds.groupby("time.month").mean(),
    "anomaly of groups": lambda ds: ds.groupby("time.month") - ds.groupby("time.month").mean(),
    "rolling mean": lambda ds: ds.rolling(time=5).mean(),
    "resample": lambda ds: ds.resample(time="10D").max(),
    "rechunk": lambda ds: ds.chunk(time=-1, lat=2),
    "quantile": lambda ds: ds.chunk(time=-1).quantile(0.3, "time"),
    "interpolate": lambda ds: ds.interp(lat=[1.5, 2.5]),
    "weighted mean": lambda ds: ds.weighted(ds.lat + 1).mean(),
    "map_blocks": lambda ds: ds.map_blocks(operator.add, [1]),
    "correlation": lambda ds: xr.corr(ds.temperature, ds.temperature**2, "time").to_dataset(
        name="r"
    ),
    "stencil": lambda ds: ds.assign(
        smooth=(ds.temperature.dims, ds.temperature.data.map_overlap(lambda b: b * 2, depth=1))
    ),
}


def dataset() -> Any:
    values = np.random.default_rng(5).random((120, 6, 4))
    return xr.Dataset(
        {"temperature": (("time", "lat", "lon"), values)},
        coords={
            "time": pd.date_range("2001-01-01", periods=120),
            "lat": np.arange(6.0),
            "lon": np.arange(4.0),
        },
    )


@pytest.fixture(scope="module", params=["netcdf", "zarr"])
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("xarray")
    if request.param == "netcdf":
        dataset().to_netcdf(path / "x.nc", engine="h5netcdf")
        return xr.open_dataset(path / "x.nc", engine="h5netcdf", chunks={"time": 30})
    dataset().to_zarr(path / "x.zarr")
    return xr.open_dataset(path / "x.zarr", engine="zarr", chunks={"time": 30})


@pytest.mark.parametrize("name", PIPELINES)
def test_the_same_as_with_threads(cluster: fs.Cluster, opened: Any, name: str) -> None:
    made = PIPELINES[name](opened)
    xr.testing.assert_allclose(
        made.compute(scheduler=cluster.get), made.compute(scheduler="threads"), rtol=1e-12
    )


def test_a_persisted_dataset_is_read_once(cluster: fs.Cluster, tmp_path: Path) -> None:
    dataset().to_zarr(tmp_path / "x.zarr")
    ds = cluster.persist(xr.open_dataset(tmp_path / "x.zarr", engine="zarr", chunks={"time": 30}))
    for file in (tmp_path / "x.zarr").rglob("c/*"):
        if file.is_file():
            file.unlink()
    xr.testing.assert_allclose(
        ds.mean("time").compute(scheduler=cluster.get), dataset().mean("time")
    )
    parts = fs.split(ds.temperature.data)
    sums = cluster.map(lambda part: sum(float(block.sum()) for block in part), parts)
    assert sum(one.result() for one in sums) == pytest.approx(float(dataset().temperature.sum()))


def test_datasets_are_written(cluster: fs.Cluster, tmp_path: Path) -> None:
    ds = dataset().chunk(time=50)
    with dask.config.set(scheduler=cluster.get):
        ds.to_zarr(tmp_path / "x.zarr")
        ds.to_netcdf(tmp_path / "x.nc", engine="h5netcdf")
    xr.testing.assert_identical(xr.open_zarr(tmp_path / "x.zarr").load(), dataset())
    xr.testing.assert_identical(
        xr.open_dataset(tmp_path / "x.nc", engine="h5netcdf").load(), dataset()
    )


ON_BLOCKS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: x.mean(),
    "mean along a dimension": lambda x: x.mean("time"),
    "arithmetic": lambda x: (x * 2 + 1).sum("lat"),
    "isel": lambda x: x.isel(time=3),
    "where": lambda x: x.where(x > 0.5).sum(),
    "mean of groups": lambda x: x.groupby("time.month").mean(),
    "transpose": lambda x: x.T,
}


@pytest.mark.parametrize("name", ON_BLOCKS)
def test_it_takes_an_array_in_blocks(cluster: fs.Cluster, name: str) -> None:
    plain = dataset().temperature[:, :, 0]
    x = fs.Array.from_numpy(plain.values, 40)
    blocks = xr.DataArray(x, dims=("time", "lat"), coords={"time": plain.time})
    assert blocks.data is x
    function = ON_BLOCKS[name]
    np.testing.assert_allclose(function(blocks).values, function(plain).values, rtol=1e-12)


def test_scikit_learn_takes_an_array_in_blocks(cluster: fs.Cluster) -> None:
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    values = dataset().temperature.values.reshape(120, 24)
    x = fs.Array.from_numpy(values, 50)
    scaler = preprocessing.StandardScaler().fit(x)
    np.testing.assert_allclose(scaler.mean_, values.mean(axis=0))


def test_arrays_in_blocks_are_sorted_and_interpolated_on_a_cluster(cluster: fs.Cluster) -> None:
    x = np.arange(24.0).reshape(12, 2)
    times = {"time": pd.date_range("2020", periods=12)}
    found, expected = (
        xr.DataArray(data, dims=("time", "x"), coords=times)
        for data in (fs.Array.from_numpy(x, 5), x)
    )
    for pipeline in (
        lambda array: array.sortby("time", ascending=False),
        lambda array: array.interp(x=[0.5]),
        lambda array: array.copy(deep=True) * 2,
    ):
        np.testing.assert_array_equal(pipeline(found), pipeline(expected))


# Blocks as large as these are on workers, not in the graph.
VALUES = np.arange(400_000.0).reshape(-1, 4)


@pytest.fixture
def held(two_workers: fs.Cluster) -> fs.Array:
    x = fs.Array.from_numpy(VALUES, 40_000)
    x.persist()
    return x


@pytest.mark.parametrize("chunks", [{}, {"t": 30_000}, {"t": 30_000, "y": 3}], ids=str)
def test_xarray_cuts_chunks_out_of_blocks(
    two_workers: fs.Cluster, held: fs.Array, chunks: dict[str, int]
) -> None:
    data = xr.Dataset({"a": (("t", "y"), held), "b": (("t", "y"), held * 2)})
    chunked = data.chunk(chunks)
    found = chunked.compute(scheduler=two_workers.get)
    np.testing.assert_array_equal(found["a"].values, VALUES)
    np.testing.assert_array_equal(found["b"].values, VALUES * 2)
    mean = chunked["b"].mean("t").compute(scheduler=two_workers.get)
    np.testing.assert_allclose(mean.values, VALUES.mean(0) * 2)


def test_an_array_may_be_inside_of_a_task(two_workers: fs.Cluster, held: fs.Array) -> None:
    chunked = xr.DataArray(held + 1, dims=("t", "y")).chunk({"t": 30_000}, inline_array=True)
    np.testing.assert_array_equal(chunked.compute(scheduler=two_workers.get).values, VALUES + 1)


def test_no_row_goes_through_the_program(
    two_workers: fs.Cluster, held: fs.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunked = xr.DataArray(held, dims=("t", "y")).chunk({"t": 50_000})
    with monkeypatch.context() as patch:
        patch.setattr(Collection, "compute", None)
        kept = chunked.persist(scheduler=two_workers.get)
    np.testing.assert_array_equal(kept.compute(scheduler=two_workers.get).values, VALUES)


@pytest.mark.parametrize("inline_array", [False, True])
def test_xarray_reduces_chunks(two_workers: fs.Cluster, held: fs.Array, inline_array: bool) -> None:
    chunked = xr.Dataset({"a": (("x", "y"), held)}).chunk(x=30_000, inline_array=inline_array)
    for function in (lambda ds: ds.sum(), lambda ds: ds.std("x"), lambda ds: (ds + 1).max("y")):
        found = function(chunked).compute(scheduler=two_workers.get)["a"]
        expected = function(xr.Dataset({"a": (("x", "y"), VALUES)}))["a"]
        np.testing.assert_allclose(found, expected)
