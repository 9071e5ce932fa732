"""Saved states of programs in C: any number of ranks goes on from them, in Python, too."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, ran, ran_well
from tests.malleable.jobs import run

STEPS = "12"


@pytest.fixture(scope="module")
def saves(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "saves.c", tmp_path_factory.mktemp("saves"))


@pytest.fixture(scope="module")
def total(saves: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the job prints that is neither saved nor resized."""
    printed = ran_well(saves, 1, str(tmp_path_factory.mktemp("none") / "s"), "none", "-1", STEPS)
    return printed.strip().removeprefix("1 ranks: ")


@pytest.mark.parametrize(("before", "after"), [(1, 3), (3, 2), (4, 4)])
def test_any_number_of_ranks_goes_on_from_what_any_other_saved(
    saves: str, total: str, tmp_path: Path, before: int, after: int
) -> None:
    state = str(tmp_path / "state")
    assert total in ran_well(saves, before, state, "none", "5", STEPS)
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    for _ in range(2):
        printed = ran_well(saves, after, str(tmp_path / "other"), state, "8", STEPS)
        assert printed == f"goes on at step 5 of 5\n{after} ranks: {total}\n"
    printed = ran_well(saves, before, "none", str(tmp_path / "other"), "-1", STEPS)
    assert printed == f"goes on at step 8 of 8\n{before} ranks: {total}\n"


@pytest.mark.parametrize("overlap", ["0", "1"])
def test_data_without_rows_is_resized_saved_and_loaded(
    prefix: Path,
    tmp_path: Path,
    overlap: str,
) -> None:
    program = compiled(prefix, PROGRAMS / "empty.c", tmp_path)
    state, none = str(tmp_path / "state"), str(tmp_path / "none")
    settings = {"targets": "1:4,4:2,7:3,9:1", "overlap": overlap}
    ran_well(program, 2, state, none, **settings)
    # Rank 0 may be another process at the end.
    printed = ran_well(program, 3, none, state, **settings)
    assert "goes on at step 6" in printed.splitlines()


def test_a_job_is_saved_and_loaded_between_resizes(saves: str, total: str, tmp_path: Path) -> None:
    state, targets = str(tmp_path / "state"), "2:4,7:1"
    assert total in ran_well(saves, 2, state, "none", "5", STEPS, targets=targets)
    printed = ran_well(saves, 3, "none", state, "-1", STEPS, targets=targets)
    # Rank 0 may be another process at the end.
    assert sorted(printed.splitlines()) == [f"1 ranks: {total}", "goes on at step 5 of 5"]


def test_python_goes_on_from_a_file_of_c_and_c_from_one_of_python(
    saves: str, total: str, tmp_path: Path
) -> None:
    of_c, of_python = str(tmp_path / "c"), str(tmp_path / "python")
    ran_well(saves, 3, "-p", of_c, "none", "5", STEPS)
    words = (of_c, of_python, "9", STEPS)
    outcome = run("saved_by_c.py", *words, ranks=2)
    assert outcome.status == 0, outcome.err
    assert "goes on from step 5, which 3 ranks saved" in outcome.err
    assert outcome.out == f"2 ranks: {total}\n"
    printed = ran_well(saves, 4, "-p", "none", of_python, "-1", STEPS)
    assert printed == f"goes on at step 9 of 9\n4 ranks: {total}\n"


def test_what_python_can_not_read_is_named(saves: str, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    ran_well(saves, 2, state, "none", "5", STEPS)
    outcome = run("saved_by_c.py", state, "none", "-1", STEPS)
    assert outcome.status != 0
    assert "has 'lists', which functions of a program in C have packed" in outcome.err


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        ("rows", "is damaged in bytes 0 to"),
        ("end", "does not end as the state of a job of this version does"),
        ("other", "has no user-described"),
    ],
)
def test_a_file_that_is_damaged_or_another_is_an_error_on_all_ranks(
    saves: str, tmp_path: Path, damage: str, text: str
) -> None:
    state = tmp_path / "state"
    ran_well(saves, 2, *(["-p"] if damage == "other" else []), str(state), "none", "5", STEPS)
    content = bytearray(state.read_bytes())
    content[4096 + 300] ^= damage == "rows"
    state.write_bytes(content[: -1 if damage == "end" else None])
    ended = ran(saves, 2, "none", str(state), "-1", STEPS)
    assert ended.returncode != 0
    assert f"error -8: rank 0, step 0: the state {state} " in ended.stderr, ended.stderr
    assert text in ended.stderr


def test_a_state_that_can_not_be_written_leaves_the_job_and_the_one_before(
    saves: str, total: str, tmp_path: Path
) -> None:
    ended = ran(saves, 2, str(tmp_path / "no" / "state"), "none", "5", STEPS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for rank in range(2):
        assert (
            f"rank {rank}: error -8: rank 0, step 5: the state {tmp_path}/no/state" in ended.stdout
        )
    assert f"2 ranks: {total}\n" in ended.stdout


def test_a_state_is_written_where_a_link_leads_and_replaces_files_alone(
    saves: str, total: str, tmp_path: Path
) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to("far")
    os.mkfifo(pipe)
    assert total in ran_well(saves, 2, str(link), "none", "5", STEPS)
    assert link.is_symlink()
    printed = ran_well(saves, 3, "none", str(link), "-1", STEPS)
    assert printed.startswith("goes on at step 5 of 5\n")
    ended = ran(saves, 2, str(pipe), "none", "5", STEPS)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    text = f"the state {pipe} can't be written (it is a pipe, and no file can take its place)"
    for rank in range(2):
        assert f"rank {rank}: error -8: rank 0, step 5: {text}" in ended.stdout
    assert f"2 ranks: {total}\n" in ended.stdout
    assert pipe.is_fifo()
    ended = ran(saves, 2, "none", str(pipe), "-1", STEPS)
    assert f"error -8: rank 0, step 0: the state {pipe} is a pipe, and no file" in ended.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "link", "pipe"]


def test_ranks_of_which_one_does_not_save_all_get_the_error(saves: str, tmp_path: Path) -> None:
    ended: subprocess.CompletedProcess[str] = ran(
        saves, 3, "-w", str(tmp_path / "state"), "none", "5", STEPS
    )
    assert ended.returncode != 0
    text = f"rank 0 saves {tmp_path}/state, and rank 1 is at a checkpoint"
    assert text in ended.stdout + ended.stderr
    assert list(tmp_path.iterdir()) == []
