"""Calls that take more memory than they may, and categories that find out how much they need."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

import freestone as fs
from freestone.errors import MemoryExceededError

from .conftest import Opened

MB = 2**20


@pytest.fixture
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(executors=2, memory="64MiB", disk="64MiB") as cluster:
        yield cluster


def take(nbytes: int, number: int = 0) -> int:
    return int(np.ones(nbytes, np.uint8)[-1]) + number


def take_until_ended(nbytes: int, flag: str = "") -> str:
    """Take memory, and keep it until the process is ended; if there is a flag, only once."""
    again = bool(flag) and Path(flag).exists()
    if flag:
        Path(flag).touch()
    data = np.ones(nbytes, np.uint8)
    while not again:
        time.sleep(0.01)
    return f"{len(data)} bytes"


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_a_call_that_takes_more_than_it_may_is_ended(cluster: fs.Cluster, isolation: str) -> None:
    options = {"resources": {"memory": "32MiB"}, "isolation": isolation, "timeout_s": 60}
    call = cluster.submit(take_until_ended, 128 * MB, **options)
    with pytest.raises(MemoryExceededError, match=r"more than the 32 MiB") as caught:
        call.result(60)
    assert caught.value.limit == 32 * MB
    assert cluster.submit(take, 8 * MB, **options).result(60) == 1


CHILD = "import time; x = bytearray(b'x') * {nbytes}; time.sleep({pause_s}); print(len(x))"


def run_child(nbytes: int, pause_s: float) -> str:
    program = CHILD.format(nbytes=nbytes, pause_s=pause_s)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
def test_what_a_process_takes_that_a_call_starts_counts(
    cluster: fs.Cluster, isolation: str
) -> None:
    options = {"resources": {"memory": "64MiB"}, "isolation": isolation, "timeout_s": 60}
    call = cluster.submit(run_child, 200 * MB, 600, **options)
    with pytest.raises(MemoryExceededError, match=r"more than the 64 MiB"):
        call.result(60)
    assert cluster.submit(run_child, 8 * MB, 0, **options).result(60) == f"{8 * MB}\n"
    found = psutil.process_iter(["cmdline"])
    assert not [one for one in found if f"* {200 * MB};" in str(one.info["cmdline"])]


def test_commands_have_a_limit_of_memory(cluster: fs.Cluster) -> None:
    words = [sys.executable, "-c", CHILD.format(nbytes=200 * MB, pause_s=600)]
    command = cluster.command(words, resources={"memory": "64MiB"})
    with pytest.raises(MemoryExceededError, match=r"more than the 64 MiB"):
        command.stdout.result(60)


def test_what_forked_processes_share_counts_once(cluster: fs.Cluster) -> None:
    def share() -> int:
        data = np.ones(64 * MB, np.uint8)
        pids = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.3)
                os._exit(int(data[-1]))
            pids.append(pid)
        return sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)

    assert cluster.submit(share, resources={"memory": "128MiB"}).result(60) == 4


def test_what_was_there_before_does_not_count(cluster: fs.Cluster) -> None:
    # Blocks that a call maps are the node's, and what its executor has is nobody's.
    large = cluster.put(np.ones(32 * MB, np.uint8))
    total = cluster.submit(np.sum, large, resources={"memory": "4MiB"})
    assert total.result(60) == 32 * MB


def test_calls_of_a_category_get_what_those_before_took(cluster: fs.Cluster) -> None:
    first = cluster.map(take, [64 * MB] * 3, range(3), category="large")
    assert cluster.gather(first) == [1, 2, 3]
    whole = cluster.explain(first[0]).resources["memory"]
    later = cluster.submit(take, 64 * MB, 9, category="large")
    assert later.result(60) == 10
    assert 64 * MB <= cluster.explain(later).resources["memory"] <= 160 * MB < whole


def test_one_that_needs_more_than_those_before_gets_all(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    cluster.gather(cluster.map(take, [MB] * 3, range(3), category="scan"))
    call = cluster.submit(take_until_ended, 200 * MB, str(tmp_path / "once"), category="scan")
    assert call.result(60) == f"{200 * MB} bytes"
    assert cluster.statistics().retried == 1
    assert cluster.explain(call).attempted == 2


def test_what_is_found_out_need_not_be_reported(cluster: fs.Cluster) -> None:
    with pytest.raises(ValueError, match="not both"):
        cluster.submit(take, MB, category="scan", resources={"memory": "1GiB"})
