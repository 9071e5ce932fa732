"""Partitions outlive workers, executors, evictions and retirements."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from numpy.typing import NDArray

import freestone as fs
from tests.waiting import until

ROWS = 2000


def numbers(start: int, stop: int) -> NDArray[np.int64]:
    return np.arange(start, stop)


def total(part: fs.Partition, repeat: int) -> int:
    return sum(int(block.sum()) for block in part) + repeat


def crash_once(part: fs.Partition, flag: str) -> int:
    if not os.path.exists(flag):
        open(flag, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return total(part, 0)


def sums(cluster: fs.Cluster, parts: list[fs.Partition], repeat: int) -> int:
    calls = [cluster.submit(total, part, repeat) for part in parts]
    return sum(call.result(timeout_s=60) for call in calls) - repeat * len(parts)


def pid_of(cluster: fs.Cluster, worker: str | None) -> int:
    (pid,) = [one.pid for one in cluster.statistics().workers if one.worker == worker]
    return pid


EXACT = ROWS * (ROWS - 1) // 2


@pytest.mark.parametrize("when", ["before", "between", "materialized"])
def test_a_worker_is_killed(when: str) -> None:
    with fs.Cluster(workers=3, executors=1, memory="128MiB") as cluster:
        x = fs.Array.from_function(ROWS, 10, numbers).persist()
        parts = fs.split(x)
        if when == "between":
            assert sums(cluster, parts, 1) == EXACT
        if when == "materialized":
            for part in parts:
                part.materialize()
            assert sums(cluster, parts, 1) == EXACT
        os.kill(pid_of(cluster, parts[-1].worker), signal.SIGKILL)
        for repeat in (2, 3):
            assert sums(cluster, parts, repeat) == EXACT
        # And so does a new split, on the workers that are left.
        again = fs.split(x)
        assert sorted(index for part in again for index in part.indexes) == list(range(200))
        assert sums(cluster, again, 4) == EXACT


def test_an_executor_is_killed_in_a_call_on_a_partition(tmp_path: object) -> None:
    with fs.Cluster(executors=2, memory="128MiB") as cluster:
        x = fs.Array.from_function(ROWS, 10, numbers)
        parts = fs.split(x)
        assert sums(cluster, parts, 1) == EXACT
        calls = [cluster.submit(crash_once, part, f"{tmp_path}/flag") for part in parts]
        assert sum(call.result() for call in calls) == EXACT
        assert sums(cluster, parts, 2) == EXACT


def test_a_worker_is_retired() -> None:
    with fs.Cluster(workers=2, executors=1, memory="128MiB") as cluster:
        x = fs.Array.from_function(ROWS, 10, numbers).persist()
        parts = fs.split(x)
        assert sums(cluster, parts, 1) == EXACT
        done = cluster.statistics().done
        cluster.retire(int(str(parts[-1].worker).removeprefix("worker-")))
        assert sums(cluster, parts, 2) == EXACT
        assert sums(cluster, parts, 3) == EXACT
        # The blocks were handed over: lists of names and calls ran again, no block did.
        assert cluster.statistics().done - done < 20


def test_more_than_memory_holds() -> None:
    def wide(start: int, stop: int) -> NDArray[np.float64]:
        return np.full((stop - start, 64), float(start))

    with fs.Cluster(executors=1, memory="16MiB", disk="512MiB") as cluster:
        x = fs.Array.from_function((80_000, 64), 1000, wide).persist()
        parts = fs.split(x, per=4)
        expected = sum(1000 * 64 * start for start in range(0, 80_000, 1000))
        for repeat in range(3):
            calls = [cluster.submit(total, part, repeat) for part in parts]
            assert sum(call.result() for call in calls) == expected + 4 * repeat


def test_blocks_go_when_their_partition_does() -> None:
    with fs.Cluster(executors=1, memory="128MiB") as cluster:
        x = fs.Array.from_function(ROWS, 10, numbers).persist()
        parts = fs.split(x)
        assert sums(cluster, parts, 1) == EXACT
        x.drop()
        del x, parts
        folder = cluster.statistics().workers[0].folder

        def is_empty() -> bool:
            # Each answer tells what executors let go of.
            cluster.submit(os.getpid, pure=False).result()
            return not any(len(name) == 32 for name in os.listdir(folder))

        assert until(is_empty)
        assert until(lambda: cluster.statistics().workers[0].blocks == 0)
