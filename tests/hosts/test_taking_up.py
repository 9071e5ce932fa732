"""Served clusters on engines whose process is killed: the next one has as many workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from tests.mpi import PATH, launcher
from tests.runtime.serving import ROOT, Server
from tests.waiting import until

from .conftest import count

pytestmark = pytest.mark.timeout(300)


def workers(cluster: fs.Cluster) -> set[int]:
    """Return the processes of the workers that run calls."""
    return {worker.pid for worker in cluster.statistics().workers if worker.slots > 0}


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    local = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        local_directory=str(tmp_path / "dask"),
        memory_limit="1GiB",
    )
    with local, distributed.Client(local) as client:
        yield client


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_workers_beside_those_of_dask_are_taken_up(dask: Any, tmp_path: Path) -> None:
    on_dask = ("--on=dask", f"--scheduler={dask.scheduler.address}")
    server = Server(tmp_path, *on_dask)
    with fs.connect("lab", folder=str(tmp_path), reconnect_s=120) as program:
        program.wait_for_workers(2, timeout_s=60)
        before = workers(program)
        program.publish("power", program.submit(pow, 2, 10))
        assert program["power"].result(60) == 1024
        server.kill()
        server.start()
        program.wait_for_workers(2, timeout_s=60)
        assert program.gather(program.map(pow, range(50), [3] * 50))[-1] == 49**3
        assert workers(program) == before
        assert program["power"].result(60) == 1024
        # One that did not wait, as after a long pause, is started again.
        server.kill()
        gone = before.pop()
        os.kill(gone, signal.SIGKILL)
        assert until(lambda: _has_ended(gone))
        server.start()
        program.wait_for_workers(2, timeout_s=60)
        assert len(workers(program)) == 2
        assert before < workers(program)
    assert server.run("stop", "lab").returncode == 0
    assert until(lambda: not any(_plugins(dask)))


def _plugins(dask: Any) -> list[list[str]]:
    # Dask's workers do not find this module.
    def found(dask_worker: Any) -> list[str]:
        return [name for name in dask_worker.plugins if name.startswith("freestone-")]

    return list(dask.run(found).values())


def _has_ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


class Ranks:
    """`mpiexec -n 3 freestone serve --on mpi`, whose first rank is the cluster's process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self) -> None:
        """Serve, and wait until programs can connect."""
        words = ["serve", "--name=lab", "--on=mpi", "--memory=64MiB", "--disk=64MiB"]
        self.process = subprocess.Popen(
            [launcher(), "-n", "3", sys.executable, "-m", "freestone", *words],
            cwd=ROOT,
            env=os.environ | {"PATH": PATH, "FREESTONE_FOLDER": str(self._folder)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert "cluster lab is served" in self.process.stdout.readline()

    def end(self) -> None:
        """Wait for its end."""
        self.process.communicate(timeout=60)


def test_ranks_of_the_next_job_are_the_workers(tmp_path: Path) -> None:
    """MPI ends the ranks of a job whose first one is killed, and their workers end with them."""
    pytest.importorskip("mpi4py")
    ranks = Ranks(tmp_path)
    ranks.start()
    with fs.connect("lab", folder=str(tmp_path), reconnect_s=120) as program:
        program.wait_for_workers(2, timeout_s=60)
        before = workers(program)
        program.publish("power", program.submit(pow, 2, 10))
        assert program["power"].result(60) == 1024
        card = next((tmp_path / "journaled").glob("*/cluster.json"))
        os.kill(json.loads(card.read_text())["pid"], signal.SIGKILL)
        ranks.end()
        assert ranks.process.returncode != 0
        ranks.start()
        program.wait_for_workers(2, timeout_s=60)
        assert until(lambda: count(program) == 2 and not workers(program) & before)
        assert program["power"].result(60) == 1024
        assert program.gather(program.map(pow, range(50), [3] * 50))[-1] == 49**3
    done = subprocess.run(
        [sys.executable, "-m", "freestone", "stop", "lab"],
        env=os.environ | {"FREESTONE_FOLDER": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0
    ranks.end()
