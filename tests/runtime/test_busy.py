"""What keeps one worker busy, or many tasks waiting, keeps nobody else from going on."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

import freestone as fs


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        yield cluster


def double(number: int) -> int:
    return 2 * number


def test_a_worker_that_does_not_answer_stalls_nobody(cluster: fs.Cluster) -> None:
    assert cluster.gather(cluster.map(double, range(50))) == [2 * n for n in range(50)]
    hangs = next(entry for entry in cluster.statistics().workers if entry.worker == "worker-1")
    os.kill(hangs.pid, signal.SIGSTOP)
    try:
        results = cluster.map(double, range(1000, 2000))
        assert cluster.gather(results) == [2 * n for n in range(1000, 2000)]
        assert cluster.statistics().assigned == 0
    finally:
        os.kill(hangs.pid, signal.SIGCONT)
    there = cluster.submit(double, 7, worker=1, pure=False)
    assert there.result(60) == 14


def test_what_waits_behind_thousands_is_answered(cluster: fs.Cluster) -> None:
    """Neither questions nor calls of larger priority wait for those that were there before."""
    first = cluster.submit(time.sleep, 0.5)
    waiting = cluster.map(lambda _, number: 2 * number, [first] * 20_000, range(20_000))
    urgent = cluster.submit(double, 21, priority=1)
    assert urgent.result(60) == 42
    assert cluster.statistics().waiting > 0
    assert cluster.gather(waiting) == [2 * n for n in range(20_000)]
