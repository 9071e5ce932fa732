"""No call of the native module ends the interpreter: calls at random, in a process of their own."""

from __future__ import annotations

import os

import pytest

from freestone import _native
from tests.bindings.fuzz import PROCESSES, TOGETHER, finding, targets

# Others are tried by hand: FREESTONE_FUZZ_SEEDS="5 6 7", or python -m tests.bindings.fuzz --seed 5.
SEEDS = [int(seed) for seed in os.environ.get("FREESTONE_FUZZ_SEEDS", "1 2 3").split()]
CALLS = 600


@pytest.mark.parametrize("seed", SEEDS)
def test_no_call_ends_the_interpreter(seed: int) -> None:
    assert finding(seed, CALLS) == ""


def test_all_of_the_module_is_called() -> None:
    public = {name for name in vars(_native) if not name.startswith("__")}
    called = {name for name, _, _ in targets()}
    assert public <= called
    assert called >= PROCESSES | set(TOGETHER)
    # Each run begins with one call of each.
    assert len(called) < CALLS
