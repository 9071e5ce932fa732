"""Ranks under `mpiexec`, with MPICH's wheel, and more of them than there are processors."""

import sys
from pathlib import Path

import pytest

from tests.events.apart import apart
from tests.mpi import mpiexec


def printed(ranks: int, tmp_path: Path, source: str) -> list[str]:
    return sorted(apart(ranks, tmp_path, source).splitlines())


RING = """
import numpy as np
from freestone import events as ev

def main(rank):
    right = (rank.id + 1) % rank.size
    found = []
    for value in [1, "word", np.arange(5), np.ones((300, 1000)), bytes(3_000_000)]:
        rank.fire(right, "value", value)
        got = rank.wait([(ev.ANY, "value")])[0].data
        found.append(len(got) if hasattr(got, "__len__") else got)
    rank.submit(lambda *events: found.append(sum(event.data for event in events)),
                on=[(ev.ALL, "part")])
    rank.fire(ev.ALL, "part", rank.id)
    rank.drain()
    return found

print(ev.run(main))
"""


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_each_process_is_a_rank(ranks: int, tmp_path: Path) -> None:
    total = sum(range(ranks))
    found = [[1, 4, 5, 300, 3_000_000, total]] * ranks
    assert printed(ranks, tmp_path, RING) == [str(found)] * ranks


SHARED = """
from mpi4py import MPI
from freestone import events as ev

comm = MPI.COMM_WORLD

def main(rank):
    assert (rank.id, rank.size) == (comm.rank, comm.size)
    rank.fire((rank.id + 1) % rank.size, "token", comm.allreduce(rank.id))
    total = comm.allreduce(1)
    comm.send("by hand", (rank.id + 1) % rank.size, tag=0)
    assert comm.recv(source=(rank.id - 1) % rank.size, tag=0) == "by hand"
    return rank.wait([(ev.ANY, "token")])[0].data + total

first = ev.run(main)
second = ev.run(main)
assert first == second
print(comm.rank, comm.allreduce(first[comm.rank]))
"""


def test_events_share_mpi_with_mpi4py(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    assert printed(4, tmp_path, SHARED) == [f"{rank} 40" for rank in range(4)]


FAILS = """
from freestone import events as ev

def fails():
    raise KeyError("no luck")

def main(rank):
    if rank.id == 1:
        rank.submit(fails)
    rank.wait([(ev.ANY, "never")])

try:
    ev.run(main)
except KeyError as error:
    print(error, [note.splitlines()[0] for note in error.__notes__][0])
"""


def test_a_task_that_raises_ends_the_run_on_all_ranks(tmp_path: Path) -> None:
    output = printed(3, tmp_path, FAILS)
    assert len(output) == 3
    assert all(line.startswith("'no luck' raised by") for line in output)


STUCK = """
from freestone import events as ev
from freestone.errors import RunStuckError

def main(rank):
    rank.submit(print, on=[(ev.SELF, "never")], name="forgotten")

try:
    ev.run(main)
except RunStuckError as error:
    assert all(f"rank {rank}:" in error.report for rank in range(2)), error.report
    print("stuck")
"""


def test_a_run_that_is_stuck_says_so_on_all_ranks(tmp_path: Path) -> None:
    assert printed(2, tmp_path, STUCK) == ["stuck"] * 2


FLOOD = """
from freestone import events as ev

def main(rank, count):
    seen = []
    rank.submit(lambda *events: seen.extend(event.data for event in events),
                on=[(ev.ANY, "e")], persistent=True, greedy=True)
    for value in range(count):
        rank.fire((rank.id + 1) % rank.size, "e", value)
    rank.drain()
    assert seen == list(range(count))
    return len(seen)

print(ev.run(main, args=(20_000,)))
"""


def test_many_events_keep_their_order_with_more_ranks_than_processors(tmp_path: Path) -> None:
    assert printed(4, tmp_path, FLOOD) == [str([20_000] * 4)] * 4


TOO_LATE = """
import mpi4py
mpi4py.rc.thread_level = "single"
from mpi4py import MPI
from freestone import events as ev

try:
    ev.run(print)
except OSError as error:
    print("MPI_THREAD_FUNNELED" in str(error))
"""


HALF = """
from mpi4py import MPI
from freestone import events as ev

world = MPI.COMM_WORLD
# The last two, in the other order.
half = world.Split(0 if world.rank >= 2 else MPI.UNDEFINED, -world.rank)

def main(rank):
    rank.fire(1 - rank.id, "x", world.rank)
    return rank.size, rank.id, rank.wait([(1 - rank.id, "x")])[0].data

if half != MPI.COMM_NULL:
    print(half.rank, ev.run(main, comm=half))
world.Barrier()
"""


def test_some_ranks_run_on_a_communicator_of_their_own(tmp_path: Path) -> None:
    both = [(2, 0, 2), (2, 1, 3)]
    assert printed(4, tmp_path, HALF) == [f"0 {both}", f"1 {both}"]


FORGETFUL = """
import os
from pathlib import Path

from mpi4py import MPI
from freestone import events as ev

os.environ["FREESTONE_EVENTS_MEET_TIMEOUT_S"] = "0.2"
if MPI.COMM_WORLD.rank == 0:
    try:
        ev.run(lambda rank: None)
    except Exception as error:
        Path(__file__).with_name("output").write_text(f"{type(error).__name__}: {error}")
        raise
MPI.COMM_WORLD.Barrier()
MPI.COMM_WORLD.Barrier()
"""


def test_ranks_that_never_begin_are_not_waited_for_for_ever(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FORGETFUL)
    ended = mpiexec(2, sys.executable, str(program))
    assert ended.returncode != 0
    # Not from standard error: mpiexec may end before it has passed on all of a rank that failed.
    output = (tmp_path / "output").read_text()
    assert "EventTimeoutError: after 200ms not all ranks of the communicator" in output
    assert "comm=" in output


EXCHANGE = """
from freestone import _native

world = _native.events.EventWorld([], None, 60.0)
own = bytes([world.rank]) * (10 * world.rank)
for round in [1, 3, 7, 1 << 30]:
    assert world.exchange(own, round) == [bytes([rank]) * (10 * rank) for rank in range(3)]
print(world.rank)
world.end()
"""


def test_what_ranks_return_goes_in_rounds_that_mpi_can_count(tmp_path: Path) -> None:
    assert printed(3, tmp_path, EXCHANGE) == ["0", "1", "2"]


def test_too_low_a_thread_level_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    assert printed(2, tmp_path, TOO_LATE) == ["True"] * 2


ALONE = """
import sys
sys.modules["mpi4py"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: (
    None if name == "mpi4py" else found(name, package))
from freestone import events as ev

def main(rank):
    rank.fire(ev.ALL, "e", rank.id)
    return sum(event.data for event in rank.wait([(ev.ALL, "e")]))

print(ev.run(main))
"""


def test_without_mpi4py_the_standard_interface_is_loaded(tmp_path: Path) -> None:
    assert printed(3, tmp_path, ALONE) == ["[3, 3, 3]"] * 3


SERIALIZED = """
import mpi4py
mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI
from freestone import events as ev
from freestone.errors.events import LockNotHeldError
from freestone import _native

assert MPI.Query_thread() == MPI.THREAD_SERIALIZED
comm = MPI.COMM_WORLD

def main(rank):
    total = 0
    for value in range(50):
        rank.fire((rank.id + 1) % rank.size, "token", value)
        with ev.hold_mpi():
            total += comm.allreduce(value)
        total += rank.wait([(ev.ANY, "token")])[0].data
    try:
        _native.events.release_mpi()
    except LockNotHeldError as error:
        return total, "MPI" in str(error)

print(ev.run(main))
"""


def test_a_program_holds_mpi_around_its_own_calls(tmp_path: Path) -> None:
    total = sum(3 * value for value in range(50))
    assert printed(2, tmp_path, SERIALIZED) == [str([(total, True)] * 2)] * 2
