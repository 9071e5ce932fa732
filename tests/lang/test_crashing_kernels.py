"""Kernels that crash, or never return: they are named, and leave no process behind."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from freestone import Cluster
from freestone.cli.config import INCLUDE
from tests.lang.catalogs import entries, write_catalog
from tests.lang.scripts import outcome, outcome_on, printed

SOURCE = Path(__file__).parent / "kernels/crashing.c"
DOUBLES = "DenseMatrix<double>"
C = {
    "wild": ("ewAdd", [DOUBLES], [DOUBLES, DOUBLES]),
    "stuck": ("sumAll", ["double"], [DOUBLES]),
    "printing": ("sumAll", ["double"], [DOUBLES]),
}
LIMIT_MS = 120_000
NUMBA = f"""
import numba
from numba import types
from freestone.lang import kernel

matrix = (types.CPointer(types.float64), types.int64, types.int64)

@kernel("ewAdd", results="{DOUBLES}", arguments=["{DOUBLES}"] * 2)
@numba.cfunc(types.void(*matrix, *matrix, *matrix))
def added(out, rows, columns, x, x_rows, x_columns, y, y_rows, y_columns):
    for at in range(rows * columns):
        out[at] = x[at] + y[at] + 0.25

@kernel("ewAdd", results="{DOUBLES}", arguments=["{DOUBLES}"] * 2)
@numba.cfunc(types.void(*matrix, *matrix, *matrix))
def beyond(out, rows, columns, x, x_rows, x_columns, y, y_rows, y_columns):
    out[rows * columns] = 1.0

@kernel("ewAdd", results="{DOUBLES}", arguments=["{DOUBLES}"] * 2)
@numba.cfunc(types.void(*matrix, *matrix, *matrix))
def changing(out, rows, columns, x, x_rows, x_columns, y, y_rows, y_columns):
    x[0] = 1.0

@kernel("sumAll", results="double", arguments="{DOUBLES}")
@numba.cfunc(types.void(types.CPointer(types.float64), *matrix))
def total(out, x, rows, columns):
    for at in range(rows * columns):
        out[0] += x[at]
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The catalog of the kernels that crash."""
    folder = tmp_path_factory.mktemp("crashing")
    library = folder / "libCrashing.so"
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", f"-I{INCLUDE}"]
    subprocess.run(["cc", *flags, SOURCE, "-o", library], check=True)
    return write_catalog(folder / "catalog.json", entries(C, library.name))


def command(catalog: str, *options: str) -> list[str]:
    words = [sys.executable, "-m", "freestone", "run", f"--kernel-ext={catalog}", *options]
    return [*words, "s.daphne"]


def outcome_of(
    text: str, catalog: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run a script by the command line, to its end."""
    (folder / "s.daphne").write_text(text)
    words = command(catalog, *options)
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("options", [(), ("--vec", "--num-threads=3")], ids=["plain", "fused"])
def test_a_kernel_that_ends_the_run_is_named(
    options: tuple[str, ...], catalog: str, tmp_path: Path
) -> None:
    text = 'X = rand(400, 400, 0.0, 1.0, 1.0, 1);\nprint("before");\nprint(sum(X +::wild X));\n'
    ended = outcome_of(text, catalog, tmp_path, *options)
    assert ended.returncode == -signal.SIGSEGV
    assert ended.stdout == "before\n"
    library = Path(catalog).parent / "libCrashing.so"
    named = f"freestone: the process crashed (SIGSEGV) in the kernel 'wild' of {library}, s.daphne:"
    assert ended.stderr.startswith(named)
    assert "--isolate-kernels" in ended.stderr


def test_a_kernel_that_ends_executors_is_named(cluster: Cluster, catalog: str) -> None:
    text = "X = rand(50, 3, 0.0, 1.0, 1.0, 1); print(sum(X +::wild X));"
    found = outcome_on(cluster, text, kernels=((catalog, 0),))
    assert " by wild' ended its executor" in found
    assert "or a script with --isolate-kernels" in found
    found = outcome_on(cluster, text, kernels=((catalog, 0),), isolate=True)
    assert "the kernel 'wild' crashed (SIGSEGV)" in found


def test_no_process_outlives_a_run_that_is_killed(catalog: str, tmp_path: Path) -> None:
    (tmp_path / "s.daphne").write_text("print(sum::stuck([1.0]));")
    words = command(catalog, "--isolate-kernels")
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        isolated = os.pidfd_open(int(run.stdout.readline()))
        run.kill()
        ended = select.poll()
        ended.register(isolated, select.POLLIN)
        assert ended.poll(LIMIT_MS)
        os.close(isolated)


@pytest.mark.parametrize("options", [(), ("--isolate-kernels",)], ids=["here", "isolated"])
def test_what_kernels_print_comes_in_order(
    options: tuple[str, ...], catalog: str, tmp_path: Path
) -> None:
    text = 'print("before"); x = sum::printing([1.0, 2.0]); print("after");'
    ended = outcome_of(text, catalog, tmp_path, *options)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "before\n2 rows\nafter\n"


def test_kernels_of_numba_are_isolated(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(NUMBA)
    kernels = ((str(path), 0),)
    text = "X = [1.0, 2.0, 3.0]; print(sum(X +::added X)); print(sum::total(X)); "
    empty = "print(nrow(X[0:0, ] +::added X[0:0, ]));"
    for isolate in (False, True):
        wanted = "12.75\n6\n0\n"
        assert printed(text + empty, kernels=kernels, isolate=isolate) == wanted
    found = outcome("X = [1.0]; print(X +::beyond X);", kernels=kernels, isolate=True)
    assert "the kernel 'beyond' writes beyond its result of 8 bytes" in found
    found = outcome("X = [1.0]; print(X +::changing X);", kernels=kernels, isolate=True)
    assert "the kernel 'changing' crashed (SIGSEGV)" in found


def test_a_kernel_that_can_not_be_made_anew_is_named(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        NUMBA + "lock = __import__('threading').Lock()\ntotal.function.lock = lock\n"
        "total.function._function._sig = lock\n"
    )
    found = outcome("print(sum::total([1.0]));", kernels=((str(path), 0),), isolate=True)
    assert "the kernel 'total' can't be sent to a process of its own: TypeError" in found
