"""A real Slurm job that grows into an idle node, and gives it to a job that waits."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.slurm import SlurmUnavailableError, missing, slurm

pytest.importorskip("mpi4py")
MAX_S = 60.0


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    reason = missing()
    if reason is not None:
        pytest.skip(f"SLURM IS NOT TESTED: {reason}")
    folder = Path(tempfile.mkdtemp(prefix="fs-slurm-"))
    tools = Path(sys.executable).parent
    try:
        with slurm(folder) as config:
            path = f"{tools}{os.pathsep}{os.environ['PATH']}"
            yield {**os.environ, "SLURM_CONF": str(config), "PATH": path, "PYTHON": sys.executable}
    except SlurmUnavailableError as error:
        pytest.skip(f"SLURM IS NOT TESTED: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def say(environment: dict[str, str], *words: str, cwd: Path | None = None) -> str:
    """Return what a command says."""
    done = subprocess.run(
        words, env=environment, cwd=cwd, capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.strip()


def wait_for(path: Path, text: str) -> None:
    """Wait until a job has said something."""
    deadline = time.monotonic() + MAX_S
    while not path.is_file() or text not in path.read_text():
        assert time.monotonic() < deadline, path.read_text() if path.is_file() else "no output"
        time.sleep(0.05)


def test_a_job_grows_and_shrinks(environment: dict[str, str], tmp_path: Path) -> None:
    out, other = tmp_path / "job.out", tmp_path / "other.out"
    words = ["--seconds", "600", "--most", "4", "--look", "0.1"]
    say(environment, "freestone", "examples", "copy", "slurm", cwd=tmp_path)
    script = ["--parsable", f"--output={out}", "examples/slurm/job.sh"]
    job = say(environment, "sbatch", *script, *words, cwd=tmp_path)
    try:
        wait_for(out, "4 processes on n0, n1, sum 4999950000")
        assert say(environment, "squeue", "-h", f"--name=grow-of-{job}", "-o", "%T") == "RUNNING"
        # A node for itself: there is none until the first job makes room.
        say(
            environment,
            *("sbatch", "--parsable", "-n2", f"--output={other}", "--wrap", "echo had room"),
        )
        wait_for(other, "had room")
        shrunk = "2 processes on n0, sum 4999950000"
        assert shrunk in out.read_text().split("4 processes")[1]
    finally:
        say(environment, "scancel", job)
        say(environment, "scancel", f"--name=grow-of-{job}")
