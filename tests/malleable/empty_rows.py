"""A job whose data has no rows on any rank, at first and again and again.

Words: the methods of its resizes as JSON, and the file of its state, which is kept beside it under
another name. Prints its size and the numbers of rows that its arrays had.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from freestone import malleable


def ones(start: int, stop: int) -> Any:
    """Return rows of a matrix."""
    return scipy.sparse.csr_array(np.ones((stop - start, 3)))


def main() -> None:
    """Run the job."""
    methods = map(malleable.Method.parse, json.loads(sys.argv[1]))
    resizes = {
        step: malleable.Request(size, method)
        for (step, size), method in zip(((5, 4), (12, 2), (19, 3)), methods, strict=False)
    }
    state = sys.argv[2]
    with malleable.World(rows=0, targets=resizes, weights="x", saves=state) as world:
        x = world.variable("x", lambda start, stop: np.arange(start, stop))
        m = world.variable("m", ones)
        y = world.variable("y", ones, rows=7)
        c = world.constant("c", ones)
        seen = world.replicated("seen", [])
        for step in world.steps(30):
            assert c.local.shape == (0, 3)
            if step % 3 == 1:
                world.replace({x: np.arange(2), m: ones(0, 2)})
            elif step % 3 == 2:
                world.replace({x: np.arange(0), m: ones(0, 0)})
                world.replace({y: ones(0, 0)})
            assert x.local.tolist() in ([], [0, 1], [0, 1, 0], [1, 0], [0], [1])
            assert m.local.shape == (len(x.local), 3)
            seen.value = [*seen.value, (x.rows, m.rows, y.rows)]
            if step == 26 and resizes:
                world.save()
            if step == 27 and resizes and world.rank == 0:
                # As if the job were lost, whose file is there yet.
                Path(state).rename(f"{state}.kept")
        is_first, size = world.rank == 0, world.size
    if is_first:
        print(json.dumps([size, seen.value]))


if __name__ == "__main__":
    main()
