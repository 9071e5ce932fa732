"""The hand-written pipeline under `mpiexec`, whose processes are those of the pipeline."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from examples.insitu.bespoke import analyse, compute
from examples.insitu.settings import Outcome, Part, Settings, joined

__all__ = ["Together", "run"]

POLL_INTERVAL_S = 1e-3


class Together:
    """A barrier of all processes of `mpiexec`; who waits does not spin."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def wait(self) -> None:
        """Wait until all do."""
        request = self.comm.Ibarrier()
        while not request.Test():
            time.sleep(POLL_INTERVAL_S)

    def abort(self) -> None:
        """End all processes: the others would wait for ever."""
        self.comm.Abort(1)


def run(settings: Settings, flavour: str) -> Outcome:
    """Be the process of the pipeline that this one is of `mpiexec`'s; what came of it, on all.

    Raises
    ------
    ValueError
        If there are not as many processes as ranks.
    """
    from mpi4py import MPI

    comm, count = MPI.COMM_WORLD, settings.analytics + settings.members
    if comm.size != count:
        raise ValueError(
            f"{settings.analytics} analytics and {settings.members} computational ranks are "
            f"{count}, and mpiexec has started {comm.size} processes"
        )
    # Where the messages go: all processes are on one machine.
    with tempfile.TemporaryDirectory() as own:
        folder, together = Path(comm.bcast(own)), Together(comm)
        part: Part | None = None
        if comm.rank < settings.analytics:
            part = analyse(comm.rank, settings, folder, flavour, together)
        else:
            compute(comm.rank, settings, folder, together)
        together.wait()
        parts = comm.allgather(part)
    return joined([one for one in parts if one is not None])
