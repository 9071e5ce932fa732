"""What programs in C hear and say at the end of a run."""

from pathlib import Path

import pytest

from tests.events.test_c import built, prefix, run
from tests.mpi import mpiexec

__all__ = ["prefix"]


def line_of(program: str, text: str) -> int:
    return program[: program.index(text)].count("\n") + 1


PRINTS = r"""
#include <freestone_events.h>
#include <stdio.h>
int main(void) {
  fse_init(NULL);
  fse_fail("too hot");
  int code = fse_finalise();
  fprintf(stdout, "rank %d of %d: %s\n", fse_rank(), fse_ranks(), fse_error());
  const char *text = fse_error();
  fse_unlock("z");
  fprintf(stdout, "still %s\n", text);
  return code != FSE_TASK_FAILED;
}
"""


def test_an_error_can_be_printed_after_the_run(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "prints.c"
    source.write_text(PRINTS)
    ended = run(built(prefix, source, tmp_path), 1)
    text = f"rank 0 failed: the program ({source}:{line_of(PRINTS, 'fse_fail')}): too hot"
    assert (ended.returncode, ended.stdout) == (0, f"rank 0 of 1: {text}\nstill {text}\n")


LEAVES = r"""
#include <freestone_events.h>
int main(void) {
  fse_init(NULL);
  if (fse_rank() == 1) return 0;
  return -fse_finalise();
}
"""


def test_a_rank_of_mpiexec_that_leaves_too_early_says_so(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "leaves.c"
    source.write_text(LEAVES)
    program = built(prefix, source, tmp_path)
    assert "freestone events: rank 1 exits before fse_finalise" in mpiexec(2, program).stderr
    # Without a launcher the process that started it does.
    assert "rank 1 is lost: its process exited with 0 before fse_finalise" in run(program, 2).stderr


FAILS = r"""
#include <freestone_events.h>
static void step(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  fse_fail("no convergence");
}
int main(void) {
  fse_init(NULL);
  fse_submit(step, NULL, 2, FSE_SELF, "field", FSE_ANY, "halo");
  fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "field");
  fse_fire(NULL, FSE_NONE, 0, FSE_SELF, "halo");
  return -fse_finalise();
}
"""


@pytest.mark.parametrize("places", ["macros", "debug information"])
def test_a_task_that_fails_is_named_with_its_line_and_events(
    prefix: Path, tmp_path: Path, places: str
) -> None:
    # Either says which line, alone.
    source = tmp_path / "fails.c"
    source.write_text(("#define FSE_NO_PLACES" if places != "macros" else "") + FAILS)
    ended = run(built(prefix, source, tmp_path), 1)
    place = f"step ({source}:{line_of(FAILS, 'fse_fail')})"
    failed = (
        f"rank 0 failed: {place}: no convergence; it had 'field' from rank 0, 'halo' from rank 0"
    )
    assert (ended.returncode, ended.stderr) == (1, f"freestone events: {failed}\n")
