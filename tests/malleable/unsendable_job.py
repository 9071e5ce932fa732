"""A job with a value that can't be pickled once it runs: it goes on with its ranks and its rows.

Prints, as JSON, its size, the errors of its resizes and saves, and the sum of its rows.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from freestone import malleable


def main(path: str) -> None:
    """Run the job, which saves its state into a file."""
    given = {"method": "merge-p2p-sync", "saves": path, "save_every": 4}
    with malleable.World(rows=10, targets={2: 3}, **given) as world:
        rows = world.variable("rows", lambda start, stop: np.arange(start, stop, dtype=float))
        best = world.replicated("best", None)
        for step in world.steps(8):
            rows.local += 1
            best.value = (step, lambda: None)
        total = sum(world.comm.allgather(float(rows.local.sum())))
        resizes = [record.error for record in world.resizes]
        saves = [record.error for record in world.saved]
        is_first = world.rank == 0
    if is_first:
        print(json.dumps({"size": world.size, "total": total, "errors": resizes, "saves": saves}))


main(sys.argv[1])
