"""What bad input gets: an error of its own in Python, C and Fortran."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.apart import apart as files_of_each
from tests.events.test_c import built, built_by, done, fortran, prefix, run
from tests.events.test_joined import free_address, invited
from tests.mpi import mpiexec

__all__ = ["prefix"]


def apart(program: str, ranks: int, folder: Path, **settings: str) -> list[str]:
    """Run ranks that meet by TCP; what each printed. `settings` are those of the last one."""
    meeting = free_address()
    environments = [invited(folder, rank, ranks, meeting) for rank in range(ranks)]
    environments[-1].update({f"FREESTONE_EVENTS_{key}": value for key, value in settings.items()})
    words = [sys.executable, program] if program.endswith(".py") else [program]
    processes = [
        subprocess.Popen(words, env={**os.environ, **own}, stdout=subprocess.PIPE, text=True)
        for own in environments
    ]
    try:
        return [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()


C = r"""
#include <freestone_events.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  int code = fse_init(NULL);
  if (code == FSE_OK) {
    char *large = calloc(1, 10000);
    code = fse_fire(large, FSE_BYTE, 10000, FSE_SELF, "field");
    free(large);
    printf("%d %s\n", code, fse_error());
    code = fse_finalise();
  }
  if (code != FSE_OK) printf("%d %s\n", code, fse_error());
  return 0;
}
"""

FORTRAN = """
program main
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: code
  integer(c_int8_t) :: large(10000) = 0
  code = fse_init()
  if (code == FSE_OK) then
    code = fse_fire(FSE_SELF, "field", large)
    print "(i0, 1x, a)", code, fse_error()
    code = fse_finalise()
  end if
  if (code /= FSE_OK) print "(i0, 1x, a)", code, fse_error()
end program
"""

PYTHON = """
from freestone import events as ev
from freestone.errors import ConfigurationError, EventTooLargeError

def main(rank):
    try:
        rank.fire(ev.SELF, "field", bytes(10000))
    except EventTooLargeError as error:
        assert (error.nbytes, error.limit) == (10000, 8192)
        print(-12, error)

try:
    ev.run(main, workers=1)
except ConfigurationError as error:
    print(-13, error)
"""

LANGUAGES = ["c", "fortran", "python"]


def program(language: str, prefix: Path, folder: Path) -> str:
    if language == "c":
        source = folder / "program.c"
        source.write_text(C)
        return built(prefix, source, folder)
    if language == "fortran":
        done(fortran(prefix, folder, FORTRAN))
        return str(folder / "program")
    source = folder / "program.py"
    source.write_text(PYTHON)
    return str(source)


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_event_that_is_too_large_is_named_with_its_size_and_the_limit(
    prefix: Path, tmp_path: Path, language: str
) -> None:
    (output,) = apart(program(language, prefix, tmp_path), 1, tmp_path, EVENT_MAX="8KiB")
    wanted = (
        "-12 the event 'field' has 10000 bytes, and at most 8192 can be sent: "
        "FREESTONE_EVENTS_EVENT_MAX, which can be more, on all ranks; fire it in parts, or fire a "
        "file's name\n"
    )
    assert output == wanted


@pytest.mark.parametrize("language", LANGUAGES)
def test_ranks_that_disagree_are_named_with_both_values(
    prefix: Path, tmp_path: Path, language: str
) -> None:
    printed = apart(program(language, prefix, tmp_path), 2, tmp_path, EVENT_MAX="8KiB")
    name = "FREESTONE_EVENTS_EVENT_MAX"
    wanted = f"-13 rank 1 has {name}=8KiB, and rank 0 {name}=none: all ranks of a run need the same"
    assert len(printed) == 2
    assert all(output.startswith(wanted) for output in printed), printed


def test_a_rank_that_joins_with_other_settings_is_named(tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text(JOINED)
    meeting, identity = free_address(), str(tmp_path / "run.pem")
    environment = {
        "FREESTONE_EVENTS_MEETING": meeting,
        "FREESTONE_EVENTS_IDENTITY": identity,
        "FREESTONE_EVENTS_RANK": "0",
        "FREESTONE_EVENTS_RANKS": "1",
        "FREESTONE_EVENTS_MOST": "2",
    }
    first = subprocess.Popen(
        [sys.executable, str(source)],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        joining = {
            **os.environ,
            "FREESTONE_EVENTS_MEETING": meeting,
            "FREESTONE_EVENTS_IDENTITY": identity,
            "FREESTONE_EVENTS_RANK": "join",
            "FREESTONE_EVENTS_EVENT_MAX": "8KiB",
        }
        words = [sys.executable, str(source)]
        second = subprocess.run(
            words, env=joining, capture_output=True, text=True, timeout=120, check=True
        )
        output, _ = first.communicate("go\n", timeout=120)
    finally:
        first.kill()
    name = "FREESTONE_EVENTS_EVENT_MAX"
    assert second.stdout.startswith(f"rank 1 has {name}=8KiB, and rank 0 {name}=none")
    assert output == "1\n"


JOINED = """
import sys
from freestone import events as ev
from freestone.errors import ConfigurationError

def main(rank):
    sys.stdin.readline()
    return rank.size

try:
    print(*ev.run(main))
except ConfigurationError as error:
    print(error)
"""


C_COMM = r"""
#include <freestone_events.h>
#include <mpi.h>
#include <stdio.h>
static int shows(MPI_Comm comm) {
  int code = fse_init_comm(NULL, comm);
  /* One write: what two processes print at once would be mixed. */
  printf("%d %s\n", code, fse_error());
  fflush(stdout);
  return code != FSE_BAD_COMM;
}
int main(int argc, char **argv) {
  int level = 0, failed = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  failed += shows(MPI_COMM_NULL);
  MPI_Comm own, copy, both;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  copy = own;
  MPI_Comm_free(&own);
  failed += shows(copy);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank, 0, &both);
  failed += shows(both);
  failed += fse_attach_comm(MPI_COMM_NULL) != FSE_BAD_COMM;
  /* The handler of errors is that of the program again, and a run can begin. */
  failed += fse_init_comm(NULL, MPI_COMM_WORLD) != FSE_OK || fse_finalise() != FSE_OK;
  MPI_Finalize();
  return failed;
}
"""


@pytest.mark.parametrize("compiler", ["mpicc", "mpicc_abi"])
def test_a_communicator_that_is_null_freed_or_of_two_groups_is_refused(
    prefix: Path, tmp_path: Path, compiler: str
) -> None:
    ended = mpiexec(2, built_by(compiler, prefix, tmp_path, C_COMM))
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    for what in ("null, as", "none that MPI has; it may have been freed", "an intercommunicator"):
        assert ended.stdout.count(f"-11 the communicator is {what}") == 2, ended.stdout


PYTHON_COMM = """
from mpi4py import MPI
from freestone import events as ev
from freestone.errors import ConfigurationError

own = MPI.COMM_WORLD.Dup()
copy = MPI.Intracomm.fromhandle(own.handle)
own.Free()
for comm in (own, copy):
    try:
        ev.run(print, comm=comm)
    except ConfigurationError as error:
        print(error.key, error)
print(ev.run(lambda rank: rank.size))
"""


def test_a_communicator_that_was_freed_is_refused_in_python(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    lines = files_of_each(2, tmp_path, PYTHON_COMM).splitlines()
    starts = ("comm comm=", "comm the communicator is none that MPI has", "[2, 2]")
    assert [sum(line.startswith(start) for line in lines) for start in starts] == [2, 2, 2], lines


SLOW_C = r"""
#include <freestone_events.h>
#include <unistd.h>
static void slow(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  /* The report comes while this runs: it ends once that is there. */
  while (lseek(2, 0, SEEK_END) == 0) continue;
  (void)events;
}
int main(void) {
  fse_config config = {.workers = 1, .slow_task_s = 0.05};
  if (fse_init(&config) != FSE_OK) return 2;
  fse_submit(slow, NULL, 1, FSE_SELF, "field");
  fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "field");
  return -fse_finalise();
}
"""

SLOW_FORTRAN = """
module tasks
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    integer(c_long) function lseek(descriptor, offset, whence) bind(c)
      import :: c_int, c_long
      integer(c_int), value :: descriptor, whence
      integer(c_long), value :: offset
    end function
  end interface
contains
  recursive subroutine slow(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    if (c_associated(context)) error stop "no context"
    if (fse_id(events(1)) /= "field") error stop "another event"
    ! The report comes while this runs: it ends once that is there.
    do while (lseek(2, 0_c_long, 2) == 0)
    end do
  end subroutine
end module
program main
  use tasks
  implicit none
  integer :: code
  type(fse_config) :: config
  config%workers = 1
  config%slow_task_s = 0.05d0
  code = fse_init(config)
  code = fse_submit(slow, [fse_on(FSE_SELF, "field")])
  code = fse_fire(FSE_SELF, "field")
  code = fse_finalise()
end program
"""


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_a_task_that_does_not_return_is_reported_with_line_event_and_rank(
    prefix: Path, tmp_path: Path, language: str
) -> None:
    if language == "c":
        source = tmp_path / "program.c"
        source.write_text(SLOW_C)
        built(prefix, source, tmp_path)
    else:
        done([*fortran(prefix, tmp_path, SLOW_FORTRAN), "-g"])
    errors = tmp_path / "errors.txt"
    with errors.open("w") as stream:
        subprocess.run([str(tmp_path / "program")], stderr=stream, check=True, timeout=120)
    wanted = (
        r"rank 0: slow \(\S+:\d+\), with 'field' from rank 0, has run for \S+; its worker runs no"
    )
    assert len(re.findall(wanted, errors.read_text())) == 1, errors.read_text()


SETTINGS = r"""
#include <freestone_events.h>
#include <stdio.h>
static void refused(fse_config config) {
  int code = fse_init(&config);
  printf("%d %s\n", code, fse_error());
}
int main(void) {
  refused((fse_config){.grace_s = -1});
  refused((fse_config){.meet_timeout_s = -1});
  refused((fse_config){.trace = "run.txt"});
  fse_config config = (fse_config){.backlog = 5, .inbox = 1 << 20};
  return fse_init(&config) != FSE_OK || fse_finalise() != FSE_OK;
}
"""


def test_settings_that_make_no_sense_in_c_are_named(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(SETTINGS)
    ended = run(built(prefix, source, tmp_path), 1)
    names = re.findall(r"^-5 (\w+) \(FREESTONE_EVENTS_\1\) is ", ended.stdout, re.M)
    assert (ended.returncode, names) == (0, ["GRACE_S", "MEET_TIMEOUT_S", "TRACE"]), ended.stdout
