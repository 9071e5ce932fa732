"""`Cluster.get` as a scheduler: Dask's own test kit, results, errors."""

from __future__ import annotations

import copy
import operator
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest
from dask._task_spec import Alias, DataNode, List, Task, TaskRef
from dask.utils_test import GetFunctionTestMixin

import freestone as fs
from freestone.errors import (
    ConfigurationError,
    CycleError,
    MissingKeyError,
    NotSerializableError,
)
from tests.waiting import until


class TestDasksOwn(GetFunctionTestMixin):
    """What Dask expects of any `get`."""

    get: Callable[..., Any]

    @pytest.fixture(autouse=True)
    def _with_cluster(self, cluster: fs.Cluster) -> Iterator[None]:
        self.get = cluster.get
        return

    def test_badkey(self) -> None:
        with pytest.raises(KeyError):
            self.get({":x": 1}, "badkey")

    def test_nested_badkey(self) -> None:
        with pytest.raises(KeyError):
            self.get({"x": 1, "y": 2, "z": (sum, ["x", "y"])}, [["badkey"], "y"])


def test_todays_specs(cluster: fs.Cluster) -> None:
    graph = {
        "one": DataNode("one", 1),
        "same": Alias("same", "one"),
        "two": Task("two", operator.add, TaskRef("same"), 1),
        "list": List(TaskRef("one"), List(TaskRef("two"), 7)),
        "keywords": Task("keywords", dict, a=TaskRef("two"), b=Task(None, str, TaskRef("one"))),
    }
    assert cluster.get(graph, [["same", "two"], "list", "keywords"]) == (
        (1, 2),
        [1, [2, 7]],
        {"a": 2, "b": "1"},
    )


def test_a_fused_task_runs_inside_out(cluster: fs.Cluster) -> None:
    tasks = [
        Task("a", operator.add, TaskRef("outside"), 1),
        Task("b", operator.mul, TaskRef("a"), TaskRef("a")),
        Task("c", operator.sub, TaskRef("b"), TaskRef("outside")),
    ]
    graph = {"outside": DataNode("outside", 4), "c": Task.fuse(*tasks)}
    assert cluster.get(graph, "c") == 21


def test_what_is_no_graph_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(TypeError, match=r"a graph is a dict .* and not \[1, 2\] \(list\)"):
        cluster.get([1, 2], "a")


def test_a_key_that_is_missing_is_named(cluster: fs.Cluster) -> None:
    with pytest.raises(MissingKeyError, match=r"no key 'nothing'.*it is asked for"):
        cluster.get({"x": 1}, ["nothing"])
    graph = {"x": Task("x", abs, TaskRef("gone"))}
    with pytest.raises(MissingKeyError, match=r"no key 'gone'.*task 'x' needs it"):
        cluster.get(graph, "x")


def test_a_cycle_is_shown(cluster: fs.Cluster) -> None:
    graph = {
        "a": (operator.add, "b", 1),
        "b": (operator.add, "c", 1),
        "c": (operator.add, "a", "d"),
        "d": 1,
    }
    with pytest.raises(CycleError) as caught:
        cluster.get(graph, "a")
    assert sorted(caught.value.cycle) == ["a", "b", "c"]
    with pytest.raises(CycleError):
        cluster.get({"x": Alias("x", "y"), "y": Alias("y", "x")}, "x")


def raises(value: int) -> None:
    raise ValueError(f"no {value}")


def test_an_error_says_which_task_raised_it(cluster: fs.Cluster) -> None:
    graph: dict[str, Any] = {f"x{i}": (operator.add, i, 1) for i in range(40)}
    graph["bad"] = (raises, "x3")
    graph["sum"] = (sum, ["bad", *(f"x{i}" for i in range(40))])
    with pytest.raises(ValueError, match="no 4") as caught:
        cluster.get(graph, "sum")
    assert "in Dask task 'bad'" in caught.value.__notes__
    assert not any(note.startswith("in step") for note in caught.value.__notes__)
    assert cluster.get({"x": (abs, -1)}, "x") == 1


def test_a_result_that_cannot_be_pickled(cluster: fs.Cluster) -> None:
    with pytest.raises(NotSerializableError, match=r"result.*lock"):
        cluster.get({"lock": (threading.Lock,), "x": (type, "lock")}, ["lock", "x"])


def test_a_constant_that_cannot_be_pickled(cluster: fs.Cluster) -> None:
    with pytest.raises(NotSerializableError) as caught:
        cluster.get({"x": Task("x", type, threading.Lock())}, "x")
    assert "Dask task" in "".join(caught.value.__notes__)


def test_an_unknown_option_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'retain'"):
        cluster.get({"x": 1}, "x", retian=True)


def square(value: int) -> int:
    return value * value


def squares(count: int) -> dict[str, Any]:
    graph: dict[str, Any] = {f"square-{i}": (square, i) for i in range(count)}
    return graph | {"sum": (sum, list(graph))}


def test_a_retained_graph_is_answered_without_running(cluster: fs.Cluster) -> None:
    first = cluster.get(squares(30), "sum", keep="session")
    before = cluster.statistics()
    assert cluster.get(squares(30), "sum", keep="session") == first
    after = cluster.statistics()
    assert after.done == before.done
    assert after.answered > before.answered


def test_a_changed_end_reuses_what_is_before_it(cluster: fs.Cluster) -> None:
    cluster.get(squares(12), "sum", keep="session")
    before = cluster.statistics().done
    graph = squares(12) | {"max": (max, list(squares(12))[:-1])}
    assert cluster.get(graph, "max", keep="session") == 11**2
    assert cluster.statistics().done == before + 1


@pytest.mark.parametrize("draw", [uuid.uuid4, random.random, np.random.rand])
@pytest.mark.parametrize("options", [{}, {"fuse": False}], ids=str)
def test_tasks_that_draw_random_numbers(
    cluster: fs.Cluster, options: dict[str, Any], draw: Callable[[], Any]
) -> None:
    graph: dict[str, Any] = {f"x{i}": (draw,) for i in range(60)}
    found = cluster.get(graph, list(graph), **options) + cluster.get(graph, list(graph), **options)
    assert len({*found}) == 120


def test_an_impure_graph_runs_each_time(cluster: fs.Cluster) -> None:
    before = cluster.statistics().done
    for _ in range(2):
        cluster.get({"x": (abs, -3)}, "x", keep="session", pure=False)
    assert cluster.statistics().done == before + 2


def test_blocks_of_a_graph_are_gone_after_it(cluster: fs.Cluster) -> None:
    graph: dict[str, Any] = {f"x{i}": (np.full, 200_000, float(i)) for i in range(8)}
    graph |= {f"y{i}": (np.sum, f"x{i}") for i in range(8)}
    graph["z"] = (sum, [f"y{i}" for i in range(8)])
    assert cluster.get(graph, "z", fuse=False) == 200_000 * 28
    assert until(lambda: cluster.statistics().nbytes < 200_000 * 8)


@pytest.mark.parametrize("fuse", [True, False])
def test_each_task_of_a_large_graph_runs_once(cluster: fs.Cluster, fuse: bool) -> None:
    graph: dict[str, Any] = {f"a{i}": (operator.add, i, 0) for i in range(700)}
    graph |= {f"b{i}": (operator.mul, f"a{i}", f"a{(i * 7) % 700}") for i in range(700)}
    graph |= {f"c{i}": (sum, [f"b{j}" for j in range(i, i + 10)]) for i in range(0, 700, 10)}
    graph["all"] = (sum, [f"c{i}" for i in range(0, 700, 10)])
    expected = sum(i * ((i * 7) % 700) for i in range(700))
    assert cluster.get(graph, "all", fuse=fuse) == expected


@fs.task
def doubled(x: int) -> int:
    return 2 * x


def test_a_task_is_called_in_a_graph(cluster: fs.Cluster) -> None:
    assert cluster.get({"x": 4, "y": (doubled, "x")}, "y") == 8


def test_settings_with_the_scheduler_can_be_copied(cluster: fs.Cluster) -> None:
    with dask.config.set(scheduler=cluster.get):
        copied = copy.deepcopy(dask.config.config)
    assert copied["scheduler"]({"x": 4, "y": (abs, "x")}, "y") == 4


def test_a_graph_asks_the_cluster_for_its_workers_once(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    client = type(cluster.client)

    def workers(self: Any, workers: Callable[[Any], Any] = client.workers) -> Any:
        asked.append("workers")
        return workers(self)

    monkeypatch.setattr(client, "workers", workers)
    assert cluster.get({"one": (operator.add, 1, 2), "two": (operator.neg, "one")}, "two") == -3
    assert asked == ["workers"]
