"""What keeps one worker busy, or many tasks waiting, keeps nobody else from going on."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs

from .conftest import Opened


@pytest.fixture
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
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


def pass_gate(gate: str) -> None:
    """Wait until nobody holds a file."""
    with open(gate) as file:
        fcntl.flock(file, fcntl.LOCK_SH)


def test_what_waits_behind_thousands_is_answered(cluster: fs.Cluster, tmp_path: Path) -> None:
    """Neither questions nor calls of larger priority wait for those that were there before."""
    gate, count = tmp_path / "gate", 20_000
    with gate.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        first = cluster.submit(pass_gate, str(gate))
        waiting = cluster.map(lambda _, number: 2 * number, [first] * count, range(count))
        urgent = cluster.submit(double, 21, priority=1)
        assert urgent.result(60) == 42
        assert cluster.statistics().waiting == count
    assert cluster.gather(waiting) == [2 * number for number in range(count)]
