"""Growing into idle nodes of Slurm, and making room for jobs that wait.

An unmodified Slurm can't change a running job's nodes at will, so each step of growth is a
companion: a second job that only holds nodes, and that is cancelled to give them back.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from typing import NamedTuple

from freestone.errors import ConfigurationError, EngineMissingError
from freestone.malleable.targets import Request, Source, Status, is_whole

__all__ = ["Slurm"]

_PROGRAMS = ("salloc", "scancel", "sinfo", "squeue")
_GRANTED = re.compile(r"Granted job allocation (\d+)")
_TIMEOUT_S = 10.0
# What ties a process to its job; a companion is a job of its own.
_OWN = ("SLURM_CONF", "SLURM_TIME_FORMAT")
_CURE = "start the program in a job of Slurm, by sbatch or salloc"


class _Companion(NamedTuple):
    job: str
    processes: int


class Slurm(Source):
    """Take idle nodes, and give them back when another job waits.

    Parameters
    ----------
    most : int
        Processes at most.
    per_node : int
        Processes that a companion's node takes.
    own : int, optional
        Processes that the job's own nodes take; by default its tasks.
    every_s : float
        From one look at the queue to the next.

    Raises
    ------
    EngineMissingError
        Outside of a job.

    Notes
    -----
    A look takes rank 0 some 20 ms, a companion that is granted about as long. Companions are named
    ``grow-of-`` and the job's number, and last no longer than the job if it ends in good order;
    let its script cancel them, too.
    """

    def __init__(
        self, most: int, per_node: int, *, own: int | None = None, every_s: float = 5.0
    ) -> None:
        self._job = os.environ.get("SLURM_JOB_ID", "")
        lacking = [program for program in _PROGRAMS if shutil.which(program) is None]
        if lacking or not self._job:
            missing = f"no {', '.join(lacking)}" if lacking else "SLURM_JOB_ID is not set"
            raise EngineMissingError(engine="Slurm", missing=missing, cure=_CURE)
        if not is_whole(most, 1) or not is_whole(per_node, 1) or not every_s > 0:
            problem = (
                f"most={most!r}, per_node={per_node!r}, every_s={every_s!r}: the first two are "
                "whole numbers of at least 1, the third is above 0"
            )
            raise ConfigurationError(problem, key="targets", origin="slurm")
        self._most, self._per_node, self._every_s = most, per_node, every_s
        self._own = own or int(os.environ.get("SLURM_NTASKS", "1"))
        self._name = f"grow-of-{self._job}"
        self._looked = 0.0

    def ask(self, status: Status) -> Request | None:
        """Return what the queue allows: a node more, or one less for a job that waits."""
        if time.monotonic() - self._looked < self._every_s:
            return None
        self._looked = time.monotonic()
        companions = self._release(self._companions(), status.size)
        if self._others_wait():
            held = [one for one in companions if status.size - one.processes >= self._own]
            return Request(status.size - held[-1].processes) if held else None
        more = status.size + self._per_node
        if more <= self._most and self._are_nodes_idle() and self._grow():
            return Request(more)
        return None

    def finish(self) -> None:
        """Give all companions back."""
        for companion in self._companions():
            _say("scancel", companion.job)

    def _companions(self) -> list[_Companion]:
        lines = _say("squeue", "-h", f"--name={self._name}", "-t", "R", "-o", "%i %D").splitlines()
        pairs = sorted((line.split() for line in lines), key=lambda pair: int(pair[0]))
        return [_Companion(job, int(nodes) * self._per_node) for job, nodes in pairs]

    def _release(self, companions: list[_Companion], size: int) -> list[_Companion]:
        """Give back what the processes there are do not need; return what is left."""
        room = self._own + sum(companion.processes for companion in companions)
        left = list(companions)
        while left and room - left[-1].processes >= size:
            companion = left.pop()
            room -= companion.processes
            _say("scancel", companion.job)
        return left

    def _others_wait(self) -> bool:
        return bool(_say("squeue", "-h", "-t", "PD", "-o", "%i"))

    def _are_nodes_idle(self) -> bool:
        return _say("sinfo", "-h", "-t", "idle", "-o", "%D") not in ("", "0")

    def _grow(self) -> bool:
        words = ["--immediate=1", "--no-shell", "-N1", f"-n{self._per_node}", "-J", self._name]
        return _GRANTED.search(_say("salloc", *words)) is not None


def _say(*words: str) -> str:
    """Return what a command of Slurm's says; nothing if it fails or hangs."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SLURM_") or name in _OWN
    }
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
