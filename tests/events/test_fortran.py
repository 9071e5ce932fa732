"""What the Fortran module takes: all kinds and ranks of arrays, text, groups; what it refuses."""

import re
from pathlib import Path

import pytest

from tests.events.test_c import ROOT, done, fortran, prefix, run

__all__ = ["prefix"]

KINDS = """
module tasks
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
contains
  recursive subroutine all_kinds(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    complex(c_double_complex) :: z
    integer(c_int16_t) :: small(2, 2)
    real(c_double) :: field(2, 3)
    logical :: flags(2)
    character(len=:), allocatable :: text
    type(fse_event), pointer :: found
    if (c_associated(context)) error stop "context"
    call fse_value(events(1), z)
    call fse_value(events(2), small)
    call fse_value(events(3), field)
    call fse_value(events(4), flags)
    call fse_value(events(5), text)
    found => fse_find(events, FSE_SELF, "text")
    print "(2f5.1, 4i3, 6f5.1, 2l2, 1x, a, 1x, l1)", z, small, field, flags, text, &
        associated(found)
  end subroutine
end module
program main
  use tasks
  implicit none
  integer :: code
  real(c_double) :: field(2, 3) = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3])
  code = fse_init()
  code = fse_submit(all_kinds, [fse_on(FSE_ANY, "z"), fse_on(FSE_ANY, "small"), &
      fse_on(FSE_ANY, "field"), fse_on(FSE_ANY, "flags"), fse_on(FSE_SELF, "text")])
  code = fse_fire(FSE_SELF, "z", (1d0, -2d0))
  code = fse_fire(FSE_SELF, "small", reshape(int([1, 2, 3, 4], c_int16_t), [2, 2]))
  code = fse_fire([FSE_SELF], "field", field)
  code = fse_fire(FSE_SELF, "flags", [.true., .false.])
  code = fse_fire(FSE_SELF, "text", "hello world")
  code = fse_finalise()
end program
"""


def test_values_of_all_kinds_and_ranks_travel(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, KINDS))
    ended = run(str(tmp_path / "program"), 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    values = ["1.0", "-2.0", "1", "2", "3", "4", "1.0", "2.0", "3.0", "4.0", "5.0", "6.0"]
    assert ended.stdout.split() == [*values, "T", "F", "hello", "world", "T"]


GROUPS = """
program main
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: code, number
  type(fse_event), pointer :: events(:)
  code = fse_init()
  if (fse_rank() == 0) then
    code = fse_fire([1, 2], "number", 7)
    if (code /= FSE_OK) error stop fse_error()
    if (fse_fire([1, 9], "number", 7) /= FSE_BAD_CALL) error stop "there is no rank 9"
    if (fse_release_mpi() /= FSE_NOT_HELD) error stop "nobody holds it"
    if (fse_hold_mpi() + fse_release_mpi() /= FSE_OK) error stop "it was free"
  else
    events => fse_wait([fse_on(0, "number")])
    call fse_value(events(1), number)
    print "(i0, 1x, i0)", fse_rank(), number
    call fse_free(events)
  end if
  code = fse_finalise()
end program
"""


def test_an_event_is_fired_at_a_group(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, GROUPS))
    ended = run(str(tmp_path / "program"), 3)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == ["1 7", "2 7"]


MISREADS = """
module tasks
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
contains
  recursive subroutine misread(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    real(c_double) :: TYPE
    if (c_associated(context)) error stop "no context"
    call fse_value(events(1), number)
  end subroutine
end module
program main
  use tasks
  implicit none
  integer :: code
  code = fse_init()
  code = fse_submit(misread, [fse_on(FSE_SELF, "numbers")])
  code = fse_fire(FSE_SELF, "numbers", FIRED)
  code = fse_finalise()
end program
"""


@pytest.mark.parametrize(
    ("variable", "fired", "says"),
    [
        ("number", "[1, 2]", "the event 'numbers' was read as double, and carries int32"),
        ("number(3)", "[1d0, 2d0]", "carries 2 values, and the variable has 3"),
    ],
)
def test_an_event_that_is_read_as_something_else_ends_the_program(
    prefix: Path, tmp_path: Path, variable: str, fired: str, says: str
) -> None:
    done(fortran(prefix, tmp_path, MISREADS.replace("TYPE", variable).replace("FIRED", fired)))
    ended = run(str(tmp_path / "program"), 1)
    assert ended.returncode != 0
    assert says in ended.stderr


TEXTS = """
program main
  use freestone_events
  implicit none
  integer :: code
  type(fse_event), pointer :: found(:)
  character(len=:), allocatable :: text
  code = fse_init()
  code = fse_fire(FSE_SELF, "abcdefgh", "xy")
  found => fse_wait([fse_on(FSE_SELF, "abcdefgh")], 60d0)
  call fse_value(found(1), text)
  print *, fse_id(found(1)), " ", text
  call fse_free(found)
  code = fse_fire(FSE_SELF, "ab", "a longer text")
  found => fse_wait([fse_on(FSE_SELF, "ab")], 60d0)
  call fse_value(found(1), text)
  print *, fse_id(found(1)), " ", text
  call fse_free(found)
  code = fse_finalise()
end program
"""


def test_texts_and_identifiers_have_their_own_lengths(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, TEXTS))
    ended = run(str(tmp_path / "program"), 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split("\n") == [" abcdefgh xy", " ab a longer text", ""]


EMPTY = """
program main
  use freestone_events
  implicit none
  integer :: code
  real(c_double), allocatable :: none(:, :)
  integer(c_int32_t) :: nothing(0)
  type(fse_event), pointer :: found(:)
  allocate(none(0, 3))
  code = fse_init()
  code = fse_fire(FSE_SELF, "literal", [integer ::])
  if (code /= FSE_OK) error stop fse_error()
  code = fse_fire([FSE_SELF], "allocated", none)
  if (code /= FSE_OK) error stop fse_error()
  found => fse_wait([fse_on(FSE_SELF, "literal"), fse_on(FSE_SELF, "allocated")])
  call fse_value(found(1), nothing)
  print "(2(i0, 1x), 3i2)", found%count, fse_shape(found(1)), fse_shape(found(2))
  call fse_free(found)
  code = fse_finalise()
end program
"""


def test_arrays_may_be_empty(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, EMPTY))
    ended = run(str(tmp_path / "program"), 1)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["0", "0", "0", "3"]


def test_the_program_of_the_page_runs(prefix: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "howto" / "events-c.md").read_text()
    (program,) = re.findall(r"```fortran\n(.*?)```", page, re.DOTALL)
    done(fortran(prefix, tmp_path, program))
    ended = run(str(tmp_path / "program"), 4)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert sorted(ended.stdout.splitlines()) == [f"rank {rank}: 6" for rank in range(4)]


FAILS = """
module steps
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
contains
  recursive subroutine step(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    integer :: code
    if (.not. c_associated(context)) code = fse_fail("no convergence")
  end subroutine
end module
program main
  use steps
  implicit none
  integer :: code
  code = fse_init()
  code = fse_submit(step, [fse_on(FSE_SELF, "field")])
  code = fse_fire(FSE_SELF, "field")
  code = fse_finalise()
  print *, fse_error()
end program
"""


def test_a_subroutine_that_fails_is_named_with_its_line_and_events(
    prefix: Path, tmp_path: Path
) -> None:
    done([*fortran(prefix, tmp_path, FAILS), "-g"])
    ended = run(str(tmp_path / "program"), 1)
    line = FAILS[: FAILS.index("fse_fail")].count("\n") + 1
    assert "rank 0 failed: step" in ended.stderr
    assert f".f90:{line}): no convergence; it had 'field' from rank 0\n" in ended.stderr
