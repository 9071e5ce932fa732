"""Programs as ranks of MPI, by the `mpiexec` that is beside this Python or on the path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
BUILD = ["cargo", "build", "--release", "--locked", "-q"]
BUILD += ["-p", "freestone-events-c", "-p", "freestone-malleable-c"]
"""Builds both libraries of C, as ``make c`` does: alone, one would be compiled once more."""
PATH = f"{BIN}:{os.environ.get('PATH', '')}"


def launcher() -> str:
    """Return the path of `mpiexec`; a test that needs it is skipped where there is none."""
    found = shutil.which("mpiexec", path=PATH)
    if found is None:
        pytest.skip("there is no mpiexec; pip install mpich")
    return found


def mpiexec(
    ranks: int,
    *words: str,
    before: Sequence[str] = (),
    cwd: Path | None = ROOT,
    timeout_s: float = 120.0,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program as so many ranks, `mpiexec` itself by the words `before` it."""
    return subprocess.run(
        [*before, launcher(), "-n", str(ranks), *words],
        cwd=cwd,
        env={**os.environ, "PATH": PATH, **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def mpiexec_well(ranks: int, *words: str, before: Sequence[str] = (), timeout_s: float) -> str:
    """Run a program all of whose ranks have to end well; what they printed."""
    ended = mpiexec(ranks, *words, before=before, timeout_s=timeout_s)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
