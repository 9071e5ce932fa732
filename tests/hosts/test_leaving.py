"""Workers that leave: let go, told to end, or out of reach for a while."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.hosts.access import Access, Authority
from tests.ports import free_ports
from tests.waiting import until

from .conftest import Joined, count


def make_noted(cluster: fs.Cluster, path: Path) -> fs.Future:
    """Make a block by a call that notes in a file that it ran."""

    def make(path: str) -> np.ndarray:
        with open(path, "a") as file:
            file.write("x")
        return np.arange(100_000)

    made = cluster.submit(make, str(path))
    cluster.wait([made], 60)
    return made


def pid_of(cluster: fs.Cluster, worker: str) -> list[int]:
    return [entry.pid for entry in cluster.statistics().workers if entry.worker == worker]


def test_one_that_is_reported_to_end_hands_over_what_only_it_holds(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path
) -> None:
    leaving = joined.start(cluster.access)
    assert until(lambda: count(cluster) == 1)
    (tmp_path / "made").touch()

    made = make_noted(cluster, tmp_path / "made")
    leaving.send_signal(signal.SIGTERM)
    assert leaving.wait(60) == 0
    # With nobody else there it goes to the program's own worker, which only keeps blocks.
    assert cluster.who_has([made])[made.name] == ["worker-0"]
    joined.start(cluster.access)
    assert cluster.submit(np.sum, made).result(60) == sum(range(100_000))
    assert (tmp_path / "made").read_text() == "x"


@pytest.mark.parametrize("to_all", [False, True])
def test_ctrl_c_ends_one_that_was_started_by_hand(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path, to_all: bool
) -> None:
    leaving = joined.start(cluster.access, start_new_session=True)
    assert until(lambda: count(cluster) == 1)
    made = make_noted(cluster, tmp_path / "made")
    if to_all:
        os.killpg(leaving.pid, signal.SIGINT)
    else:
        leaving.send_signal(signal.SIGINT)
    _, printed = leaving.communicate(timeout=60)
    assert (leaving.returncode, printed) == (0, "")
    assert cluster.who_has([made])[made.name] == ["worker-0"]


def test_one_that_is_retired_ends(cluster: fs.Cluster, joined: Joined) -> None:
    leaving = joined.start(cluster.access)
    assert until(lambda: count(cluster) == 1)
    cluster.retire(1)
    assert leaving.wait(60) == 0
    assert until(lambda: count(cluster) == 0)


def test_one_whose_manager_died_gives_up(joined: Joined, tmp_path: Path) -> None:
    address = f"tcp://127.0.0.1:{free_ports(1)[0]}"
    access = Access.make(Authority(1).identity()).at(address).write(tmp_path / "access.json")
    process = joined.start(access)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "can't be reached" in output


class Cable:
    """A proxy between workers and a manager, which can be pulled out."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("tcp://").rpartition(":")
        self.target = (host, int(port))
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self.server.getsockname()[1]}"
        self.ends: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                here, _ = self.server.accept()
            except OSError:
                return
            there = socket.create_connection(self.target)
            self.ends += [here, there]
            for one, other in ((here, there), (there, here)):
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        self._end(source, target)

    def pull(self) -> None:
        """Cut all connections; new ones can be made."""
        ends, self.ends = self.ends, []
        self._end(*ends)

    def _end(self, *ends: socket.socket) -> None:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def close(self) -> None:
        self.pull()
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


@pytest.fixture
def cable(cluster: fs.Cluster) -> Iterator[Cable]:
    cable = Cable(cluster.address)
    yield cable
    cable.close()


def test_one_that_was_out_of_reach_comes_back_with_its_cache(
    cluster: fs.Cluster, cable: Cable, joined: Joined, tmp_path: Path
) -> None:
    process = joined.start(cluster.access, "--manager", cable.address)
    assert until(lambda: count(cluster) == 1)
    (before,) = pid_of(cluster, "worker-1")

    made = make_noted(cluster, tmp_path / "made")
    cable.pull()
    assert until(lambda: pid_of(cluster, "worker-2"))
    assert pid_of(cluster, "worker-2") == [before]
    assert process.poll() is None
    assert cluster.submit(np.sum, made).result(60) == sum(range(100_000))
    assert (tmp_path / "made").read_text() == "x"


def test_a_call_that_ran_when_the_cable_was_pulled_runs_again(
    cluster: fs.Cluster, cable: Cable, joined: Joined, tmp_path: Path
) -> None:
    joined.start(cluster.access, "--manager", cable.address)
    begun, go = tmp_path / "begun", tmp_path / "go"

    def wait(begun: str, go: str) -> str:
        import os
        import time

        with open(begun, "a") as file:
            file.write("x")
        while not os.path.exists(go):
            time.sleep(0.01)
        return "done"

    future = cluster.submit(wait, str(begun), str(go))
    # The file is there before what is written to it.
    assert until(lambda: begun.exists() and begun.read_text() == "x")
    cable.pull()
    assert until(lambda: begun.read_text() == "xx")
    go.touch()
    assert future.result(60) == "done"
