"""Starting the synthetic application under ``mpiexec``."""

from __future__ import annotations

import json
import os
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from freestone.errors import ClusterStartError, EngineMissingError
from freestone.malleable.synthetic.settings import Settings

__all__ = ["find_mpiexec", "launch"]

_CURE = "pip install mpi4py mpich"


def find_mpiexec(given: str | None = None) -> list[str]:
    """Return the words of the launcher: what was given, or the one beside this Python.

    Raises
    ------
    EngineMissingError
        If there is none.
    """
    if given:
        words = shlex.split(given)
        if not words or shutil.which(words[0]) is None:
            missing = f"no program is {given!r}, which --mpiexec names"
            raise EngineMissingError(engine="MPI", missing=missing, cure=_CURE)
        return words
    beside = shutil.which("mpiexec", path=str(Path(sys.executable).parent))
    found = beside or shutil.which("mpiexec")
    if found is None:
        raise EngineMissingError(engine="MPI", missing="no mpiexec on the path", cure=_CURE)
    return [found]


def launch(settings: Settings, mpiexec: list[str], timeout_s: float = 3600.0) -> dict[str, Any]:
    """Run the application once, and return what it measured.

    Raises
    ------
    ClusterStartError
        If it fails, or takes too long.
    """
    with tempfile.TemporaryDirectory(prefix="freestone-") as folder:
        given, result = Path(folder, "settings"), Path(folder, "result.json")
        given.write_bytes(pickle.dumps(settings))
        command = [
            *mpiexec,
            "-n",
            str(settings.groups[0].processes),
            *(sys.executable, "-m", "mpi4py", "-m", "freestone.malleable.synthetic"),
            *(str(given), str(result)),
        ]
        # One thread a process: what is emulated is processes, not pools of BLAS.
        env = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", **os.environ}
        try:
            job = subprocess.run(
                command, env=env, capture_output=True, text=True, timeout=timeout_s, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise ClusterStartError(f"the run took longer than {timeout_s:g} s") from error
        if job.returncode != 0 or not result.is_file():
            problem = f"the run under {mpiexec[0]} ended with {job.returncode}"
            raise ClusterStartError(problem, log=(job.stderr or job.stdout)[-2000:])
        measured: dict[str, Any] = json.loads(result.read_text("utf-8"))
        return measured
