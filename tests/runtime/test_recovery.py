"""Killing any process at any time costs time, not results."""

from __future__ import annotations

import operator
import os
import random
import signal

import numpy as np
import pytest

import freestone as fs


def block(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1000, 50_000)


def histogram(values: np.ndarray) -> np.ndarray:
    return np.bincount(values, minlength=1000)


def expected(count: int) -> np.ndarray:
    return sum((histogram(block(seed)) for seed in range(count)), np.zeros(1000, int))


def executors_of(cluster: fs.Cluster) -> list[int]:
    pids = []
    for worker in cluster.statistics().workers:
        with open(f"/proc/{worker.pid}/task/{worker.pid}/children") as children:
            pids += [int(pid) for pid in children.read().split()]
    return pids


@pytest.mark.parametrize("seed", range(3))
def test_executors_killed_at_random(seed: int) -> None:
    choose = random.Random(seed)
    count = 60
    with fs.Cluster(executors=2, memory="256MiB") as cluster:
        parts = [cluster.submit(histogram, cluster.submit(block, i)) for i in range(count)]
        total = fs.reduce(operator.add, parts, commutes=True)
        for index, part in enumerate(fs.as_completed(parts)):
            part.result()
            if index % 10 == 5:
                os.kill(choose.choice(executors_of(cluster)), signal.SIGKILL)
        np.testing.assert_array_equal(total.result(), expected(count))


@pytest.mark.parametrize("when", [1, 10, 25])
def test_a_worker_killed_in_mid_run(when: int) -> None:
    count = 40
    with fs.Cluster(workers=3, executors=1, memory="256MiB") as cluster:
        blocks = [cluster.submit(block, i) for i in range(count)]
        parts = [cluster.submit(histogram, one) for one in blocks]
        victim = cluster.statistics().workers[2].pid
        for index, part in enumerate(fs.as_completed(parts)):
            if index == when:
                os.kill(victim, signal.SIGKILL)
            part.result()
        np.testing.assert_array_equal(
            fs.reduce(operator.add, parts, commutes=True).result(), expected(count)
        )
        # Blocks whose only replica was lost are made again when they are asked for.
        for i in (0, count // 2, count - 1):
            np.testing.assert_array_equal(blocks[i].result(), block(i))


def test_a_block_that_nothing_can_make_again_is_missed_clearly() -> None:
    from freestone.errors import InputLostError

    with fs.Cluster(workers=2, executors=1, memory="256MiB") as cluster:
        only_there = cluster.submit(np.arange, 100_000, worker=1)
        only_there.result()
        os.kill(cluster.statistics().workers[1].pid, signal.SIGKILL)
        kept = cluster.put(np.arange(100_001))
        # Until its worker has it, it would be brought to another one.
        cluster.submit(np.max, kept).result(timeout_s=30)
        os.kill(cluster.statistics().workers[0].pid, signal.SIGKILL)
        with pytest.raises(InputLostError):
            cluster.submit(np.sum, kept).result(timeout_s=30)
