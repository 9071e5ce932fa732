"""Clusters of several machines, all of them this one, over TCP on the loopback address."""

from __future__ import annotations

import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import freestone as fs

FREESTONE = [sys.executable, "-c", "import sys; from freestone.cli import main; sys.exit(main())"]


class Joined:
    """Workers that were started by hand."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def start(
        self, access: str | Path, *words: str, start_new_session: bool = False
    ) -> subprocess.Popen[str]:
        """Start one, as a user would on another machine."""
        options = ["--executors", "1", "--memory", "64MiB", "--disk", "64MiB"]
        process = subprocess.Popen(
            [*FREESTONE, "worker", "--access", str(access), *options, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=start_new_session,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


@pytest.fixture
def joined() -> Iterator[Joined]:
    joined = Joined()
    yield joined
    joined.close()


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    """One that only keeps blocks: all calls run at workers that join."""
    options = {"memory": "64MiB", "disk": "1GiB", "reconnect_s": 20}
    with fs.Cluster(listen="tcp://127.0.0.1:0", executors=0, **options) as cluster:
        yield cluster


def count(cluster: fs.Cluster) -> int:
    """Return how many workers there are that run calls."""
    return sum(worker.slots > 0 for worker in cluster.statistics().workers)


def workers(cluster: fs.Cluster) -> set[int]:
    """Return the processes of the workers that run calls."""
    return {worker.pid for worker in cluster.statistics().workers if worker.slots > 0}


def context_of(identity: tuple[str, str], folder: Path) -> ssl.SSLContext:
    """Return what shakes hands as a member does that has this certificate and key."""
    paths = [folder / "certificate", folder / "key"]
    for path, text in zip(paths, identity, strict=True):
        path.write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(paths[0])
    context.load_cert_chain(*paths)
    return context
