"""The malleable examples in C and Fortran: the same results with resizes at random steps."""

import random
import shutil
from pathlib import Path

import pytest

from tests.malleable.clibrary import (
    BIN,
    built_library,
    compiled,
    done,
    flags,
    mpi_compiler,
    ran_well,
)
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
    fortran = shutil.which("gfortran")
    if fortran is None:
        pytest.skip("gfortran is not installed")
    done([mpi_compiler("mpicc"), "-c", str(EXAMPLES / "halo.c")], cwd=tmp_path)
    sources = [str(prefix / "include" / "freestone_malleable.f90"), str(EXAMPLES / "heat.f90")]
    mpi = [f"-L{BIN.parent / 'lib'}", f"-Wl,-rpath,{BIN.parent / 'lib'}", "-lmpi"]
    words = [fortran, "-Wall", *sources, "halo.o", *flags(prefix), *mpi, "-o", "heat"]
    done(words, cwd=tmp_path)
    check(str(tmp_path / "heat"), 60)
    state = str(tmp_path / "state")
    expected = ran_well(str(tmp_path / "heat"), 2, state)
    # Now from step 40.
    assert ran_well(str(tmp_path / "heat"), 3, state, targets="50:1") == expected
