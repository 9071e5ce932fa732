"""A job in Python with the data of `programs/saves.c`, which goes on from its file, or saves one.

Words: the file to load, the file to save, the step at which it is saved, and the steps.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from freestone import malleable

ROWS, FIXED = 101, 60


def main() -> None:
    """Run the job; all numbers are checked in each step."""
    load, save, at, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with malleable.World(load=load if Path(load).exists() else None) as world:
        x = world.variable("x", pairs, rows=ROWS)
        fixed = world.constant("fixed", threes, rows=FIXED)
        step = world.replicated("step", 0)
        total = world.replicated("total", 0.0)
        for number in world.steps(steps):
            assert step.value == number
            assert np.array_equal(x.local, pairs(x.start, x.stop) + number)
            assert np.array_equal(fixed.local, threes(fixed.start, fixed.stop))
            x.local[...] += 1
            total.value += world.comm.allreduce(float(x.local.sum()))
            step.value += 1
            if number + 1 == at:
                world.save(save)
        if world.rank == 0:
            print(f"{world.size} ranks: total {total.value:.0f}")


def pairs(start: int, stop: int) -> np.ndarray:
    """Return rows of two numbers that tell which they are."""
    return np.arange(2 * start, 2 * stop, dtype=np.float64).reshape(-1, 2)


def threes(start: int, stop: int) -> np.ndarray:
    """Return rows of one number."""
    return 3 * np.arange(start, stop, dtype=np.int32)


main()
