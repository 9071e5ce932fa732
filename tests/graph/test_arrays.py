"""Arrays of a cluster that Dask's graphs have as values, as xarray's `chunk` makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.collections.base import Collection

xr = pytest.importorskip("xarray")
da = pytest.importorskip("dask.array")

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


@pytest.mark.parametrize(
    "index",
    [
        (slice(10, 99_000), slice(1, 3)),
        (slice(None, None, 7), slice(None)),
        (slice(5, 5), slice(None)),
        (slice(None), [0, 2]),
        (17, slice(None)),
    ],
    ids=str,
)
def test_dask_cuts_what_an_index_takes(two_workers: fs.Cluster, held: fs.Array, index: Any) -> None:
    found = da.from_array(held, chunks=(40_000, 4))[index].compute(scheduler=two_workers.get)
    np.testing.assert_array_equal(found, VALUES[index])


def test_an_array_may_be_inside_of_a_task(two_workers: fs.Cluster, held: fs.Array) -> None:
    chunked = xr.DataArray(held + 1, dims=("t", "y")).chunk({"t": 30_000}, inline_array=True)
    np.testing.assert_array_equal(chunked.compute(scheduler=two_workers.get).values, VALUES + 1)


def test_any_other_task_gets_all_rows(two_workers: fs.Cluster, held: fs.Array) -> None:
    graph = {"x": held, "n": (np.sum, "x"), "rows": (len, "x")}
    assert two_workers.get(graph, ["n", "rows"]) == (VALUES.sum(), len(VALUES))


def test_no_row_goes_through_the_program(
    two_workers: fs.Cluster, held: fs.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunked = xr.DataArray(held, dims=("t", "y")).chunk({"t": 50_000})
    with monkeypatch.context() as patch:
        patch.setattr(Collection, "compute", None)
        kept = chunked.persist(scheduler=two_workers.get)
    np.testing.assert_array_equal(kept.compute(scheduler=two_workers.get).values, VALUES)
