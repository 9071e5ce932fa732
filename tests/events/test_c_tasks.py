"""Tasks in C: where reports find them, batches, locks, workers on their cores, numbers of a run."""

import os
from pathlib import Path

import pytest

from tests.events.test_c import built, fortran, prefix, run

__all__ = ["prefix"]

NOTHING = r"""
#include <freestone_events.h>
#include <stdio.h>
__attribute__((unused)) static void nothing(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
}
"""


def program(prefix: Path, folder: Path, text: str, name: str = "program.c") -> str:
    source = folder / name
    source.write_text(NOTHING + text)
    return built(prefix, source, folder)


FORGETS = r"""
static void waits(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  fse_free(fse_wait(1, FSE_ANY, "answer"));
}
int main(void) {
  fse_init(NULL);
  fse_submit(nothing, NULL, 1, FSE_ANY, "first");
  fse_dependency on = {FSE_ANY, "second"};
  fse_submit_on(nothing, NULL, &on, 1, 0, "named");
  fse_submit(waits, NULL, 0);
  fse_finalise();
  return 0;
}
"""


@pytest.mark.parametrize("name", ["program.c", "program.cpp"])
def test_reports_name_tasks_files_and_lines(prefix: Path, tmp_path: Path, name: str) -> None:
    ended = run(program(prefix, tmp_path, FORGETS, name), 1)
    source = tmp_path / name
    line = (NOTHING + FORGETS)[: (NOTHING + FORGETS).index("  fse_submit(nothing")].count("\n") + 1
    assert f"task nothing ({source}:{line}) lacks 'first' from any rank" in ended.stderr
    assert f"task 'named' ({source}:{line + 2}) lacks 'second' from any rank" in ended.stderr
    assert f"a wait of waits ({source}:{line - 4}) lacks 'answer' from any rank" in ended.stderr


FORTRAN = """
module tasks
  use freestone_events
  implicit none
contains
  recursive subroutine add(events, count, context) bind(c)
    use, intrinsic :: iso_c_binding
    integer(c_int), value :: count
    type(fse_event), intent(in) :: events(count)
    type(c_ptr), value :: context
    type(fse_event), pointer :: more(:)
    if (c_associated(context)) error stop "no context"
    if (fse_id(events(1)) /= "begin") error stop "another event"
    more => fse_wait([fse_on(FSE_ANY, "more")])
    call fse_free(more)
  end subroutine
end module

program main
  use tasks
  implicit none
  integer :: code
  code = fse_init()
  code = fse_submit(add, [fse_on(FSE_SELF, "begin")])
  code = fse_submit(add, [fse_on(FSE_SELF, "never")], name="late")
  code = fse_fire(FSE_SELF, "begin")
  code = fse_finalise()
end program
"""


def test_reports_name_tasks_of_fortran(prefix: Path, tmp_path: Path) -> None:
    command = fortran(prefix, tmp_path, FORTRAN)
    os.spawnvp(os.P_WAIT, command[0], [*command, "-g"])
    ended = run(str(tmp_path / "program"), 1)
    line = FORTRAN[: FORTRAN.index("  recursive subroutine add")].count("\n") + 1
    source = tmp_path / "main.f90"
    assert f"a wait of add ({source}:{line}) lacks 'more' from any rank" in ended.stderr
    assert f"task 'late' ({source}:{line}) lacks 'never' from rank 0" in ended.stderr


BATCHES = r"""
static void batch(const fse_event *events, int count, void *context) {
  (void)events, (void)context;
  printf("%d\n", count);
}
int main(void) {
  fse_config config = {.workers = 1};
  fse_init(&config);
  fse_dependency on = {FSE_SELF, "item"};
  fse_options options = {FSE_PERSISTENT | FSE_GREEDY, "batches", 4, 0.05};
  if (fse_submit_with(batch, NULL, &on, 1, &options) != FSE_OK) return 2;
  options.flags = FSE_PERSISTENT;
  if (fse_submit_with(batch, NULL, &on, 1, &options) != FSE_BAD_CALL) return 3;
  fprintf(stderr, "%s", fse_error());
  for (int item = 0; item < 3; item++) fse_fire(&item, FSE_INT, 1, FSE_SELF, "item");
  return -fse_finalise();
}
"""


def test_a_batch_runs_when_its_time_is_over(prefix: Path, tmp_path: Path) -> None:
    """Three events of four."""
    ended = run(program(prefix, tmp_path, BATCHES), 1)
    assert (ended.returncode, ended.stdout) == (0, "3\n")
    assert "only a greedy task takes all events that are there" in ended.stderr


AFFINITY = r"""
#define _GNU_SOURCE
#include <sched.h>
"""

MAPPED = r"""
static void where(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  int worker = fse_worker();
  if (CPU_COUNT(&cores) != 1 || !CPU_ISSET(fse_core(worker), &cores)) fse_fail("not on its core");
  if (fse_busy_workers() < 1 || fse_holds_lock("a")) fse_fail("no worker, or a lock");
  fse_lock("a");
  if (!fse_holds_lock("a")) fse_fail("the lock was not taken");
  int value = 1;
  fse_fire(&value, FSE_INT, 1, FSE_SELF, "later");
  fse_free(fse_wait(1, FSE_SELF, "later"));
  sched_getaffinity(0, sizeof cores, &cores);
  if (!CPU_ISSET(fse_core(fse_worker()), &cores)) fse_fail("on another core after a wait");
}
int main(void) {
  fse_config config = {.workers = 2, .mapping = 1, .report_mapping = 1};
  if (fse_init(&config) != FSE_OK) return 2;
  for (int task = 0; task < 50; task++) fse_submit(where, NULL, 0);
  fse_drain();
  fse_statistics found;
  fse_get_statistics(&found);
  printf("%d workers, %d tasks, %d events\n", found.workers, (int)found.tasks, (int)found.arrived);
  if (fse_worker() != FSE_BAD_CALL || fse_core(7) != FSE_BAD_CALL) return 3;
  return -fse_finalise();
}
"""


def test_workers_stay_on_their_cores(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "mapped.c"
    source.write_text(AFFINITY + NOTHING + MAPPED)
    ended = run(built(prefix, source, tmp_path), 1)
    core = min(os.sched_getaffinity(0))
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "2 workers, 50 tasks, 50 events\n"
    assert f"rank 0: worker 0 on core {core}, worker 1 on core" in ended.stderr


ADDRESSES = r"""
static void both(const fse_event *events, int count, void *context) {
  (void)count, (void)context;
  int *const *all = events[0].data;
  printf("%zu: %d %d\n", events[0].count, *all[0], *all[1]);
}
int main(void) {
  int first = 1, second = 2;
  const void *both_of_them[] = {&first, &second};
  fse_init(NULL);
  fse_fire_addresses(both_of_them, 2, "addresses", FSE_PERSISTENT);
  if (fse_fire_addresses(NULL, 2, "addresses", 0) != FSE_BAD_CALL) return 2;
  for (int task = 0; task < 2; task++) fse_submit(both, NULL, 1, FSE_SELF, "addresses");
  fse_submit(nothing, NULL, 0);
  return -fse_finalise();
}
"""


def test_an_event_carries_several_addresses_again_and_again(prefix: Path, tmp_path: Path) -> None:
    ended = run(program(prefix, tmp_path, ADDRESSES), 1)
    assert (ended.returncode, ended.stdout) == (0, "2: 1 2\n" * 2)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_rank_has_as_many_workers_as_cores(prefix: Path, tmp_path: Path, ranks: int) -> None:
    text = r"""int main(void) {
      fse_init(NULL);
      fse_submit(nothing, NULL, 0);
      printf("%d\n", fse_workers());
      return -fse_finalise();
    }"""
    ended = run(program(prefix, tmp_path, text), ranks)
    cores = len(os.sched_getaffinity(0))
    assert sum(map(int, ended.stdout.split())) == max(ranks, cores)
