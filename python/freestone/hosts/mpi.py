"""A worker in each rank of an MPI program but the first."""

from __future__ import annotations

import socket
import sys
import time
from typing import Any

from freestone.config import Config
from freestone.errors import EngineMissingError
from freestone.hosts import engine
from freestone.hosts.access import Access

__all__ = ["MpiHost"]

_ENDED = 1
"""The tag of the message that the cluster has ended."""
_LATE_S = 5.0
"""For so long a rank whose worker failed waits to hear that the cluster ended before it came."""
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
        status = engine.launch(access, words).wait()
        if status and self._has_ended():
            late = f"rank {self._comm.rank}: the cluster had ended when its worker came to join it"
            print(f"{late}; nothing is lost", file=sys.stderr)
            status = 0
        sys.exit(status)

    def _has_ended(self) -> bool:
        """Tell whether the cluster ended, so that who came late to it has missed nothing."""
        until = time.monotonic() + _LATE_S
        while time.monotonic() < until:
            if self._comm.iprobe(source=0, tag=_ENDED):
                self._comm.recv(source=0, tag=_ENDED)
                return True
            time.sleep(0.05)
        return False

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
        """Let ranks go that still wait for a cluster, whether it did not start or has ended."""
        if not self._reported:
            self._tell(None, [])
            return
        # Small messages are on their way at once; most ranks end without a look at theirs.
        for rank in range(1, self._comm.size):
            self._comm.isend(None, dest=rank, tag=_ENDED)

    def _tell(self, access: str | None, words: list[str]) -> None:
        self._reported = True
        self._comm.bcast((access, words), root=0)
