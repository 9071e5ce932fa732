"""Wide tasks become trees, by place first, with the same results."""

from __future__ import annotations

import functools
import operator
from typing import Any

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import freestone as fs
from freestone.errors import NotAssociativeError
from freestone.graph.reading import read
from freestone.graph.rewriting import Reduction


def reductions_in(graph: Any, key: Any) -> list[Reduction]:
    return [node for node in read(graph, [key], is_tree=True).nodes if isinstance(node, Reduction)]


@fs.graph.associative
def joined(parts: list[str], between: str = "") -> str:
    return between.join(parts)


@fs.graph.associative(commutes=True)
def added(*values: int) -> int:
    return sum(values)


def mean_of(sums: list[tuple[int, int]]) -> float:
    total, count = summed(sums)
    return total / count


def summed(sums: list[tuple[int, int]]) -> tuple[int, int]:
    return sum(total for total, _ in sums), sum(count for _, count in sums)


fs.graph.associative(mean_of, combine=summed)


@fs.graph.associative
def differences(parts: list[int]) -> int:
    return functools.reduce(operator.sub, parts)


def wide(function: Any, count: int = 100, make: Any = str) -> dict[str, Any]:
    graph: dict[str, Any] = {f"part-{i}": (make, i) for i in range(count)}
    return graph | {"all": (function, list(graph))}


def test_a_wide_task_of_a_declared_function_is_a_reduction() -> None:
    (found,) = reductions_in(wide(joined), "all")
    assert found.parts == tuple(f"part-{i}" for i in range(100))
    assert not reductions_in(wide(joined, count=16), "all")
    assert not reductions_in(wide(len), "all")


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"keep": "session"}, {"tree": False}])
def test_the_order_is_kept(cluster: fs.Cluster, options: dict[str, Any]) -> None:
    assert cluster.get(wide(joined), "all", **options) == "".join(map(str, range(100)))


def test_no_call_takes_many_values(two_workers: fs.Cluster) -> None:
    before = two_workers.statistics().done
    assert two_workers.get(wide(joined), "all", fuse=False) == "".join(map(str, range(100)))
    assert two_workers.statistics().done - before >= 100 + 100 // 8


def test_values_as_arguments(cluster: fs.Cluster) -> None:
    graph: dict[str, Any] = {f"x{i}": (operator.add, i, 0) for i in range(50)}
    graph["all"] = (added, *graph)
    assert len(reductions_in(graph, "all")) == 1
    assert cluster.get(graph, "all") == sum(range(50))


def test_a_reducer_with_another_function_for_partial_results(cluster: fs.Cluster) -> None:
    graph: dict[str, Any] = {f"x{i}": (lambda i: (i, 1), i) for i in range(64)}
    graph["mean"] = (mean_of, list(graph))
    assert len(reductions_in(graph, "mean")) == 1
    assert cluster.get(graph, "mean") == 31.5


def test_a_part_that_something_else_needs(cluster: fs.Cluster) -> None:
    graph = wide(joined) | {"length": (len, "part-7"), "both": (operator.add, "all", "part-3")}
    whole = "".join(map(str, range(100)))
    assert cluster.get(graph, ["length", "both", "part-99"]) == (1, whole + "3", "99")


def test_a_part_that_comes_twice(cluster: fs.Cluster) -> None:
    graph = wide(joined, count=30) | {"same": "part-3"}
    graph["all"] = (joined, [*(f"part-{i}" for i in range(30)), "same"])
    assert cluster.get(graph, "all") == "".join(map(str, range(30))) + "3"


def test_a_false_declaration_is_found_in_debug_mode(cluster: fs.Cluster) -> None:
    graph = wide(differences, make=lambda i: 2 * i + 1)
    with pytest.raises(NotAssociativeError, match=r"f\(a, f\(b, c\)\) is not f\(a, b, c\)"):
        cluster.get(graph, "all", debug=True)
    assert cluster.get(graph, "all", tree=False) == functools.reduce(operator.sub, range(1, 200, 2))


def test_a_true_declaration_passes_in_debug_mode(cluster: fs.Cluster) -> None:
    assert cluster.get(wide(joined), "all", debug=True) == "".join(map(str, range(100)))


def counts_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 100, 30)


def collections() -> dict[str, Any]:
    """Dask collections with a wide last task."""
    numbers = db.from_sequence(range(2000), npartitions=60)
    frame = dd.from_pandas(pd.DataFrame({"a": range(500), "b": range(500)}), npartitions=40)
    parts = [dask.delayed(counts_of)(seed) for seed in range(70)]
    table = da.from_array(np.arange(12_000).reshape(200, 60), chunks=(5, 60))
    return {
        "array sum": table.sum(axis=0, split_every=1000),
        "array max": table.max(split_every=1000),
        "bag sum": numbers.sum(split_every=False),
        "bag fold": numbers.fold(operator.add, split_every=False),
        "frame sum": frame.a.sum(),
        "frame columns": frame.sum(),
        "delayed sum": dask.delayed(sum)(parts),
        "delayed max": dask.delayed(max)([part.sum() for part in parts]),
        "concatenate": dask.delayed(np.concatenate)(parts),
    }


@pytest.mark.parametrize("name", list(collections()))
def test_reducers_of_dask_are_known(cluster: fs.Cluster, name: str) -> None:
    found: list[Reduction] = []

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        flat = keys if isinstance(keys, list) else [keys]
        flat = [inner for one in flat for inner in (one if isinstance(one, list) else [one])]
        nodes = read(graph, flat, is_tree=True).nodes
        found.extend(node for node in nodes if isinstance(node, Reduction))
        return cluster.get(graph, keys, **options)

    wanted = collections()[name]
    value = wanted.compute(scheduler=get)
    assert found
    np.testing.assert_array_equal(value, wanted.compute(scheduler="synchronous"))
