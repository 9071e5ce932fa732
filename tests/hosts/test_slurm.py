"""Workers as jobs of a real Slurm, where one can be started."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import freestone as fs
from freestone.errors import ClusterStartError
from tests.runtime.serving import Server
from tests.waiting import until

from .conftest import FREESTONE, count, workers
from .slurm import SlurmUnavailableError, missing, slurm

SMALL = {"memory": "64MiB", "disk": "64MiB"}


@pytest.fixture(scope="module")
def configured() -> Iterator[Path]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"SLURM IS NOT TESTED: {reason}")
    # The daemons refuse folders that others could write to, as those of pytest may be.
    folder = Path(tempfile.mkdtemp(prefix="fs-slurm-"))
    try:
        with slurm(folder) as config:
            yield config
    except SlurmUnavailableError as error:
        pytest.skip(f"SLURM IS NOT TESTED: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _environment(configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", str(configured))


def jobs() -> list[str]:
    output = subprocess.run(
        ["squeue", "--noheader", "--array", "--format=%i %T"],
        capture_output=True,
        text=True,
        check=True,
    )
    return output.stdout.split("\n")[:-1]


def test_a_job_array_of_workers(tmp_path: Path) -> None:
    with fs.Cluster.on_slurm(2, share=tmp_path, **SMALL) as cluster:
        made = [cluster.submit(np.full, 50_000, n) for n in range(4)]
        assert [int(future.result(90)[0]) for future in made] == [0, 1, 2, 3]
        assert until(lambda: count(cluster) == 2)
        # A job that is cancelled hands over what only it holds.
        held = cluster.submit(np.arange, 50_000, worker=1)
        cluster.wait([held], 60)
        running = [line.split()[0] for line in jobs() if line.endswith("RUNNING")]
        assert len(running) == 2
        subprocess.run(["scancel", *running], check=True)
        assert until(lambda: count(cluster) == 0)
        assert np.array_equal(held.result(60), np.arange(50_000))
    assert until(lambda: not jobs())


@pytest.mark.timeout(300)
def test_jobs_of_a_cluster_whose_process_was_killed_are_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    server = Server(tmp_path, "--on=slurm", "--workers=2")
    with fs.connect("lab", folder=str(tmp_path), reconnect_s=120) as program:
        program.wait_for_workers(2, timeout_s=90)
        before, submitted = workers(program), jobs()
        program.publish("power", program.submit(pow, 2, 10))
        assert program["power"].result(60) == 1024
        server.kill()
        server.start()
        program.wait_for_workers(2, timeout_s=90)
        assert program.gather(program.map(pow, range(50), [3] * 50))[-1] == 49**3
        assert program["power"].result(60) == 1024
        assert (workers(program), jobs()) == (before, submitted)
        # A job that has ended meanwhile is handed in again, and no other one.
        server.kill()
        os.kill(before.pop(), signal.SIGKILL)
        assert until(lambda: len(jobs()) == 1)
        server.start()
        program.wait_for_workers(2, timeout_s=90)
        assert before < workers(program)
        assert len(jobs()) == 2
    assert server.run("stop", "lab").returncode == 0
    assert until(lambda: not jobs())


def test_what_slurm_refuses_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ClusterStartError, match="invalid partition"):
        fs.Cluster.on_slurm(1, options=["--partition=gone"], share=tmp_path, **SMALL)


def test_a_factory_on_slurm(cluster: fs.Cluster, tmp_path: Path) -> None:
    words = ["factory", "--quiet", "--cluster", cluster.address, "--max", "2", "--every", "0.2"]
    words += ["--memory", "64MiB", "--disk", "64MiB", "--folder", str(tmp_path)]
    keeper = subprocess.Popen([*FREESTONE, *words, "--", "--time=10"], env=os.environ)
    try:
        assert cluster.gather(cluster.map(abs, range(-20, 0))) == list(range(20, 0, -1))
        cluster.close()
        assert keeper.wait(60) == 0
    finally:
        keeper.kill()
    assert until(lambda: not jobs())


def test_a_script_on_slurm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from freestone.cli import main

    # Access file and logs lie in the home folder, which the nodes of this Slurm see.
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name, value in (("WORKERS", "2"), ("MEMORY", "64MiB"), ("DISK", "64MiB")):
        monkeypatch.setenv(f"FREESTONE_{name}", value)
    script = tmp_path / "s.daph"
    script.write_text("X = rand(50, 6, 0.0, 1.0, 1.0, 1); print(t(X) @ X); print(sum(X));")
    assert main(["run", "--vec", str(script)]) == 0
    here = capsys.readouterr().out
    assert main(["run", "--distributed", "--min-distr-size=0", "--host=slurm", str(script)]) == 0
    assert capsys.readouterr().out == here
    assert until(lambda: not jobs())
