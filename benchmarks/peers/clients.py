"""Several clients of one cluster, each a process, which do the same at the same time."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection

from benchmarks.peers.base import Peer

CLIENTS = 3
# So many numbers apart, each has its own for a long time.
APART = 10**9


class Client(Peer):
    """One that connects to a cluster which is there.

    Parameters
    ----------
    place
        Where the cluster is.
    """

    def __init__(self, place: str) -> None:
        super().__init__()
        self.place = place


class Clients:
    """Processes that are connected to one cluster.

    Parameters
    ----------
    kind
        What one of them is; made with `place`, and started in its process.
    place
        Where the cluster is.
    """

    def __init__(self, kind: type[Client], place: str) -> None:
        # A process that is forked would have the connections of this one.
        context = multiprocessing.get_context("spawn")
        self._ends: list[Connection] = []
        self._processes = []
        for number in range(1, CLIENTS + 1):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(kind, place, number * APART, there))
            process.start()
            self._ends.append(here)
            self._processes.append(process)
        for end in self._ends:
            end.recv()

    def run(self, case: str, count: int) -> None:
        """Have each do its part of so many calls, and wait for all."""
        for end in self._ends:
            end.send((case, count // CLIENTS))
        for end in self._ends:
            end.recv()

    def close(self) -> None:
        """End them."""
        for end in self._ends:
            end.send(None)
        for process in self._processes:
            process.join()


def _work(kind: type[Client], place: str, first: int, end: Connection) -> None:
    with kind(place) as peer:
        peer.unused(first)
        end.send(None)
        while (job := end.recv()) is not None:
            case, count = job
            getattr(peer, case)(count)
            end.send(None)
