"""Processes outside of a run: they fire at its ranks and receive, in C, Fortran and Python."""

import sys
from pathlib import Path

import pytest

from tests.events.apart import outliving
from tests.events.test_c import built, done, fortran, prefix, run
from tests.mpi import launcher, mpiexec

__all__ = ["prefix"]

RANKS = """
import numpy as np
from freestone import events as ev

def main(rank):
    sums = []

    def add(event):
        rank.lock("sums")
        sums.append(float(np.sum(event.data)))
        if event.source >= rank.size:
            rank.fire(event.source, "answer", np.full((2, 3), event.source))

    rank.submit(add, on=[(ev.ANY, "field")], persistent=True)
    if rank.id == 0:
        rank.fire(1, "field", 1.0)
    rank.drain()
    return sorted(sums)

print(ev.run(main), flush=True)
"""

CLIENT_PYTHON = """
import numpy as np
from freestone import events as ev
from freestone.errors import UsageError
from freestone.errors.events import EventTimeoutError

with ev.attach() as bridge:
    assert (bridge.id, bridge.size) == (2, 2), bridge
    assert bridge.retrieve_any([(ev.ANY, "answer")]) == []
    bridge.fire(1, "field", np.arange(200_000.0))
    (answer,) = bridge.wait([(1, "answer")])
    np.testing.assert_array_equal(answer.data, np.full((2, 3), 2))
    bridge.fire([0, 1], "field", 5)
    bridge.wait([(0, "answer"), (1, "answer")])
    try:
        bridge.fire(7, "field")
    except ValueError as error:
        assert "no rank 7" in str(error)
    else:
        raise AssertionError
    try:
        bridge.wait([(0, "never")], timeout_s=0.12)
    except EventTimeoutError as error:
        assert "after 120ms there was still no 'never'" in str(error), error
    else:
        raise AssertionError
try:
    bridge.fire(0, "late")
except UsageError as error:
    assert "fire() after detach()" in str(error)
else:
    raise AssertionError
"""

SUMS = "[[5.0], [1.0, 5.0, 19999900000.0]]"

CLIENT_C = r"""
#include <freestone_events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int failed(const char *what) { return fprintf(stderr, "%s: %s\n", what, fse_error()), 1; }
static void never(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
int main(void) {
  if (fse_attach() != FSE_OK) return failed("attach");
  if (fse_rank() != 2 || fse_ranks() != 2) return failed("numbers");
  if (fse_submit(never, NULL, 0) != FSE_BAD_CALL || !strstr(fse_error(), "no rank of it"))
    return failed("submit");
  double *field = malloc(200000 * sizeof *field);
  for (int index = 0; index < 200000; index++) field[index] = index;
  if (fse_fire(field, FSE_DOUBLE, 200000, 1, "field")) return failed("fire");
  const fse_event *answer = fse_wait(1, 1, "answer");
  if (!answer || answer->type != FSE_LONG || answer->ndims != 2 || answer->shape[0] != 2 ||
      answer->shape[1] != 3 || ((const int64_t *)answer->data)[5] != 2)
    return failed("wait");
  fse_free(answer);
  int both[] = {0, 1}, found;
  int64_t five = 5;
  if (fse_fire_group(&five, FSE_LONG, 1, both, 2, "field")) return failed("group");
  fse_free(fse_wait(2, 0, "answer", 1, "answer"));
  if (fse_retrieve_any(&found, 1, FSE_ANY, "answer") && found) return failed("retrieve");
  if (fse_fire(NULL, FSE_NONE, 0, 9, "field") != FSE_BAD_CALL) return failed("no rank");
  fse_dependency on = {0, "never"};
  if (fse_wait_on(&on, 1, 0.05, NULL) || !strstr(fse_error(), "no 'never' from rank 0"))
    return failed("timeout");
  return fse_detach() != FSE_OK && failed("detach");
}
"""

CLIENT_FORTRAN = """
program client
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  type(fse_event), pointer :: answer(:)
  integer :: code, index
  integer(c_int64_t) :: values(3, 2)
  if (fse_attach() /= FSE_OK) error stop "attach"
  code = fse_fire(1, "field", [(real(index, c_double), index = 0, 199999)])
  answer => fse_wait([fse_on(1, "answer")])
  if (any(fse_shape(answer(1)) /= [3, 2])) error stop "shape"
  call fse_value(answer(1), values)
  if (any(values /= fse_rank())) error stop "values"
  call fse_free(answer)
  code = fse_fire([0, 1], "field", 5)
  answer => fse_wait([fse_on(0, "answer"), fse_on(1, "answer")])
  call fse_free(answer)
  if (fse_detach() /= FSE_OK) error stop "detach"
end program
"""


def client(language: str, prefix: Path, folder: Path) -> list[str]:
    """Return the command of a client in a language."""
    if language == "python":
        return [sys.executable, "-c", CLIENT_PYTHON]
    if language == "fortran":
        done(fortran(prefix, folder, CLIENT_FORTRAN))
        return [str(folder / "program")]
    source = folder / "client.c"
    source.write_text(CLIENT_C)
    return [built(prefix, source, folder)]


@pytest.mark.parametrize("language", ["python", "c", "fortran"])
def test_who_is_outside_fires_at_ranks_and_receives(
    language: str, prefix: Path, tmp_path: Path
) -> None:
    words = [sys.executable, "-c", RANKS, ":", "-n", "1", *client(language, prefix, tmp_path)]
    ended = mpiexec(2, *words)
    # What several processes print at once may be one line.
    assert (ended.returncode, ended.stdout.count(SUMS), ended.stderr) == (0, 2, "")


FAILS = """
from freestone import events as ev
from freestone.errors.events import RankFailedError
from mpi4py import MPI

def fails(event):
    raise KeyError("no luck")

def main(rank):
    rank.submit(fails, on=[(ev.ANY, "go")])

if MPI.COMM_WORLD.rank == 0:
    with ev.attach() as bridge:
        bridge.fire(0, "go")
        try:
            bridge.wait([(0, "never")])
        except KeyError as error:
            print(f"client {error}\\n", end="", flush=True)
    print("unreachable")
try:
    ev.run(main)
except KeyError as error:
    print(f"rank {error}\\n", end="", flush=True)
"""


def test_a_failure_of_the_run_ends_the_wait_of_a_client() -> None:
    pytest.importorskip("mpi4py")
    code = FAILS.replace('    print("unreachable")\n', "    raise SystemExit\n")
    ended = mpiexec(2, sys.executable, "-c", code)
    assert sorted(ended.stdout.splitlines()) == ["client 'no luck'", "rank 'no luck'"]


FUNNELED_C = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
static int answered;
static void answer(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  fse_fire(events[0].data, FSE_INT, 1, events[0].source, "answer");
}
int main(void) {
  int level, other = -1;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
  if (level != MPI_THREAD_FUNNELED) return 2;
  if (fse_init(NULL)) return fprintf(stderr, "%s\n", fse_error());
  int rank = fse_rank(), right = (rank + 1) % fse_ranks();
  for (int round = 0; round < 100; round++) fse_submit(answer, NULL, 1, FSE_ANY, "ask");
  for (int round = 0; round < 100; round++) {
    fse_fire(&rank, FSE_INT, 1, right, "ask");
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &other, 1, MPI_INT, MPI_ANY_SOURCE, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  while (answered < 100) {
    int found;
    fse_progress();
    const fse_event *events = fse_retrieve_any(&found, 1, right, "answer");
    answered += found;
    fse_free(events);
  }
  static char big[3000000];
  fse_fire(big, FSE_BYTE, sizeof big, right, "big");
  fse_free(fse_wait(1, FSE_ANY, "big"));
  fse_drain();
  int code = fse_finalise();
  printf("%d %d\n", other, code);
  return MPI_Finalize();
}
"""


def compiled(prefix: Path, folder: Path, source: str) -> str:
    """Compile a program that uses MPI itself."""
    path = folder / "funneled.c"
    path.write_text(source)
    compiler = str(Path(launcher()).with_name("mpicc"))
    library = prefix / "lib"
    words = [f"-I{prefix / 'include'}", f"-L{library}", f"-Wl,-rpath,{library}"]
    program = str(folder / "funneled")
    done([compiler, str(path), *words, "-lfreestone_events", "-o", program])
    return program


def test_a_program_that_alone_calls_mpi_makes_progress_itself(prefix: Path, tmp_path: Path) -> None:
    ended = mpiexec(3, compiled(prefix, tmp_path, FUNNELED_C))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.split()) == ["0", "0", "0", "0", "1", "2"]


FUNNELED_PYTHON = """
import mpi4py
mpi4py.rc.thread_level = "funneled"
from mpi4py import MPI
from freestone import events as ev

comm = MPI.COMM_WORLD

def main(rank):
    done = rank.submit(lambda event: event.data + 1, on=[(ev.ANY, "x")])
    rank.fire((rank.id + 1) % rank.size, "x", comm.allreduce(1))
    while not done.done():
        rank.progress()
    rank.drain()
    return done.result()

assert MPI.Query_thread() == MPI.THREAD_FUNNELED
print(ev.run(main), flush=True)
"""


def test_progress_by_the_program_in_python() -> None:
    pytest.importorskip("mpi4py")
    ended = mpiexec(2, sys.executable, "-c", FUNNELED_PYTHON)
    # What several processes print at once may be one line.
    assert (ended.returncode, ended.stdout.count("[3, 3]"), ended.stderr) == (0, 2, "")


PROGRESS = r"""
#include <freestone_events.h>
#include <stdio.h>
static void pass(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  int number = *(const int *)events[0].data + 1;
  if (number < 40) fse_fire(&number, FSE_INT, 1, (fse_rank() + 1) % fse_ranks(), "token");
  else printf("%d\n", number);
}
int main(void) {
  if (fse_init(NULL)) return 1;
  fse_submit_persistent(pass, NULL, 1, FSE_ANY, "token");
  int zero = 0;
  if (fse_rank() == 0) fse_fire(&zero, FSE_INT, 1, 1, "token");
  return -fse_finalise();
}
"""


def test_progress_by_the_program_without_mpi(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "progress.c"
    source.write_text(PROGRESS)
    ended = run(built(prefix, source, tmp_path), 3, progress="program")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "40\n", "")


LOST = """
import os, sys
from freestone import events as ev
from freestone.errors.events import RankLostError

def main(rank):
    rank.fire(ev.ALL, "pid", os.getpid())
    pids = [event.data for event in rank.wait([(ev.ALL, "pid")])]
    if rank.id == 1:
        os.kill(os.getpid(), 9)
    rank.wait([(1, "never")])

try:
    ev.run(main)
except RankLostError as error:
    os.write(2, f"rank {error.rank} is lost\\n".encode())
    os._exit(7)
"""


def test_survivors_under_mpiexec_learn_which_rank_is_lost(tmp_path: Path) -> None:
    words = [*outliving(tmp_path / "ended", 4), sys.executable, "-c", LOST]
    ended = mpiexec(4, *words)
    assert ended.stderr.count("rank 1 is lost\n") == 3, ended
