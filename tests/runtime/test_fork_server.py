"""Executors that are forked: they are what executors are that were started as programs."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from tests.waiting import until

SETTINGS: dict[str, Any] = {"memory": "64MiB", "disk": "64MiB"}


def command_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def is_forked(pid: int) -> bool:
    return "freestone.node.executor" not in command_of(pid)


def executor_of_call(_: int) -> int:
    return os.getpid()


def server_of(cluster: fs.Cluster) -> int:
    """Return the process that forks the executors of the only worker."""
    worker = cluster.statistics().workers[0].pid
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text("utf-8").split()
    (server,) = (int(pid) for pid in children if not is_executor(int(pid)))
    return server


def is_executor(pid: int) -> bool:
    return Path(f"/proc/{pid}/comm").read_text("utf-8").strip() == "freestone-exec"


def seen(_: int) -> dict[str, Any]:
    import random

    import __main__

    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "group": os.getpgrp(),
        "argv": sys.argv,
        "main": repr(__main__),
        "temporary": tempfile.gettempdir(),
        "input": os.readlink("/proc/self/fd/0"),
        "random": (random.random(), np.random.random()),
        "threads": threading.active_count(),
        "native": threading.get_native_id(),
    }


def of_each(cluster: fs.Cluster, count: int, function: Any) -> list[Any]:
    """Call a function until all executors have run it; return what each returned first."""
    found: dict[int, Any] = {}

    def has_all() -> bool:
        for pid, value in cluster.gather(
            cluster.map(lambda n: (os.getpid(), function(n)), range(4 * count), pure=False)
        ):
            found.setdefault(pid, value)
        return len(found) == count

    assert until(has_all)
    return list(found.values())


def test_a_forked_executor_is_as_one_that_was_started() -> None:
    with fs.Cluster(executors=2, preload="tempfile,numpy.random", **SETTINGS) as cluster:
        first, second = of_each(cluster, 2, seen)
        worker = cluster.statistics().workers[0].pid
        for one in (first, second):
            assert is_forked(one["pid"])
            assert one["parent"] == worker
            assert one["group"] == one["native"] == one["pid"]
            assert "of an executor" in one["main"]
            assert [Path(word).name for word in one["argv"]] == ["executor.py"]
            assert (one["input"], one["threads"]) == ("/dev/null", 1)
        for key in ("temporary", "random"):
            assert first[key] != second[key]


def test_a_worker_is_the_only_program_that_a_cluster_starts() -> None:
    with fs.Cluster(executors=2, **SETTINGS) as cluster:
        of_each(cluster, 2, executor_of_call)
        worker = cluster.statistics().workers[0].pid
        children = Path(f"/proc/{worker}/task/{worker}/children").read_text("utf-8").split()
        assert len(children) == 3
        # A fork has the command line of what it is a fork of.
        assert {command_of(int(pid)) for pid in children} == {command_of(worker)}


def test_preloaded_modules_are_imported_once_for_all_executors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counted_module.py").write_text(
        f"with open({str(tmp_path / 'imports')!r}, 'a') as file:\n    file.write('once\\n')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with fs.Cluster(executors=3, preload="counted_module", **SETTINGS) as cluster:
        found = of_each(cluster, 3, lambda _: "counted_module" in sys.modules)
        assert found == [True, True, True]
    assert (tmp_path / "imports").read_text() == "once\n"


def test_executors_are_programs_where_a_preloaded_module_starts_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "threaded_module.py").write_text(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with fs.Cluster(executors=2, preload="threaded_module", **SETTINGS) as cluster:
        for pid in of_each(cluster, 2, executor_of_call):
            assert "freestone.node.executor" in command_of(pid)
        assert cluster.submit(threading.active_count).result() == 2


def test_executors_outlive_what_forked_them_and_start_as_programs_then() -> None:
    with fs.Cluster(executors=1, **SETTINGS) as cluster:
        before = cluster.submit(os.getpid).result()
        assert is_forked(before)
        server = server_of(cluster)
        os.kill(server, signal.SIGKILL)
        assert until(lambda: not Path(f"/proc/{server}").exists())
        assert cluster.submit(os.getpid, pure=False).result() == before
        os.kill(before, signal.SIGKILL)
        after = cluster.submit(os.getpid, pure=False).result()
        assert after != before
        assert "freestone.node.executor" in command_of(after)


def test_a_stopped_fork_server_is_given_up() -> None:
    with fs.Cluster(executors=1, **SETTINGS) as cluster:
        before = cluster.submit(os.getpid).result()
        os.kill(server_of(cluster), signal.SIGSTOP)
        os.kill(before, signal.SIGKILL)
        after = cluster.submit(os.getpid, pure=False).result()
        assert "freestone.node.executor" in command_of(after)


def test_a_restart_finds_what_was_installed_meanwhile() -> None:
    with fs.Cluster(executors=2, **SETTINGS) as cluster:
        of_each(cluster, 2, executor_of_call)
        server = server_of(cluster)
        cluster.restart()
        assert all(is_forked(pid) for pid in of_each(cluster, 2, executor_of_call))
        assert server_of(cluster) != server
        assert not Path(f"/proc/{server}").exists()


def test_a_server_whose_worker_is_killed_before_it_reads_says_nothing() -> None:
    ours, theirs = socket.socketpair()
    environment = os.environ | {
        "FREESTONE__FORK_SOCKET": str(theirs.fileno()),
        "FREESTONE__PYTHON_PATH": "[]",
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "freestone.node.fork_server"],
        env=environment,
        pass_fds=[theirs.fileno()],
        stderr=subprocess.PIPE,
    )
    theirs.close()
    assert ours.recv(5, socket.MSG_PEEK) == b"ready"
    ours.close()
    _, printed = server.communicate(timeout=60)
    assert (server.returncode, printed) == (0, b"")
