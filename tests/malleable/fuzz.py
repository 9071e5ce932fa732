"""Random histories: ``python -m tests.malleable.fuzz --seed 1 --cases 1000``.

By default in one process, some hundred in a second; with ``--real`` as jobs of MPI, some seconds
each.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.malleable.histories import History, draw
from tests.malleable.jobs import run
from tests.malleable.simulation import simulate

__all__ = ["check_real", "check_simulated", "main"]


def check_simulated(seed: int) -> str:
    """Go through the history of a seed in this process; return what is wrong with it."""
    return simulate(draw(seed, largest=6, most_resizes=8), seed)


def check_real(seed: int) -> str:
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


def main() -> int:
    """Check histories of one seed after another, and print those that are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--cases", type=int, default=10)
    parser.add_argument("--real", action="store_true", help="by processes of MPI")
    options = parser.parse_args()
    found = 0
    check = check_real if options.real else check_simulated
    for seed in range(options.seed, options.seed + options.cases):
        problem = check(seed)
        if problem:
            found += 1
            print(f"seed {seed}: {problem}\n{draw(seed)}", flush=True)
    print(f"{options.cases} histories from seed {options.seed} on, {found} wrong")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
