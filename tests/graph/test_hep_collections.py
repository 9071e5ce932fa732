"""dask-awkward, dask-histogram and coffea: their reducers are known, their results the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import freestone as fs
from freestone.graph.reading import read
from freestone.graph.rewriting import Reduction

for package in ("dask_awkward", "dask_histogram", "coffea", "hist.dask"):
    pytest.importorskip(package, reason="the extra 'hep' is not installed")

# coffea and its friends warn about each other's and NumPy's future.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def counting(cluster: fs.Cluster, found: list[Reduction]) -> Callable[..., Any]:
    """Give a scheduler that notes which reductions it makes of a graph."""

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        flat = [one for part in keys for one in (part if isinstance(part, list) else [part])]
        nodes = read(graph, flat, is_tree=True).nodes
        found.extend(node for node in nodes if isinstance(node, Reduction))
        return cluster.get(graph, keys, **options)

    return get


def test_a_histogram_of_many_partitions(cluster: fs.Cluster) -> None:
    import dask_histogram as dh

    values = da.from_array(np.random.default_rng(1).normal(size=4000), chunks=100)
    axis = dh.axis.Regular(20, -3, 3)
    lazy = dh.factory(values, axes=(axis,), split_every=1000)
    found: list[Reduction] = []
    (result,) = dask.compute(lazy, scheduler=counting(cluster, found))
    (expected,) = dask.compute(lazy, scheduler="synchronous")
    assert found
    np.testing.assert_array_equal(result.view(flow=True), expected.view(flow=True))
    assert result.sum(flow=True) == 4000


def test_awkward_arrays(cluster: fs.Cluster) -> None:
    import awkward as ak
    import dask_awkward as dak

    counts = np.random.default_rng(2).integers(0, 5, 600)
    jagged = ak.unflatten(np.arange(counts.sum(), dtype=float), counts)
    lazy = dak.from_awkward(jagged, npartitions=30)
    for wanted in (dak.sum(lazy), dak.max(lazy, axis=1), lazy[dak.num(lazy) > 2] * 2):
        (result,) = dask.compute(wanted, scheduler=cluster.get)
        (expected,) = dask.compute(wanted, scheduler="synchronous")
        assert ak.to_list(result) == ak.to_list(expected)


def accumulated(seed: int) -> dict[str, Any]:
    """Give what a coffea processor gives: counts by name."""
    return {"events": seed, "cuts": {"all": 1, "odd": seed % 2}}


def test_coffeas_accumulate(cluster: fs.Cluster) -> None:
    from coffea.processor import accumulate

    parts = [dask.delayed(accumulated, pure=True)(seed) for seed in range(50)]
    found: list[Reduction] = []
    lazy = dask.delayed(accumulate, pure=True)(parts)
    (result,) = dask.compute(lazy, scheduler=counting(cluster, found), debug=True)
    assert len(found) == 1
    assert found[0].recipe.commutes
    assert result == {"events": 1225, "cuts": {"all": 50, "odd": 25}}


def test_awkward_concatenation(cluster: fs.Cluster) -> None:
    import awkward as ak

    parts = [dask.delayed(ak.Array, pure=True)([[seed], [], [1, 2]]) for seed in range(40)]
    found: list[Reduction] = []
    lazy = dask.delayed(ak.concatenate, pure=True)(parts)
    (result,) = dask.compute(lazy, scheduler=counting(cluster, found))
    assert len(found) == 1
    assert ak.to_list(result) == [row for seed in range(40) for row in ([seed], [], [1, 2])]
