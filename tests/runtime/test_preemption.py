"""Stragglers and replicas, with real workers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from tests.waiting import DEADLINE_S, until

from .conftest import Opened


@pytest.fixture
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(workers=2, executors=1, memory="64MiB", disk="1GiB") as cluster:
        yield cluster


def sometimes(path: str, number: int) -> int:
    """Hang where it is called first, if it is given a path."""
    if path:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return number
        while True:
            time.sleep(0.01)
    return number


def test_a_call_that_hangs_is_overtaken(cluster: fs.Cluster, tmp_path: Path) -> None:
    assert cluster.gather(cluster.map(sometimes, [""] * 10, range(10))) == list(range(10))
    assert cluster.submit(sometimes, str(tmp_path / "one"), 99).result(DEADLINE_S) == 99
    # The one that hung was ended: both workers take calls again.
    there = [cluster.submit(sometimes, "", n, worker=n, pure=False) for n in (0, 1)]
    assert [future.result(DEADLINE_S) for future in there] == [0, 1]


def test_a_result_with_two_replicas_outlives_a_worker(cluster: fs.Cluster, tmp_path: Path) -> None:
    log = tmp_path / "log"

    def make(path: str) -> np.ndarray:
        with open(path, "a") as file:
            file.write("x")
        return np.arange(50_000)

    made = cluster.submit(make, str(log), replicas=2, worker=1)
    assert until(lambda: len(cluster.who_has([made])[made.name]) == 2)
    (pid,) = [entry.pid for entry in cluster.statistics().workers if entry.worker == "worker-1"]
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: "worker-1" not in cluster.who_has([made])[made.name])
    assert cluster.submit(np.sum, made).result(DEADLINE_S) == sum(range(50_000))
    assert log.read_text() == "x"


def test_no_replica_at_all_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(ValueError, match="replicas is at least 1"):
        cluster.submit(abs, -1, replicas=0)
