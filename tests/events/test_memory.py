"""An event for which its receiver has no memory, over every way from rank to rank."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events import test_joined
from tests.mpi import mpiexec

# The rank that receives may take a quarter of what is fired.
PROGRAM = """
import resource, sys
import numpy as np
from freestone import events as ev

def main(rank):
    if rank.id == 1:
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), -1))
        rank.fire(0, "limited")
    else:
        rank.wait([(1, "limited")])
        rank.fire(1, "large", np.zeros(256 << 20, np.uint8))
    rank.wait([(ev.ANY, "never")])

try:
    ev.run(main, ranks=2, arena="1MiB")
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(7)
"""


@pytest.fixture(autouse=True)
def _one_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each arena of glibc's takes 64 MiB of addresses, and without them a thread that starts aborts
    # the process: the limit is to refuse the event's memory and nothing else.
    monkeypatch.setenv("MALLOC_ARENA_MAX", "1")


def check(output: str) -> None:
    # The array, and what tells of its type and shape.
    assert re.search(r"there is no memory for the event 'large' of 268435\d{3} bytes", output), (
        output
    )


def test_processes_of_one_machine(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ended = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 7, ended.stderr
    check(ended.stdout)


def test_ranks_that_meet_by_tcp(tmp_path: Path) -> None:
    for code, output, errors in test_joined.together(tmp_path, 2, PROGRAM):
        assert code == 7, errors
        check(output)


def test_ranks_of_mpi(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    ended = mpiexec(2, sys.executable, str(path))
    assert ended.returncode == 7, ended.stderr
    check(ended.stdout)
