"""Dask's callbacks see graphs that run on a cluster."""

from __future__ import annotations

import io
import operator
from typing import Any

import pytest
from dask.callbacks import Callback
from dask.diagnostics import Profiler, ProgressBar

import freestone as fs


class Recorder(Callback):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notified: list[Any] = []
        self.before: list[Any] = []
        self.after: dict[Any, Any] = {}

    def _start(self, dsk: Any) -> None:
        self.notified.append(("start", len(dsk)))

    def _start_state(self, dsk: Any, state: Any) -> None:
        self.notified.append(
            ("state", {key: len(found) for key, found in state["dependents"].items()})
        )

    def _pretask(self, key: Any, dsk: Any, state: Any) -> None:
        self.before.append(key)

    def _posttask(self, key: Any, result: Any, dsk: Any, state: Any, worker_id: Any) -> None:
        assert key not in self.after
        self.after[key] = result
        assert len(state["finished"]) == len(self.after)

    def _finish(self, dsk: Any, state: Any, errored: bool) -> None:
        self.notified.append(("finish", len(state.get("finished", ())), errored))


GRAPH: dict[str, Any] = {
    "a": 1,
    "b": (operator.add, "a", 1),
    "c": (operator.mul, "b", "b"),
    "unneeded": (abs, -1),
}


@pytest.mark.parametrize("options", [{}, {"fuse": False}, {"retain": False}])
def test_every_task_is_reported_once(cluster: fs.Cluster, options: dict[str, Any]) -> None:
    with Recorder() as seen:
        assert cluster.get(GRAPH, ["c", "a"], **options) == (4, 1)
    assert [what[0] for what in seen.notified] == ["start", "state", "finish"]
    assert seen.notified[1][1] == {"a": 1, "b": 1, "c": 0}
    assert seen.notified[2] == ("finish", 3, False)
    assert sorted(seen.before) == sorted(seen.after) == ["a", "b", "c"]
    assert (seen.after["c"], seen.after["a"]) == (4, 1)


def test_reductions_are_reported(cluster: fs.Cluster) -> None:
    graph: dict[str, Any] = {f"x{i}": (operator.add, i, 1) for i in range(100)}
    graph["sum"] = (sum, list(graph))
    with Recorder() as seen:
        assert cluster.get(graph, "sum") == 5050
    assert len(seen.after) >= 101
    assert seen.after["sum"] == 5050
    assert sorted(seen.after) == sorted(seen.before)


def fail() -> None:
    raise ValueError("as it should")


def test_the_end_is_reported_when_a_task_fails(cluster: fs.Cluster) -> None:
    with Recorder() as seen, pytest.raises(ValueError, match="as it should"):
        cluster.get({"x": (fail,), "y": (abs, "x")}, "y")
    assert seen.notified[-1][0] == "finish"
    assert seen.notified[-1][2] is True
    with Recorder() as seen, pytest.raises(KeyError):
        cluster.get({"x": 1}, "y")
    assert seen.notified == [("start", 1), ("finish", 0, True)]


def test_a_callback_may_know_values(cluster: fs.Cluster) -> None:
    graph = dict(GRAPH)
    with Callback(start=lambda dsk: dsk.update(b=10)):
        assert cluster.get(graph, "c") == 100
    assert graph == GRAPH


def test_dasks_own_bar_and_profiler(cluster: fs.Cluster) -> None:
    da = pytest.importorskip("dask.array")
    out = io.StringIO()
    with ProgressBar(out=out), Profiler() as profiler:
        total = da.ones((100, 100), chunks=10).sum().compute(scheduler=cluster.get)
    assert total == 10_000
    assert "100% Completed" in out.getvalue()
    assert len(profiler.results) > 100
    assert all(task.end_time >= task.start_time for task in profiler.results)
