"""Malleability in C: programs under a real mpiexec, each of which checks all its numbers."""

from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, ran, ran_well
from tests.mpi import ROOT


@pytest.fixture(scope="module")
def rows(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "rows.c", tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def particles(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "particles.c", tmp_path_factory.mktemp("particles"))


@pytest.mark.parametrize("method", ["merge", "baseline"])
@pytest.mark.parametrize("overlap", ["0", "1"])
def test_rows_are_exact_through_resizes(rows: str, method: str, overlap: str) -> None:
    printed = ran_well(rows, 2, targets="3:4,20:2", method=method, overlap=overlap)
    assert printed.count("sizes") == 1
    # Rank 0 may be another process by then, which has not seen the sizes before.
    assert printed.split(" cancelled")[0].endswith(" 2")


def test_a_job_grows_from_one_rank_and_shrinks_to_one(rows: str) -> None:
    ran_well(rows, 1, targets="0:3,9:1,15:2,20:5,25:1")


@pytest.mark.parametrize("method", ["merge", "baseline"])
def test_rows_come_and_go_between_resizes(particles: str, method: str) -> None:
    printed = ran_well(particles, 2, targets="2:3,16:2", method=method, overlap="0")
    # With Baseline rank 0 is another process at the end, which has seen no resize but its own.
    assert printed == f"2 ranks, {2 if method == 'merge' else 1} resizes, 0 cancelled\n"


@pytest.mark.parametrize("pause_us", ["0", "60000", "250000"])
def test_rows_that_are_replaced_during_a_resize_begin_it_anew(
    particles: str, pause_us: str
) -> None:
    # Where the resize is when rows are replaced depends on how long a step takes.
    printed = ran_well(particles, 2, pause_us, targets="2:3", overlap="1")
    assert printed == "3 ranks, 1 resizes, 1 cancelled\n"


def test_a_program_moves_data_of_its_own_before_it_commits(rows: str) -> None:
    ran_well(rows, 2, "user", targets="3:4,20:2")


def test_a_file_has_the_size(rows: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("3\n")
    assert "sizes 3 " in ran_well(rows, 2, target_file=str(target))


def test_a_file_without_a_size_is_reported_once(rows: str, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("four\n")
    ended = ran(rows, 2, target_file=str(target))
    assert ended.returncode == 0
    assert ended.stderr.count(f'{target} has "four", which is no number of ranks') == 1


def test_a_target_that_is_none_is_refused(rows: str) -> None:
    ended = ran(rows, 1, targets="3:0")
    assert ended.returncode != 0
    assert "'3:0' is no target" in ended.stderr.replace('"', "'")


def test_the_header_for_cpp_keeps_rows_and_throws(prefix: Path, tmp_path: Path) -> None:
    program = compiled(prefix, PROGRAMS / "rows.cpp", tmp_path)
    printed = ran_well(program, 2, targets="3:4,12:1")
    refused = "-6 a job can't have 0 ranks: ask for 1 or more\n"
    assert printed == refused
    state = str(tmp_path / "state")
    assert ran_well(program, 2, state) == refused
    # Rank 0 may be another process at the end.
    printed = ran_well(program, 3, state, targets="15:1")
    assert sorted(printed.splitlines()) == [refused.strip(), "goes on at step 10"]


@pytest.mark.parametrize("method", ["merge", "baseline"])
def test_a_program_written_for_mam_needs_an_include_and_no_more(
    prefix: Path, tmp_path: Path, method: str
) -> None:
    layer = ROOT / "examples" / "malleable_c" / "mam"
    program = compiled(prefix, PROGRAMS / "mam.c", tmp_path, f"-I{layer}", str(layer / "mam.c"))
    assert ran_well(program, 2, method=method) == "24 steps, 2 ranks\n"
