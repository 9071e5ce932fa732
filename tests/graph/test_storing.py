"""`dask.array.store` into the program's memory."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from dask._task_spec import convert_legacy_graph

import freestone as fs
from freestone.graph.storing import tasks_here


def numbers() -> Any:
    return da.arange(60, chunks=7).reshape(6, 10) * 2


EXPECTED = np.arange(60).reshape(6, 10) * 2


@pytest.mark.parametrize("lock", [True, False, threading.Lock()], ids=["lock", "no lock", "own"])
def test_into_an_array(cluster: fs.Cluster, lock: Any) -> None:
    first, second = np.zeros((6, 10), int), np.zeros((6, 10), int)
    da.store([numbers(), numbers() + 1], [first, second], lock=lock, scheduler=cluster.get)
    np.testing.assert_array_equal(first, EXPECTED)
    np.testing.assert_array_equal(second, EXPECTED + 1)


def test_into_a_file_that_is_mapped(cluster: fs.Cluster, tmp_path: Path) -> None:
    target = np.memmap(tmp_path / "x.bin", dtype=int, mode="w+", shape=(6, 10))
    numbers().store(target, scheduler=cluster.get)
    target.flush()
    found = np.fromfile(tmp_path / "x.bin", dtype=int).reshape(6, 10)
    np.testing.assert_array_equal(found, EXPECTED)


def test_what_is_stored_is_used(cluster: fs.Cluster) -> None:
    target = np.zeros((6, 10), int)
    stored = numbers().store(target, compute=False, return_stored=True)
    assert stored.sum().compute(scheduler=cluster.get) == EXPECTED.sum()
    np.testing.assert_array_equal(target, EXPECTED)


def test_only_the_stores_run_here() -> None:
    target = np.zeros((6, 10), int)
    (store,) = dask.optimize(numbers().store(target, compute=False))
    graph = store.__dask_graph__()
    specs = convert_legacy_graph(dict(graph))
    before = len(specs)
    here = tasks_here(specs)
    assert here
    assert len(here) < len(specs)
    assert len(specs) >= before


def test_other_graphs_run_elsewhere() -> None:
    assert tasks_here(convert_legacy_graph(dict(numbers().dask))) == []
