"""The C library of malleability, and programs compiled against it by MPI's own compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mpi import BIN, BUILD, PATH, ROOT, mpiexec

STRICT = ["-Wall", "-Wextra", "-Werror", "-g"]
PROGRAMS = Path(__file__).parent / "programs"


def done(words: list[str], **options: object) -> str:
    """Run a command that has to end well; what it printed."""
    environment = {**os.environ, "PATH": PATH}
    ended = subprocess.run(  # type: ignore[call-overload]
        words, capture_output=True, text=True, check=False, env=environment, **options
    )
    assert ended.returncode == 0, f"{words}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
    return str(ended.stdout)


def mpi_compiler(name: str) -> str:
    found = shutil.which(name, path=str(BIN)) or shutil.which(name)
    if found is None:
        pytest.skip(f"there is no {name}; pip install mpich")
    return found


def built_library(folder: Path) -> Path:
    """Build the library and install it below `folder`."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    done(BUILD, cwd=ROOT)
    script = ROOT / "crates" / "install" / "install.sh"
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    done([str(script), "malleable", f"{target}/release", str(folder), "1.2.3"])
    return folder


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the library is installed, built once for all tests of a process."""
    return built_library(tmp_path_factory.mktemp("prefix"))


def flags(prefix: Path) -> list[str]:
    library = prefix / "lib"
    return [
        f"-I{prefix / 'include'}",
        f"-L{library}",
        f"-Wl,-rpath,{library}",
        "-lfreestone_malleable",
        "-lm",
    ]


def compiled(prefix: Path, source: Path, folder: Path, *more: str) -> str:
    """Compile a program in C or C++."""
    program = folder / source.stem
    compiler, standard = (
        ("mpicxx", "-std=c++17") if source.suffix == ".cpp" else ("mpicc", "-std=c11")
    )
    words = [mpi_compiler(compiler), standard, *STRICT, str(source), *more, *flags(prefix)]
    done([*words, "-o", str(program)])
    return str(program)


def compiled_fortran(prefix: Path, source: Path, begin: Path, folder: Path) -> str:
    """Compile a program in Fortran, which reaches MPI by functions in C."""
    fortran = shutil.which("gfortran")
    if fortran is None:
        pytest.skip("gfortran is not installed")
    done([mpi_compiler("mpicc"), "-c", str(begin)], cwd=folder)
    sources = [str(prefix / "include" / "freestone_malleable.f90"), str(source)]
    mpi = [f"-L{BIN.parent / 'lib'}", f"-Wl,-rpath,{BIN.parent / 'lib'}", "-lmpi"]
    words = [fortran, "-Wall", *sources, f"{begin.stem}.o", *flags(prefix), *mpi]
    done([*words, "-o", source.stem], cwd=folder)
    return str(folder / source.stem)


def ran(
    program: str, ranks: int, *words: str, timeout_s: float = 120.0, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program with settings of the environment, such as `targets`."""
    names = [f"FREESTONE_MALLEABLE_{name.upper()}={value}" for name, value in settings.items()]
    return mpiexec(ranks, program, *words, before=["env", *names], timeout_s=timeout_s)


def ran_well(program: str, ranks: int, *words: str, **settings: str) -> str:
    """Run a program that has to end well; what it printed."""
    ended = ran(program, ranks, *words, **settings)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout
