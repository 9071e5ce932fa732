"""Rows that a program's own function deals to ranks, in any number of runs each."""

import random
from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, compiled_fortran, ran, ran_well


@pytest.fixture(scope="module")
def owner(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "owner.c", tmp_path_factory.mktemp("owner"))


@pytest.mark.parametrize(
    ("seed", "mode", "settings"),
    [
        (1, "turns", {}),
        (2, "turns", {"overlap": "1"}),
        (3, "turns", {"method": "baseline"}),
        (4, "minimal", {}),
    ],
)
def test_rows_of_several_runs_are_right_through_any_resizes(
    owner: str, seed: int, mode: str, settings: dict[str, str]
) -> None:
    chosen = random.Random(seed)
    sizes = [3, *(chosen.randint(1, 5) for _ in range(4))]
    targets = ",".join(f"{2 + 3 * at}:{size}" for at, size in enumerate(sizes))
    printed = ran_well(owner, 2, mode, targets=targets, **settings)
    assert "done: " in printed
    if "overlap" in settings:
        return
    assert "cancelled" not in printed
    runs = int(printed.split(", ")[1].split()[0])
    if mode == "turns":
        # 41 blocks of five rows, whose neighbours are one run if they are the same rank's.
        assert runs == (1 if sizes[-1] == 1 else -(-41 // sizes[-1]))


@pytest.mark.parametrize("mode", ["turns", "minimal"])
def test_a_state_of_packed_rows_in_several_runs_is_read_by_other_ranks(
    owner: str, tmp_path: Path, mode: str
) -> None:
    state = str(tmp_path / "state")
    assert "done: 4 ranks" in ran_well(owner, 3, mode, state, targets="4:4")
    assert "done: 2 ranks" in ran_well(owner, 2, mode, state)
    # And dealt otherwise.
    other = "minimal" if mode == "turns" else "turns"
    assert "done: 3 ranks" in ran_well(owner, 2, other, state, targets="15:3")


@pytest.mark.parametrize(
    ("mistake", "code", "text"),
    [
        (
            "outside first",
            -2,
            'rank 0, step 0: the layout of "x" over 2 ranks: it gives row 10 to rank 7, and there '
            "are 2 ranks",
        ),
        (
            "differs first",
            -1,
            'step 0: the layout of "x" over 2 ranks gives row 15 to rank 0 on rank 1, and to '
            "rank 1 on rank 0: it has to be the same on all ranks for the same arguments",
        ),
        (
            "one run",
            -2,
            'rank 0, step 0: the layout of "lists" over 2 ranks: it gives rank 0 a second run of '
            "rows, from row 10 on, and its functions take one: register them by "
            "fsm_register_user_runs",
        ),
        ("no adopt_runs", -6, '"lists": nbytes, pack, adopt_runs and unpack are all needed'),
    ],
)
def test_an_owner_that_makes_no_sense_is_an_error_of_all_ranks(
    owner: str, mistake: str, code: int, text: str
) -> None:
    ended = ran(owner, 2, mistake)
    assert ended.returncode != 0
    for rank in range(2):
        lines = [line for line in ended.stdout.splitlines() if line.startswith(f"rank {rank}: ")]
        assert lines, ended.stdout + ended.stderr
        assert f"error {code}:" in lines[0]
        assert text in lines[0]


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        ("outside", "it gives row 10 to rank 3, and there are 3 ranks"),
        ("stands still", "it gives rows 20 to 20 to rank 1: the end is more than 20, and 203"),
        ("beyond", "it gives rows 200 to 204 to rank 1: the end is more than 200, and 203 at most"),
        ("refuses", "the owner function returned -4 for row 0"),
        ("differs", '"x" over 3 ranks gives row 15 to rank 1 on rank 1, and to rank 0 on rank 0'),
    ],
)
def test_a_resize_to_a_layout_that_makes_no_sense_is_cancelled(
    owner: str, mistake: str, text: str
) -> None:
    printed = ran_well(owner, 2, mistake, targets="3:3")
    assert "cancelled: the resize to 3 ranks at step 3 was cancelled: " in printed
    assert text in printed
    assert "done: 2 ranks" in printed


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("owner and minimal", "minimal is 1: it goes without a layout or owner function"),
        ("owner and layout", "owner is a function: it goes without a layout function"),
    ],
)
def test_one_setting_says_how_rows_are_dealt(owner: str, mode: str, text: str) -> None:
    assert text in ran(owner, 1, mode).stderr


def test_an_owner_in_cpp(prefix: Path, tmp_path: Path) -> None:
    printed = ran_well(compiled(prefix, PROGRAMS / "owner.cpp", tmp_path), 2)
    refused, runs = printed.splitlines()
    assert refused.endswith('the owner function threw "no layout" for row 0')
    assert runs == "4 ranks, 4 runs"


def test_an_owner_in_fortran(prefix: Path, tmp_path: Path) -> None:
    sources = PROGRAMS / "owner.f90", PROGRAMS / "begin.c"
    printed = ran_well(compiled_fortran(prefix, *sources, tmp_path), 2, targets="3:3")
    assert printed == "3 ranks, 5 runs\n"
