"""Each step of the stack gives the same result."""

from __future__ import annotations

import os
import threading
from typing import Any

import dask.array as da
import numpy as np
import pytest

import freestone as fs
from freestone.errors import NotSerializableError

STEPS = {
    "back to the program": {"retain": False, "resident": False, "hoist": False},
    "retained": {"resident": False, "hoist": False, "tree": False, "fuse": False},
    "resident": {"isolation": "fork", "hoist": False, "tree": False, "fuse": False},
    "hoisted": {"isolation": "fork", "tree": False, "fuse": False},
    "tree": {"isolation": "fork", "fuse": False},
    "all": {},
}


def processes(cluster: fs.Cluster, **options: Any) -> set[int]:
    graph: dict[str, Any] = {f"pid-{i}": (lambda i: os.getpid(), i) for i in range(3)}
    return set(cluster.get(graph, list(graph), pure=False, **options))


@pytest.mark.parametrize("step", list(STEPS))
def test_the_result_is_the_same(cluster: fs.Cluster, step: str) -> None:
    values = da.random.RandomState(1).random_sample(2000, chunks=700)
    counts, _ = da.histogram(values, bins=10, range=(0, 1))
    expected = counts.compute(scheduler="synchronous")
    options = STEPS[step]

    def get(graph: Any, keys: Any, **_: Any) -> Any:
        return cluster.get(graph, keys, stack=fs.graph.Stack(**options))

    np.testing.assert_array_equal(counts.compute(scheduler=get), expected)


def test_where_tasks_run(cluster: fs.Cluster) -> None:
    resident = processes(cluster)
    assert len(resident) <= 2
    assert len(processes(cluster, isolation="fork", fuse=False)) == 3
    assert len(processes(cluster, resident=False, fuse=False)) == 3


def test_values_that_go_by_the_program(cluster: fs.Cluster) -> None:
    graph = {"a": (np.arange, 50_000), "b": "a", "c": (np.add, "a", "b"), "d": (np.sum, "c")}
    assert cluster.get(graph, ["d", ["b"]], retain=False)[0] == 50_000 * 49_999
    with pytest.raises(ZeroDivisionError):
        cluster.get({"a": 0, "b": (divmod, 1, "a")}, "b", retain=False)
    with pytest.raises(NotSerializableError):
        cluster.get({"a": (threading.Lock,)}, "a", retain=False)
