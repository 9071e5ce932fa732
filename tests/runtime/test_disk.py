"""Calls whose files take more of the disk than they may, and disks that are never given twice."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import DiskExceededError, StorageFullError, UnschedulableError

from .conftest import Opened

MB = 2**20


@pytest.fixture
def cluster(opened: Opened) -> Iterator[fs.Cluster]:
    with opened(executors=2, memory="64MiB", disk="96MiB") as cluster:
        yield cluster


def write(nbytes: int, waits: bool = False) -> str:
    """Leave a file; where its folder is."""
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "left"), "wb") as file:
        file.write(os.urandom(nbytes))
        file.flush()
        while waits:
            time.sleep(0.01)
    return folder


@pytest.mark.parametrize("isolation", ["shared", "fork", "process"])
@pytest.mark.parametrize("waits", [False, True])
def test_a_call_whose_files_take_more_than_they_may_is_ended(
    cluster: fs.Cluster, isolation: str, waits: bool
) -> None:
    options = {"resources": {"disk": "8MiB"}, "isolation": isolation, "timeout_s": 60}
    call = cluster.submit(write, 16 * MB, waits, **options)
    with pytest.raises(DiskExceededError, match="more than the 8 MiB of disk") as caught:
        call.result(60)
    assert caught.value.limit == 8 * MB
    # Its files went with its executor, so they are not held against others.
    folder = cluster.submit(write, 6 * MB, **options).result(60)
    assert sum(1 for _ in Path(folder).parent.iterdir()) <= 2


def test_a_command_whose_files_take_more_than_they_may_is_ended(cluster: fs.Cluster) -> None:
    command = cluster.command(
        "head -c 20000000 /dev/zero > large; sleep 60", resources={"disk": "8MiB"}
    )
    with pytest.raises(DiskExceededError):
        command.stdout.result(60)


def test_what_was_there_before_does_not_count(cluster: fs.Cluster) -> None:
    for _ in range(4):
        cluster.submit(write, 6 * MB, pure=False, resources={"disk": "8MiB"}).result(60)


def test_more_than_any_worker_has_is_refused(cluster: fs.Cluster) -> None:
    call = cluster.submit(write, 1, resources={"disk": "97MiB"})
    with pytest.raises(UnschedulableError, match="disk"):
        call.result(60)


def hold(folder: str) -> None:
    """Say that it has begun, and wait for a word."""
    Path(folder, "begun").touch()
    while not Path(folder, "go").exists():
        time.sleep(0.01)


def alone(folder: str) -> bool:
    """Whether no other call was here at the same time."""
    try:
        os.mkdir(os.path.join(folder, "taken"))
    except FileExistsError:
        return False
    time.sleep(0.05)
    os.rmdir(os.path.join(folder, "taken"))
    return True


def test_calls_are_not_given_together_what_one_worker_has(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    # Two executors, and a disk for one of them at a time.
    options: dict[str, Any] = {"resources": {"disk": "60MiB"}, "pure": False}
    calls = [cluster.submit(alone, str(tmp_path), **options) for _ in range(8)]
    assert all(cluster.gather(calls))


def test_calls_run_beside_one_another_on_a_disk_that_has_room_for_both(
    cluster: fs.Cluster, tmp_path: Path
) -> None:
    small = cluster.submit(hold, str(tmp_path), resources={"disk": "30MiB"})
    assert cluster.submit(alone, str(tmp_path), resources={"disk": "60MiB"}).result(600)
    (tmp_path / "go").touch()
    small.result(600)


def blob(number: int) -> np.ndarray:
    return np.full(20 * MB, number, np.uint8)


def test_what_the_cache_has_of_a_disk_no_call_is_given(cluster: fs.Cluster) -> None:
    # 120 MiB of blocks that nothing may make again: those that memory has no room for are on disk.
    kept = cluster.map(blob, range(6), pure=False)
    fs.wait(kept, timeout_s=60)
    assert all(block.exception(0) is None for block in kept)
    call = cluster.submit(write, 1, resources={"disk": "90MiB"})
    with pytest.raises(StorageFullError, match="has room for"):
        call.result(60)
    assert cluster.submit(write, MB, resources={"disk": "4MiB"}).result(60)
    assert [int(block.result(60)[-1]) for block in kept] == list(range(6))
    del kept
