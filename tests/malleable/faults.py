"""Jobs that something is wrong with. Words: which, and a folder."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WHICH, FOLDER = sys.argv[1], Path(sys.argv[2])

if WHICH == "threads":
    import mpi4py

    mpi4py.rc.thread_level = "serialized"

import numpy as np
import scipy.sparse
from mpi4py import MPI

from freestone import malleable
from freestone.errors import FreestoneError
from freestone.malleable import gathering, resize, saving, spawning, waiting
from freestone.malleable import world as worlds
from freestone.malleable.moving import direct
from freestone.malleable.transfer import Transfer

held: list[tuple[MPI.Comm, np.ndarray]] = []
arrays: dict[str, malleable.Array] = {}
IS_FIRST = MPI.Comm.Get_parent() == MPI.COMM_NULL
ROWS = 10
LATE = FOLDER / "late"
ANSWERS = {
    "file": "4\n",
    "slots": "4\n",
    "crowd": "100000\n",
    "unknown": '{"processes": 4, "hosts": {"localhost": 2, "nowhere.invalid": 2}}\n',
}


MISUSED: dict[str, Callable[[Any], object]] = {
    "function": lambda world: world.variable("y", 5),
    "nameless": lambda world: world.replicated("", 0),
    "result": lambda world: world.once(5),
    "part": lambda world: list(world.steps(2.5)),
}


def main() -> None:
    """Make the fault."""
    if WHICH == "refused" and not IS_FIRST and MPI.COMM_WORLD.rank == 1:
        raise RuntimeError("no licence")
    if WHICH == "absent" and not IS_FIRST:
        return
    if WHICH in ("hanging", "hanging-elsewhere", "lost-unseen-starting"):
        waiting.time = resize.time = clock  # type: ignore[assignment]
    if WHICH in ("lost-unseen-moving-nonblocking", "lost-hung-moving-nonblocking"):
        # Not of other waits: the root may still be in one that the lost rank has taken part in.
        resize.time = clock  # type: ignore[assignment]
    if WHICH == "hours":
        waiting.time = clock  # type: ignore[assignment]
        spawning.has_word = clock.has_word
    if WHICH == "hanging-elsewhere" or WHICH.startswith("lost-unseen"):
        # As if the root of the sources were on another host.
        spawning.host_name = lambda: "elsewhere"
    if WHICH == "lost-merge-collective-sync":
        # By copies it would go on.
        direct.reads = lambda *_: False
    if WHICH.startswith("lost") and not IS_FIRST and MPI.COMM_WORLD.rank == 1:
        be_lost(WHICH)
    if WHICH == "bare":
        next(malleable.World(rows=ROWS).steps(3))
    if WHICH == "worlds":
        with malleable.World(rows=ROWS) as world:
            pass
    with malleable.World(rows=ROWS, **{"timeout_s": 60, **settings()}) as world:
        x = world.variable("x", load)
        c = world.constant("c", load_constant)
        while WHICH.startswith("hanging") and world.is_joining:
            LATE.touch()
            signal.pause()
        if WHICH in ("again", "first", "second", "once", "saver", "broken-off"):
            give_up_soon(world)
        if WHICH == "unsendable":
            world.once(lambda: main.__code__)
        if WHICH == "twice":
            world.variable("x", load)
        rank = MPI.COMM_WORLD.rank
        if (WHICH, rank) == ("again", 1):
            world.replicated("x", 0)
        if WHICH == "rows":
            world.variable("y", load, rows=20 + rank)
        if WHICH == "other":
            world.variable(f"y{rank}", load)
        if (WHICH, rank) in (("first", 0), ("second", 1)):
            world.variable("y", load)
        if (WHICH, rank) == ("once", 1):
            world.once(os.getpid)
        if WHICH in MISUSED:
            MISUSED[WHICH](world)
        if WHICH == "pattern":
            matrix = world.variable("A", lambda a, b: scipy.sparse.csr_array(np.eye(ROWS)[a:b]))
            arrays["A"] = matrix
        if WHICH == "loops":
            for _ in world.steps(4 + 2 * rank):
                x.local[...] += 1
        arrays["x"] = x
        for step in world.steps(1_000_000 if WHICH.startswith(("lost", "endless")) else 12):
            at_step(world, step)
            x.local[...] += 1
            assert np.array_equal(c.local, load_constant(c.start, c.stop))
            if WHICH.startswith("lost") and len(world.resizes) == 2:
                break
            if (WHICH, step, rank) == ("broken-off", 6, 0):
                break
        if (WHICH, world.rank) == ("broken-off", 0):
            # It waits for the other rank, which is in the loop.
            world.comm.allreduce(1)
        assert np.all(x.local == step + 1)
    if world.rank == 0:
        print(world.size, [record.error for record in world.resizes])


def give_up_soon(world: malleable.World) -> None:
    """Let calls that others do not come to be late after a second, now that all have come here."""
    world._beat._timeout_s = 1.0
    for module in (worlds, saving):
        module.require_all = lambda comm, call, _: gathering.require_all(comm, call, 1.0)  # type: ignore[attr-defined]


class Clock:
    """The time, which goes on by an hour whenever a program works or waits for one that does.

    And, for the root of the sources, once there is a file that says that it is late.
    """

    def __init__(self) -> None:
        self.passed = 0.0

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

    def monotonic(self) -> float:
        """Return the time that has passed."""
        return time.monotonic() + self._passed()

    def time(self) -> float:
        """Return the time of day."""
        return time.time() + self._passed()

    def _passed(self) -> float:
        is_root = IS_FIRST and MPI.COMM_WORLD.rank == 0
        return self.passed + 3600 * (is_root and LATE.exists())

    def has_word(self, peer: object) -> bool:
        """Tell whether the sources have come to the head of a step, after an hour."""
        self.passed += 3600
        return bool(peer.iprobe(source=0, tag=spawning._TAG_WORD))  # type: ignore[attr-defined]


clock = Clock()


def be_lost(which: str) -> None:
    """Be killed, or stopped, at once or when a method of the passage is called."""

    def be_killed(*_: object) -> None:
        LATE.touch()
        os.kill(os.getpid(), signal.SIGSTOP if "hung" in WHICH else signal.SIGKILL)

    if which.endswith("starting"):
        be_killed()
    if which == "lost-after-switch":
        Transfer.move_variables = be_killed  # type: ignore[method-assign]
    else:
        Transfer.start = be_killed  # type: ignore[assignment]


def settings() -> dict[str, object]:
    """Return the settings that go with the fault."""
    method = "merge-p2p-nonblocking" if WHICH == "threads" else "merge-p2p-sync"
    if WHICH in ("file", "crowd", "unknown"):
        return {"targets": malleable.File(FOLDER / "target"), "method": method}
    if WHICH == "signal":
        return {"targets": malleable.Signals(), "method": method, "slots": 3}
    if WHICH == "efficiency":
        # More always pays, so far.
        return {"targets": malleable.Efficiency(1e-9, 1e-8, every=3), "slots": 4}
    if WHICH == "deadline":
        return {"targets": malleable.Deadline(1e9, every=3)}
    if WHICH == "worlds":
        return {"targets": {2: 3, 8: 1}, "method": method}
    if WHICH == "late":
        return {"targets": {11: 3}, "method": "merge-p2p-thread"}
    if WHICH.startswith("lost"):
        found = re.search("(merge-.*|moving-)(sync|nonblocking|thread)", WHICH)
        kind = found.group().replace("moving", "merge-p2p") if found else method
        return {"targets": {2: 4, 8: 1}, "method": kind, "share": False}
    if WHICH == "slots":
        return {"targets": malleable.File(FOLDER / "target"), "slots": 2}
    if WHICH == "gone":
        sys.executable = "/no/such/python"
        return {"targets": {2: 4, 8: 1}, "method": method}
    if WHICH == "nowhere":
        slots = {"localhost": 2, "nowhere.invalid": 2}
        return {"targets": {2: 4, 8: 1}, "method": method, "slots": slots}
    if WHICH == "hanging-elsewhere":
        # Its guard kills it after three times as long.
        return {"targets": {2: 4, 8: 1}, "method": method, "spawn_timeout_s": 10}
    if WHICH == "endless":
        return {"targets": {2: 4}, "method": method}
    if WHICH in (
        "refused",
        "absent",
        "single",
        "pattern",
        "stale",
        "stale-rows",
        "hanging",
        "hours",
        "derived",
    ):
        return {"targets": {2: 4, 8: 1}, "method": method}
    if WHICH == "settings":
        return {"method": method, "check_every": 1 + MPI.COMM_WORLD.rank}
    if WHICH == "otherwise":
        return {"targets": {2: 4, 8: 1}, "method": method, "relabel": IS_FIRST}
    if WHICH == "targets":
        return {"targets": {8: 3 + MPI.COMM_WORLD.rank}}
    if WHICH == "sources":
        return {
            "targets": [malleable.File(FOLDER / "target"), malleable.Signals()][
                : 1 + MPI.COMM_WORLD.rank
            ]
        }
    if WHICH == "room":
        return {"slots": 1}
    if WHICH == "patience":
        return {"method": method, "timeout_s": 60 + MPI.COMM_WORLD.rank}
    return {"method": method}


def load_constant(start: int, stop: int) -> np.ndarray:
    """Return rows that tell which they are, long enough for messages that have to be taken."""
    return np.repeat(np.arange(start, stop, dtype=np.float64)[:, None], 40_000, axis=1)


def load(start: int, stop: int) -> np.ndarray:
    """Return rows, wrong ones if that is the fault."""
    rank = MPI.COMM_WORLD.rank
    if WHICH == "shape" and rank == 1:
        return np.zeros((stop - start, 2))
    if WHICH == "short" and rank == 1:
        return np.zeros(stop - start - 1)
    if WHICH == "objects":
        return np.array([None] * (stop - start))
    return np.zeros(stop - start)


def at_step(world: malleable.World, step: int) -> None:
    """Do at a step what the fault is, or what asks for a resize."""
    if WHICH == "hours":
        clock.passed += 3600
    if WHICH in ANSWERS and step == 2 and world.rank == 0 and IS_FIRST:
        (FOLDER / "target").write_text("nonsense")
        (FOLDER / "new").write_text(ANSWERS[WHICH])
        (FOLDER / "new").rename(FOLDER / "target")
    if WHICH == "signal" and step == 2 and IS_FIRST and world.rank == 1:
        os.kill(os.getpid(), signal.SIGUSR1)
    if WHICH == "signal" and step == 8 and not IS_FIRST:
        os.kill(os.getpid(), signal.SIGUSR2)
    if WHICH == "pattern" and step == 1 and world.rank == 1:
        matrix = arrays["A"].local
        matrix.data[0] = 0
        matrix.eliminate_zeros()
    if WHICH == "endless" and world.size == 4 and world.changed and world.rank == 0:
        (FOLDER / "grown").touch()
    if (WHICH, step) == ("registering", 5) or (WHICH, step, world.rank) == ("alone", 5, 1):
        world.replicated("late", 0)
    if WHICH == "calling" and step == 5:
        world.once(lambda: None)
    if WHICH == "nested" and step == 5:
        assert list(world.steps(2)) == [0, 1]
    if (WHICH, step, world.rank) == ("saver", 5, 0):
        world.save(FOLDER / "state")
    if (WHICH, step, world.rank) == ("exit", 5, 1):
        sys.exit(0)
    if WHICH == "stale" and IS_FIRST:
        held.append((world.comm, arrays["x"].local))
        held[0][0].Barrier()
    if WHICH == "stale-rows" and IS_FIRST:
        held.append((world.comm, arrays["x"].local))
        held[0][1][...] += 0
    if WHICH == "derived" and not held:
        held.append((world.comm, arrays["x"].local[1:]))
    if WHICH == "skip" and step == 5 and world.rank == 1:
        world.__exit__(None, None, None)
    if WHICH == "raise" and step == 5 and world.rank == 1:
        raise KeyError("only here")


if __name__ == "__main__":
    try:
        main()
    except FreestoneError as error:
        if WHICH == "otherwise":
            raise
        print(f"{error.slug}: {error}", file=sys.stderr)
        sys.exit(0)
