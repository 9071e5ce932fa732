"""Every Dask collection gives what it gives under `scheduler="synchronous"`."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask._task_spec import Task

import freestone as fs


def test_an_array(cluster: fs.Cluster) -> None:
    rows = da.random.RandomState(5).random_sample((600, 60), chunks=(50, 20))
    for wanted in (
        rows.mean(axis=0),
        (rows.T @ rows).std(),
        da.linalg.svd(rows[:, :20])[1],
    ):
        expected = wanted.compute(scheduler="synchronous")
        np.testing.assert_array_equal(wanted.compute(scheduler=cluster.get), expected)


def test_a_histogram_of_many_chunks(cluster: fs.Cluster) -> None:
    values = da.random.RandomState(6).normal(size=100_000, chunks=500)
    counts, _ = da.histogram(values, bins=30, range=(-3, 3))
    expected = counts.compute(scheduler="synchronous")
    np.testing.assert_array_equal(counts.compute(scheduler=cluster.get), expected)


def test_a_constant_array_goes_once_as_a_block(cluster: fs.Cluster) -> None:
    table = np.arange(400_000.0)

    @dask.delayed
    def part(whole: np.ndarray, start: int) -> float:
        return float(whole[start : start + 100].sum())

    whole = dask.delayed(table)
    total = dask.delayed(sum)([part(whole, start) for start in range(0, 400_000, 10_000)])
    before = cluster.statistics().inline_nbytes
    assert total.compute(scheduler=cluster.get) == pytest.approx(
        sum(table[start : start + 100].sum() for start in range(0, 400_000, 10_000))
    )
    assert cluster.statistics().inline_nbytes - before < table.nbytes / 10


# Dask's own way to find quantiles calls NumPy in a way that NumPy will end.
@pytest.mark.filterwarnings("ignore:Passing more than 2:DeprecationWarning")
def test_a_dataframe(cluster: fs.Cluster) -> None:
    table = pd.DataFrame({"key": np.arange(2000) % 13, "value": np.arange(2000.0)})
    frame = dd.from_pandas(table, npartitions=11)
    sums = frame.groupby("key").value.sum().compute(scheduler=cluster.get)
    expected = table.groupby("key").value.sum()
    pd.testing.assert_series_equal(sums.sort_index(), expected)
    assert frame.value.mean().compute(scheduler=cluster.get) == table.value.mean()
    indexed = frame.set_index("key").compute(scheduler=cluster.get)
    assert indexed.index.is_monotonic_increasing
    assert indexed.value.sum() == table.value.sum()


def test_a_bag(cluster: fs.Cluster) -> None:
    offset = 3
    bag = db.from_sequence(range(500), npartitions=23).map(lambda x: x + offset)
    assert bag.filter(lambda x: x % 2).sum().compute(scheduler=cluster.get) == sum(
        x + offset for x in range(500) if (x + offset) % 2
    )
    counts = bag.frequencies(split_every=4).compute(scheduler=cluster.get)
    assert dict(counts) == {x + offset: 1 for x in range(500)}
    assert bag.fold(max).compute(scheduler=cluster.get) == 499 + offset


def test_delayed_of_functions_with_closures(cluster: fs.Cluster) -> None:
    scale = 5

    @dask.delayed(pure=True)
    def times(x: int) -> int:
        return scale * x

    values = [times(i) for i in range(300)]
    assert dask.compute(*values, scheduler=cluster.get) == tuple(5 * i for i in range(300))
    assert dask.compute({"a": values[0], "b": [values[1]]}, scheduler=cluster.get) == (
        {"a": 0, "b": [5]},
    )


def iseven(number: int) -> bool:
    return number % 2 == 0


def describe(thing: Any) -> str:
    return thing.__name__ if callable(thing) else repr(thing)


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"retain": False}], ids=str)
def test_a_function_that_is_called_and_passed(cluster: fs.Cluster, options: dict[str, Any]) -> None:
    """Also when a call has a function as tool that another got as a constant, and the reverse."""
    graph: dict[str, Any] = {f"name{i}": (describe, iseven) for i in range(3)}
    graph |= {f"call{i}": (iseven, i) for i in range(3)}
    graph |= {f"map{i}": (list, (map, iseven, [i, i + 1])) for i in range(3)}
    graph |= {f"first{i}": Task(f"first{i}", describe, describe) for i in range(3)}
    expected = dask.get(graph, list(graph))
    assert cluster.get(graph, list(graph), **options) == expected
    assert expected[:4] == ("iseven", "iseven", "iseven", True)


def test_a_running_sum_that_merges_with_what_it_passes(cluster: fs.Cluster) -> None:
    total = da.arange(40, chunks=5).cumsum(axis=0, method="blelloch")
    assert total.compute(scheduler=cluster.get)[-1] == sum(range(40))


def test_as_the_default_scheduler(cluster: fs.Cluster) -> None:
    with dask.config.set(scheduler=cluster.get):
        before = cluster.statistics().done
        ones = da.ones((100, 100), chunks=10).persist()
        assert ones.sum().compute() == 10_000
        assert cluster.statistics().done > before


def test_a_future_of_the_cluster_in_a_graph(cluster: fs.Cluster) -> None:
    future = cluster.submit(pow, 2, 5)
    assert dask.delayed(abs)(future).compute(scheduler=cluster.get) == 32
