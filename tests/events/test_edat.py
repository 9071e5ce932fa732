"""The programs of `examples/edat`, in the words of EDAT, on freestone's events."""

from pathlib import Path

import pytest

from tests.events.test_c import STRICT, done, flags, needs, prefix, run
from tests.mpi import BIN, ROOT, mpiexec_well

__all__ = ["prefix"]

FOLDER = ROOT / "examples" / "edat"

EXPECTED = {
    "barrier": [f"rank {rank}: all 2 are here" for rank in range(2)],
    "find": ["0 1 -1 Jello"],
    "greedy": ["4: 6"] * 2,
    "locks": ["1 0"] * 4 + ["2 tasks"] * 2,
    "names": ["1 1 0 0"] * 2,
    "pause": ["1"] * 2 + ["a task"] * 4,
    "persistent_event": ["0.5", "1.0", "1.5"],
    "persistent_task": ["0", "1", "2"],
    "protect": ["5050"],
    "reduce": ["rank 0: 1", "rank 1: 1"],
    "sum": ["133"],
    "task": ["1 event of rank 0: 33"],
    "wait": ["0 are left", "more: 7"],
}


def built(prefix: Path, name: str, folder: Path) -> str:
    program = str(folder / name)
    sources = [str(FOLDER / "programs" / f"{name}.c"), str(FOLDER / "edat.c")]
    done(["cc", "-std=c11", *STRICT, f"-I{FOLDER}", *sources, *flags(prefix), "-o", program])
    return program


def test_every_program_is_run() -> None:
    assert sorted(EXPECTED) == sorted(path.stem for path in (FOLDER / "programs").glob("*.c"))


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_program_does_what_it_says(prefix: Path, tmp_path: Path, name: str) -> None:
    ended = run(built(prefix, name, tmp_path), 2)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == EXPECTED[name]


def test_a_program_runs_under_mpiexec(prefix: Path, tmp_path: Path) -> None:
    printed = mpiexec_well(2, built(prefix, "reduce", tmp_path), timeout_s=60)
    assert sorted(printed.splitlines()) == EXPECTED["reduce"]


def test_a_program_in_fortran(prefix: Path, tmp_path: Path) -> None:
    needs("gfortran")
    module, program = tmp_path / "edat.o", str(tmp_path / "program")
    done(["cc", "-c", f"-I{FOLDER}", str(FOLDER / "edat.c"), *flags(prefix), "-o", str(module)])
    sources = [str(FOLDER / "edat.f90"), str(FOLDER / "programs" / "sum.f90"), str(module)]
    done(["gfortran", "-Wall", f"-J{tmp_path}", *sources, *flags(prefix), "-o", program])
    ended = run(program, 2)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = sorted(line.split() for line in ended.stdout.splitlines())
    assert lines == [["45", "F"], ["T", "F"], ["never", "4.0000000000000000", "T"]]


ON_A_COMMUNICATOR = r"""
#include "edat.h"
#include <mpi.h>
#include <stdio.h>
static void got(EDAT_Event *events, int count) {
  (void)count;
  printf("rank %d got %d\n", edatGetRank(), *(int *)events[0].data);
}
int main(int count, char **words) {
  int threads;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &threads);
  edatInitialiseWithCommunicator((int)MPI_Comm_c2f(MPI_COMM_WORLD));
  int number = 10 + edatGetRank();
  edatSubmitTask(got, 1, EDAT_ANY, "number");
  edatFireEvent(&number, EDAT_INT, 1, 1 - edatGetRank(), "number");
  edatFinalise();
  MPI_Finalize();
}
"""


def test_a_program_runs_on_a_communicator_of_its_own(prefix: Path, tmp_path: Path) -> None:
    compiler = BIN / "mpicc"
    if not compiler.exists():
        pytest.skip("mpicc is not installed")
    source, program = tmp_path / "program.c", str(tmp_path / "program")
    source.write_text(ON_A_COMMUNICATOR)
    sources = [str(source), *(str(FOLDER / name) for name in ("edat.c", "edat_mpi.c"))]
    rpath = f"-Wl,-rpath,{BIN.parent / 'lib'}"
    done([str(compiler), f"-I{FOLDER}", *sources, *flags(prefix), rpath, "-o", program])
    printed = mpiexec_well(2, program, timeout_s=60)
    assert sorted(printed.splitlines()) == ["rank 0 got 11", "rank 1 got 10"]


REFUSED = r"""
#include "edat.h"
int main(void) {
  int number = 1, *there = &number;
  edatInit();
  edatFireEvent(&there, EDAT_ADDRESS, 1, 1 - edatGetRank(), "address");
  edatFinalise();
}
"""


def test_an_address_stays_on_its_rank(prefix: Path, tmp_path: Path) -> None:
    source, program = tmp_path / "refused.c", str(tmp_path / "refused")
    source.write_text(REFUSED)
    sources = [str(source), str(FOLDER / "edat.c")]
    done(["cc", "-std=c11", f"-I{FOLDER}", *sources, *flags(prefix), "-o", program])
    ended = run(program, 2)
    assert ended.returncode == 1
    assert "an address and a context are of use on their own rank only" in ended.stderr
