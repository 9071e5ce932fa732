"""Dask and Zarr, there and back."""

from __future__ import annotations

import numpy as np
import pytest

import freestone as fs

WHOLE = np.arange(60.0).reshape(20, 3)


def test_arrays_to_dask_and_back(cluster: fs.Cluster) -> None:
    da = pytest.importorskip("dask.array")
    x = fs.Array.from_numpy(WHOLE, 6)
    lazy = x.to_dask()
    assert (lazy.shape, lazy.chunks[0]) == ((20, 3), (6, 6, 6, 2))
    np.testing.assert_array_equal((lazy * 2).compute(scheduler="sync"), WHOLE * 2)
    back = fs.Array.from_dask(da.from_array(WHOLE, chunks=(6, 2)))
    assert back.offsets.tolist() == [0, 6, 12, 18, 20]
    np.testing.assert_array_equal(back.compute(), WHOLE)


def test_frames_and_bags_to_dask_and_back(cluster: fs.Cluster) -> None:
    pytest.importorskip("dask.dataframe")
    frame = fs.Frame.from_table({"a": list(range(10))}, 4)
    lazy = frame.to_dask()
    assert lazy.a.sum().compute(scheduler="sync") == 45
    assert fs.Frame.from_dask(lazy).compute()["a"].to_pylist() == list(range(10))
    bag = fs.Bag.from_items(range(10), 4)
    assert bag.to_dask().sum().compute(scheduler="sync") == 45
    assert fs.Bag.from_dask(bag.to_dask()).compute() == list(range(10))


def test_other_processes_of_dask_get_the_rows(cluster: fs.Cluster) -> None:
    bag = pytest.importorskip("dask.bag")
    lazy = fs.Bag.from_items(range(10), 4).to_dask()
    assert isinstance(lazy, bag.Bag)
    assert lazy.map(str).compute(scheduler="processes", num_workers=1) == list(map(str, range(10)))


@pytest.mark.parametrize("blocks", [6, [0, 3, 11, 20]])
def test_zarr_there_and_back(cluster: fs.Cluster, tmp_path: object, blocks: object) -> None:
    pytest.importorskip("zarr")
    url = f"{tmp_path}/x.zarr"
    fs.Array.from_numpy(WHOLE, blocks).to_zarr(url)  # type: ignore[arg-type]
    read = fs.Array.from_zarr(url)
    assert read.shape == (20, 3)
    np.testing.assert_array_equal(read.compute(), WHOLE)
    np.testing.assert_array_equal(fs.Array.from_zarr(url, block_rows=7).compute(), WHOLE)
