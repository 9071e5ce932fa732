"""Processes outside of a run that wait for what nobody fires, end early, or are stopped."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.events.test_bridge import compiled
from tests.events.test_c import prefix
from tests.mpi import mpiexec

__all__ = ["prefix"]

RANK = """
from freestone import events as ev
ev.run(lambda rank: rank.submit(lambda e: None, on=[(ev.ANY, "f")], persistent=True) and None)
"""

STUCK = """
from mpi4py import MPI
from freestone import events as ev
from freestone.errors.events import RunStuckError

def main(rank):
    rank.submit(print, on=[(ev.ANY, "typo")])

try:
    if MPI.COMM_WORLD.rank < 2:
        ev.run(main)
    else:
        bridge = ev.attach()
        bridge.fire(0, "field", 1)
        bridge.wait([(0, "answer")])
except RunStuckError as error:
    print(f"{MPI.COMM_WORLD.rank} {error}\\n", end="", flush=True)
if MPI.COMM_WORLD.rank == 2:
    try:
        bridge.detach()
    except RunStuckError:
        pass
"""


def test_a_bridge_that_waits_for_what_nobody_fires_is_stuck_with_the_ranks(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    program = tmp_path / "stuck.py"
    program.write_text(STUCK)
    ended = mpiexec(3, sys.executable, str(program))
    assert (ended.returncode, ended.stderr) == (0, "")
    line = STUCK.splitlines().index('        bridge.wait([(0, "answer")])') + 1
    # The ranks, whose reports are put together, and it itself.
    waits = f"bridge 2 waits: a wait of 'main' ({program}:{line}) lacks 'answer' from rank 0"
    assert ended.stdout.count(waits) == 3
    assert ended.stdout.count("the run is stuck") == 3
    assert "lacks 'typo' from any rank" in ended.stdout


LATE = """
import time
from mpi4py import MPI
from freestone import events as ev

def answer(event):
    rank.fire(event.source, "answer", event.data)

def main(own):
    global rank
    rank = own
    rank.submit(answer, on=[(ev.ANY, "ask")], persistent=True)
    if rank.id == 0:
        rank.drain()
        # All that are left wait: the bridge, for what follows.
        rank.fire(rank.size, "go")

if MPI.COMM_WORLD.rank < 2:
    ev.run(main)
else:
    with ev.attach() as bridge:
        bridge.wait([(0, "go")])
        for number in range(20):
            time.sleep(0.02)  # long enough to be taken for one that waits, if it were not known
            bridge.fire(number % 2, "ask", number)
            (event,) = bridge.wait([(number % 2, "answer")])
            assert event.data == number
    print("done", flush=True)
"""


def test_a_bridge_that_computes_between_its_waits_keeps_the_run_open() -> None:
    pytest.importorskip("mpi4py")
    ended = mpiexec(3, sys.executable, "-c", LATE)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


ENDS = {
    "exit": ("import sys; sys.exit(0)", ""),
    "error": ("raise ValueError('model failed')", "ValueError: model failed"),
    "end": ("", ""),
}


@pytest.mark.parametrize("way", ENDS)
def test_a_bridge_is_detached_by_the_end_of_its_process(way: str) -> None:
    code, error = ENDS[way]
    bridge = "from freestone import events as ev\nbridge = ev.attach()\nbridge.fire(0, 'f', 1)\n"
    words = [sys.executable, "-c", RANK, ":", "-n", "1", sys.executable, "-c", bridge + code]
    ended = mpiexec(1, *words)
    assert ended.stderr.count("bridge 1 ends before detach(): it is detached now") == 1
    assert error in ended.stderr
    assert (ended.returncode == 0) == (error == "")


LEAVES = """
import sys
import numpy as np
from mpi4py import MPI
from freestone import events as ev

count, length, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def main(rank):
    for number in range(count):
        rank.fire(rank.size, "late", np.zeros(length))
    rank.fire(rank.size, "last")

if MPI.COMM_WORLD.rank < MPI.COMM_WORLD.size - 1:
    ev.run(main)
    print("ended\\n", end="", flush=True)
else:
    bridge = ev.attach()
    bridge.wait([(ev.ANY, "late")])
    if way == "detach":
        bridge.detach()
"""


@pytest.mark.parametrize(
    ("ranks", "count", "length", "way"),
    [(1, 3, 2_000_000, "detach"), (2, 200, 10_000, "exit"), (1, 2, 1, "detach")],
)
def test_what_a_bridge_has_not_consumed_is_dropped_and_named_and_the_run_ends(
    ranks: int, count: int, length: int, way: str
) -> None:
    pytest.importorskip("mpi4py")
    words = [str(count), str(length), way]
    ended = mpiexec(ranks + 1, sys.executable, "-c", LEAVES, *words)
    assert (ended.returncode, ended.stdout) == (0, "ended\n" * ranks), ended.stderr
    named = re.findall(r"'(late|last)' from rank (\d)(?:, (\d+) times)?", ended.stderr)
    dropped = Counter[str]()
    for id, _, times in named:
        dropped[id] += int(times or 1)
    # One was consumed, of any rank.
    assert dropped == {"late": ranks * count - 1, "last": ranks}, ended.stderr
    assert {int(source) for _, source, _ in named} == set(range(ranks))
    assert f"bridge {ranks} detached " in ended.stderr


ENDS_C = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (fse_attach()) return fprintf(stderr, "%s\n", fse_error());
  if (argc > 1 && strcmp(argv[1], "stuck") == 0) {
    if (!fse_wait(1, 0, "answer")) printf("%s\n", fse_error());
  } else {
    fse_fire(NULL, FSE_NONE, 0, 0, "f");
  }
  MPI_Finalize();
  if (fse_attach() == FSE_OK) return 3;
  if (!strstr(fse_error(), "before MPI_Finalize")) return 4;
  return 0;
}
"""


def test_in_c_the_end_of_mpi_detaches_and_a_wait_for_nothing_is_stuck(
    prefix: Path, tmp_path: Path
) -> None:
    pytest.importorskip("mpi4py")
    program = compiled(prefix, tmp_path, ENDS_C)
    ended = mpiexec(1, sys.executable, "-c", RANK, ":", "-n", "1", program)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("bridge 1 ends before fse_detach: it is detached now") == 1
    ended = mpiexec(1, sys.executable, "-c", RANK, ":", "-n", "1", program, "stuck")
    assert "bridge 1 waits: a wait of " in ended.stdout
    assert "lacks 'answer' from rank 0" in ended.stdout


STOPS = """
import os, signal
from mpi4py import MPI
from freestone import events as ev

if MPI.COMM_WORLD.rank == 0:
    ev.run(lambda rank: rank.wait([(1, "never")]))
else:
    bridge = ev.attach()
    os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_a_stopped_bridge_is_lost() -> None:
    pytest.importorskip("mpi4py")
    env = {"FREESTONE_EVENTS_STOPPED_TIMEOUT_S": "3"}
    ended = mpiexec(2, sys.executable, "-c", STOPS, env=env)
    assert "bridge 1 is taken for lost by rank 0: " in ended.stderr
    assert ended.returncode != 0


TWICE = """
from mpi4py import MPI
from freestone import events as ev
from freestone.errors import UsageError

if MPI.COMM_WORLD.rank == 0:
    ev.run(lambda rank: None)
else:
    with ev.attach() as bridge:
        try:
            ev.attach()
        except UsageError as error:
            print(error)
        try:
            bridge.fire(ev.ANY, "x")
        except ValueError as error:
            print(error, flush=True)
"""


def test_a_second_attach_is_refused_at_once_and_no_word_is_of_self() -> None:
    pytest.importorskip("mpi4py")
    ended = mpiexec(2, sys.executable, "-c", TWICE)
    assert (ended.returncode, ended.stderr) == (0, "")
    twice, any_rank = ended.stdout.splitlines()
    assert twice.startswith("attach() while this process is bridge 1 of a run already")
    assert any_rank == "ANY is a source of events only; fire at a rank or at ALL"
