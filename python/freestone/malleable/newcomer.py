"""A spawned process, until it has joined the job."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NoReturn

from freestone.malleable import spawning
from freestone.malleable.arrays import Array
from freestone.malleable.passage import warmed
from freestone.malleable.waiting import wait_until

__all__ = ["Newcomer", "end", "meet", "pending"]

# A program may take that long to import what it needs.
_START_S = 600.0


@dataclass
class Newcomer:
    """A spawned process before it has joined.

    Attributes
    ----------
    peer : mpi4py communicator
        The root of the sources and all of this group.
    group : mpi4py communicator
        All that were spawned together.
    """

    peer: Any
    group: Any
    has_joined: bool = False
    has_heard: bool = False

    def prepare(self) -> dict[str, Array]:
        """Return what this process will have for itself, with warm pages, while others compute."""
        (blueprint, descriptions), number = spawning.told(self.peer, _START_S)
        self.has_heard = True
        return warmed(descriptions, blueprint, blueprint.before + number)

    def join(self, timeout_s: float) -> Any:
        """Return the communicator of sources and newcomers, once the sources want it.

        Raises
        ------
        SystemExit
            If another one of this group failed, or the sources changed their minds.
        """
        self.has_joined = True
        if self._agree(""):
            end()
        if spawning.listen(self.peer, timeout_s) == spawning.CANCEL:
            end()
        return spawning.bridge_newcomers(self.group, self.peer)

    def refuse(self, problem: str) -> None:
        """Tell that this process can't join."""
        self.has_joined = True
        self._agree(problem)

    def _agree(self, problem: str) -> str:
        """Tell the root, as soon as the whole group knows, what the first problem of any is."""
        import numpy as np

        if not self.has_heard:
            # Whoever sends it may wait until it is taken.
            spawning.told(self.peer, _START_S)
            self.has_heard = True
        rank, none = self.group.rank, self.group.size
        first = np.empty(1, np.int64)
        request = self.group.Iallreduce(np.array([rank if problem else none]), first, _least())
        wait_until(request.Test, _START_S, "starting all of a group")
        if first[0] == none:
            problem = ""
        problem = self.group.bcast(problem, root=int(first[0]) % none)
        if rank == 0:
            spawning.report(self.peer, problem)
        return problem


def _least() -> Any:
    from mpi4py import MPI

    return MPI.MIN


_pending: list[Newcomer] = []


def pending() -> Newcomer | None:
    """Return this process as a newcomer, if it has been spawned and has not joined yet."""
    return _pending.pop() if _pending else None


def meet() -> Newcomer:
    """Return this process as a newcomer, once it has met the root of the sources."""
    from mpi4py import MPI

    newcomer = Newcomer(MPI.Comm.Get_parent().Merge(high=True), MPI.COMM_WORLD.Dup())
    _pending.append(newcomer)
    return newcomer


def end() -> NoReturn:
    """End this process; it waits for its group, if that stays, without using the core."""
    from mpi4py import MPI

    sys.stdout.flush()
    sys.stderr.flush()
    MPI.Finalize()
    raise SystemExit(0)
