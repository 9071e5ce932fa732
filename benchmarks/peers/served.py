"""Systems whose manager or scheduler has a process of its own, which a program connects to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import freestone as fs
from benchmarks.functions import linger
from benchmarks.peers.base import WORKERS, Peer
from benchmarks.peers.clients import Client, Clients
from benchmarks.peers.dask import Dask
from benchmarks.peers.freestone import Freestone

NAME = "bench"


class Shared(Peer):
    """A cluster that several clients can use at the same time."""

    joins: type[Client]
    """What connects to it, made with the place where it is."""

    def __init__(self) -> None:
        super().__init__()
        self._clients: Clients | None = None

    @property
    def place(self) -> str:
        """Where the cluster is, for its clients."""
        raise NotImplementedError

    def map_of_clients(self, count: int) -> None:
        """Make so many calls by `map` of several clients together."""
        self._of_clients("map", count)

    def submit_of_clients(self, count: int) -> None:
        """Make so many calls by `submit` of several clients together."""
        self._of_clients("submit", count)

    def _of_clients(self, case: str, count: int) -> None:
        if self._clients is None:
            self._clients = Clients(self.joins, self.place)
        self._clients.run(case, count)

    def _end_clients(self) -> None:
        if self._clients is not None:
            self._clients.close()


class Connected(Client, Freestone):
    """A client of a cluster of `freestone serve`."""

    def start(self) -> None:
        """Connect."""
        self.cluster = fs.connect(NAME, folder=self.place)


class Served(Shared, Freestone):
    """A cluster of `freestone serve`: one worker with two executors."""

    joins = Connected

    def start(self) -> None:
        """Serve a cluster, connect, and wait until every executor has run a call."""
        self.folder = tempfile.TemporaryDirectory()
        self._run("serve", "--background", "--name", NAME, "--executors", str(WORKERS))
        self.cluster = fs.connect(NAME, folder=self.folder.name)
        busy = [self.cluster.submit(linger, 0.1, pure=False) for _ in range(2 * WORKERS)]
        self.cluster.gather(busy)

    def stop(self) -> None:
        """End the connections and the cluster."""
        self._end_clients()
        self.cluster.close()
        self._run("stop", NAME)
        self.folder.cleanup()

    @property
    def place(self) -> str:
        """The folder of the cluster."""
        return self.folder.name

    def _run(self, *words: str) -> None:
        environment = os.environ | {"FREESTONE_FOLDER": self.folder.name}
        command = [sys.executable, "-m", "freestone", *words]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


class DaskClient(Client, Dask):
    """A client of `dask scheduler`."""

    def start(self) -> None:
        """Connect."""
        import distributed

        self.client = distributed.Client(scheduler_file=self.place)

    def stop(self) -> None:
        """End the connection."""
        self.client.close()


class DaskScheduler(Shared, Dask):
    """`dask scheduler` and two `dask worker`, each a process."""

    joins = DaskClient

    def start(self) -> None:
        """Start them, connect, and wait until each worker has run calls."""
        import distributed

        self.folder = tempfile.TemporaryDirectory()
        base = [sys.executable, "-m", "dask"]
        where = ["--scheduler-file", self.place]
        scheduler = [*base, "scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
        worker = [*base, "worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        words = [scheduler, *[worker] * WORKERS]
        self.processes = [
            subprocess.Popen([*one, *where], stderr=subprocess.DEVNULL, cwd=self.folder.name)
            for one in words
        ]
        self.client = distributed.Client(scheduler_file=self.place)
        self.client.wait_for_workers(WORKERS)
        self.client.gather(self.client.map(linger, [0.1] * 2 * WORKERS, pure=False))

    def stop(self) -> None:
        """End the connections and the processes."""
        self._end_clients()
        self.client.close()
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.folder.cleanup()

    @property
    def place(self) -> str:
        """The scheduler's file."""
        return f"{self.folder.name}/scheduler.json"
