"""A worker in each rank of an MPI program but the first."""

from __future__ import annotations

import socket
import sys
from typing import Any

from freestone.config import Config
from freestone.errors import EngineMissingError
from freestone.hosts import engine
from freestone.hosts.access import Access

__all__ = ["MpiHost"]

_CURE = "pip install mpi4py mpich, and start the program by mpiexec -n 3 python ..."


class MpiHost:
    """Workers of freestone in the ranks of `mpiexec`; rank 0 is the program.

    Parameters
    ----------
    comm
        An `mpi4py` communicator; by default all ranks. Each rank makes one of these.

    Raises
    ------
    EngineMissingError
        Without mpi4py, or with fewer than two ranks.
    """

    name = "MPI"

    def __init__(self, comm: Any = None) -> None:
        mpi: Any = engine.require("mpi4py.MPI", self.name, _CURE)
        self._comm = mpi.COMM_WORLD if comm is None else comm
        if self._comm.size < 2:
            missing = f"the program has {self._comm.size} rank, and rank 0 runs no calls"
            raise EngineMissingError(engine=self.name, missing=missing, cure=_CURE)
        self._hosts: list[str] = self._comm.allgather(socket.gethostname())
        self._reported = False

    def serve(self) -> None:
        """Run a worker on each rank but 0 until the cluster ends, and end the rank."""
        if self._comm.rank == 0:
            return
        access, words = self._comm.bcast(None, root=0)
        if access is None:
            sys.exit(1)
        process = engine.launch(access, words)
        sys.exit(process.wait())

    def listen(self) -> str:
        """Listen on the loopback address if all ranks are here."""
        elsewhere = [host for host in self._hosts if host != self._hosts[0]]
        return engine.listen_towards(elsewhere[0] if elsewhere else "")

    def start(self, access: Access, config: Config) -> None:
        """Tell the other ranks how to join."""
        self._tell(access.text(), engine.words(config, executors=1))

    def joining(self) -> int:
        """Return how many ranks run calls."""
        return int(self._comm.size) - 1

    def close(self) -> None:
        """Let ranks go that still wait for a cluster that did not start."""
        if not self._reported:
            self._tell(None, [])

    def _tell(self, access: str | None, words: list[str]) -> None:
        self._reported = True
        self._comm.bcast((access, words), root=0)
