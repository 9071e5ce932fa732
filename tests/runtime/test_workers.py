"""Workers that die and come again, and workers that are let go."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ConfigurationError, WorkerAbsentError
from freestone.node.executor import uncollected
from tests.waiting import until


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=2, executors=1, memory="256MiB") as cluster:
        yield cluster


@pytest.fixture
def file(tmp_path: Path) -> fs.File:
    path = tmp_path / "data"
    path.write_bytes(bytes(100_000))
    return fs.file(path)


def size_of(file: fs.File, plus: int = 0) -> int:
    return len(file.read_bytes()) + plus


def home_of(cluster: fs.Cluster) -> list[int]:
    """Return the process of the program's own worker, if it is there."""
    return [worker.pid for worker in cluster.statistics().workers if worker.folder[-2:] == "/0"]


def kill_home(cluster: fs.Cluster) -> int:
    (pid,) = home_of(cluster)
    os.kill(pid, signal.SIGKILL)
    return pid


def test_files_are_known_to_the_worker_that_comes_after(cluster: fs.Cluster, file: fs.File) -> None:
    assert cluster.submit(size_of, file).result() == 100_000
    killed = kill_home(cluster)
    assert until(lambda: home_of(cluster) not in ([], [killed]))
    assert until(lambda: cluster.submit(size_of, file, plus=1).exception() is None)
    assert cluster.submit(size_of, file, plus=2).result() == 100_002


def test_values_go_to_the_worker_that_comes_after(cluster: fs.Cluster) -> None:
    killed = kill_home(cluster)
    assert until(lambda: home_of(cluster) not in ([], [killed]))
    value = np.arange(100_000)
    assert until(lambda: cluster.put(value).exception() is None)
    assert cluster.submit(np.sum, cluster.put(value)).result() == value.sum()


@pytest.mark.parametrize("workers", [1, 2])
def test_values_put_while_the_home_is_down(workers: int) -> None:
    values = [np.arange(100_000) + k for k in range(3)]
    with fs.Cluster(workers=workers, executors=1, memory="256MiB") as cluster:
        kill_home(cluster)
        futures = [cluster.put(values[0]), *cluster.scatter(values[1:])]
        assert cluster.submit(np.sum, futures[0]).result() == values[0].sum()
        for future, value in zip(futures, values, strict=True):
            np.testing.assert_array_equal(future.result(), value)


def test_a_result_elsewhere_waits_for_the_next_home(cluster: fs.Cluster) -> None:
    there = cluster.submit(np.arange, 100_000, worker=1)
    assert there.exception() is None
    killed = kill_home(cluster)
    assert until(lambda: home_of(cluster) != [killed])
    np.testing.assert_array_equal(there.result(), np.arange(100_000))


def test_the_program_has_a_home_after_its_first_was_let_go(cluster: fs.Cluster) -> None:
    cluster.retire(0)
    value = np.arange(100_000)
    np.testing.assert_array_equal(cluster.put(value).result(), value)


def test_a_call_on_a_file_waits_for_the_next_home(cluster: fs.Cluster, file: fs.File) -> None:
    assert cluster.submit(size_of, file).result() == 100_000
    kill_home(cluster)
    assert cluster.submit(size_of, file, plus=1).result() == 100_001


def test_a_worker_that_was_let_go_is_not_started_again(cluster: fs.Cluster) -> None:
    there = cluster.submit(np.arange, 100_000, worker=1)
    there.result()
    (pid,) = [worker.pid for worker in cluster.statistics().workers if worker.folder[-2:] == "/1"]
    cluster.retire(1)
    assert until(lambda: len(cluster.statistics().workers) == 1)
    assert until(lambda: not Path(f"/proc/{pid}").exists())
    assert cluster.submit(np.sum, there).result() == sum(range(100_000))
    assert [worker.worker for worker in cluster.statistics().workers] == ["worker-0"]


def test_a_call_for_a_worker_that_is_not_there_says_so(cluster: fs.Cluster) -> None:
    with pytest.raises(
        WorkerAbsentError, match=r"worker-7 .*never was; there are worker-0, worker-1"
    ):
        cluster.submit(abs, -1, worker=7).result()
    killed = kill_home(cluster)
    assert until(lambda: home_of(cluster) not in ([], [killed]))
    with pytest.raises(WorkerAbsentError, match=r"gone for .*worker-1, worker-2") as caught:
        cluster.submit(abs, -1, worker=0).result()
    assert caught.value.absent == "worker-0"
    assert (caught.value.gone_s or 0) > 0
    assert caught.value.present == ("worker-1", "worker-2")
    assert cluster.submit(abs, -1, worker=2).result() == 1


def test_forever_needs_a_folder(cluster: fs.Cluster) -> None:
    for attempt in (cluster.submit, cluster.map):
        with pytest.raises(ConfigurationError, match="cache"):
            attempt(abs, [1], keep="forever")
    with pytest.raises(ConfigurationError, match="cache"):
        cluster.put(1, keep="forever")


def test_an_executor_computes_with_one_thread(cluster: fs.Cluster) -> None:
    import os

    expected = os.environ.get("OMP_NUM_THREADS", "1")
    assert cluster.submit(lambda: os.environ["OMP_NUM_THREADS"]).result() == expected


def test_modules_are_imported_before_the_first_call(capfd: pytest.CaptureFixture[str]) -> None:
    def has(module: str) -> bool:
        import sys

        return module in sys.modules

    options = {"executors": 1, "memory": "64MiB", "disk": "64MiB"}
    with fs.Cluster(preload=["xml.dom.pulldom", "no_such_module_anywhere"], **options) as cluster:
        assert cluster.submit(has, "xml.dom.pulldom").result(60) is True
        apart = cluster.submit(has, "xml.dom.pulldom", isolation="process", pure=False)
        assert apart.result(60) is False
    assert "preload='no_such_module_anywhere' can't be imported" in capfd.readouterr().err
    with fs.Cluster(**options) as cluster:
        assert cluster.submit(has, "xml.dom.pulldom").result(60) is False


def test_what_executors_import_is_collected_no_more(cluster: fs.Cluster) -> None:
    def collector(_: int) -> tuple[bool, tuple[int, int, int], bool]:
        return gc.isenabled(), gc.get_threshold(), gc.get_freeze_count() > 1000

    expected = (True, gc.get_threshold(), True)
    assert cluster.gather(cluster.map(collector, range(4))) == [expected] * 4


def test_a_module_that_sets_the_collector_up_is_heeded() -> None:
    before = gc.get_threshold()
    try:
        with uncollected():
            assert gc.get_threshold()[0] == 0
            gc.set_threshold(12_345)
        assert gc.get_threshold()[0] == 12_345
        with uncollected():
            pass
        assert gc.get_threshold()[0] == 12_345
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
