"""Several hosts: network namespaces, with nothing but TCP between them."""

from __future__ import annotations

import json
import socket
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.resizing.namespaces import SUBNET, NoNamespacesError, hosts
from freestone.malleable.membership import own_host
from freestone.malleable.planning import leaving
from tests.malleable.jobs import run

pytest.importorskip("mpi4py")

ROWS = 131
NAMES = [f"{SUBNET}.{host}" for host in (1, 2, 3)]


def test_a_job_grows_over_hosts_and_whole_hosts_leave() -> None:
    resizes = [
        (6, "merge-collective-sync"),
        (2, "merge-p2p-nonblocking"),
        (4, "baseline-p2p-sync"),
        (2, "merge-onesided-sync"),
    ]
    words = {"resizes": resizes, "rows": ROWS, "seed": 3, "share": False}
    words["slots"] = dict.fromkeys(NAMES, 2)
    try:
        with hosts(3, "1gbit") as mpiexec:
            outcome = run("program.py", json.dumps(words), mpiexec=mpiexec)
    except NoNamespacesError as error:
        pytest.skip(f"no network namespaces: {error}")
    assert outcome.status == 0, outcome.err
    records = outcome.data["resizes"]
    assert [(r["after"], r["error"]) for r in records] == [(size, "") for size, _ in resizes]
    places = outcome.data["places"]
    assert [Counter(hosts) for hosts in places] == [
        {NAMES[0]: 2, NAMES[1]: 2, NAMES[2]: 2},
        {NAMES[0]: 1, NAMES[1]: 1},
        {NAMES[0]: 2, NAMES[1]: 2},
        {NAMES[0]: 2},
    ]
    # Of the rows of a host two thirds stay there, whatever the order of the joining ranks.
    assert Counter(places[0][:3]) == {NAMES[0]: 2, NAMES[2]: 1}
    assert Counter(places[0][3:]) == {NAMES[1]: 2, NAMES[2]: 1}


def test_joining_ranks_lost_beyond_a_network_leave_the_job_as_it_was(
    tmp_path: Path,
) -> None:
    try:
        with hosts(3, "1gbit") as mpiexec:
            outcome = run("faults.py", "lost-starting", str(tmp_path), mpiexec=mpiexec)
    except NoNamespacesError as error:
        pytest.skip(f"no network namespaces: {error}")
    assert outcome.status == 0, outcome.err
    assert outcome.out.startswith("1 ['SpawnFailedError: new processes were lost before"), (
        outcome.out
    )


def test_a_host_is_known_by_its_addresses() -> None:
    assert own_host({"127.0.0.1": 3}) == "127.0.0.1"
    assert own_host({"192.0.2.7": 3, socket.gethostname(): 1}) == socket.gethostname()
    assert own_host({"192.0.2.7": 3}) not in ("192.0.2.7", "")
    assert own_host(None) == own_host(4) != ""


def test_of_a_group_for_each_host_the_newest_leave() -> None:
    # Ranks of three hosts, spawned one after another, in the order that relabelling gave them.
    assert leaving([0, 2, 0, 1, 2, 1], 2) == [1, 4]
    assert leaving([0, 2, 0, 1, 2, 1], 4) == [1, 3, 4, 5]
