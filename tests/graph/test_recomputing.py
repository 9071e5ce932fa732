"""Cheap, large values: computed again by the calls that need them rather than written for them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import DataNode, List, Task, TaskRef
from dask.core import flatten

import freestone as fs
from freestone.collections.held import held_in
from freestone.graph.durations import key_label
from freestone.graph.grouping import Group, Limits, group
from freestone.graph.reading import Graph, read, specs_of
from freestone.graph.recomputing import Recomputing, passes_of

MEBIBYTE = 1 << 20


def task(key: str, function: Any, *needs: str) -> Task:
    return Task(key, function, *map(TaskRef, needs))


def graph_of(tasks: Sequence[Any], wanted: Iterable[str] = (), nbytes: int = MEBIBYTE) -> Graph:
    """Give the graph of some tasks that need each other and a block ``x``."""
    nodes = [DataNode("x", None), *tasks]
    numbers = {node.key: number for number, node in enumerate(nodes)}
    needs = [[numbers[need] for need in node.dependencies] for node in nodes]
    users = [sum(number in found for found in needs) for number in range(len(nodes))]
    results = {key: numbers[key] for key in wanted}
    for number in results.values():
        users[number] += 1
    held: Any = [SimpleNamespace(nbytes=nbytes)]
    return Graph([*numbers], nodes, needs, users, results, {}, {}, held)


def planned(graph: Graph, *calls: Sequence[str], alone: Iterable[str] = ()) -> list[list[str]]:
    """Plan calls of some tasks each; the keys that each call computes, and those it gives."""
    numbers = {key: number for number, key in enumerate(graph.keys)}
    groups = [Group(level, [numbers[key] for key in one]) for level, one in enumerate(calls, 1)]
    recomputing = Recomputing(graph)
    found = recomputing.plan([Group(0, [0]), *groups], 1, {numbers[key] for key in alone})
    return [
        [graph.keys[node] for node in nodes]
        for tasks in found[1:]
        for nodes in (recomputing.steps_of(tasks), recomputing.results_of(tasks))
    ]


def two_steps(function: Any = np.square) -> list[Any]:
    """Take the sum of an array away from its values, which are made of a block."""
    return [
        task("square", function, "x"),
        task("sum", np.sum, "square"),
        task("less", operator.sub, "square", "sum"),
        task("most", np.max, "less"),
    ]


CALLS = (["square", "sum"], ["less", "most"])


def test_a_second_call_computes_a_large_value_again() -> None:
    graph = graph_of(two_steps(), ["most"])
    first, given, second, last = planned(graph, *CALLS)
    assert (first, given) == (["square", "sum"], ["sum"])
    assert (second, last) == (["square", "less", "most"], ["most"])


def test_a_value_that_no_task_of_its_own_call_needs_is_made_by_the_others_alone() -> None:
    graph = graph_of(two_steps(), ["most"])
    found = planned(graph, ["square"], ["sum"], ["less", "most"])
    assert found == [["square", "sum"], ["sum"], ["square", "less", "most"], ["most"]]


@pytest.mark.parametrize(
    ("graph", "calls", "alone"),
    [
        pytest.param(graph_of(two_steps(np.exp), ["most"]), CALLS, (), id="dear"),
        pytest.param(graph_of(two_steps(), ["most"], nbytes=9000), CALLS, (), id="small"),
        pytest.param(graph_of(two_steps(), ["most", "square"]), CALLS, (), id="wanted"),
        pytest.param(graph_of(two_steps(), ["most"]), CALLS, ("less",), id="reduction"),
        pytest.param(
            graph_of([*two_steps(), *(task(f"less{n}", np.dot, "square", "sum") for n in "abc")],
                     ["most", "lessa", "lessb", "lessc"]),
            (*CALLS, ["lessa"], ["lessb"], ["lessc"]),
            (),
            id="many calls",
        ),
        pytest.param(
            graph_of([task("sum", np.sum, "x"), task("square", operator.mul, "x", "sum"),
                      task("max", np.max, "square"), task("less", operator.sub, "square", "max")],
                     ["less"]),
            (["sum", "square", "max"], ["less"]),
            (),
            id="as many others",
        ),
    ],
)  # fmt: skip
def test_other_values_are_written(
    graph: Graph, calls: Sequence[Sequence[str]], alone: Sequence[str]
) -> None:
    found = planned(graph, *calls, alone=alone)
    assert found[::2] == [*map(list, calls)]
    assert "square" in found[1]


def test_a_chain_of_cheap_tasks_is_computed_again_in_order() -> None:
    graph = graph_of(
        [
            task("mean", np.mean, "x"),
            task("mask", np.isnan, "x"),
            task("some", np.where, "mask", "mean", "x"),
            task("others", np.where, "mask", "x", "mean"),
            task("both", np.dot, "some", "others"),
            task("end", np.dot, "both", "some", "others"),
        ],
        ["end"],
    )
    calls = ["mean", "mask", "some", "others", "both"], ["end"]
    _, given, second, _ = planned(graph, *calls)
    assert sorted(given) == ["both", "mean"]
    assert sorted(second[:3]) == ["mask", "others", "some"]
    assert second[-1] == "end"
    assert second.index("mask") == 0


@pytest.mark.parametrize(
    ("node", "passes"),
    [
        (task("a", operator.add, "x", "y"), 1),
        (Task("a", operator.add, TaskRef("x"), Task(None, np.isnan, TaskRef("y"))), 1.5),
        (Task("a", np.transpose, TaskRef("x"), axes=(1, 0)), 0),
        (Task("a", operator.getitem, TaskRef("x"), (slice(3), None, 1)), 0),
        (Task("a", operator.getitem, TaskRef("x"), ([3, 1],)), None),
        (Task("a", np.add, TaskRef("x"), 1, out=TaskRef("y")), None),
        (Task("a", np.add, TaskRef("x"), List(TaskRef("y"))), None),
        (task("a", np.frompyfunc(print, 1, 1), "x"), None),
        (task("a", lambda x: x, "x"), None),
    ],
)
def test_the_passes_of_a_task(node: Any, passes: float | None) -> None:
    assert passes_of(node) == passes


def correlation(x: Any) -> Any:
    """Correlate columns with the mean of their rows, where both are numbers."""
    mean = x.mean(axis=2, keepdims=True)
    is_there = ~da.isnan(x) & ~da.isnan(mean)
    some, others = da.where(is_there, x, np.nan), da.where(is_there, mean, np.nan)
    apart = (some - da.nanmean(some, axis=0)) * (others - da.nanmean(others, axis=0))
    return da.nanmean(apart, axis=0) / (da.nanstd(some, axis=0) * da.nanstd(others, axis=0))


def standard(x: Any) -> Any:
    """Take the mean of a product away from it."""
    product = x * x
    return abs(product - product.mean(axis=0)).max(axis=0)


PIPELINES = [correlation, standard]


def held(cluster: fs.Cluster, blocks: int = 4) -> Any:
    values = np.random.default_rng(7).normal(size=(blocks * 16, 64, 160))
    values[::16, 0, :3] = np.nan
    return da.from_array(values, chunks=(16, 64, 160)).persist(scheduler=cluster.get)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_pipelines_have_the_same_digits(
    cluster: fs.Cluster, pipeline: Callable[[Any], Any]
) -> None:
    x = held(cluster)
    values = da.from_array(x.compute(scheduler=cluster.get), chunks=x.chunks)
    expected = pipeline(values).compute(scheduler="sync")
    for _ in range(2):  # By durations unknown, and known.
        np.testing.assert_array_equal(pipeline(x).compute(scheduler=cluster.get), expected)


def test_no_value_as_large_as_a_block_is_written(cluster: fs.Cluster) -> None:
    (made,) = dask.optimize(standard(held(cluster)))
    specs = specs_of(made.__dask_graph__())
    blocks = [block for block in map(held_in, specs.values()) if block is not None]
    client, keys = blocks[0].client, flatten(made.__dask_keys__())
    graph = read(specs, keys, client=client, has_views=True)
    first = len(graph.held)
    seconds = [0.0] * first + [0.003] * (len(graph.nodes) - first)
    limits = Limits.of(sum(seconds), slots=2)
    groups = group(graph.needs, graph.users, seconds, limits, free=first)
    recomputing = Recomputing(graph)
    written = [node for one in groups for node in recomputing.results_of(one.tasks)]
    assert sum(key_label(graph.keys[node]) == "mul" for node in written) == first
    calls = recomputing.plan(groups, first, ())
    written = [node for tasks in calls for node in recomputing.results_of(tasks)]
    assert not any(key_label(graph.keys[node]) == "mul" for node in written)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_whatever_the_groups_are_each_call_finds_what_it_needs(
    cluster: fs.Cluster, pipeline: Callable[[Any], Any]
) -> None:
    (made,) = dask.optimize(pipeline(held(cluster)))
    specs = specs_of(made.__dask_graph__())
    blocks = [block for block in map(held_in, specs.values()) if block is not None]
    client, keys = blocks[0].client, flatten(made.__dask_keys__())
    graph = read(specs, keys, client=client, has_views=True)
    first, count = len(graph.held), len(graph.nodes)
    random = np.random.default_rng(5)
    for _ in range(200):
        seconds = [0.0] * first + random.choice([1e-5, 1e-3, 5e-3], count - first).tolist()
        limits = Limits.of(sum(seconds), slots=int(random.integers(1, 4)))
        groups = group(graph.needs, graph.users, seconds, limits, free=first)
        recomputing = Recomputing(graph)
        there, used = set(range(first)), [0] * count
        for tasks in recomputing.plan(groups, first, ()):
            steps = recomputing.steps_of(tasks)
            assert {need for task in steps for need in graph.needs[task]} <= there | {*steps}
            there.update(recomputing.results_of(tasks))
            for need in recomputing.needs_of(tasks):
                used[need] += 1
                if used[need] == recomputing.users[need]:
                    there.discard(need)
        assert {*graph.wanted.values()} <= there
