"""Checks that are tests of crates, which take their seed from the environment."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.fuzzers import Check

__all__ = ["checking"]

ROOT = Path(__file__).resolve().parents[2]
# As `make test-rust` builds them, so that nothing is built again.
BUILD = ["cargo", "test", "--locked", "--workspace", "--exclude", "freestone-python", "--no-run"]
MAX_SHOWN = 4000


@contextlib.contextmanager
def checking(target: str, tests: str) -> Iterator[Check]:
    """Open the check by the tests of a target whose names begin with some text."""
    program = _built(target)

    def check(seed: int) -> str | None:
        ended = subprocess.run(
            [program, *([tests] if tests else [])],
            env={**os.environ, "FREESTONE_SEED": str(seed), "RUST_BACKTRACE": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        return None if ended.returncode == 0 else _reported(ended)

    yield check


def _built(target: str) -> str:
    """Return the path of a target's tests."""
    words = [*BUILD, "--test", target, "--message-format", "json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"{' '.join(words)}: status {done.returncode}\n{done.stderr[-MAX_SHOWN:]}"
        )
    for line in done.stdout.splitlines():
        artifact = json.loads(line)
        if artifact.get("executable") and artifact["target"]["name"] == target:
            return str(artifact["executable"])
    raise RuntimeError(f"{' '.join(words)} built no tests")


def _reported(ended: subprocess.CompletedProcess[str]) -> str:
    """Return what a test printed, first what it says of itself."""
    lines = (ended.stdout + ended.stderr).splitlines()
    panics = [number for number, line in enumerate(lines) if " panicked at " in line]
    short = lines[panics[0] + 1] if panics and panics[0] + 1 < len(lines) else "no panic"
    return f"status {ended.returncode}: {short}\n" + "\n".join(lines)[-MAX_SHOWN:]
