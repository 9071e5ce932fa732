"""A program whose connection to the cluster breaks: what it has asked goes on, and it gets it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone import errors
from tests.waiting import until


class Network:
    """A way to a port of this machine that can be cut and mended."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_cut = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if self._is_cut:
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", self._port))
                    self._sockets += [near, far]
                    self.connections += 1
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        # The end of one side is that of the other, as when a process dies.
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def cut(self) -> None:
        """End all connections, and let none be made."""
        with self._lock:
            self._is_cut = True
            for end in self._sockets:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            self._sockets.clear()

    def mend(self) -> None:
        """Let connections be made again."""
        with self._lock:
            self._is_cut = False

    def has_carried(self, connections: int) -> bool:
        """Wait until so many connections were made; False when a minute has passed."""
        return until(lambda: self.connections >= connections)

    def close(self) -> None:
        """End it."""
        self.cut()
        self._listener.close()


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[fs.Cluster]:
    with fs.Cluster(
        executors=2, memory="64MiB", disk="64MiB", folder=str(folder), listen="tcp://127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def network(served: fs.Cluster) -> Iterator[Network]:
    network = Network(int(served.address.rsplit(":", 1)[1]))
    yield network
    network.close()


@pytest.fixture
def connected(served: fs.Cluster, network: Network) -> Iterator[fs.Cluster]:
    with fs.connect(network.address, access=served.access, reconnect_s=60) as cluster:
        yield cluster


def opened(gate: str) -> int:
    """Wait until the file is there, and count the calls in it."""
    import time

    with open(gate + "-ran", "a") as file:
        file.write("ran\n")
    while not Path(gate).exists():
        time.sleep(0.001)
    return 42


def test_what_was_asked_goes_on_and_is_answered(
    connected: fs.Cluster, network: Network, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    waiting = connected.submit(opened, str(gate))
    assert until(tmp_path.joinpath("gate-ran").exists)
    network.cut()
    while_cut = connected.map(pow, range(100), [2] * 100)
    gate.touch()
    network.mend()
    assert waiting.result(60) == 42
    assert connected.gather(while_cut) == [k * k for k in range(100)]
    # It ran once: the program was waited for.
    assert tmp_path.joinpath("gate-ran").read_text() == "ran\n"
    assert network.connections == 2


def test_nothing_is_lost_and_nothing_comes_twice_however_often_it_breaks(
    connected: fs.Cluster, network: Network
) -> None:
    counted = connected.variable("counted", default=0)

    def count(number: int) -> int:
        cluster = fs.current()
        assert cluster is not None
        cluster.variable("counted", default=0).update(lambda sum: sum + 1)
        return number

    futures = []
    for part in range(4):
        futures += connected.map(count, range(part * 30, part * 30 + 30), pure=False)
        network.cut()
        network.mend()
        # The next cut may come while they greet each other.
        assert network.has_carried(part + 2)
    assert sorted(future.result() for future in fs.as_completed(futures, 60)) == list(range(120))
    assert counted.get() == 120


def test_a_lock_is_kept_for_a_program_that_reconnects(
    connected: fs.Cluster, served: fs.Cluster, network: Network
) -> None:
    with connected.lock("kept"):
        network.cut()
        with pytest.raises(errors.LockTimeoutError), served.lock("kept", timeout_s=0.05):
            pass
        network.mend()
        assert connected.submit(abs, -7).result(60) == 7
    with served.lock("kept", timeout_s=60):
        pass


def test_a_programs_own_worker_reconnects_with_its_blocks(
    served: fs.Cluster, network: Network, folder: Path
) -> None:
    values = np.arange(100_000)
    with fs.connect(
        network.address, access=served.access, memory="32MiB", disk="32MiB", folder=str(folder)
    ) as cluster:
        put = cluster.put(values)
        assert until(lambda: any(cluster.who_has(put).values()))
        home = cluster.client.manager.home
        network.cut()
        network.mend()
        assert until(lambda: cluster.client.manager.home != home)
        assert cluster.submit(np.sum, put).result(60) == values.sum()
        np.testing.assert_array_equal(cluster.submit(np.multiply, put, 3).result(60), values * 3)


def test_who_does_not_reconnect_in_time_has_lost_it(
    served: fs.Cluster, network: Network, tmp_path: Path
) -> None:
    before = served.client.manager.clients  # Tasks that used the cluster are clients, too, and go.
    gate = tmp_path / "never"
    with fs.connect(network.address, access=served.access, reconnect_s=0.2) as cluster:
        future = cluster.submit(opened, str(gate), pure=False)
        assert until(tmp_path.joinpath("never-ran").exists)
        network.cut()
        with pytest.raises(errors.ConnectError, match=r"for 0.2 s \('reconnect_s'\)"):
            future.result(60)
        with pytest.raises(errors.ConnectError, match="reconnect_s"):
            cluster.submit(abs, -1)
    # What only it needed is cancelled.
    assert until(lambda: served.statistics().pending == 0)
    assert until(lambda: served.client.manager.clients <= before)


def test_a_program_may_choose_not_to_reconnect(served: fs.Cluster, network: Network) -> None:
    before = served.client.manager.clients  # Tasks that used the cluster are clients, too, and go.
    with fs.connect(network.address, access=served.access, reconnect_s=0) as cluster:
        assert cluster.submit(abs, -3).result() == 3
        network.cut()
        assert until(lambda: served.client.manager.clients <= before)
        assert until(lambda: cluster.client.manager.lost is not None)


def test_a_program_that_ends_is_not_waited_for(served: fs.Cluster, network: Network) -> None:
    before = served.client.manager.clients  # Tasks that used the cluster are clients, too, and go.
    cluster = fs.connect(network.address, access=served.access, reconnect_s=600)
    futures = cluster.map(abs, range(1000))
    assert futures[0].result() == 0
    cluster.close()
    assert until(lambda: served.client.manager.clients <= before)


def test_a_cluster_can_be_closed_while_it_is_sought(served: fs.Cluster, network: Network) -> None:
    cluster = fs.connect(network.address, access=served.access, reconnect_s=600)
    future = cluster.submit(abs, -5)
    network.cut()
    cluster.close()
    with suppress(errors.ClosedError, errors.ConnectError):
        assert future.result() == 5
    network.mend()
    with fs.connect(network.address, access=served.access) as other:
        assert other.submit(abs, -6).result() == 6
