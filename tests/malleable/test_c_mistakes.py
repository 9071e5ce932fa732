"""Programs in C that are wrong: an error on all ranks, which names rank, array and step."""

import os
import re
from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, ran
from tests.mpi import mpiexec


@pytest.fixture(scope="module")
def wrong(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "wrong.c", tmp_path_factory.mktemp("wrong"))


@pytest.mark.parametrize(
    ("mistake", "code", "text"),
    [
        (
            "data",
            -1,
            'rank 1 has registered variable "x" with 99 rows of 8 bytes, not variable "x"',
        ),
        ("skip", -1, "rank 1 is at step 5, where the others are at step 4"),
        ("break", -1, "the loop is over on rank 1"),
        ("rows", -1, "step 4: rank 0 is at a checkpoint, and rank 1 replaces rows"),
        ("timeout", -1, "step 0: rank 1 has timeout_s = 5, where rank 0 has 600: give the same"),
        ("targets", -1, "step 0: rank 1 has targets = 3:4,6:1, where rank 0 has none: give"),
        ("phase", -1, "step 0: rank 1 has user_phase = 1, where rank 0 has 0: give the same"),
        ("no layout", -1, "step 0: rank 1 has layout = none, where rank 0 has a function: give"),
        ("layout", -2, 'rank 0, step 0: the layout of "x" over 2 ranks: it covers 99 of 100 rows'),
    ],
)
def test_ranks_that_disagree_all_get_the_error(
    wrong: str, mistake: str, code: int, text: str
) -> None:
    ended = ran(wrong, 2, mistake)
    assert ended.returncode != 0
    for rank in range(2):
        lines = [line for line in ended.stdout.splitlines() if line.startswith(f"rank {rank}: ")]
        assert lines, ended.stdout + ended.stderr
        assert f"error {code}:" in lines[0]
        assert text in "\n".join(lines)


def test_calls_after_mpi_was_ended_are_errors(wrong: str) -> None:
    ended = ran(wrong, 2, "finalized")
    text = "error -6: MPI_Finalize was called before: make the library's calls before it"
    assert ended.stdout.count(text) == 6, ended.stdout + ended.stderr


def test_a_rank_that_does_not_come_is_named(wrong: str) -> None:
    ended = ran(wrong, 3, "hang", step_timeout_s="7")
    assert ended.returncode != 0
    assert "checkpoint 6 was not done after 7 s: rank 1 did not come" in ended.stdout


@pytest.mark.parametrize(
    ("mistake", "overlap", "text"),
    [
        (
            "layout later",
            "0",
            'the layout of "x" over 3 ranks: it covers 99 of 100 rows on 3 of 3 ranks',
        ),
        (
            "layout differs",
            "0",
            '"x" over 3 ranks gives row 33 to rank 0 on rank 1, and to rank 1 on rank 0',
        ),
        ("layout later", "1", 'the layout of "x" over 3 ranks: it covers 99 of 100 rows'),
        (
            "joining",
            "0",
            'joining rank 0: has registered variable "x" with 99 rows of 8 bytes, not',
        ),
        ("joins otherwise", "0", "joining rank 0: has slots = 7, where the others have none: give"),
    ],
)
def test_a_resize_that_does_not_come_about_leaves_the_job_as_it_was(
    wrong: str, mistake: str, overlap: str, text: str
) -> None:
    ended = ran(wrong, 2, mistake, targets="3:3", overlap=overlap)
    assert "cancelled: the resize to 3 ranks at step" in ended.stdout, ended.stdout + ended.stderr
    assert text in ended.stdout


@pytest.mark.parametrize("overlap", ["0", "1"])
@pytest.mark.parametrize(("mistake", "missing"), [("hangs", 0), ("one hangs", 1)])
def test_a_job_goes_on_and_ends_without_joining_ranks_that_do_not_come(
    wrong: str, mistake: str, missing: int, overlap: str
) -> None:
    settings = {"targets": "3:4", "overlap": overlap, "spawn_timeout_s": "7"}
    ended = ran(wrong, 2, mistake, **settings)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    # With overlap the loop may be over by then.
    if overlap == "0":
        text = f"joining rank {missing} has not come to its first checkpoint in 7 s"
        assert text in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize("overlap", ["0", "1"])
@pytest.mark.parametrize("mistake", ["exits", "ends"])
def test_a_job_hears_at_once_of_joining_ranks_whose_program_ends(
    wrong: str, mistake: str, overlap: str
) -> None:
    # Longer than mpiexec itself may take here.
    ended = ran(wrong, 2, mistake, targets="3:4", overlap=overlap, spawn_timeout_s="3000")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    if overlap == "0":
        text = "joining rank [01]: its program ended before its first checkpoint"
        assert re.search(text, ended.stdout), ended.stdout + ended.stderr


@pytest.mark.parametrize(("slots", "size"), [("", 100_000), ("3", 4)])
def test_more_ranks_than_there_are_slots_are_refused(wrong: str, slots: str, size: int) -> None:
    ended = ran(wrong, 2, "none", targets=f"3:{size}", slots=slots)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    most = slots or max(64 * len(os.sched_getaffinity(0)), 2 * 16)
    text = f"was cancelled: {size} ranks were asked for, and there are {most} slots"
    assert f"the resize to {size} ranks at step 3 {text}" in ended.stdout


def test_a_name_that_is_registered_twice_is_an_error_on_all_ranks(wrong: str) -> None:
    ended = ran(wrong, 2, "twice")
    assert ended.returncode != 0
    for rank in range(2):
        assert f"rank {rank}: error -6: rank 1, step 0: " in ended.stdout, ended.stdout
    assert ended.stdout.count('"x" is registered already') >= 2


def test_joining_ranks_that_end_while_ranks_connect_to_them_cost_the_resize(wrong: str) -> None:
    # Some ranks may have connected to them by then, and others not.
    ended = ran(wrong, 4, "exits at once", targets="3:6", spawn_timeout_s="7")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "cancelled: the resize to 6 ranks at step 3" in ended.stdout


@pytest.mark.parametrize(
    ("function", "code", "text"),
    [
        ("pack", -7, 'pack of "lists" returned 3 for rows'),
        ("adopt", -7, 'adopt of "lists" returned 3 for rows'),
        ("unpack", -7, 'unpack of "lists" returned 3 for rows'),
        ("nbytes", -5, 'no memory for 1152921504606846976 bytes of "lists"'),
    ],
)
def test_a_function_that_fails_on_one_rank_is_an_error_on_all(
    wrong: str, function: str, code: int, text: str
) -> None:
    ended = ran(wrong, 2, function, targets="3:3")
    assert ended.returncode != 0
    for rank in range(2):
        for word in ("error", "again"):
            wanted = f"rank {rank}: {word} {code}: rank 1, step 3: {text}"
            assert wanted in ended.stdout, ended.stdout + ended.stderr


def test_calls_that_make_no_sense_say_so(wrong: str) -> None:
    printed = ran(wrong, 1, "calls").stdout
    assert "error -6: the communicator is MPI_COMM_NULL" in printed
    assert "error -6: fsm_init was called before" in printed
    assert "error -6: a job can't have -3 ranks" in printed
    assert "error -6: there is no resize to commit" in printed
    assert r'error -6: "\xff" is not UTF-8' in printed
    assert 'error -6: "nothing": rows of 0 bytes are no data: give at least 1' in printed


def test_calls_after_an_init_that_failed_say_why_it_has(wrong: str) -> None:
    ended = ran(wrong, 1, "not begun", method="foo")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    why = "FREESTONE_MALLEABLE_METHOD is foo: it must be merge or baseline"
    assert [line.partition("error ")[2] for line in ended.stdout.splitlines()] == [
        "-6: call fsm_init first",
        f"-6: {why}",
        *[f"-6: fsm_init has failed: {why}"] * 3,
    ]


def test_calls_at_which_the_job_goes_on_say_what_is_wrong(wrong: str) -> None:
    ended = ran(wrong, 2, "later calls")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count('error -6: rank 0: "x" is named twice: name each once') == 2
    over = "fsm_finalise was called before: there are no rows, ranks and communicator of the job"
    assert ended.stdout.count(f"error -6: {over}") == 2
    assert ended.stdout.count(f"no rows: {over}") == 2


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("overlap", "2", "FREESTONE_MALLEABLE_OVERLAP is 2: it must be 0 or 1"),
        ("timeout_s", "1e300", "FREESTONE_MALLEABLE_TIMEOUT_S is 1e300: it must be a number of"),
        ("slots", "none", "FREESTONE_MALLEABLE_SLOTS is none: it must be a number of ranks, at"),
        ("targets", "5:3,5:4", "step 5 has the targets 3 and 4"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    wrong: str, name: str, value: str, text: str
) -> None:
    setting = f"FREESTONE_MALLEABLE_{name.upper()}={value}"
    ended = mpiexec(1, wrong, before=["env", setting])
    assert ended.returncode != 0
    assert text in ended.stderr
