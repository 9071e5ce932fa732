"""Rows that move as little as they can, from C: several runs of rows to a rank."""

import random
import re
from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, compiled_fortran, ran, ran_well

# Of each row of A, x and p.
NBYTES = 8


@pytest.fixture(scope="module")
def runs(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "runs.c", tmp_path_factory.mktemp("runs"))


def moved(printed: str) -> list[tuple[int, ...]]:
    """Return sizes, rows, bytes and runs of each resize."""
    pattern = r"(\d+) to (\d+): (\d+) rows, (\d+) bytes sent by who stays, (\d+) runs at most"
    return [tuple(map(int, found)) for found in re.findall(pattern, printed)]


def test_one_more_rank_gets_its_share_and_nothing_else_moves(runs: str) -> None:
    grown, shrunk = moved(ran_well(runs, 7, targets="3:8,6:7"))
    # One eighth of 5600 rows of three arrays, and one of 7 rows and 11 of 91 of two.
    assert grown[:3] == (7, 8, 700)
    assert 3 * 700 * NBYTES <= grown[3] <= (3 * 700 + 1 + 12) * NBYTES + 13 * 91 * NBYTES
    assert grown[4] == 7
    # Those that the eighth has sent back grow together with the others' again.
    assert shrunk[:3] == (8, 7, 700)
    assert shrunk[4] == 1


@pytest.mark.parametrize(
    ("seed", "settings"), [(1, {}), (2, {"overlap": "1"}), (3, {"method": "baseline"})]
)
def test_rows_are_right_through_any_resizes(runs: str, seed: int, settings: dict[str, str]) -> None:
    chosen = random.Random(seed)
    sizes = [3, *(chosen.randint(1, 6) for _ in range(8))]
    targets = ",".join(f"{3 + 4 * at}:{size}" for at, size in enumerate(sizes))
    printed = ran_well(runs, 2, targets=targets, **settings)
    assert "done" in printed
    if settings:
        return
    assert "cancelled" not in printed
    changed = [(a, b) for a, b in zip([2, *sizes], sizes, strict=False) if a != b]
    found = moved(printed)
    assert [one[:2] for one in found] == changed
    for before, after, rows, *_ in found:
        # What one rank more or less moves at least, to within a row a rank.
        least = 5600 * abs(after - before) / max(before, after)
        assert abs(rows - least) <= max(before, after)


def test_a_state_of_several_runs_is_read_by_other_ranks(runs: str, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    assert "done 5" in ran_well(runs, 4, state, targets="3:5")
    assert "done 3" in ran_well(runs, 2, state, targets="30:3")


def test_a_layout_and_the_fewest_moves_do_not_go_together(runs: str) -> None:
    ended = ran(runs, 1, "", "layout")
    assert "error -6: minimal is 1: it goes without a layout or owner function" in ended.stderr


def test_runs_in_cpp(prefix: Path, tmp_path: Path) -> None:
    count, refused = ran_well(compiled(prefix, PROGRAMS / "runs.cpp", tmp_path), 3).splitlines()
    assert count == "3 runs"
    assert refused.startswith('variable "x" with 1200 rows of 16 bytes has 3 runs of rows on this')


def test_runs_in_fortran(prefix: Path, tmp_path: Path) -> None:
    sources = PROGRAMS / "runs.f90", PROGRAMS / "begin.c"
    printed = ran_well(compiled_fortran(prefix, *sources, tmp_path), 3, targets="3:4")
    assert printed.startswith(
        '3 runs: variable "x" with 1200 rows of 16 bytes has no run 8 on this'
    )
