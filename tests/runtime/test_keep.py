"""What is kept forever is there for the next run, however small it is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from tests.waiting import state_of, until

from .conftest import Opened

OPTIONS: dict[str, Any] = {"executors": 1, "memory": "64MiB", "disk": "64MiB"}

VALUES: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "number": lambda: 7.5,
    "text": lambda: "x" * 100,
    "empty": lambda: b"",
    "bins": lambda: {"edges": list(range(41)), "counts": bytes(320)},
    "of just inline_nbytes": lambda: bytes(8192),
    "large": lambda: bytes(100_000),
}


def noted(folder: Path) -> tuple[Path, Callable[[Callable[[], Any]], Any]]:
    """Return a file, and what makes a value by a function and notes in the file that it did."""
    ran = folder / "ran"

    def run(make: Callable[[], Any]) -> Any:
        with open(ran, "a") as log:
            log.write("x")
        return make()

    return ran, run


@pytest.mark.parametrize("kind", VALUES)
def test_a_result_of_any_size_is_found_by_the_next_run(
    opened: Opened, kind: str, tmp_path: Path
) -> None:
    ran, run = noted(tmp_path)
    expected = VALUES[kind]()
    for _ in range(2):
        with opened(cache=tmp_path / "kept", **OPTIONS) as cluster:
            future = cluster.submit(run, VALUES[kind], keep="forever")
            assert future.result() == expected
            # As an input it is what it was, too.
            assert cluster.submit(lambda value: value == expected, future).result() is True
    assert ran.read_text() == "x"


@pytest.mark.parametrize(("kind", "calls"), [("number", 2), ("large", 1)])
def test_a_result_that_is_asked_to_be_kept_later_is_found_too(
    opened: Opened, kind: str, calls: int, tmp_path: Path
) -> None:
    ran, run = noted(tmp_path)
    expected = VALUES[kind]()
    for is_first in (True, False):
        with opened(cache=tmp_path / "kept", **OPTIONS) as cluster:
            if is_first:
                held = cluster.submit(run, VALUES[kind])
                assert held.result() == expected
            assert cluster.submit(run, VALUES[kind], keep="forever").result() == expected
        # What is small lies with no worker: it is made once more, and left as a file.
        assert ran.read_text() == "x" * calls


def test_so_are_outputs_of_a_command_and_reductions(opened: Opened, tmp_path: Path) -> None:
    for run in range(2):
        with opened(cache=tmp_path / "kept", **OPTIONS) as cluster:
            made = cluster.command("echo hi > out", outputs=["out"], keep="forever")
            assert made.outputs["out"].result().read_text() == "hi\n"
            total = fs.reduce(max, [cluster.submit(abs, n) for n in (-3, 2)], keep="forever")
            assert total.result() == 3
            answered = cluster.statistics().answered
            assert answered == (2 if run else 0), run


def test_and_results_of_a_dask_graph(opened: Opened, tmp_path: Path) -> None:
    delayed = pytest.importorskip("dask").delayed
    ran = tmp_path / "ran"

    def count(n: int) -> int:
        with open(ran, "a") as log:
            log.write("x")
        return n + 1

    for _ in range(2):
        with opened(cache=tmp_path / "kept", **OPTIONS) as cluster:
            graph = delayed(sum)([delayed(count, pure=True)(n) for n in range(3)])
            assert graph.compute(scheduler=cluster.get, keep="forever") == 6
    assert ran.read_text() == "xxx"


PROGRAM = """
import os, signal, sys
import freestone as fs

def small(n):
    return [n] * 10

def large(n):
    return bytes(30_000_000) + bytes([n])

cluster = fs.Cluster(executors=1, memory="128MiB", disk="128MiB", cache=sys.argv[1])
futures = [cluster.submit(make, 3, keep="forever") for make in (small, large)]
assert len(futures[0].result()) == 10 and len(futures[1].result()) == 30_000_001
done = cluster.statistics().done
pids = [worker.pid for worker in cluster.statistics().workers]
print(done, *pids, flush=True)
if len(sys.argv) > 2:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_result_that_was_seen_outlives_a_program_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path / "kept")]
    killed = subprocess.run([*command, "killed"], capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    done, *pids = killed.stdout.split()
    assert done == "2"
    # Its worker ends by itself, once it has copied what is kept.
    assert until(lambda: not any(is_running(int(pid)) for pid in pids))
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout.split()[0] == "0"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return state_of(pid) != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
