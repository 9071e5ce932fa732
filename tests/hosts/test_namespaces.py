"""Three network namespaces as three hosts: nothing in common but a cable and TCP.

Each has its own ``/dev/shm`` and its own folder for sockets, so no unix socket leads from one to
another.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import FREESTONE

HOSTS = 3


class Net:
    """Namespaces on a bridge, each with an address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tag = f"fs{os.getpid()}"
        self.made: list[str] = []

    def name(self, host: int) -> str:
        return f"{self.tag}h{host}"

    def ip(self, *words: str) -> None:
        done = subprocess.run(
            ["ip", *words], capture_output=True, text=True, timeout=20, check=False
        )
        if done.returncode:
            raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def build(self) -> None:
        """Make the hosts; the bridge is in the first."""
        for host in range(HOSTS):
            self.ip("netns", "add", self.name(host))
            self.made.append(self.name(host))
            self.ip("-n", self.name(host), "link", "set", "lo", "up")
        first = self.name(0)
        self.ip("-n", first, "link", "add", "bridge", "type", "bridge")
        self.ip("-n", first, "addr", "add", "10.99.7.1/24", "dev", "bridge")
        self.ip("-n", first, "link", "set", "bridge", "up")
        for host in range(1, HOSTS):
            near, far = f"port{host}", "wire"
            other = self.name(host)
            self.ip("-n", first, "link", "add", near, "type", "veth", "peer", "name", far)
            self.ip("-n", first, "link", "set", far, "netns", other)
            self.ip("-n", first, "link", "set", near, "master", "bridge", "up")
            self.ip("-n", other, "addr", "add", f"10.99.7.{host + 1}/24", "dev", far)
            self.ip("-n", other, "link", "set", far, "up")

    def start(self, host: int, *command: str) -> subprocess.Popen[str]:
        """Start a program on a host."""
        mine = self.folder / f"host{host}"
        mine.mkdir(mode=0o700, exist_ok=True)
        inner = 'mount -t tmpfs -o mode=1777 none /dev/shm; exec "$@"'
        words = ["ip", "netns", "exec", self.name(host), "unshare", "-m", "sh", "-c", inner, "sh"]
        return subprocess.Popen(
            [*words, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"FREESTONE_FOLDER": str(mine)},
        )

    def close(self) -> None:
        for name in self.made:
            self.ip("netns", "del", name)


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Net]:
    if os.geteuid() or not (shutil.which("ip") and shutil.which("unshare")):
        pytest.skip("network namespaces need root, ip and unshare")
    tmp_path.chmod(0o700)
    net = Net(tmp_path)
    try:
        net.build()
        probe = net.start(0, "true")
        _, output = probe.communicate(timeout=20)
        if probe.returncode:
            raise OSError(output.strip())
    except OSError as error:
        net.close()
        pytest.skip(f"the kernel refuses namespaces: {error}")
    yield net
    net.close()


PROGRAM = """
    import sys
    import numpy as np
    import freestone as fs
    from freestone.observe.dashboard.reader import PageReader

    def speak(n):
        print("spoken by", n)

    sizes = {"memory": "64MiB", "disk": "64MiB", "logs": "none"}
    with fs.Cluster(listen="tcp://10.99.7.1:0", executors=0, **sizes) as cluster:
        print(open(cluster.access).read().replace(chr(10), " "), flush=True)
        cluster.wait_for_workers(2, timeout_s=60)
        here = cluster.put(np.arange(200_000))
        there = [cluster.submit(np.full, 200_000, n, worker=n) for n in (1, 2)]
        add = lambda *parts: int(sum(part.sum() for part in parts))
        sums = [cluster.submit(add, here, *there, worker=n, pure=False) for n in (1, 2)]
        print([future.result(60) for future in sums], flush=True)
        figures = cluster.statistics()
        print(sorted(one.address.split(":")[1] for one in figures.workers), flush=True)
        spoken = [cluster.submit(speak, n, worker=n) for n in (1, 2)]
        cluster.gather(spoken)
        logs = [str(cluster.logs(one)).splitlines() for one in (*spoken, "worker-2")]
        page = PageReader(cluster.dashboard_link).ask("logs")["logs"]
        print(logs, sorted((one["worker"], one["text"]) for one in page), flush=True)
        print("plain", flush=True)
        sys.stdin.readline()
        print(len(cluster.statistics().workers), cluster.submit(abs, -3).result(60), flush=True)
        cluster.retire(2)
        print(int(there[1].result(60).sum()), flush=True)
"""

# What a worker would say first, without TLS: its length, and then anything.
PLAIN = """
    import socket, sys
    host, _, port = sys.argv[1].removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        plain.sendall((40).to_bytes(4, "little") + bytes(40))
        print(b"".join(iter(lambda: plain.recv(4096), b""))[:1] in (b"", bytes([21])))
"""


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    output = process.stdout.readline().strip()
    assert output, process.communicate(timeout=60)[1]
    return output


def test_three_hosts(net: Net) -> None:
    program = net.start(0, sys.executable, "-c", textwrap.dedent(PROGRAM))
    processes = [program]
    try:
        access = line(program)
        for host in (1, 2):
            options = ["--executors", "1", "--memory", "64MiB", "--disk", "64MiB"]
            worker = net.start(host, *FREESTONE, "worker", "--access", "-", *options)
            assert worker.stdin is not None
            worker.stdin.write(access + "\n")
            worker.stdin.flush()
            processes.append(worker)
        total = sum(range(200_000)) + 3 * 200_000
        assert line(program) == f"[{total}, {total}]"
        assert line(program) == "['//10.99.7.1', '//10.99.7.2', '//10.99.7.3']"
        logs = "[['spoken by 1'], ['spoken by 2'], ['spoken by 2']]"
        page = [("worker-1", "spoken by 1\n"), ("worker-2", "spoken by 2\n")]
        assert line(program) == f"{logs} {page}"
        assert line(program) == "plain"
        address = access.partition("tcp://")[2].partition('"')[0]
        plain = net.start(1, sys.executable, "-c", textwrap.dedent(PLAIN), f"tcp://{address}")
        processes.append(plain)
        assert line(plain) == "True"
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
        assert line(program) == "3 3"
        # What only the one that is let go had was handed over.
        assert line(program) == str(2 * 200_000)
        _, output = program.communicate(timeout=60)
        assert program.returncode == 0, output
        assert "does not speak TLS" in output
        assert [worker.wait(60) for worker in processes[1:3]] == [0, 0]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
