"""Members with access of their own, and what is left of one whose access was revoked."""

from __future__ import annotations

import json
import socket
import ssl
import stat
import time
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ConnectError, UsageError
from freestone.hosts.access import Access
from tests.cli.test_steering import freestone
from tests.waiting import until

from .conftest import Joined, context_of, count


def granted(cluster: fs.Cluster, member: str, folder: Path) -> Path:
    path = folder / f"{member}.json"
    cluster.grant_access(member, path)
    return path


def running(cluster: fs.Cluster) -> int:
    return sum(worker.status.running for worker in cluster.statistics().workers)


def test_a_worker_is_shut_out_with_its_member_alone(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path
) -> None:
    alice, bob = (granted(cluster, member, tmp_path) for member in ("alice", "bob"))
    assert stat.S_IMODE(alice.stat().st_mode) == 0o600
    process = joined.start(alice)
    assert until(lambda: count(cluster) == 1)
    joined.start(bob)
    assert until(lambda: count(cluster) == 2)
    on_alices = cluster.submit(np.full, 100_000, 7, worker=1)
    assert on_alices.result(60).sum() == 700_000
    cluster.revoke_access("alice")
    _, output = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "its access to the cluster was revoked" in output
    assert until(lambda: count(cluster) == 1)
    # What only it held is made again by the other one.
    assert cluster.submit(np.sum, cluster.submit(np.full, 100_000, 7)).result(60) == 700_000
    _, output = joined.start(alice).communicate(timeout=60)
    assert "access was revoked" in output
    joined.start(cluster.access)
    assert until(lambda: count(cluster) == 2)
    assert cluster.granted_access() == ["bob"]
    cluster.revoke_access("bob")


def test_a_program_that_is_shut_out_learns_so(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path
) -> None:
    joined.start(cluster.access)
    path = granted(cluster, "carol", tmp_path)
    go = tmp_path / "go"

    def wait(path: str) -> int:
        while not Path(path).exists():
            time.sleep(0.01)
        return 1

    with fs.connect(path) as carol:
        future = carol.submit(wait, str(go))
        assert until(lambda: running(cluster) == 1)
        cluster.revoke_access("carol")
        with pytest.raises(ConnectError, match="its access to the cluster was revoked"):
            future.result(60)
    assert until(lambda: running(cluster) == 0)
    with pytest.raises(ConnectError, match="access was revoked"):
        fs.connect(path)


def answer_at(place: str, identity: tuple[str, str], folder: Path) -> str:
    """Shake hands with a worker as a peer would; how it ends."""
    context = context_of(identity, folder)
    host, _, port = place.removeprefix("tcp://").rpartition(":")
    with (
        socket.create_connection((host, int(port)), timeout=60) as plain,
        context.wrap_socket(plain) as stream,
    ):
        stream.settimeout(0.5)
        try:
            return repr(stream.recv(1))
        except ssl.SSLError as error:
            return str(error)
        except TimeoutError:
            return "waits for a question"


@pytest.mark.parametrize("joins", ["before", "after"])
def test_workers_refuse_one_that_was_shut_out(
    cluster: fs.Cluster, joined: Joined, tmp_path: Path, joins: str
) -> None:
    if joins == "before":
        joined.start(cluster.access)
    identity = Access.read(granted(cluster, "dave", tmp_path)).identity
    assert identity is not None
    if joins == "before":
        assert until(lambda: count(cluster) == 1)
        place = cluster.statistics().workers[-1].address
        assert answer_at(place, identity, tmp_path) == "waits for a question"
    cluster.revoke_access("dave")
    if joins == "after":
        joined.start(cluster.access)
    assert until(lambda: count(cluster) == 1)
    place = cluster.statistics().workers[-1].address
    assert until(lambda: "revoked" in answer_at(place, identity, tmp_path).lower())


def test_wrong_grants_are_refused(cluster: fs.Cluster, tmp_path: Path) -> None:
    granted(cluster, "erin", tmp_path)
    with pytest.raises(UsageError, match="'erin' has access to the cluster; revoke it first"):
        granted(cluster, "erin", tmp_path)
    cluster.revoke_access("erin")
    with pytest.raises(UsageError, match="granted to nobody, and not to 'erin'"):
        cluster.revoke_access("erin")
    with pytest.raises(UsageError, match=r"none/gina.json can't be written: No such file"):
        granted(cluster, "gina", tmp_path / "none")
    assert cluster.granted_access() == []
    with (
        fs.Cluster(executors=1, memory="64MiB", disk="64MiB") as near,
        pytest.raises(UsageError, match="listens on this machine only"),
    ):
        granted(near, "erin", tmp_path)


def test_from_a_terminal(cluster: fs.Cluster, joined: Joined, tmp_path: Path) -> None:
    path = tmp_path / "frank.json"
    here = ("--cluster", cluster.address)
    done = freestone("access", "grant", "frank", str(path), *here)
    assert done.stdout.startswith(f"frank has access with {path}")
    process = joined.start(path)
    assert until(lambda: count(cluster) == 1)
    done = freestone("access", "list", "--json", *here)
    assert json.loads(done.stdout) == {"granted": ["frank"]}
    done = freestone("access", "grant", "grace", str(path), *here)
    assert done.returncode == 2
    assert "may be the access of another member" in done.stderr
    done = freestone("access", "grant", "", str(tmp_path / "nobody.json"), *here)
    assert (done.returncode, "is no name" in done.stderr) == (2, True)
    assert freestone("access", "revoke", "frank", *here).stdout == "frank is shut out\n"
    assert process.wait(60) == 2
    done = freestone("access", "revoke", "frank", *here)
    assert done.returncode == 2
    assert "access was granted to nobody" in done.stderr
    done = freestone("access", "grant", "frank", str(tmp_path), *here)
    assert done.returncode == 2
    assert f"the access file {tmp_path} can't be written" in done.stderr
    assert cluster.granted_access() == []
