"""What tasks print and where they spend their time, at workers that join over TCP."""

from __future__ import annotations

import sys
import time

import freestone as fs
from tests.hosts.conftest import Joined


def speak(number: int) -> int:
    print("printed", number)
    print("to stderr", number, file=sys.stderr)
    return number


def spin(seconds: float) -> None:
    """Compute for so much processor time, in which the thread that samples has its turns."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(100))


def number(worker: str) -> int:
    return int(worker.removeprefix("worker-"))


def test_logs_and_profiles_come_from_workers_of_other_machines(joined: Joined) -> None:
    sizes = {"memory": "64MiB", "disk": "1GiB"}
    with fs.Cluster(
        listen="tcp://127.0.0.1:0", executors=0, logs="none", profile=0.005, **sizes
    ) as cluster:
        for words in (["--profile", "0.005"], []):
            joined.start(cluster.access, *words)
            cluster.wait_for_workers(len(joined.processes), timeout_s=60)
        sampled, unsampled = sorted(
            (one.worker for one in cluster.statistics().workers if one.slots), key=number
        )
        for worker in (sampled, unsampled):
            future = cluster.submit(speak, number(worker), worker=number(worker))
            future.result()
            found = cluster.logs(future)
            assert sorted((piece.stream, piece.text) for piece in found) == [
                ("stderr", f"to stderr {number(worker)}\n"),
                ("stdout", f"printed {number(worker)}\n"),
            ]
            assert {(piece.worker, piece.label) for piece in found} == {(worker, "speak")}
            assert str(cluster.logs(worker)) == str(found)
            future = cluster.submit(spin, 0.5, worker=number(worker), pure=False)
            future.result()
            stacks = cluster.profile(future).stacks
            assert {stack[0].function for stack in stacks} <= {"spin", "(not sampled)"}
            assert bool(stacks) == (worker == sampled), "a worker samples if its option says so"
