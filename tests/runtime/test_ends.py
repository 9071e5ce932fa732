"""How a run ends: whatever happens, it leaves no process, socket, memory or file behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from freestone.hosts.access import Access
from tests.waiting import DEADLINE_S, until

SHARED_MEMORY = Path("/dev/shm") / f"freestone-{os.getuid()}"

PROLOGUE = """
import os, sys, time
import numpy as np
import freestone as fs

def report(cluster):
    pids = [worker.pid for worker in cluster.statistics().workers]
    print(os.getpid(), cluster.folder, *pids, flush=True)
"""


class Script:
    """A program with a cluster, in a process of its own."""

    def __init__(self, body: str, folder: Path) -> None:
        source = PROLOGUE + textwrap.dedent(body)
        self.process = subprocess.Popen(
            [sys.executable, "-c", source],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"FREESTONE_FOLDER": str(folder)},
        )
        line = self.first_line()
        assert line, self.process.communicate()[1]
        words = line.split()
        self.pid, self.folder, self.workers = int(words[0]), Path(words[1]), words[2:]
        self.family = psutil.Process(self.pid).children(recursive=True)

    def first_line(self) -> str:
        """Read a line and no more: what a reader takes ahead, `communicate` would not see."""
        assert self.process.stdout is not None
        line = b""
        while not line.endswith(b"\n") and (byte := os.read(self.process.stdout.fileno(), 1)):
            line += byte
        return line.decode()

    def left_behind(self) -> list[str]:
        """Name what is still there of it."""
        pids = [f"process {p.pid}" for p in self.family if p.is_running() and not zombie(p)]
        name = self.folder.name
        paths = [path for path in (self.folder, SHARED_MEMORY / name) if path.exists()]
        return pids + [str(path) for path in paths]


def zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str], Script]]:
    scripts: list[Script] = []

    def start(body: str) -> Script:
        scripts.append(Script(body, tmp_path / "run"))
        return scripts[-1]

    yield start
    for script in scripts:
        if script.process.poll() is None:
            script.process.kill()
        script.process.communicate()


BUSY = """
with fs.Cluster(workers=2, executors=1, memory="64MiB") as cluster:
    block = cluster.put(np.zeros(10**6))
    busy = [cluster.submit(time.sleep, 600, pure=False) for _ in range(4)]
    report(cluster)
    busy[0].result()
"""


def test_a_run_that_ends_leaves_nothing(start: Callable[[str], Script]) -> None:
    script = start(BUSY.replace("busy[0].result()", "print(block.result().sum())"))
    out, err = script.process.communicate(timeout=DEADLINE_S)
    assert (script.process.returncode, err) == (0, "")
    assert out.strip() == "0.0"
    assert until(lambda: script.left_behind() == []), script.left_behind()


def test_a_cluster_that_nobody_closes_is_closed_at_exit(start: Callable[[str], Script]) -> None:
    script = start(
        """
        cluster = fs.Cluster(executors=1, memory="64MiB")
        report(cluster)
        """
    )
    assert script.process.wait(DEADLINE_S) == 0
    assert until(lambda: script.left_behind() == []), script.left_behind()


def test_ctrl_c_ends_a_run(start: Callable[[str], Script]) -> None:
    script = start(BUSY)
    script.process.send_signal(signal.SIGINT)
    _, err = script.process.communicate(timeout=DEADLINE_S)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert until(lambda: script.left_behind() == []), script.left_behind()


def test_workers_end_when_the_program_is_killed(start: Callable[[str], Script]) -> None:
    script = start(BUSY)
    script.process.kill()
    script.process.wait()
    assert until(lambda: not any(map(psutil.Process.is_running, script.family)))
    # The next cluster of this user sweeps what only the program could have removed.
    second = start(BUSY.replace("busy[0].result()", ""))
    assert second.process.wait(DEADLINE_S) == 0
    assert until(lambda: script.left_behind() == []), script.left_behind()


def test_executors_end_when_their_worker_is_killed(start: Callable[[str], Script]) -> None:
    script = start(BUSY)
    for pid in script.workers:
        os.kill(int(pid), signal.SIGKILL)
    assert until(lambda: all(not p.is_running() or zombie(p) for p in script.family))


def test_a_child_of_the_program_does_not_keep_workers(start: Callable[[str], Script]) -> None:
    script = start(
        """
        cluster = fs.Cluster(executors=1, memory="64MiB")
        report(cluster)
        if os.fork() == 0:
            try:
                cluster.submit(pow, 1, 1)
            except fs.FreestoneError as error:
                print(os.getpid(), type(error).__name__, flush=True)
        time.sleep(600)
        """
    )
    assert script.process.stdout is not None
    child, error = script.process.stdout.readline().split()
    assert error == "ClosedError"
    workers = [psutil.Process(int(pid)) for pid in script.workers]
    script.process.kill()
    try:
        assert until(lambda: all(not p.is_running() or zombie(p) for p in workers))
    finally:
        os.kill(int(child), signal.SIGKILL)


IN_EXECUTOR = """
with fs.Cluster(workers=1, executors=1, memory="64MiB") as cluster, cluster.executor() as executor:
    busy = executor.submit(time.sleep, 600)
    report(cluster)
    busy.result()
"""


def test_ctrl_c_ends_a_run_that_uses_an_executor(start: Callable[[str], Script]) -> None:
    script = start(IN_EXECUTOR)
    script.process.send_signal(signal.SIGINT)
    _, err = script.process.communicate(timeout=DEADLINE_S)
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert until(lambda: script.left_behind() == []), script.left_behind()


def test_an_interrupt_while_a_cluster_opens_ends_its_workers() -> None:
    """At the last step, when its workers run already."""
    program = """
import sys
import psutil
import freestone as fs

class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "freestone.observe.dashboard":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting())
try:
    fs.Cluster(workers=2)
except KeyboardInterrupt:
    print(len(psutil.Process().children()))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_program_without_standard_output_runs_calls(tmp_path: Path, closed: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import freestone as fs\n"
        "with fs.Cluster(executors=1, memory='64MiB', disk='64MiB') as cluster:\n"
        "    result = cluster.submit(abs, -1).result(30)\n"
        "    open('result', 'w').write(str(result))\n"
    )
    line = f'"{sys.executable}" script.py {closed}'
    done = subprocess.run(line, shell=True, cwd=tmp_path, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0
    assert (tmp_path / "result").read_text() == "1"


def test_a_worker_of_a_program_that_was_killed_meanwhile_says_so_in_a_line(tmp_path: Path) -> None:
    left = tmp_path / "manager.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(left))
    access = Access.make(None).write(tmp_path / "access.json")
    words = ["--manager", f"unix:{left}", "--access", str(access), "--folder", str(tmp_path)]
    words += ["--memory-dir", str(tmp_path / "memory"), "--disk-dir", str(tmp_path / "disk")]
    words += ["--ram", "1000000", "--memory", "1000000", "--disk", "1000000", "--executors", "0"]
    worker = [sys.executable, "-m", "freestone.node.worker", *words]
    ended = subprocess.run(worker, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("freestone worker: the manager at unix:")
    assert line.endswith("the program that it belonged to has ended")
