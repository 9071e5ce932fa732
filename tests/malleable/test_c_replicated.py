"""Values that all ranks have alike, and arguments that joining ranks get, from C."""

from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, ran, ran_well


@pytest.fixture(scope="module")
def replicated(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "replicated.c", tmp_path_factory.mktemp("replicated"))


@pytest.mark.parametrize(
    ("which", "text"),
    [
        (
            "double",
            'rank 2, step 0: replicated "table" of 8000 bytes has 00 00 00 00 00 00 04 40 '
            "(4612811918334230528 as int64_t, 2.5e0 as double) in the bytes 5600 to 5608, and rank "
            "0 has 00 00 00 00 00 00 00 00 (0 as int64_t, 0e0 as double)",
        ),
        (
            "bytes",
            'rank 1, step 0: replicated "text" of 11 bytes has 00 78 00 in the bytes 8 to 11, and '
            "rank 0 has 00 00 00",
        ),
        (
            "step",
            'rank 1, step 0: replicated "step" of 8 bytes has 03 00 00 00 00 00 00 00 (3 as '
            "int64_t",
        ),
    ],
)
def test_values_that_differ_at_first_are_an_error_of_all_ranks(
    replicated: str, which: str, text: str
) -> None:
    ended = ran(replicated, 3, which)
    assert ended.returncode != 0
    for rank in range(3):
        assert f"rank {rank}: error -1: {text}" in ended.stdout, ended.stdout + ended.stderr


def test_values_may_differ_later_until_a_resize(replicated: str) -> None:
    printed = ran_well(replicated, 2, "later", targets="0:3")
    assert sorted(printed.splitlines()) == [f"rank {rank} of 3: <later>" for rank in range(3)]


@pytest.mark.parametrize(
    "words",
    [
        ["", "a b", ""],
        ["two\nlines", "it's", '"$HOME" `x` \\'],
        [r"C:\a\\b", ""],
        ["\n\n", "\u00e9"],
    ],
)
def test_joining_ranks_get_all_arguments(replicated: str, words: list[str]) -> None:
    printed = ran_well(replicated, 1, *words, targets="3:3")
    got = "".join(f"<{word}>" for word in words)
    assert sorted(printed.split("rank ")[1:]) == [f"{rank} of 3: {got}\n" for rank in range(3)]


def test_arguments_that_are_too_long_are_refused_before_mpi_ends_the_job(replicated: str) -> None:
    printed = ran_well(replicated, 1, "x" * 70_000, targets="3:2")
    assert "bytes, and MPICH's launcher takes 60000 of a process that joins: pass long" in printed
    assert "rank 0 of 1: " in printed
