"""Workers that join over TCP, and those that may not."""

from __future__ import annotations

import json
import socket
import stat
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ConfigurationError, FreestoneError
from freestone.hosts.access import Access, Authority
from tests.waiting import until

from .conftest import Joined, context_of, count


def total(*values: np.ndarray) -> float:
    return float(sum(value.sum() for value in values))


def test_calls_run_and_blocks_move_between_workers_that_joined(
    cluster: fs.Cluster, joined: Joined
) -> None:
    for _ in range(2):
        joined.start(cluster.access)
    assert until(lambda: count(cluster) == 2)
    here = cluster.put(np.ones(100_000))
    there = [cluster.submit(np.full, 100_000, n, worker=n) for n in (1, 2)]
    sums = [cluster.submit(total, here, *there, worker=n, pure=False) for n in (1, 2)]
    assert [future.result(60) for future in sums] == [400_000.0] * 2
    assert np.array_equal(there[1].result(), np.full(100_000, 2))
    figures = cluster.statistics()
    assert figures.transferred_nbytes >= 4 * 800_000
    assert all(worker.address.startswith("tcp://127.0.0.1:") for worker in figures.workers)


def start_two_in(
    folder: Path, cluster: fs.Cluster, joined: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start two workers whose sockets are in a folder of their own."""
    folder.chmod(0o700)
    monkeypatch.setenv("FREESTONE_FOLDER", str(folder))
    for _ in range(2):
        joined.start(cluster.access)
    assert until(lambda: count(cluster) == 2)


def test_blocks_move_by_tls_where_there_is_no_socket(
    cluster: fs.Cluster, joined: Joined, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start_two_in(tmp_path, cluster, joined, monkeypatch)
    # As on different machines: the sockets of others are not there.
    sockets = [*tmp_path.glob("*/worker-*.sock"), *Path(cluster.folder).glob("worker-*.sock")]
    assert len(sockets) == 3
    for path in sockets:
        path.unlink()
    here = cluster.put(np.arange(1_000_000))
    there = [cluster.submit(np.full, 1_000_000, n, worker=n) for n in (1, 2)]
    sums = [cluster.submit(total, here, *there, worker=n, pure=False) for n in (1, 2)]
    expected = float(np.arange(1_000_000).sum() + 3_000_000)
    assert [future.result(60) for future in sums] == [expected] * 2
    assert np.array_equal(there[1].result(), np.full(1_000_000, 2))


def sockets_of(port: int) -> int:
    """Count TCP sockets with a side at a port; those that were closed lately are among them."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    sides = (line.split()[1:3] for line in lines)
    return sum(any(int(side.rpartition(":")[2], 16) == port for side in pair) for pair in sides)


def test_small_blocks_share_connections(
    cluster: fs.Cluster, joined: Joined, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    start_two_in(tmp_path, cluster, joined, monkeypatch)
    for path in [*tmp_path.glob("*/worker-*.sock"), *Path(cluster.folder).glob("worker-*.sock")]:
        path.unlink()
    many = 300
    made = [cluster.submit(np.full, 2000, n, worker=1) for n in range(many)]
    cluster.wait(made, 60)
    sums = [cluster.submit(total, block, worker=2, pure=False) for block in made]
    assert cluster.gather(sums) == [2000.0 * n for n in range(many)]
    figures = cluster.statistics()
    assert figures.transfers >= many
    places = [worker.address for worker in figures.workers if worker.worker == "worker-1"]
    port = int(places[0].rpartition(":")[2])
    # Both sides of at most four connections, that of the listener, and one of a moment's need.
    assert 3 <= sockets_of(port) <= 20


def test_a_worker_that_joins_in_mid_run_gets_work_at_once(
    cluster: fs.Cluster, joined: Joined
) -> None:
    futures = cluster.map(abs, range(-50, 0))
    assert not any(future.done() for future in futures)
    joined.start(cluster.access)
    assert cluster.gather(futures) == list(range(50, 0, -1))


def test_the_access_file_is_for_its_owner_alone(cluster: fs.Cluster, joined: Joined) -> None:
    path = Path(cluster.access)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    about = json.loads(path.read_text())
    assert about["address"] == cluster.address
    assert cluster.address.startswith("tcp://127.0.0.1:")
    path.chmod(0o644)
    _, output = joined.start(path).communicate(timeout=60)
    assert "chmod 600" in output


def test_unix_sockets_need_no_certificate() -> None:
    with fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as cluster:
        assert Access.read(cluster.access).identity is None
        assert cluster.address.startswith("unix:")


def test_what_is_larger_than_any_buffer_goes_through(cluster: fs.Cluster, joined: Joined) -> None:
    joined.start(cluster.access)
    large = bytes(range(256)) * 39_000
    assert cluster.submit(lambda: len(large), name="large").result(60) == 9_984_000
    # Small results travel in messages, many in one.
    results = cluster.gather(cluster.map(lambda n: bytes([n % 256]) * 8000, range(2000)))
    assert [result[0] for result in results] == [n % 256 for n in range(2000)]


def refusal(joined: Joined, path: Path) -> str:
    process = joined.start(path)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 2
    return output


def test_the_key_of_another_cluster_is_refused_on_both_sides(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = Access.make(Authority(1).identity()).at(cluster.address).write(tmp_path / "access.json")
    assert "certificate of another cluster" in refusal(joined, other)
    assert until(lambda: "was refused" in (output := capfd.readouterr().err) and output)
    mixed = Access.read(cluster.access)
    wrong = Access(mixed.address, "0" * 32, mixed.identity).write(tmp_path / "wrong.json")
    assert "key is not that of this cluster" in refusal(joined, wrong)
    goes_on(cluster, joined)


def test_an_expired_certificate_is_reported(joined: Joined, tmp_path: Path) -> None:
    options = {"memory": "64MiB", "disk": "64MiB", "access_days": 0}
    with fs.Cluster(listen="tcp://127.0.0.1:0", executors=1, **options) as cluster:
        assert "has expired" in refusal(joined, Path(cluster.access))
        assert cluster.submit(abs, -1).result(60) == 1


def test_a_plaintext_peer_is_refused(
    cluster: fs.Cluster, joined: Joined, capfd: pytest.CaptureFixture[str]
) -> None:
    host, _, port = cluster.address.removeprefix("tcp://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        answer = b"".join(iter(lambda: plain.recv(4096), b""))
    # What comes back is an alert of TLS, and nothing of the cluster's.
    assert answer[:1] in (b"", b"\x15")
    assert until(lambda: "does not speak TLS" in _more(capfd))
    goes_on(cluster, joined)


def test_another_version_of_the_protocol_is_reported(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path
) -> None:
    """As one would say hello that speaks a version that nobody here knows."""
    identity = Access.read(cluster.access).identity
    assert identity is not None
    context = context_of(identity, tmp_path)
    host, _, port = cluster.address.removeprefix("tcp://").rpartition(":")
    hello = bytes([0, 99]) + b"and what that version says besides"
    with (
        socket.create_connection((host, int(port)), timeout=60) as plain,
        context.wrap_socket(plain) as stream,
    ):
        stream.sendall(len(hello).to_bytes(4, "little") + hello)
        answer = stream.recv(4096)
    assert b"it speaks version 99 of the protocol" in answer
    assert b"install the same freestone" in answer
    goes_on(cluster, joined)


def _more(capfd: pytest.CaptureFixture[str], seen: list[str] = []) -> str:  # noqa: B006
    seen.append(capfd.readouterr().err)
    return "".join(seen)


def test_an_address_without_port_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"tcp://0\.0\.0\.0:0"):
        fs.Cluster(listen="somewhere")


def test_a_place_that_is_taken_is_reported(cluster: fs.Cluster) -> None:
    with pytest.raises((FreestoneError, OSError), match="in use"):
        fs.Cluster(listen=cluster.address, executors=1)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": 1, "certificate": "x"}'])
def test_what_is_no_access_file_is_reported(tmp_path: Path, joined: Joined, text: str) -> None:
    path = tmp_path / "access.json"
    path.touch(mode=0o600)
    path.write_text(text)
    assert "is not an access file" in refusal(joined, path)


def goes_on(cluster: fs.Cluster, joined: Joined) -> None:
    """Show that the cluster takes workers and calls as before."""
    joined.start(cluster.access)
    assert cluster.submit(abs, -3).result(60) == 3
