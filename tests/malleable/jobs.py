"""Running programs under mpiexec, and seeing that nothing of them stays behind."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
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
    timeout_s: float = 300.0,
    mpiexec: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a program of this folder, and check that no process of it is left.

    Without ranks it is run without a launcher.
    """
    mark = uuid.uuid4().hex
    words_before = [*(mpiexec or [launcher()]), "-n", str(ranks)] if ranks else []
    job = subprocess.run(
        [*words_before, sys.executable, "-m", "mpi4py", str(HERE / program), *words],
        env={**os.environ, **(env or {}), MARK: mark},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not left_behind(mark))
    assert left_behind(mark) == []
    return Outcome(job.returncode, job.stdout, job.stderr)


def end_launcher(program: str, *words: str, begun: Path, number: int) -> list[str]:
    """Signal the launcher as soon as a file is there; return what is left after a while."""
    mark = uuid.uuid4().hex
    job = subprocess.Popen(
        [launcher(), "-n", "2", sys.executable, "-m", "mpi4py", str(HERE / program), *words],
        env={**os.environ, MARK: mark},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(begun.exists)
    finally:
        job.send_signal(number)
        job.wait(60)
    with contextlib.suppress(TimeoutError):
        wait_until(lambda: not left_behind(mark))
    return left_behind(mark)


def wait_until(is_so: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Look now and then until something is so."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.05)


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
