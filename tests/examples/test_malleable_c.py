"""The malleable examples in C and Fortran: the same results with resizes at random steps."""

import random
from pathlib import Path

import pytest

from tests.malleable.clibrary import built_library, compiled, compiled_fortran, ran_well
from tests.mpi import ROOT

EXAMPLES = ROOT / "examples" / "malleable_c"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_library(tmp_path_factory.mktemp("prefix"))


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


def test_heat_in_fortran_has_the_same_bits(prefix: Path, tmp_path: Path) -> None:
    program = compiled_fortran(prefix, EXAMPLES / "heat.f90", EXAMPLES / "halo.c", tmp_path)
    check(program, 60)
    state = str(tmp_path / "state")
    expected = ran_well(program, 2, state)
    # Now from step 40.
    assert ran_well(program, 3, state, targets="50:1") == expected
