"""Random blockings and placements, and what may happen to them: each block once, in every state."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import freestone as fs
from freestone.errors import WorkerAbsentError

WIDTH = 2_000
WORKERS = 3


@pytest.fixture(scope="module")
def three_workers() -> Iterator[fs.Cluster]:
    """Little memory, so that blocks are evicted to disk."""
    with fs.Cluster(workers=WORKERS, executors=1, memory="16MiB", disk="1GiB") as cluster:
        yield cluster


def make(start: int, stop: int, salt: int) -> Any:
    rows = np.arange(start, stop, dtype=np.int64)[:, None] + salt
    return fs._native.blocks.Stored(np.repeat(rows, WIDTH, axis=1))


def look(part: Any) -> tuple[list[int], NDArray[np.int64], tuple[range, ...]]:
    first = [block[:, 0] for block in part]
    return part.indexes, np.concatenate(first), part.item_indexes


# Either may be gone already: who was killed just before is listed until that is noticed.
def kill_worker(cluster: fs.Cluster, number: int) -> None:
    workers = cluster.statistics().workers
    with contextlib.suppress(ProcessLookupError):
        os.kill(workers[number % len(workers)].pid, signal.SIGKILL)


def kill_executor(cluster: fs.Cluster, number: int) -> None:
    workers = cluster.statistics().workers
    where = int(workers[number % len(workers)].worker.removeprefix("worker-"))
    with contextlib.suppress(WorkerAbsentError, ProcessLookupError):
        pid = cluster.submit(os.getpid, worker=where, pure=False).result(timeout_s=60)
        os.kill(pid, signal.SIGKILL)


def evict(cluster: fs.Cluster, number: int) -> None:
    for worker in cluster.statistics().workers:
        where = int(worker.worker.removeprefix("worker-"))
        filled = [
            cluster.submit(np.ones, 800_000 + number + i, worker=where, pure=False)
            for i in range(3)
        ]
        fs.wait(filled, timeout_s=60)


EVENTS = {"kill a worker": kill_worker, "kill an executor": kill_executor, "evict": evict}


def check(cluster: fs.Cluster, x: fs.Array, parts: list[fs.Partition], salt: int) -> None:
    """Every block is in exactly one partition, on one worker, and its rows are in their places."""
    calls = [cluster.submit(look, part, pure=False) for part in parts]
    found = [call.result(timeout_s=120) for call in calls]
    assert sorted(index for indexes, _, _ in found for index in indexes) == list(
        range(len(x.offsets) - 1)
    )
    whole = np.full(len(x), -1, np.int64)
    for part, (indexes, rows, items) in zip(parts, found, strict=True):
        assert (indexes, items) == (part.indexes, part.item_indexes)
        whole[part.get_item_indexes()] = rows
    np.testing.assert_array_equal(whole, np.arange(len(x)) + salt)


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
@given(
    rows=st.integers(1, 400),
    cuts=st.lists(st.integers(0, 400), max_size=30),
    placement=st.lists(st.integers(0, WORKERS), min_size=32, max_size=32),
    per=st.sampled_from(["core", "worker", 3]),
    history=st.lists(
        st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, 5)), min_size=1, max_size=3
    ),
    salt=st.integers(0, 1 << 40),
)
def test_each_block_once_whatever_happens(
    three_workers: fs.Cluster,
    rows: int,
    cuts: list[int],
    placement: list[int],
    per: str | int,
    history: list[tuple[str, int]],
    salt: int,
) -> None:
    offsets = np.array(sorted({0, rows, *(cut % (rows + 1) for cut in cuts)}))
    numbers = [
        int(worker.worker.removeprefix("worker-")) for worker in three_workers.statistics().workers
    ]
    futures = []
    for (start, stop), where in zip(pairwise(offsets.tolist()), placement, strict=False):
        near = {} if where >= len(numbers) else {"near": numbers[where]}
        futures += three_workers.map(make, [start], [stop], [salt], **near)
    x = fs.Array.from_futures(futures, rows=np.diff(offsets).tolist()).persist()
    parts = fs.split(x, per=per)
    check(three_workers, x, parts, salt)
    for event, number in history:
        EVENTS[event](three_workers, number)
        check(three_workers, x, parts, salt)
        check(three_workers, x, fs.split(x, per=per), salt)
