"""The kit for hosts."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from freestone.cluster import Cluster
from freestone.hosts import Host
from freestone.observe.workers import worker_number
from freestone.testing.expecting import expect, expecting_no_error

__all__ = ["check_host"]

ADDRESS = re.compile(r"tcp://(\[[0-9a-f:%.]+\]|[^:/\[\]]+):\d+")
POLL_INTERVAL_S = 0.02
ITEMS = 50_000


def check_host(make: Callable[[], Host], *, workers: int = 1, timeout_s: float = 60.0) -> None:
    """Check a host: its workers join, run calls, exchange blocks, and end with the cluster.

    Parameters
    ----------
    make
        Returns a new host each time; it is called twice.
    workers
        How many workers the host then starts.
    timeout_s
        How long they may take to join, and to end.

    Raises
    ------
    AssertionError
        If the host lacks what its contract asks for, or workers do not join, work or end in time;
        it names the step.

    Notes
    -----
    The first host is closed without having been started, as happens when a cluster can't be opened.
    On the second one a cluster with one executor for each worker is opened.
    """
    with expecting_no_error("a host that is closed without having been started"):
        _check_contract(make())
    with expecting_no_error("a cluster on the host"):
        there = _check_cluster(make(), workers, timeout_s)
    _check_ends(there, timeout_s)


def _check_contract(host: Host) -> None:
    lacking = [
        name for name in ("name", "listen", "start", "joining", "close") if not hasattr(host, name)
    ]
    expect(
        isinstance(host, Host), f"{type(host).__name__} is no Host: it lacks {', '.join(lacking)}"
    )
    expect(host.name, "its name is empty; errors name the host")
    address = host.listen()
    expect(ADDRESS.fullmatch(address), f"listen() says {address!r}, and no tcp://HOST:PORT")
    host.close()


def _check_cluster(host: Host, workers: int, timeout_s: float) -> list[tuple[str, int]]:
    """Use the workers, and return the machine and process of an executor of each."""
    with Cluster(
        host=host, executors=1, memory="64MiB", disk="64MiB", start_timeout_s=timeout_s
    ) as cluster:
        joining = host.joining()
        expect(type(joining) is int and joining >= 0, f"joining() says {joining!r}, and no count")
        cluster.wait_for_workers(workers, timeout_s=timeout_s)
        found = [each for each in cluster.statistics().workers if each.slots > 0]
        expect(len(found) == workers, f"{len(found)} workers joined, and {workers} were wanted")
        for each in found:
            problem = f"{each.worker} runs {each.slots} calls at once, and executors=1 was given"
            expect(each.slots == 1, f"{problem}; pass freestone.hosts.words(config) on")
        numbers = [worker_number(each.worker) for each in found]
        _check_blocks(cluster, numbers, timeout_s)
        asked = [cluster.submit(_whereabouts, worker=number, pure=False) for number in numbers]
        return [each.result(timeout_s) for each in asked]


def _check_blocks(cluster: Cluster, numbers: list[int], timeout_s: float) -> None:
    """Make a block at each worker, and sum all of them up at each worker and here."""
    made = [cluster.submit(np.full, ITEMS, number, worker=number) for number in numbers]
    sums = [cluster.submit(_total, *made, worker=number, pure=False) for number in numbers]
    wanted = ITEMS * sum(numbers)
    for number, future in zip(numbers, sums, strict=True):
        total = future.result(timeout_s)
        expect(total == wanted, f"worker-{number} sums blocks up to {total}, not to {wanted}")
    expect(_total(*cluster.gather(made)) == wanted, "blocks came here with other values")


def _total(*blocks: Any) -> int:
    return int(sum(block.sum() for block in blocks))


def _whereabouts() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _check_ends(there: list[tuple[str, int]], timeout_s: float) -> None:
    """Wait until the processes of this machine have ended; others can't be seen from here."""
    deadline = time.monotonic() + timeout_s
    here = [process for machine, process in there if machine == socket.gethostname()]
    while left := [process for process in here if _runs(process)]:
        problem = f"the cluster is closed, and its processes {left} still run"
        expect(time.monotonic() < deadline, f"{problem} after {timeout_s} s")
        time.sleep(POLL_INTERVAL_S)


def _runs(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    # One that has ended and that nobody has asked about.
    return status.rpartition(")")[2].split()[0] != "Z"
