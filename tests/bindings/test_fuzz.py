"""No call of the native module ends the interpreter: calls at random, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Others are tried by hand: FREESTONE_FUZZ_SEEDS="5 6 7".
SEEDS = [int(seed) for seed in os.environ.get("FREESTONE_FUZZ_SEEDS", "1 2 3").split()]
CALLS = 600


@pytest.mark.parametrize("seed", SEEDS)
def test_no_call_ends_the_interpreter(seed: int) -> None:
    words = [sys.executable, "-m", "tests.bindings.fuzz", str(seed), str(CALLS)]
    root = Path(__file__).parents[2]
    done = subprocess.run(words, capture_output=True, timeout=300, check=False, cwd=root)
    calls = done.stdout.decode(errors="replace").splitlines()
    last = calls[-1] if calls else "none"
    why = f"seed {seed} ended with {done.returncode} in {last}\n{done.stderr.decode()[-2000:]}"
    assert done.returncode == 0, why
    assert len(calls) >= CALLS
