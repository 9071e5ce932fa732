"""Arrays keep their shapes between Python, C, C++ and Fortran."""

import sys
from pathlib import Path

import pytest

from tests.events.test_c import built, done, fortran, prefix, run
from tests.mpi import mpiexec

__all__ = ["prefix"]

PYTHON = """
import numpy as np
from freestone import events as ev

def main(rank):
    rows = np.arange(6.0).reshape(2, 3)
    for id, value in {"rows": rows, "columns": np.asfortranarray(rows), "one": rows[:1, :1],
                      "cube": np.arange(24, dtype=np.int32).reshape(2, 3, 4)}.items():
        rank.fire(1, id, value)
    ids = ["matrix", "cube", "one", "section", "number", "empty"]
    found = [event.data for event in rank.wait([(1, id) for id in ids])]
    matrix, cube, one, section, number, empty = found
    assert matrix.shape == (3, 2) and matrix.dtype == float, matrix
    np.testing.assert_array_equal(matrix, [[1, 4], [2, 5], [3, 6]])
    assert cube.shape == (2, 3, 4) and cube.dtype == np.int32 and cube[1, 2, 3] == 24, cube
    assert one.shape == (1,) and one.tolist() == [8], one
    assert section.shape == (2, 2), section
    np.testing.assert_array_equal(section, SECTION)
    assert number == 9 and isinstance(number, int)
    assert empty.shape == (0, 3), empty

ev.run(main)
print("well")
"""

C = r"""
#include <freestone_events.h>
static int has(const fse_event *event, int type, int ndims, const size_t *shape) {
  int same = event->type == type && event->ndims == ndims;
  for (int index = 0; same && index < ndims; index++) same = event->shape[index] == shape[index];
  return same;
}
static void look(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  if (!has(&events[0], FSE_DOUBLE, 2, (size_t[]){2, 3})) fse_fail("rows");
  if (((const double *)events[0].data)[1] != 1) fse_fail("rows in memory");
  if (!has(&events[1], FSE_DOUBLE, 2, (size_t[]){3, 2})) fse_fail("columns");
  if (((const double *)events[1].data)[1] != 3) fse_fail("columns in memory");
  if (!has(&events[2], FSE_DOUBLE, 2, (size_t[]){1, 1})) fse_fail("one");
  if (!has(&events[3], FSE_INT, 3, (size_t[]){2, 3, 4})) fse_fail("cube");
  double matrix[3][2] = {{1, 4}, {2, 5}, {3, 6}}, section[2][2] = {{1, 3}, {2, 4}};
  int32_t cube[2][3][4];
  for (int index = 0; index < 24; index++) cube[0][0][index] = index + 1;
  int64_t one = 8, number = 9;
  fse_fire_array(matrix, FSE_DOUBLE, 2, (size_t[]){3, 2}, 0, "matrix", 0);
  fse_fire_array(cube, FSE_INT, 3, (size_t[]){2, 3, 4}, 0, "cube", 0);
  fse_fire_array(&one, FSE_LONG, 1, (size_t[]){1}, 0, "one", 0);
  fse_fire_array(section, FSE_DOUBLE, 2, (size_t[]){2, 2}, 0, "section", 0);
  fse_fire(&number, FSE_LONG, 1, 0, "number");
  fse_fire_array(matrix, FSE_DOUBLE, 2, (size_t[]){0, 3}, 0, "empty", 0);
  if (fse_fire_array(matrix, FSE_DOUBLE, 0, (size_t[]){1}, 0, "e", 0) != FSE_BAD_CALL ||
      fse_fire_array(matrix, FSE_DOUBLE, 16, (size_t[]){1}, 0, "e", 0) != FSE_BAD_CALL ||
      fse_fire_array(matrix, FSE_TEXT, 1, (size_t[]){1}, 0, "e", 0) != FSE_BAD_CALL ||
      fse_fire_array(matrix, FSE_DOUBLE, 2, (size_t[]){(size_t)-1, 3}, 0, "e", 0) != FSE_TOO_LARGE)
    fse_fail("bad shapes");
}
int main(void) {
  if (fse_init(0)) return 1;
  fse_submit(look, 0, 4, 0, "rows", 0, "columns", 0, "one", 0, "cube");
  return -fse_finalise();
}
"""

CPP = r"""
#include <freestone_events.hpp>
#include <numeric>
namespace fse = freestone::events;
static bool has(const fse::event &event, std::vector<std::size_t> shape) {
  return std::vector<std::size_t>(event.shape().begin(), event.shape().end()) == shape;
}
int main() {
  fse::run run;
  fse::submit({{0, "rows"}, {0, "columns"}, {0, "one"}, {0, "cube"}}, [](const fse::events &e) {
    if (!has(e[0], {2, 3}) || !has(e[1], {3, 2}) || !has(e[2], {1, 1}) || !has(e[3], {2, 3, 4}))
      throw std::runtime_error("shapes");
    std::vector<double> matrix{1, 4, 2, 5, 3, 6}, section{1, 3, 2, 4};
    std::vector<std::int32_t> cube(24);
    std::iota(cube.begin(), cube.end(), 1);
    std::int64_t one = 8, number = 9;
    fse::fire_array(0, "matrix", matrix.data(), {3, 2});
    fse::fire_array(0, "cube", cube.data(), {2, 3, 4});
    fse::fire_array(0, "one", &one, {1});
    fse::fire_array(0, "section", section.data(), {2, 2});
    fse::fire(0, "number", number);
    fse::fire_array(0, "empty", matrix.data(), {0, 3});
  });
  run.finish();
}
"""

FORTRAN = """
module tasks
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
contains
  recursive subroutine look(events, count, context) bind(c)
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    real(c_double) :: rows(3, 2), columns(2, 3), matrix(3, 2)
    integer(c_int32_t) :: cube(2, 3, 4), index
    integer(c_int64_t) :: one(1)
    integer :: code
    if (c_associated(context)) error stop "context"
    if (any(fse_shape(events(1)) /= [3, 2])) error stop "rows"
    if (any(fse_shape(events(2)) /= [2, 3])) error stop "columns"
    if (any(fse_shape(events(4)) /= [4, 3, 2])) error stop "cube"
    call fse_value(events(1), rows)
    call fse_value(events(2), columns)
    if (rows(2, 1) /= 1 .or. columns(1, 2) /= 1) error stop "values"
    matrix = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [3, 2])
    code = fse_fire(0, "matrix", matrix)
    do index = 1, 24
      cube((index - 1) / 12 + 1, mod((index - 1) / 4, 3) + 1, mod(index - 1, 4) + 1) = index
    end do
    code = fse_fire(0, "cube", cube)
    one = 8
    code = fse_fire(0, "one", one)
    code = fse_fire([0], "section", matrix(1:3:2, :))
    code = fse_fire(0, "number", 9_c_int64_t)
    code = fse_fire(0, "empty", columns(1:0, :))
  end subroutine
end module
program main
  use tasks
  implicit none
  integer :: code
  if (fse_init() /= FSE_OK) error stop fse_error()
  code = fse_submit(look, [fse_on(0, "rows"), fse_on(0, "columns"), fse_on(0, "one"), &
      fse_on(0, "cube")])
  if (fse_finalise() /= FSE_OK) error stop 1
end program
"""


@pytest.mark.parametrize("language", ["c", "cpp", "fortran"])
def test_arrays_keep_their_shapes(language: str, prefix: Path, tmp_path: Path) -> None:
    if language == "fortran":
        done(fortran(prefix, tmp_path, FORTRAN))
        program, section = str(tmp_path / "program"), "[[1, 4], [3, 6]]"
    else:
        path = tmp_path / f"shapes.{language}"
        path.write_text(C if language == "c" else CPP)
        program, section = built(prefix, path, tmp_path), "[[1, 3], [2, 4]]"
    python = PYTHON.replace("SECTION", section)
    ended = mpiexec(1, sys.executable, "-c", python, ":", "-n", "1", program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "well\n", "")


OTHER_SHAPE = """
program main
  use freestone_events
  use, intrinsic :: iso_c_binding
  implicit none
  type(fse_event), pointer :: found(:)
  integer :: code
  real(c_double) :: fired(2, 3) = 1, turned(3, 2), flat(6), spread(4, 3)
  if (fse_init() /= FSE_OK) error stop fse_error()
  code = fse_fire(FSE_SELF, "field", fired)
  found => fse_wait([fse_on(FSE_SELF, "field")])
  spread = 0
  call fse_value(found(1), flat)
  call fse_value(found(1), spread(1:4:2, :))
  if (any(flat /= 1) .or. any(spread(1:3:2, :) /= 1)) error stop "values"
  if (any(spread(2:4:2, :) /= 0)) error stop "between"
  call fse_value(found(1), turned)
end program
"""


def test_an_array_of_other_extents_is_refused_by_name(prefix: Path, tmp_path: Path) -> None:
    done(fortran(prefix, tmp_path, OTHER_SHAPE))
    ended = run(str(tmp_path / "program"), 1)
    assert ended.returncode != 0
    says = "the event 'field' carries 2 x 3 values, and the variable has 3 x 2"
    assert says in ended.stderr, ended.stderr
