"""What a spawned process runs: the job's own program, which then joins the job.

Run as ``python -m freestone.malleable.newcomer script|module NAME ARGUMENTS``.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from dataclasses import dataclass
from typing import Any, NoReturn

from freestone.malleable import spawning
from freestone.malleable.waiting import wait_until

__all__ = ["Newcomer", "main", "pending"]

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


def main(words: list[str]) -> None:
    """Meet the root of the sources, then run the program; end in good order if it fails.

    An exit status other than 0 would make the launcher end the whole job.
    """
    from mpi4py import MPI

    peer = MPI.Comm.Get_parent().Merge(high=True)
    newcomer = Newcomer(peer, MPI.COMM_WORLD.Dup())
    _module()._pending.append(newcomer)
    try:
        _run(words)
    except BaseException as error:
        if newcomer.has_joined:
            raise
        if not isinstance(error, SystemExit):
            traceback.print_exc()
        newcomer.refuse(f"{type(error).__name__}: {error}")
        end()
    if not newcomer.has_joined:
        newcomer.refuse("the program ended without a malleable.World")


def _module() -> Any:
    # This file is __main__ here, and another module to whoever imports it.
    from freestone.malleable import newcomer

    return newcomer


def _run(words: list[str]) -> None:
    kind, name, *arguments = words
    sys.argv = [name, *arguments]
    if kind == "module":
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(name))
        runpy.run_path(name, run_name="__main__")


def end() -> NoReturn:
    """End this process; it waits for its group, if that stays, without using the core."""
    from mpi4py import MPI

    sys.stdout.flush()
    sys.stderr.flush()
    MPI.Finalize()
    raise SystemExit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
