"""A job that does what a scheduler says, until it is alone."""

from __future__ import annotations

import json
import sys

import numpy as np

from freestone import malleable

with malleable.World(
    rows=101, targets=malleable.Scheduler(sys.argv[1], "test", every_s=1e-9)
) as world:
    x = world.variable("x", lambda start, stop: np.arange(start, stop, dtype=float))
    sizes: malleable.Replicated[list[int]] = world.replicated("sizes", [])
    for step in world.steps(1_000_000):
        assert np.array_equal(x.local, np.arange(x.start, x.stop) + step)
        x.local[...] += 1
        if world.changed:
            sizes.value = [*sizes.value, world.size]
        if world.size == 1:
            break
if world.rank == 0:
    print(json.dumps(sizes.value))
