"""What ranks in C and Fortran note of what they do, for the page and Perfetto."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from freestone.cli import main
from freestone.observe.ranks import events
from freestone.observe.rings import Span, read_counts, read_folder
from tests.events.test_c import built, done, fortran, prefix, run
from tests.events.test_tracing import arrows, names, traced
from tests.mpi import mpiexec

__all__ = ["prefix"]

HALVES = r"""
#include <freestone_events.h>
#include <signal.h>
#include <stdlib.h>
static void total(const fse_event *events, int count, void *context) {
  (void)context;
  int32_t sum = 0;
  for (int index = 0; index < count; index++) sum += *(const int32_t *)events[index].data;
  fse_fire(&sum, FSE_INT, 1, 0, "total");
}
static void fall(const fse_event *events, int count, void *context) {
  (void)events, (void)count, (void)context;
  raise(SIGKILL);
}
int main(int argc, char **argv) {
  (void)argv;
  fse_init(NULL);
  int32_t half = 21;
  if (fse_rank() == 1) fse_submit(total, NULL, 2, 0, "half", FSE_SELF, "half");
  fse_fire(&half, FSE_INT, 1, 1, "half");
  if (fse_rank() == 0) {
    fse_lock("door");
    fse_free(fse_wait(1, 1, "total"));
    if (argc > 1) fse_fire(NULL, FSE_NONE, 0, 1, "come");
  } else if (argc > 1) {
    fse_dependency on = {0, "come"};
    fse_submit_on(fall, NULL, &on, 1, 0, "the \"fall\"");
  }
  return -fse_finalise();
}
"""


def spans(folder: Path, rank: int) -> list[Span]:
    trace = read_folder(folder)[rank]
    assert trace is not None
    return trace.spans


def compiled(prefix: Path, folder: Path) -> str:
    (folder / "halves.c").write_text(HALVES)
    return built(prefix, folder / "halves.c", folder)


def test_ranks_in_c_note_what_they_do(prefix: Path, tmp_path: Path) -> None:
    program, path = compiled(prefix, tmp_path), tmp_path / "run.json"
    folder = tmp_path / "run.json.partial"
    folder.mkdir()
    (folder / "rank-2").write_bytes(b"of a run before")
    ended = run(program, 2, trace=str(path))
    assert (ended.returncode, ended.stderr) == (0, "")
    found = list(events(read_folder(folder)))
    assert arrows(found) == {("half", 0, 1), ("half", 1, 1), ("total", 1, 0)}
    assert names(found, 0) == ["fire half", "lock door", "wait for total", "main"]
    assert sorted(names(found, 1)) == ["fire half", "fire total", "main", "total"]
    (task,) = (one for one in spans(folder, 1) if one.kind == "task")
    assert sorted(task.taken) == [(0, "half", 0), (1, "half", 0)]
    assert task.thread > 0
    assert read_counts(folder)[1][:4] == (2, 2, 1, 0)
    assert read_counts(folder)[0][:4] == (1, 1, 0, 1)
    assert main(["trace", str(folder), "--perfetto", str(path)]) == 0
    assert arrows(traced(path)) == arrows(found)


def test_without_a_trace_ranks_in_c_note_nothing(prefix: Path, tmp_path: Path) -> None:
    assert run(compiled(prefix, tmp_path), 2).returncode == 0
    assert not list(tmp_path.glob("*.partial"))


def test_a_killed_rank_in_c_leaves_what_it_was_at(prefix: Path, tmp_path: Path) -> None:
    program, path = compiled(prefix, tmp_path), tmp_path / "run.json"
    environment = {**os.environ, "FREESTONE_EVENTS_TRACE": str(path)}
    environment["FREESTONE_EVENTS_RANKS"] = "2"
    words = [program, "die"]
    ended = subprocess.run(words, env=environment, capture_output=True, check=False, timeout=60)
    assert b"rank 1 is lost" in ended.stderr
    lasting = {one.name for one in spans(tmp_path / "run.json.partial", 1) if one.lasts}
    assert 'the "fall"' in lasting


def test_another_ending_is_refused_in_c(prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "says.c"
    text = "#include <stdio.h>\n#include <freestone_events.h>\nint main(void) {\n"
    source.write_text(f"{text}  if (fse_init(NULL) != FSE_OK) puts(fse_error());\n}}\n")
    ended = run(built(prefix, source, tmp_path), 2, trace="run.parquet")
    assert "TRACE (FREESTONE_EVENTS_TRACE) is run.parquet: it must end in .json" in ended.stdout


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
    if (c_associated(context) .or. fse_id(events(1)) /= "begin") error stop 3
  end subroutine
end module

program main
  use tasks
  implicit none
  integer :: code
  if (fse_init() /= FSE_OK) error stop 1
  code = fse_submit(add, [fse_on(FSE_SELF, "begin")])
  code = fse_fire(FSE_SELF, "begin")
  if (fse_finalise() /= FSE_OK) error stop 2
end program
"""


def test_ranks_in_fortran_note_what_they_do(prefix: Path, tmp_path: Path) -> None:
    done([*fortran(prefix, tmp_path, FORTRAN), "-g"])
    ended = run(str(tmp_path / "program"), 1, trace=str(tmp_path / "run.json"))
    assert (ended.returncode, ended.stderr) == (0, "")
    found = spans(tmp_path / "run.json.partial", 0)
    assert sorted(one.name for one in found) == ["add", "fire begin", "main"]


PYTHON = """
from freestone import events as ev

def main(rank):
    rank.fire(1, "half", 21)
    return rank.wait([(1, "total")])[0].data

ev.run(main)
"""


def test_ranks_of_two_languages_are_in_one_trace(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, path = compiled(prefix, tmp_path), tmp_path / "run.json"
    (tmp_path / "rank.py").write_text(PYTHON)
    words = [sys.executable, str(tmp_path / "rank.py"), ":", "-n", "1", program]
    monkeypatch.setenv("FREESTONE_EVENTS_TRACE", str(path))
    ended = mpiexec(1, *words)
    assert (ended.returncode, ended.stderr) == (0, "")
    found: list[dict[str, Any]] = traced(path)
    assert arrows(found) == {("half", 0, 1), ("half", 1, 1), ("total", 1, 0)}
