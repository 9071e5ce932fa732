"""Bridges under another MPI library than MPICH; `make mpis` installs it."""

import os
import subprocess
import sys

import pytest

from tests.events.test_bridge import CLIENT_PYTHON, RANKS, SUMS
from tests.events.test_bridge_ends import LATE, RANK, STUCK
from tests.malleable.test_other_mpis import open_mpi

PYTHON = [sys.executable, "-c"]


def run(ranks: str, *words: str) -> subprocess.CompletedProcess[str]:
    library = open_mpi()
    return subprocess.run(
        [*library.mpiexec, "-n", ranks, *words],
        env={**os.environ, **library.environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("words", "printed", "times"),
    [
        (["2", *PYTHON, RANKS, ":", "-n", "1", *PYTHON, CLIENT_PYTHON], SUMS, 2),
        (["3", *PYTHON, LATE], "done", 1),
        (["3", *PYTHON, STUCK], "bridge 2 waits: a wait of 'main'", 3),
    ],
    ids=["fires", "computes", "stuck"],
)
def test_bridges_take_part_in_runs_of_open_mpi(words: list[str], printed: str, times: int) -> None:
    ended = run(*words)
    assert (ended.returncode, ended.stdout.count(printed), ended.stderr) == (0, times, "")


def test_a_bridge_that_ends_early_is_detached() -> None:
    bridge = "from freestone import events as ev\nbridge = ev.attach()\nbridge.fire(0, 'f')"
    ended = run("1", *PYTHON, RANK, ":", "-n", "1", *PYTHON, bridge)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "bridge 1 ends before detach(): it is detached now" in ended.stderr
