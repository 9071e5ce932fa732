"""A rank whose process is stopped is lost: nobody waits for it in vain."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.test_c import built, prefix
from tests.events.test_joined import free_address, invited
from tests.mpi import mpiexec

__all__ = ["prefix"]

PYTHON = """
import os, signal
from freestone import events as ev
from freestone.errors.events import RankLostError

# At once, before any of its threads has run.
def main(rank):
    if rank.id == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    rank.wait([(1, "never")])

try:
    ev.run(main, ranks=3, workers=1)
except RankLostError as error:
    print(error.rank, error)
"""

C = r"""
#include <freestone_events.h>
#include <signal.h>
int main(void) {
  if (fse_init(NULL) != FSE_OK) return 1;
  if (fse_rank() == 1) raise(SIGSTOP);
  return fse_finalise() == FSE_RANK_LOST ? 7 : 8;
}
"""


# Long enough for the others to show that they run, whatever else the machine does.
SETTING = {"FREESTONE_EVENTS_STOPPED_TIMEOUT_S": "10"}


def ended(words: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        env={**os.environ, **SETTING, **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_a_stopped_rank_is_killed_and_lost() -> None:
    found = ended([sys.executable, "-c", PYTHON])
    assert found.stdout.startswith("1 rank 1 is lost: its process "), found.stdout + found.stderr
    assert " has not run for 1" in found.stdout
    assert "FREESTONE_EVENTS_STOPPED_TIMEOUT_S" in found.stdout


def test_so_is_one_of_a_program_in_c(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "stops.c"
    source.write_text(C)
    program = built(prefix, source, tmp_path)
    found = ended([program], FREESTONE_EVENTS_RANKS="3")
    assert re.search(r"rank 1 is killed: its process \d+ has not run for 1\d\.\d s", found.stderr)
    assert found.returncode == 128 + 9, found.stderr


# The others wait for an event, for room, or for the end of the run.
APART = """
import os, signal, sys
from freestone import events as ev
from freestone.errors.events import RankLostError

stops, waits = int(sys.argv[1]), sys.argv[2]

def main(rank):
    rank.drain()
    if rank.id == stops:
        os.kill(os.getpid(), signal.SIGSTOP)
    if waits == "event":
        rank.wait([(stops, "never")])
    elif waits == "room":
        while True:
            rank.fire(stops, "token", bytes(100_000))

try:
    ev.run(main, ranks=3, workers=1)
except RankLostError as error:
    os.write(1, f"rank {error.rank} is lost\\n".encode())
    os._exit(7)
"""


@pytest.mark.parametrize(
    ("node", "stops", "waits"),
    [("none", 0, "event"), ("none", 1, "room"), ("a", 0, "end"), ("a", 1, "event")],
)
def test_over_tcp_the_others_lose_a_stopped_rank(
    node: str, stops: int, waits: str, tmp_path: Path
) -> None:
    meeting, words = free_address(), [sys.executable, "-c", APART, str(stops), waits]
    started = [
        subprocess.Popen(
            words,
            env={**os.environ, **SETTING, **invited(tmp_path, rank, 3, meeting, node)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    try:
        survivors = [one for rank, one in enumerate(started) if rank != stops]
        output = [one.communicate(timeout=120) for one in survivors]
        assert [one.returncode for one in survivors] == [7, 7], output
        assert [text for text, _ in output] == [f"rank {stops} is lost\n"] * 2
        errors = "".join(text for _, text in output)
        assert f"rank {stops} is taken for lost: its process has given no sign" in errors
        assert "FREESTONE_EVENTS_STOPPED_TIMEOUT_S" in errors
        # One that goes on finds that the others have ended.
        started[stops].send_signal(signal.SIGCONT)
        assert started[stops].communicate(timeout=120)[0].endswith("is lost\n")
    finally:
        for one in started:
            one.kill()


@pytest.mark.parametrize(("level", "stops"), [("multiple", 1), ("serialized", 0)])
def test_over_mpi_too(level: str, stops: int, tmp_path: Path) -> None:
    program = tmp_path / "stops.py"
    begin = f"import mpi4py\nmpi4py.rc.thread_level = '{level}'\nfrom mpi4py import MPI\n"
    program.write_text(begin + APART.replace("ranks=3", "comm=MPI.COMM_WORLD"))
    found = mpiexec(3, sys.executable, str(program), str(stops), "event", env=SETTING)
    assert found.returncode != 0
    # The launcher ends all when the first has ended without MPI_Finalize, and says so at length.
    lost = {line for line in found.stdout.splitlines() if line.endswith("is lost")}
    assert lost <= {f"rank {stops} is lost"}, found.stderr
    assert f"rank {stops} is taken for lost" in found.stderr
