"""The end of workers of this machine: what they have to do is waited for, stopped ones are not."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from freestone.hosts import local


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ends when its input does."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        yield process


def test_one_that_has_something_to_do_is_waited_for(
    worker: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look(pid: int) -> bool:
        looks.append(pid)
        if len(looks) == 3:
            assert worker.stdin is not None
            worker.stdin.close()
        return False

    monkeypatch.setattr(local, "_LOOK_INTERVAL_S", 0.01)
    monkeypatch.setattr(local, "_is_stopped", look)
    local._end(worker, time.monotonic() + 600)
    assert worker.returncode == 0
    assert len(looks) >= 3


def test_one_that_is_stopped_is_killed(worker: subprocess.Popen[bytes]) -> None:
    os.kill(worker.pid, signal.SIGSTOP)
    local._end(worker, time.monotonic() + 600)
    assert worker.returncode == -signal.SIGKILL


def test_one_that_takes_too_long_is_killed(worker: subprocess.Popen[bytes]) -> None:
    local._end(worker, time.monotonic())
    assert worker.returncode == -signal.SIGKILL


def test_the_end_of_one_wakes_who_waits_for_it(
    worker: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    threading.Timer(0.02, worker.communicate).start()
    local._end(worker, time.monotonic() + 600)
    assert worker.returncode == 0
    assert not slept
