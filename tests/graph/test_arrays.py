"""Arrays of a cluster that Dask's graphs have as values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import freestone as fs

da = pytest.importorskip("dask.array")

# Blocks as large as these are on workers, not in the graph.
VALUES = np.arange(400_000.0).reshape(-1, 4)


@pytest.fixture
def held(two_workers: fs.Cluster) -> fs.Array:
    x = fs.Array.from_numpy(VALUES, 40_000)
    x.persist()
    return x


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


def test_any_other_task_gets_all_rows(two_workers: fs.Cluster, held: fs.Array) -> None:
    graph = {"x": held, "n": (np.sum, "x"), "rows": (len, "x")}
    assert two_workers.get(graph, ["n", "rows"]) == (VALUES.sum(), len(VALUES))


@pytest.mark.parametrize("inline_array", [False, True])
@pytest.mark.parametrize(
    "function",
    [
        lambda d: d.sum(),
        lambda d: (d + 1).sum(axis=0),
        lambda d: (d * 2 + d).std(axis=0),
        lambda d: d.rechunk((30_000, 2))[5:70_000].sum(),
        lambda d: da.full_like(d, 2).sum(),
    ],
)
def test_what_dask_has_fused_is_cut_too(
    two_workers: fs.Cluster, held: fs.Array, function: Any, inline_array: bool
) -> None:
    chunks = {"chunks": (40_000, 4), "inline_array": inline_array}
    found = function(da.from_array(held, **chunks)).compute(scheduler=two_workers.get)
    np.testing.assert_allclose(found, function(da.from_array(VALUES, **chunks)).compute())
