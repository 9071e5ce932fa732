"""The malleable examples in C and Fortran: the same results with resizes at random steps."""

import random
from pathlib import Path

import pytest

from tests.malleable.clibrary import compiled, compiled_fortran, prefix, ran_well
from tests.mpi import ROOT

__all__ = ["prefix"]

EXAMPLES = ROOT / "examples" / "malleable_c"


# What is compiled before a test is no time of its own.
pytestmark = pytest.mark.timeout(func_only=True)


def random_targets(seed: int, steps: int) -> str:
    draw = random.Random(seed)
    at = sorted(draw.sample(range(1, steps), 3))
    return ",".join(f"{step}:{draw.randint(1, 5)}" for step in at)


def check(program: str, steps: int, *words: str) -> None:
    expected = ran_well(program, 2, *words)
    assert expected.count("\n") == 1
    for seed, method in enumerate(["merge", "baseline", "merge"]):
        overlap = str(seed // 2)
        targets = random_targets(seed, steps)
        assert (
            ran_well(program, 2, *words, targets=targets, method=method, overlap=overlap)
            == expected
        )


def test_conjugate_gradients_have_the_same_bits(prefix: Path, tmp_path: Path) -> None:
    check(compiled(prefix, EXAMPLES / "cg.c", tmp_path), 15, "12")


def test_heat_on_a_grid_of_processes_has_the_same_bits(prefix: Path, tmp_path: Path) -> None:
    program = compiled(prefix, EXAMPLES / "plate.c", tmp_path)
    check(program, 60)
    state = str(tmp_path / "state")
    expected = ran_well(program, 4, state)
    # Now from step 40, from a grid of 3 x 1 to one of 3 x 2.
    assert ran_well(program, 3, state, targets="50:6") == expected


def test_heat_in_fortran_has_the_same_bits(prefix: Path, tmp_path: Path) -> None:
    program = compiled_fortran(prefix, EXAMPLES / "heat.f90", EXAMPLES / "halo.c", tmp_path)
    check(program, 60)
    state = str(tmp_path / "state")
    expected = ran_well(program, 2, state)
    # Now from step 40.
    assert ran_well(program, 3, state, targets="50:1") == expected
