"""Processes that hang: they are noticed, replaced, and never waited for at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.waiting import until

from .conftest import Opened


@pytest.fixture(scope="module")
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    """One worker with one executor, and little patience with stopped ones."""
    with opened(executors=1, memory="64MiB", disk="128MiB", stopped_s=0.5) as cluster:
        yield cluster


def add(x: int) -> int:
    return x + 1


def stop_once(path: str) -> str:
    """Stop this executor in the first attempt, in the middle of the call."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGSTOP)
    return "done"


def stop_always() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def big(value: int) -> np.ndarray:
    return np.full(200_000, value)


def test_a_lone_executor_that_is_stopped_between_calls_is_replaced(cluster: fs.Cluster) -> None:
    executor = cluster.submit(os.getpid, pure=False).result()
    os.kill(executor, signal.SIGSTOP)
    assert cluster.gather(cluster.map(add, range(20))) == list(range(1, 21))
    assert cluster.submit(os.getpid, pure=False).result() != executor


def test_a_call_whose_executor_is_stopped_runs_again(cluster: fs.Cluster, tmp_path: Path) -> None:
    assert cluster.submit(stop_once, str(tmp_path / "tried")).result() == "done"


def test_a_call_that_stops_its_executors_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(errors.TaskKilledError) as caught:
        cluster.submit(stop_always).result()
    assert (caught.value.attempts, caught.value.signal) == (3, signal.SIGSTOP)
    assert "stopped for longer than stopped_s" in str(caught.value)


@pytest.mark.parametrize("isolation", ["fork", "process"])
def test_a_call_that_stops_its_own_process_is_refused(cluster: fs.Cluster, isolation: str) -> None:
    with pytest.raises(errors.TaskKilledError) as caught:
        cluster.submit(stop_always, isolation=isolation, pure=False).result()
    assert caught.value.signal == signal.SIGSTOP


def test_a_home_that_hangs_is_replaced(opened: Opened) -> None:
    # More patience than a busy machine may try with a worker that does not hang.
    with opened(executors=1, memory="64MiB", disk="128MiB", silence_s=6.0) as cluster:
        result = cluster.submit(big, 7)
        fs.wait([result])
        home = cluster.statistics().workers[0]
        os.kill(home.pid, signal.SIGSTOP)
        # It is made again, since its only replica was there, and read through the next home.
        assert int(result.result()[0]) == 7
        assert int(cluster.put(np.arange(200_000)).result()[5]) == 5
        assert until(lambda: not Path(f"/proc/{home.pid}").exists())
        assert cluster.statistics().workers[0].worker != home.worker


def test_a_block_that_no_worker_can_hand_over_names_no_option() -> None:
    failure = {
        "kind": "worker_absent",
        "label": "",
        "worker": None,
        "absent": "worker-0",
        "gone_s": 2.0,
        "present": ["worker-1"],
    }
    from freestone.errors.failures import error_of

    error = error_of(failure)
    assert isinstance(error, errors.WorkerLostError)
    assert "worker=" not in str(error)


HANGING = """
import os, signal, sys
import freestone as fs

which = sys.argv[1]
cluster = fs.Cluster(workers=2, executors=1, memory="64MiB", disk="128MiB")
workers = cluster.statistics().workers
stopped = workers if which == "all" else [w for w in workers if w.folder.endswith(which)]
for worker in stopped:
    os.kill(worker.pid, signal.SIGSTOP)
cluster.close()
for worker in workers:
    assert not os.path.exists(f"/proc/{worker.pid}"), worker.pid
"""


@pytest.mark.parametrize("which", ["/0", "/1", "all"])
def test_close_ends_workers_that_hang_and_prints_nothing(which: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", HANGING, which], capture_output=True, text=True, timeout=120
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_settings_have_bounds() -> None:
    with pytest.raises(errors.ConfigurationError, match="at least 1"):
        fs.Cluster(silence_s=0.5)
