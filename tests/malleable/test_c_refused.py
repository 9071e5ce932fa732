"""Calls from C, C++ and Fortran that are refused: where the error comes, and what stays."""

from pathlib import Path

import pytest

from tests.malleable.clibrary import PROGRAMS, compiled, compiled_fortran, ran, ran_well


@pytest.fixture(scope="module")
def refused(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compiled(prefix, PROGRAMS / "refused.c", tmp_path_factory.mktemp("refused"))


@pytest.fixture(scope="module")
def width(prefix: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    sources = PROGRAMS / "width.f90", PROGRAMS / "begin.c"
    return compiled_fortran(prefix, *sources, tmp_path_factory.mktemp("width"))


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        ("kind", '"x": 3 is neither FSM_CONSTANT nor FSM_VARIABLE'),
        ("address", '"s": the address is a null pointer'),
        ("no functions", '"u": nbytes, pack, adopt and unpack are all needed'),
        ("empty functions", '"u": nbytes, pack, adopt and unpack are all needed'),
        ("name", "data has no name"),
        ("letters", r'"\xff" is not UTF-8'),
    ],
)
def test_an_error_in_registering_is_one_of_the_first_checkpoint_on_all_ranks(
    refused: str, mistake: str, text: str
) -> None:
    ended = ran(refused, 2, mistake)
    assert ended.returncode != 0
    for rank in range(2):
        wanted = f"rank {rank}: checkpoint -6: rank 1, step 0: {text}"
        assert wanted in ended.stdout, ended.stdout + ended.stderr


def test_data_that_is_registered_too_late_is_refused_and_the_job_goes_on(refused: str) -> None:
    assert sorted(ran_well(refused, 2, "late").splitlines()) == [
        f"rank {rank}: checkpoint 0" for rank in (0, 0, 1, 1)
    ]


@pytest.mark.parametrize("method", ["merge", "baseline"])
def test_calls_that_are_refused_in_a_user_phase_leave_no_trace(refused: str, method: str) -> None:
    # A checkpoint of step 3 in the phase must not take its target of two ranks away.
    assert ran_well(refused, 2, "phase", targets="2:3,3:2", method=method) == "2 ranks\n"


def test_rows_in_fortran_have_the_width_and_the_type_that_are_registered(width: str) -> None:
    lines = ran_well(width, 1).splitlines()
    other = 'variable "x" with 100 rows of 16 bytes can\'t be taken as rows of'
    assert lines[0].startswith(f"width 3: -6 {other} 24 bytes")
    assert lines[1].startswith(f"width -1: -6 {other} -8 bytes")
    assert lines[2].startswith('nope: -6 nothing is registered as "nope", but ["x", "none"]')
    assert lines[3].startswith(f"float: -6 {other} 8 bytes")


def test_other_rows_in_fortran_end_a_program_that_does_not_ask_for_a_status(width: str) -> None:
    ended = ran(width, 1, "stop")
    assert ended.returncode != 0
    assert "can't be taken as rows of 24 bytes" in ended.stderr
