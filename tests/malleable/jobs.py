"""Running programs under mpiexec, and seeing that nothing of them stays behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mpi import launcher

HERE = Path(__file__).parent
MARK = "FREESTONE__TEST_JOB"


@dataclass(frozen=True)
class Outcome:
    """What a job left: its status, and what it said."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """What rank 0 said last, as JSON."""
        return json.loads(self.out.strip().splitlines()[-1])


def run(
    program: str,
    *words: str,
    ranks: int = 2,
    timeout_s: float = 100.0,
    mpiexec: Sequence[str] = (),
) -> Outcome:
    """Run a program of this folder, and check that no process of it is left.

    Without ranks it is run without a launcher.
    """
    mark = uuid.uuid4().hex
    words_before = [*(mpiexec or [launcher()]), "-n", str(ranks)] if ranks else []
    job = subprocess.run(
        [*words_before, sys.executable, "-m", "mpi4py", str(HERE / program), *words],
        env={**os.environ, MARK: mark},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert left_behind(mark) == []
    return Outcome(job.returncode, job.stdout, job.stderr)


def left_behind(mark: str) -> list[str]:
    """Return the command lines of living processes that carry a mark in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                if command:
                    found.append(command)
        except OSError:
            continue
    return found
