"""Leaks that are planted are found, and nothing else is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from tests.fuzz.running import ROOT
from tests.fuzz.watching import MAX_ZOMBIE_SAMPLES, SHARED_MEMORY, Series, Watcher
from tests.waiting import until

SAMPLES = 2 * MAX_ZOMBIE_SAMPLES


@contextmanager
def leaking(what: str, watcher: Watcher, folder: Path) -> Iterator[None]:
    """A program that has leaked as often as it was sampled."""
    words = [sys.executable, "-m", "tests.fuzz.leaks", what, str(folder)]
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env=watcher.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for _ in range(SAMPLES):
            program.stdin.write("\n")
            program.stdin.flush()
            assert program.stdout.readline() == "leaked\n"
            watcher.sample()
        yield
        program.stdin.close()
        assert program.wait() == 0


@pytest.mark.parametrize(
    ("what", "reported"),
    [
        ("memory", "bytes of memory"),
        ("descriptors", "descriptors"),
        ("threads", "threads"),
        ("files", "entries"),
        ("zombie", "stayed a zombie"),
        ("nothing", ""),
    ],
)
def test_a_leak_is_found(tmp_path: Path, what: str, reported: str) -> None:
    watcher = Watcher([tmp_path])
    with leaking(what, watcher, tmp_path):
        found = watcher.findings()
    assert len(found) == (1 if reported else 0), found
    assert all(reported in each for each in found)
    assert until(lambda: len(watcher.left()) == len(list(tmp_path.iterdir())))


def test_shared_memory_that_is_left_is_found(tmp_path: Path) -> None:
    watcher = Watcher([tmp_path])
    with leaking("shared memory", watcher, tmp_path):
        pass
    (left,) = watcher.left()
    assert Path(left).match(f"{SHARED_MEMORY}/*-leak/block")
    Path(left).unlink()
    assert watcher.left() == []
    Path(left).parent.rmdir()


def test_a_process_that_is_left_is_found(tmp_path: Path) -> None:
    watcher = Watcher([tmp_path])
    with leaking("process", watcher, tmp_path):
        pass
    (left,) = watcher.left()
    assert "sleep 3600" in left
    (process,) = watcher.processes()
    os.kill(process.pid, signal.SIGKILL)
    assert until(lambda: watcher.left() == [])


def test_a_number_that_another_process_had_hides_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher([tmp_path])
    with leaking("nothing", watcher, tmp_path):
        (ours,) = (each.pid for each in watcher.processes())
        # As psutil keeps it when the number was another process's, which it saw end.
        ended = psutil.Process(ours)
        monkeypatch.setattr(ended, "environ", Mock(side_effect=psutil.NoSuchProcess(ours)))
        list(psutil.process_iter())
        monkeypatch.setitem(psutil._pmap, ours, ended)
        renewed = Watcher([])
        renewed.mark = watcher.mark
        assert [each.pid for each in renewed.processes()] == [ours]


@pytest.mark.parametrize(
    ("values", "growth"),
    [
        ([1] * 40, 0),
        ([1, 50] * 20, -49),
        (list(range(40)), 9),
        ([100] * 20 + [700] * 20, 600),
        ([0] * 5 + [100] * 35, 0),
        ([1, 9], 0),
    ],
)
def test_growth_is_what_stays(values: list[int], growth: int) -> None:
    assert Series("x", values).growth() == growth
