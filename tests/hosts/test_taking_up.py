"""Served clusters on engines whose process is killed: the next one has as many workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from freestone.config import Config
from freestone.hosts.access import Access
from freestone.hosts.slurm import SlurmHost
from tests.mpi import PATH, launcher
from tests.runtime.serving import ROOT, Server
from tests.waiting import state_of, until

from .conftest import count, workers

pytestmark = pytest.mark.timeout(300)


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
        return state_of(pid) == "Z"
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


RAY = """
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    print(ray.get_runtime_context().gcs_address, flush=True)
    input()
    ray.shutdown()
"""


@pytest.fixture
def ray_address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    # A cluster that ray.init() has started asks others for a token, which they do not look for.
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(RAY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate("\n", timeout=60)


def test_ray_has_new_workers_after_its_program_was_killed(
    ray_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray ends the actors of a program that is killed, and their workers end with them."""
    monkeypatch.setenv("RAY_ADDRESS", ray_address)
    server = Server(tmp_path, "--on=ray")
    with fs.connect("lab", folder=str(tmp_path), reconnect_s=120) as program:
        program.wait_for_workers(1, timeout_s=60)
        before = workers(program)
        program.publish("power", program.submit(pow, 2, 10))
        assert program["power"].result(60) == 1024
        server.kill()
        server.start()
        assert until(lambda: count(program) == 1 and not workers(program) & before)
        assert program["power"].result(60) == 1024
        assert program.gather(program.map(pow, range(50), [3] * 50))[-1] == 49**3
    assert server.run("stop", "lab").returncode == 0
    assert until(lambda: all(map(_has_ended, before)))


SLURM = """#!/bin/sh
echo "$(basename "$0") $*" >> "{log}"
case "$(basename "$0")" in
    sbatch) echo 42 ;;
    squeue) case "$*" in *--name=freestone-{cluster}*) cat "{queue}" ;; esac ;;
esac
"""


def test_jobs_of_slurm_that_wait_or_run_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = Access.make(None).at("tcp:127.0.0.1:9")
    log, queue = tmp_path / "log", tmp_path / "queue"
    for name in ("sbatch", "squeue", "scancel"):
        program = tmp_path / name
        program.write_text(SLURM.format(log=log, queue=queue, cluster=access.cluster))
        program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def started(*jobs: str) -> tuple[SlurmHost, list[str]]:
        queue.write_text("".join(f"{job}\n" for job in jobs))
        log.write_text("")
        host = SlurmHost(3, folder=tmp_path)
        host.start(access, Config.load({}))
        return host, [line for line in log.read_text().splitlines() if "--array=" in line]

    first, submitted = started()
    assert "--array=1-3" in submitted[0]
    # The process is killed here, and one job has ended.
    second, submitted = started("41_1", "41_3")
    assert "--array=1-1" in submitted[0]
    third, submitted = started("41_1", "41_3", "42_1")
    assert not submitted
    for host, arrays in ((third, "41 42"), (second, "41 42"), (first, "42")):
        log.write_text("")
        host.close()
        assert f"scancel {arrays}\n" in log.read_text()
