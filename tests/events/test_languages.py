"""What Fortran, C, C++ and Python give each other, and what they refuse."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.events.test_c import built, done, fortran, prefix, run
from tests.events.test_joined import free_address, invited
from tests.mpi import mpiexec

__all__ = ["prefix"]

LOGICALS = """
program main
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  type(fse_event), pointer :: found(:)
  logical(c_bool), pointer :: flags(:)
  logical :: flag
  integer :: code, index
  if (fse_init() /= FSE_OK) error stop fse_error()
  code = fse_fire(FSE_SELF, "flag", .true.)
  code = fse_fire(FSE_SELF, "flags", [.true., .false., .true.])
  code = fse_fire(FSE_SELF, "bool", .false._c_bool)
  code = fse_fire(FSE_SELF, "again", .true., persistent=.true.)
  code = fse_fire(FSE_SELF, "nothing", persistent=.true.)
  found => fse_wait([fse_on(FSE_SELF, "flag"), fse_on(FSE_SELF, "flags"), fse_on(FSE_SELF, "bool")])
  call fse_value(found(1), flag)
  call fse_values(found(2), flags)
  print *, flag, flags, found%type
  call fse_value(found(3), flag)
  print *, flag
  call fse_free(found)
  do index = 1, 2
    found => fse_wait([fse_on(FSE_SELF, "again"), fse_on(FSE_SELF, "nothing")])
    call fse_value(found(1), flag)
    print *, flag, found%type, found(2)%count
    call fse_free(found)
  end do
  found => fse_retrieve_any([fse_on(FSE_SELF, "flag")])
  print *, associated(found)
  if (fse_finalise() /= FSE_OK) error stop 1
end program
"""

REFUSED = """
program main
  use freestone_events
  implicit none
  integer :: code
  code = fse_fire(FSE_SELF, "e", {value})
end program
"""


def test_logicals_of_fortran_are_fired_as_such(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, LOGICALS))
    ended = run(str(tmp_path / "program"), 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    lines = [line.split() for line in ended.stdout.splitlines()]
    again = ["T", "7", "0", "0"]
    assert lines == [["T", "T", "F", "T", "7", "7", "7"], ["F"], again, again, ["T"]]


@pytest.mark.parametrize("value", ["fse_config()", "fse_on(1, 'e')"])
def test_fortran_refuses_what_events_do_not_carry(prefix: Path, tmp_path: Path, value: str) -> None:
    words = fortran(prefix, tmp_path, REFUSED.format(value=value))
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "no specific function for the generic" in ended.stderr


THROWS = r"""
#include <freestone_events.h>
#include <cstdlib>
#include <stdexcept>
static void throws(const fse_event *, int, void *) { throw std::runtime_error("no more"); }
int main() {
  if (fse_init(nullptr) != FSE_OK) return 1;
  const char *name = std::getenv("FREESTONE_EVENTS_NAME");
  if (fse_rank() == 1) fse_submit_on(throws, nullptr, nullptr, 0, 0, name);
  return fse_finalise() == FSE_TASK_FAILED ? 7 : 8;
}
"""


def test_an_exception_of_cpp_ends_the_run_with_its_text(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "throws.cpp"
    source.write_text(THROWS)
    program = built(prefix, source, tmp_path)
    ended = run(program, 2)
    assert ended.returncode == 7
    failed = "rank 1 failed:"
    assert ended.stderr.count(f"{failed} throws ({source}:9) threw: no more\n") == 2
    ended = run(program, 2, name="thrower")
    assert ended.stderr.count(f"{failed} 'thrower' ({source}:9) threw: no more\n") == 2


MIXED_C = r"""
#include <freestone_events.h>
#include <stdio.h>
static const struct { const char *id; int type; size_t count; } WANTED[] = {
  {"double", FSE_DOUBLE, 3}, {"int", FSE_INT, 4}, {"bool", FSE_BOOL, 2}, {"true", FSE_BOOL, 1},
  {"number", FSE_LONG, 1}, {"text", FSE_TEXT, 4}, {"complex", FSE_COMPLEX_DOUBLE, 2},
  {"unsigned", FSE_PY_ARRAY, 0}, {"one complex", FSE_COMPLEX_DOUBLE, 1}};
static void look(const fse_event *events, int count, void *context) {
  (void)context;
  for (int index = 0; index < count; index++) {
    const fse_event *event = &events[index];
    if (event->type != WANTED[index].type) fse_fail(event->id);
    if (WANTED[index].count && event->count != WANTED[index].count) fse_fail(event->id);
  }
  const double *doubles = events[0].data;
  const int32_t *ints = events[1].data;
  const _Bool *flags = events[2].data;
  if (doubles[0] != 0.5 || doubles[2] != 2.5 || ints[3] != 3) fse_fail("values");
  if (!flags[0] || flags[1]) fse_fail("flags");
  double answer[3] = {1, 2, 3};
  _Bool yes = 1;
  fse_fire(answer, FSE_DOUBLE, 3, 0, "c");
  fse_fire(&yes, FSE_BOOL, 1, 0, "yes");
}
int main(void) {
  if (fse_init(NULL) != FSE_OK) return fprintf(stderr, "%s\n", fse_error());
  fse_dependency on[9];
  for (int index = 0; index < 9; index++) on[index] = (fse_dependency){0, WANTED[index].id};
  fse_submit_on(look, NULL, on, 9, 0, NULL);
  return -fse_finalise();
}
"""

MIXED_PYTHON = """
import numpy as np
from freestone import events as ev

def main(rank):
    values = {"double": np.arange(0.5, 3.0), "int": np.arange(4, dtype=np.int32).reshape(2, 2),
              "bool": np.array([True, False]), "true": True, "number": 5, "text": "word",
              "complex": np.ones(2, complex), "unsigned": np.ones(2, np.uint16),
              "one complex": 1 + 2j}
    for id, value in values.items():
        rank.fire(1, id, value)
    array, yes = rank.wait([(1, "c"), (1, "yes")])
    return array.data.tolist(), yes.data

print(ev.run(main), flush=True)
"""


@pytest.mark.parametrize("way", ["tcp", "mpi"])
def test_a_rank_in_python_and_one_in_c(prefix: Path, tmp_path: Path, way: str) -> None:
    source = tmp_path / "mixed.c"
    source.write_text(MIXED_C)
    program = built(prefix, source, tmp_path)
    output = "[([1.0, 2.0, 3.0], True), None]\n"
    if way == "mpi":
        words = [sys.executable, "-c", MIXED_PYTHON, ":", "-n", "1", program]
        ended = mpiexec(1, *words)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, output, "")
        return
    assert over_tcp(tmp_path, [sys.executable, "-c", MIXED_PYTHON], [program]) == [output, ""]


def over_tcp(folder: Path, *commands: list[str]) -> list[str]:
    """Run commands as ranks that meet by TCP; what each printed."""
    meeting = free_address()
    started = [
        subprocess.Popen(
            words,
            env={**os.environ, **invited(folder, rank, len(commands), meeting)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank, words in enumerate(commands)
    ]
    printed = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(commands)
    return printed
