"""Strangers who connect and say nothing: few are let in, and the cluster goes on."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import until

MOST = 128
"""Connections of strangers that a process has at a time."""

PROGRAM = """
import os, resource, sys
import freestone as fs

limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
with fs.Cluster(executors=1, memory="64MiB", disk="64MiB", listen="tcp://127.0.0.1:0") as cluster:
    print(cluster.address, flush=True)
    print(cluster.statistics().workers[0].address, flush=True)
    print(cluster.statistics().workers[0].pid, flush=True)
    for line in sys.stdin:
        if line == "calls\\n":
            open(os.devnull).close()
            print(sum(f.result() for f in cluster.map(abs, range(100))), flush=True)
        elif line == "grow\\n":
            cluster.resize(2)
            cluster.wait_for_workers(2, timeout_s=60)
            print(len(cluster.statistics().workers), flush=True)
"""


class Program:
    """A program with a cluster, and those that it lets in."""

    def __init__(self, limit: int, errors: Path) -> None:
        self.errors = errors
        with open(errors, "w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(limit)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )
        self.manager, self.worker = self.read(), self.read()
        self.worker_pid = int(self.read())

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def ask(self, question: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return self.read()

    def descriptors(self, pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[[int], Program]]:
    """Start programs; all end."""
    with contextlib.ExitStack() as stack:

        def start(limit: int = 0) -> Program:
            program = Program(limit, tmp_path / "errors")
            stack.enter_context(program.process)
            return program

        yield start


@contextlib.contextmanager
def strangers(address: str, count: int) -> Iterator[list[socket.socket]]:
    """Connect so many times to the TCP part of an address, and say nothing."""
    found = re.search(r"127\.0\.0\.1:\d+", address)
    assert found is not None, address
    host, port = found[0].split(":")
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = socket.socket()
            stack.callback(connection.close)
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.connect((host, int(port)))
            connections.append(connection)
        yield connections


def test_strangers_at_the_manager(program: Callable[[int], Program]) -> None:
    running = program(0)
    before = running.descriptors(running.process.pid)
    with strangers(running.manager, 400):
        assert until(lambda: running.descriptors(running.process.pid) >= before + MOST - 8)
        assert running.ask("calls") == "4950"
        assert running.ask("grow") == "2"
        assert running.descriptors(running.process.pid) < before + MOST + 20
    assert until(lambda: running.descriptors(running.process.pid) < before + 20)
    assert running.ask("calls") == "4950"
    assert running.errors.read_text().count("\n") < 100


def test_strangers_at_a_worker(program: Callable[[int], Program]) -> None:
    running = program(0)
    before = running.descriptors(running.worker_pid)
    with strangers(running.worker, 400):
        assert until(lambda: running.descriptors(running.worker_pid) >= before + MOST - 8)
        assert running.ask("calls") == "4950"
        assert running.descriptors(running.worker_pid) < before + MOST + 20
    assert until(lambda: running.descriptors(running.worker_pid) < before + 20)
    assert running.ask("calls") == "4950"


def test_a_program_with_few_descriptors_keeps_some(program: Callable[[int], Program]) -> None:
    limit = 128
    running = program(limit)
    before = running.descriptors(running.process.pid)
    with strangers(running.manager, 300):
        assert until(lambda: running.descriptors(running.process.pid) >= before + limit // 4)
        assert running.ask("calls") == "4950"
        assert running.ask("grow") == "2"
        assert running.descriptors(running.process.pid) < limit - 16
