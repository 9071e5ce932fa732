"""What programs in C hear and say at the end of a run."""

from pathlib import Path

from tests.events.test_c import built, prefix, run
from tests.mpi import mpiexec

__all__ = ["prefix"]

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
    text = "a task of rank 0 failed: too hot"
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
