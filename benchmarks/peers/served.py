"""Systems whose manager or scheduler has a process of its own, which a program connects to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import freestone as fs
from benchmarks.functions import linger
from benchmarks.peers.base import WORKERS
from benchmarks.peers.dask import Dask
from benchmarks.peers.freestone import Freestone


class Served(Freestone):
    """A cluster of `freestone serve`: one worker with two executors."""

    def start(self) -> None:
        """Serve a cluster, connect, and wait until every executor has run a call."""
        self.folder = tempfile.TemporaryDirectory()
        self._run("serve", "--background", "--name", "bench", "--executors", str(WORKERS))
        self.cluster = fs.connect("bench", folder=self.folder.name)
        busy = [self.cluster.submit(linger, 0.1, pure=False) for _ in range(2 * WORKERS)]
        self.cluster.gather(busy)

    def stop(self) -> None:
        """End the connection and the cluster."""
        self.cluster.close()
        self._run("stop", "bench")
        self.folder.cleanup()

    def _run(self, *words: str) -> None:
        environment = os.environ | {"FREESTONE_FOLDER": self.folder.name}
        command = [sys.executable, "-m", "freestone", *words]
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


class DaskScheduler(Dask):
    """`dask scheduler` and two `dask worker`, each a process."""

    def start(self) -> None:
        """Start them, connect, and wait until each worker has run calls."""
        from distributed import Client

        self.folder = tempfile.TemporaryDirectory()
        file = f"{self.folder.name}/scheduler.json"
        base = [sys.executable, "-m", "dask"]
        where = ["--scheduler-file", file]
        scheduler = [*base, "scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"]
        worker = [*base, "worker", "--nthreads", "1", "--no-dashboard", "--no-nanny"]
        words = [scheduler, *[worker] * WORKERS]
        self.processes = [
            subprocess.Popen([*one, *where], stderr=subprocess.DEVNULL, cwd=self.folder.name)
            for one in words
        ]
        self.client = Client(scheduler_file=file)
        self.client.wait_for_workers(WORKERS)
        self.client.gather(self.client.map(linger, [0.1] * 2 * WORKERS, pure=False))

    def stop(self) -> None:
        """End the connection and the processes."""
        self.client.close()
        for process in reversed(self.processes):
            process.terminate()
            process.wait()
        self.folder.cleanup()
