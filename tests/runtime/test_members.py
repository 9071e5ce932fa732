"""How many workers there are, and who comes and goes at the program's word."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.config import Config
from freestone.errors import ClosedError, ConfigurationError, UsageError, WorkersMissingError
from freestone.hosts import node as nodes
from freestone.hosts.folders import Folders
from tests.waiting import until


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        yield cluster


def labels(cluster: fs.Cluster) -> list[str]:
    return [one.worker for one in cluster.statistics().workers if not one.leaving]


def test_a_cluster_grows_and_new_workers_get_work(cluster: fs.Cluster) -> None:
    cluster.resize(3)
    assert labels(cluster) == ["worker-0", "worker-1", "worker-2"]
    made = [cluster.submit(np.full, 50_000, n, worker=n) for n in range(3)]
    assert [int(future.result(60).sum()) for future in made] == [0, 50_000, 100_000]
    cluster.resize(3)
    assert len(labels(cluster)) == 3


def test_a_cluster_shrinks_and_loses_nothing(cluster: fs.Cluster) -> None:
    cluster.resize(3)
    held = [cluster.submit(np.full, 50_000, n, worker=n) for n in range(3)]
    cluster.wait(held, 60)
    done = cluster.statistics().done
    cluster.resize(1)
    assert labels(cluster) == ["worker-0"]
    assert until(lambda: len(cluster.statistics().workers) == 1)
    sums = [cluster.submit(np.sum, each) for each in held]
    assert cluster.gather(sums) == [0, 50_000, 100_000]
    # What they had was handed over, not made again.
    assert cluster.statistics().done - done == 3
    cluster.resize(2)
    assert labels(cluster) == ["worker-0", "worker-3"]


def test_a_worker_that_was_added_is_started_again_when_it_dies(cluster: fs.Cluster) -> None:
    cluster.resize(2)
    (pid,) = [one.pid for one in cluster.statistics().workers if one.worker == "worker-1"]
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: labels(cluster) == ["worker-0", "worker-2"])


@pytest.mark.parametrize("workers", [0, -1])
def test_no_worker_is_no_size(cluster: fs.Cluster, workers: int) -> None:
    with pytest.raises(ConfigurationError, match="at least 1 worker"):
        cluster.resize(workers)


def test_a_closed_cluster_has_no_size() -> None:
    cluster = fs.Cluster(executors=1, memory="64MiB", disk="64MiB")
    cluster.close()
    with pytest.raises(ClosedError, match="resize the cluster"):
        cluster.resize(2)
    with pytest.raises(ClosedError, match="wait for workers"):
        cluster.wait_for_workers(1)


def test_waiting_for_workers(cluster: fs.Cluster) -> None:
    cluster.wait_for_workers(1)
    with pytest.raises(
        WorkersMissingError, match=r"1 of 2 workers take calls after 10 ms"
    ) as caught:
        cluster.wait_for_workers(2, timeout_s=0.01)
    assert (caught.value.wanted, caught.value.there) == (2, 1)
    thread = threading.Thread(target=cluster.resize, args=(2,))
    thread.start()
    cluster.wait_for_workers(2, timeout_s=60)
    thread.join()


def test_waiting_ends_when_the_cluster_does(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer() -> None:
        raise RuntimeError("the cluster is closed")

    # The manager has ended, and the cluster is about to know.
    monkeypatch.setattr(type(cluster.client), "workers", lambda _: answer())
    with pytest.raises(ClosedError, match="wait for workers"):
        cluster.wait_for_workers(2)


def test_a_worker_that_is_let_go_does_not_count(cluster: fs.Cluster, tmp_path: Path) -> None:
    def hold(flag: str) -> None:
        while not os.path.exists(flag):
            time.sleep(0.001)

    cluster.resize(2)
    held = cluster.submit(hold, str(tmp_path / "go"), worker=1)
    assert until(lambda: sum(one.assigned for one in cluster.statistics().workers) == 1)
    cluster.retire(1)
    assert until(lambda: labels(cluster) == ["worker-0"])
    with pytest.raises(WorkersMissingError):
        cluster.wait_for_workers(2, timeout_s=0.01)
    assert [one.leaving for one in cluster.statistics().workers] == [False, True]
    (tmp_path / "go").touch()
    held.result(60)
    assert until(lambda: len(cluster.statistics().workers) == 1)


def test_a_worker_that_is_not_there_cannot_be_retired(cluster: fs.Cluster) -> None:
    with pytest.raises(UsageError, match=r"no worker 99 to retire; there are: worker-0"):
        cluster.retire(99)


def test_a_cluster_that_runs_no_calls_says_so(cluster: fs.Cluster) -> None:
    with (
        pytest.warns(RuntimeWarning, match="no worker that runs calls") as caught,
        fs.Cluster(workers=2, executors=0, memory="64MiB", disk="64MiB") as empty,
    ):
        empty.retire(1)
    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_the_last_worker_of_the_program_can_not_be_retired(cluster: fs.Cluster) -> None:
    value = np.arange(100_000)
    put = cluster.put(value)
    with pytest.raises(UsageError, match="worker-0 can't be retired: it is the only worker"):
        cluster.retire(0)
    cluster.resize(2)
    cluster.retire(0)
    with pytest.raises(UsageError, match="worker-1 can't be retired"):
        cluster.retire(1)
    assert until(lambda: len(cluster.statistics().workers) == 1)
    np.testing.assert_array_equal(put.result(60), value)
    np.testing.assert_array_equal(cluster.put(value + 1).result(60), value + 1)


def test_no_worker_is_retired_whose_blocks_nobody_could_take(
    cluster: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.resize(2)
    known = cluster.client.workers()
    monkeypatch.setattr(type(cluster.client), "workers", lambda _: known[1:])
    with pytest.raises(UsageError, match="no other worker is there now"):
        cluster.retire(1)


def test_a_number_of_workers_is_a_number(cluster: fs.Cluster) -> None:
    with pytest.raises(ConfigurationError, match="is an int, not '3'"):
        cluster.resize("3")  # type: ignore[arg-type]


def test_a_closed_cluster_has_no_figures(cluster: fs.Cluster) -> None:
    cluster.close()
    with pytest.raises(ClosedError):
        cluster.statistics()
    with pytest.raises(ClosedError):
        cluster.retire(0)


def test_an_engine_has_its_own_size() -> None:
    class Engine:
        name = "Nowhere"

        def listen(self) -> str:
            return "tcp://127.0.0.1:0"

        def start(self, access: object, config: object) -> None:
            pass

        def joining(self) -> int:
            return 0

        def close(self) -> None:
            pass

    with fs.Cluster(host=Engine(), memory="64MiB", disk="64MiB") as cluster:
        with pytest.raises(ConfigurationError, match="started by Nowhere"):
            cluster.resize(2)
        # The program's own worker runs nothing.
        with pytest.raises(WorkersMissingError, match="0 of 1"):
            cluster.wait_for_workers(1, timeout_s=0.01)


def test_workers_that_come_later_get_a_part_of_what_is_left(tmp_path: Path) -> None:
    config = Config.load({"folder": str(tmp_path)})
    folders = Folders.create(tmp_path)
    there: list[nodes.Node] = []
    for count in range(1, 30):
        there.append(nodes.node(config, folders, str(count), count, besides=there))
    whole = nodes.node(config, folders, "all", 1)
    folders.remove()
    assert sum(node.memory for node in there) <= 2 * whole.memory
    assert sum(node.disk for node in there) <= 2.1 * whole.disk
    assert there[1].memory == pytest.approx(whole.memory // 2, rel=0.1)
