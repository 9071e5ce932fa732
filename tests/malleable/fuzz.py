"""Random histories: in one process, some hundred in a second; or as jobs of MPI."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

from tests.fuzz.fuzzers import Check
from tests.malleable.histories import History, draw
from tests.malleable.jobs import run
from tests.malleable.simulation import simulate

__all__ = ["checking"]


def _check_simulated(seed: int) -> str:
    """Go through the history of a seed in this process; return what is wrong with it."""
    return simulate(draw(seed, largest=6, most_resizes=8), seed)


def _check_real(seed: int) -> str:
    """Run the history of a seed; return what is wrong with it, if something is."""
    history = draw(seed)
    outcome = run("history.py", json.dumps(history.as_dict()))
    if outcome.status:
        return outcome.err[-4000:] or f"status {outcome.status}"
    try:
        found = outcome.data
    except ValueError:
        return f"it printed {outcome.out[-2000:]!r}; {outcome.err[-2000:]}"
    return problem_of(history, found["trace"], found["sizes"][1])


def problem_of(history: History, trace: list[list[int]], errors: list[str]) -> str:
    """Return what is wrong with the steps that a job took, or with its resizes."""
    *loops, _ = history.loops
    wanted = [[number, index] for number, loop in enumerate(loops) for index in range(loop.steps)]
    if trace[: len(wanted)] != wanted:
        return f"the steps were {trace[: len(wanted)]}"
    last = [index for _, index in trace[len(wanted) :]]
    if last != list(range(len(last))):
        return f"the steps of the last loop were {last}"
    wrong = [error for error in errors if error and not error.startswith("called off")]
    return f"resizes failed: {wrong}" if wrong else ""


@contextlib.contextmanager
def checking(how: str = "") -> Iterator[Check]:
    """Open the check of histories: in this process, or "real" ones as jobs of MPI."""
    find = _check_real if how else _check_simulated

    def check(seed: int) -> str | None:
        problem = find(seed)
        return f"{problem}\n{draw(seed)}" if problem else None

    yield check
