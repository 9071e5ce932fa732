"""A worker dies at each step of a write by many; a write that can't be done leaves nothing."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.collections import writing
from freestone.errors import FormatError, StorageFullError

X = np.random.default_rng(3).normal(size=(600, 4))


def kill(cluster: fs.Cluster, worker: str) -> None:
    (pid,) = [one.pid for one in cluster.statistics().workers if one.worker == worker]
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("kind", ["csv", "dbdf", "mtx"])
@pytest.mark.parametrize("step", ["_Layout", "_drafted", "_write_beside"])
def test_a_worker_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, kind: str
) -> None:
    wanted, path = tmp_path / f"wanted.{kind}", tmp_path / f"m.{kind}"
    fs.write(X, wanted)
    path.write_text("old")
    with fs.Cluster(workers=3, executors=1, memory="128MiB") as cluster:
        array = fs.Array.from_function(X.shape, 50, lambda start, stop: X[start:stop]).persist()
        victim = array.where()[-1][0]
        original = getattr(writing, step)

        def killing(*words: Any, **options: Any) -> Any:
            kill(cluster, victim)
            assert path.read_text() == "old"
            return original(*words, **options)

        monkeypatch.setattr(writing, step, killing)
        fs.write(array, path)
    assert path.read_bytes() == wanted.read_bytes()
    assert not list(tmp_path.glob(".*"))


def test_a_block_that_cant_be_written_leaves_the_old_file(
    two_workers: fs.Cluster, tmp_path: Path
) -> None:
    path = tmp_path / "m.csv"
    fs.write(X, path)
    before = path.read_bytes()
    array = fs.Array.from_numpy(np.full((40, 2), 123456.0), 10)
    with pytest.raises(FormatError, match="needs 8 characters"):
        fs.write(array, path, width=5)
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.csv", "m.csv.meta"]


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy"])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / f"m.{kind}"
    fs.write(X, path, **({} if kind == "npy" else {"meta": False}))
    before = path.read_bytes()

    def full(descriptor: int, data: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StorageFullError):
        fs.write(X * 2, path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_no_permission_is_told(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("everything is permitted here")
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError):
        fs.write(X, tmp_path / "m.csv")
