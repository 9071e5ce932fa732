"""Histories of fixed seeds; `fuzz.py` takes new ones."""

from __future__ import annotations

import pytest

from tests.malleable.fuzz import check_real, check_simulated
from tests.malleable.histories import draw, replay


def test_in_one_process_all_data_is_what_one_rank_finds() -> None:
    assert [problem for seed in range(200) if (problem := check_simulated(seed))] == []


# Loops that resizes cross; data that calls one off; data that is registered after a resize by
# non-zeros.
@pytest.mark.parametrize("seed", [25, 27, 1016])
def test_as_jobs_of_mpi_too(seed: int) -> None:
    pytest.importorskip("mpi4py")
    assert check_real(seed) == ""


def test_a_step_that_is_lost_shows() -> None:
    history = next(h for h in map(draw, range(99)) if any(d.kind == "variable" for d in h.data))
    trace = [(history.loops.index(history.loops[-1]), index) for index in range(3)]
    assert repr(replay(history, trace)) != repr(replay(history, trace[:-1]))
