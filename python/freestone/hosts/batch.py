"""Batch systems, as far as a worker is a job in one."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from freestone.errors import ClusterStartError, EngineMissingError
from freestone.hosts import engine
from freestone.hosts.access import Access

__all__ = ["Batch", "LocalBatch", "SlurmBatch", "SubmitBatch", "worker_command"]

# How long a batch system may take to answer.
_ANSWER_S = 60.0


class Batch(Protocol):
    """Jobs, each of which is a worker."""

    def submit(self, count: int) -> None:
        """Hand in some more jobs."""

    def jobs(self) -> int | None:
        """Return how many jobs wait or run, or nothing where that can't be asked."""

    def close(self) -> None:
        """Take all jobs back; workers that run hand over what only they hold."""


def worker_command(access: Path, words: Sequence[str]) -> list[str]:
    """Return the command line of a worker that finds the access file where this machine does."""
    return [sys.executable, "-m", "freestone", "worker", "--quiet", "--access", str(access), *words]


class LocalBatch:
    """Processes of this machine, for a factory without a batch system."""

    def __init__(self, access: Access, words: Sequence[str]) -> None:
        self._access = access.text()
        self._words = list(words)
        self._processes: list[subprocess.Popen[bytes]] = []

    def submit(self, count: int) -> None:
        """Start some workers."""
        for _ in range(count):
            self._processes.append(engine.launch(self._access, self._words))

    def jobs(self) -> int:
        """Return how many run."""
        self._processes = [process for process in self._processes if process.poll() is None]
        return len(self._processes)

    def close(self) -> None:
        """Let all go."""
        for process in self._processes:
            engine.end(process)


class SlurmBatch:
    """Jobs of Slurm, each an array of workers on whichever nodes are free.

    Parameters
    ----------
    access
        The access file, in a folder that the nodes see as well; logs go beside it.
    words
        Of `freestone worker`.
    options
        Of `sbatch`, such as ``["--partition=long", "--time=2:00:00"]``.
    name
        Of the jobs.

    Raises
    ------
    EngineMissingError
        Where there is no `sbatch`.
    """

    def __init__(
        self,
        access: Path,
        words: Sequence[str],
        options: Sequence[str] = (),
        name: str = "freestone",
    ) -> None:
        self._access = access
        self._name = name
        self._words = list(words)
        self._options = list(options)
        self._arrays: list[str] = []
        _call("Slurm", ["sbatch", "--version"])

    def submit(self, count: int) -> None:
        """Hand in an array of jobs."""
        line = shlex.join(worker_command(self._access, self._words))
        command = ["sbatch", "--parsable", f"--array=1-{count}", f"--job-name={self._name}"]
        command += [f"--output={self._access.parent}/%A_%a.log", *self._options]
        # The shell gives way to the worker, so that it is the worker that hears SIGTERM.
        printed = _call("Slurm", [*command, f"--wrap=exec {line}"])
        self._arrays.append(printed.strip().partition(";")[0])

    def jobs(self) -> int:
        """Return how many jobs wait or run."""
        return sum(array in self._arrays for array in self._found()) if self._arrays else 0

    def take_up(self) -> int:
        """Take jobs of this name that another process has handed in for its own; how many."""
        found = self._found()
        self._arrays += sorted(set(found) - set(self._arrays))
        return len(found)

    def _found(self) -> list[str]:
        """Return the array of each job of this name that waits or runs."""
        states = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
        asked = ["squeue", "--noheader", "--array", "--format=%i", f"--states={states}"]
        printed = _call("Slurm", [*asked, f"--name={self._name}", "--me"])
        return [line.strip().partition("_")[0] for line in printed.splitlines()]

    def close(self) -> None:
        """Cancel all jobs, which sends each worker SIGTERM."""
        if self._arrays:
            _call("Slurm", ["scancel", *self._arrays])


class SubmitBatch:
    """Any other batch system: a command line hands in one job, and its jobs are not counted.

    Parameters
    ----------
    template
        The command line, in which ``{command}`` stands for that of the worker, such as
        ``"qsub -b y {command}"``.
    """

    def __init__(self, access: Path, words: Sequence[str], template: str) -> None:
        command = shlex.join(worker_command(access, words))
        if "{command}" not in template:
            problem = f"the submit line {template!r} does not say where the worker's command goes"
            raise ClusterStartError(f"{problem}; write {{command}} there")
        self._line = template.replace("{command}", command)

    def submit(self, count: int) -> None:
        """Hand in one job after another."""
        for _ in range(count):
            _call(self._line, ["sh", "-c", self._line])

    def jobs(self) -> None:
        """Return nothing: it is not known which have ended."""

    def close(self) -> None:
        """Do nothing: workers end with their cluster."""


def _call(engine_name: str, command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except FileNotFoundError:
        missing = f"there is no {command[0]} on the path"
        cure = "run this on a machine that submits jobs, or use another host"
        raise EngineMissingError(engine=engine_name, missing=missing, cure=cure) from None
    except subprocess.TimeoutExpired:
        problem = f"{command[0]} did not answer within {_ANSWER_S} s"
        raise ClusterStartError(f"{problem}; see whether {engine_name} is up") from None
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip()
        raise ClusterStartError(f"{shlex.join(command[:1])} says no: {printed}")
    return done.stdout
