"""Resizes under other MPI libraries than MPICH; `make mpis` installs them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, done, flags
from tests.malleable.jobs import Outcome, run
from tests.mpi import ROOT

LIBRARIES = ROOT / "target" / "mpi"


class Library:
    """An installed MPI: how its launcher is called, and the environment of a job."""

    def __init__(self, name: str, file: str, *options: str, **settings: str) -> None:
        folder = LIBRARIES / name
        self.path, self.folder = folder / "lib" / file, folder
        self.mpiexec = [str(folder / "bin" / "mpiexec"), *options]
        # Under mpiexec, mpi4py takes the library that it is given.
        self.environment = {"MPI4PY_LIBMPI": str(self.path), **settings}
        if not self.path.exists():
            pytest.skip(f"{name} is not installed; make mpis")

    def run(self, program: str, *words: str, **settings: str) -> Outcome:
        return run(program, *words, mpiexec=self.mpiexec, env={**self.environment, **settings})


def open_mpi() -> Library:
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return Library("openmpi", "libmpi.so.40", "--oversubscribe", **as_root)


def intel_mpi(**settings: str) -> Library:
    # By shared memory, its messages to spawned processes stay away for minutes on an Intel Xeon.
    settings = settings or {"I_MPI_SPAWN": "on", "I_MPI_SHM": "off"}
    return Library("impi", "libmpi.so.12", **settings)


def resized(library: Library, *resizes: tuple[int, str]) -> list[tuple[int, int, str]]:
    """Run a job that checks all of its data at each step."""
    words = {"resizes": resizes, "rows": 131, "seed": 3, "share": False, "entries": True}
    outcome = library.run("program.py", json.dumps(words))
    assert outcome.status == 0, outcome.err
    return [(each["before"], each["after"], each["error"]) for each in outcome.data["resizes"]]


def test_a_job_of_open_mpi_grows_and_shrinks() -> None:
    methods = ("merge-p2p-sync", "baseline-collective-nonblocking", "merge-p2p-thread")
    records = resized(open_mpi(), *zip((4, 2, 3), methods, strict=True))
    assert records == [(2, 4, ""), (4, 2, ""), (2, 3, "")]


def test_a_job_of_intel_mpi_grows_and_shrinks() -> None:
    methods = ("merge-p2p-sync", "baseline-collective-nonblocking", "merge-collective-thread")
    records = resized(intel_mpi(), *zip((4, 2, 3), methods, strict=True))
    assert records == [(2, 4, ""), (4, 2, ""), (2, 3, "")]


@pytest.mark.parametrize(
    ("settings", "method", "problem", "instead"),
    [
        ({"I_MPI_SPAWN": "off"}, None, "NoSpawnError: I_MPI_SPAWN is 'off'", "I_MPI_SPAWN on"),
        ({"I_MPI_SPAWN": "on"}, None, "NoSpawnError: I_MPI_SHM is not set", "I_MPI_SHM off"),
        ({}, "merge-onesided-sync", "merge-onesided-sync was asked for", "'merge-p2p-sync'"),
    ],
)
def test_what_intel_mpi_can_not_do_is_refused_by_name(
    settings: dict[str, str], method: str | None, problem: str, instead: str
) -> None:
    words = {"resizes": [(3, method)], "rows": 9}
    outcome = intel_mpi(**settings).run("program.py", json.dumps(words))
    assert outcome.status == 0, outcome.err
    (resize,) = outcome.data["resizes"]
    assert resize["error"].startswith(problem)
    assert instead in resize["error"]


def test_a_joining_rank_of_open_mpi_that_fails_leaves_the_job_as_it_was(tmp_path: Path) -> None:
    outcome = open_mpi().run("faults.py", "refused", str(tmp_path))
    assert outcome.status == 0, outcome.err
    assert "RuntimeError: no licence" in outcome.out
    assert outcome.out.startswith("1 [")


def ran_in_c(library: Library, program: Path, method: str = "merge", **settings: str) -> str:
    job = {"FREESTONE_MALLEABLE_TARGETS": "3:4,20:2", "FREESTONE_MALLEABLE_METHOD": method}
    environment = {**os.environ, **library.environment, **job, **settings}
    ended = subprocess.run(
        [*library.mpiexec, "-n", "2", str(program)],
        env={**environment, "LD_LIBRARY_PATH": str(library.path.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("method", ["merge", "baseline"])
def test_a_program_in_c_under_open_mpi(prefix: Path, tmp_path: Path, method: str) -> None:
    library = open_mpi()
    program, source = tmp_path / "rows", PROGRAMS / "rows.c"
    compiler = str(library.folder / "bin" / "mpicc")
    done([compiler, "-std=c11", str(source), *flags(prefix), "-o", str(program)])
    printed = ran_in_c(library, program, method)
    assert printed.split(" cancelled")[0].endswith(" 2")


def test_rows_in_several_runs_under_open_mpi(prefix: Path, tmp_path: Path) -> None:
    library = open_mpi()
    program, source = tmp_path / "runs", PROGRAMS / "runs.c"
    compiler = str(library.folder / "bin" / "mpicc")
    done([compiler, "-std=c11", str(source), *flags(prefix), "-o", str(program)])
    assert "done 2" in ran_in_c(library, program)


def test_rows_in_several_runs_under_intel_mpi(prefix: Path, tmp_path: Path) -> None:
    printed = ran_in_c(intel_mpi(), Path(compiled(prefix, PROGRAMS / "runs.c", tmp_path)))
    assert "done 2" in printed


def test_a_program_in_c_under_intel_mpi(prefix: Path, tmp_path: Path) -> None:
    # MPICH's compiler makes programs for Intel MPI too.
    program = Path(compiled(prefix, PROGRAMS / "rows.c", tmp_path))
    printed = ran_in_c(intel_mpi(), program)
    assert printed.split(" cancelled")[0].endswith(" 2")
    for settings, problem in (
        ({"I_MPI_SPAWN": "off"}, 'I_MPI_SPAWN is "off"'),
        ({"I_MPI_SPAWN": "on"}, "I_MPI_SHM is not set"),
    ):
        refused = ran_in_c(intel_mpi(**settings), program)
        assert problem in refused
        assert refused.startswith("sizes 2 cancelled")
