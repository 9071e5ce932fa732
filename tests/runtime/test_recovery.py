"""Killing any process at any time costs time, not results."""

from __future__ import annotations

import operator
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from tests.waiting import until

from .conftest import Opened


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
            pids += [int(pid) for pid in children.read().split() if is_executor(int(pid))]
    return pids


def is_executor(pid: int) -> bool:
    """Tell an executor from what forks executors; False if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8").strip() == "freestone-exec"
    except OSError:
        return False


def kill_an_executor(cluster: fs.Cluster, choose: random.Random) -> None:
    """Kill one of those that there are; it may end, and another begin, before that."""

    def killed() -> bool:
        pids = executors_of(cluster)
        if not pids:
            return False
        try:
            os.kill(choose.choice(pids), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    assert until(killed)


@pytest.mark.parametrize("seed", range(3))
def test_executors_killed_at_random(opened: Opened, seed: int) -> None:
    choose = random.Random(seed)
    count = 60
    with opened(executors=2, memory="256MiB") as cluster:
        parts = [cluster.submit(histogram, cluster.submit(block, i)) for i in range(count)]
        total = fs.reduce(operator.add, parts, commutes=True)
        for index, part in enumerate(fs.as_completed(parts)):
            part.result()
            # A call that was running when three executors died is refused.
            if index in (5, 35):
                kill_an_executor(cluster, choose)
        np.testing.assert_array_equal(total.result(), expected(count))


@pytest.mark.parametrize("when", [1, 10, 25])
def test_a_worker_killed_in_mid_run(opened: Opened, when: int) -> None:
    count = 40
    with opened(workers=3, executors=1, memory="256MiB") as cluster:
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


def test_a_block_that_nothing_can_make_again_is_missed_clearly(opened: Opened) -> None:
    from freestone.errors import InputLostError

    with opened(workers=2, executors=1, memory="256MiB") as cluster:
        only_there = cluster.submit(np.arange, 100_000, worker=1)
        only_there.result()
        os.kill(cluster.statistics().workers[1].pid, signal.SIGKILL)
        kept = cluster.put(np.arange(100_001))
        # Until its worker has it, it would be brought to another one.
        home = cluster.statistics().workers[0]
        cluster.submit(np.max, kept, worker=int(home.worker.split("-")[1])).result()
        os.kill(home.pid, signal.SIGKILL)
        with pytest.raises(InputLostError):
            cluster.submit(np.sum, kept).result()


def hold(folder: str) -> None:
    """Say that it has begun, and go on when it is told to."""
    Path(folder, "begun").touch()
    assert until(Path(folder, "go").exists)


def test_a_result_is_made_again_of_what_was_put_and_let_go(opened: Opened, tmp_path: Path) -> None:
    with opened(workers=2, executors=1, memory="64MiB") as cluster:
        home, other = cluster.statistics().workers
        held = cluster.submit(hold, str(tmp_path), worker=int(home.worker.split("-")[1]))
        assert until((tmp_path / "begun").exists)
        value = cluster.put(block(1))
        name = value.name
        made = cluster.submit(np.sort, value)
        fs.wait([made], timeout_s=600)
        assert cluster.who_has(made) == {made.name: [other.worker]}
        del value
        # Once the manager has heard that nobody wants it, only its home has it.
        assert until(lambda: not Path(other.folder, name).exists())
        os.kill(other.pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        np.testing.assert_array_equal(made.result(), np.sort(block(1)))
        held.result()
        path = Path(home.folder, name)
        assert path.exists()
        del made
        assert until(lambda: not path.exists())


def test_a_worker_that_is_started_again_removes_what_the_killed_one_left(opened: Opened) -> None:
    with opened(workers=2, executors=1, memory="64MiB") as cluster:
        killed = cluster.statistics().workers[1]
        worker = int(killed.worker.split("-")[1])
        # Nobody wants it, so it is not made again.
        name = cluster.submit(block, 1, worker=worker, keep="session").name
        assert until(lambda: Path(killed.folder, name).exists())
        os.kill(killed.pid, signal.SIGKILL)

        def is_replaced() -> bool:
            found = [(w.folder, w.pid) for w in cluster.statistics().workers]
            return any(folder == killed.folder and pid != killed.pid for folder, pid in found)

        assert until(is_replaced)
        assert not Path(killed.folder, name).exists()
        assert cluster.submit(sum, [1, 2]).result() == 3
