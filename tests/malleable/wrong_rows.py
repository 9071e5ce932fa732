"""A job that gives its arrays rows, weights or offsets that can't be right, and goes on.

Prints, as JSON, the error that each rank got for each of them; the data have to be as they were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from freestone import malleable
from freestone.errors import RegistrationError

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.malleable.program import Sequence

ROWS = 10


def main() -> None:
    """Run the job."""
    which, found = sys.argv[1], {}
    balance: Any = {"offsets": lambda rows, size: [0] * size, "raises": lambda *_: 1 // 0}
    balance["gap"] = lambda rows, size: [(0, 4, 0), (5, rows, size - 1)]
    settings = {"balance": balance[which]} if which in balance else {"weights": "w"}
    if which in balance:
        settings["balance"] = _after_start(balance[which])
    with malleable.World(rows=ROWS, targets=Sequence([(3, None)]), **settings) as world:
        x = world.variable("x", lambda start, stop: np.arange(start, stop, dtype=float))
        w = world.variable("w", lambda start, stop: np.ones(stop - start))
        m = world.variable(
            "m", lambda start, stop: scipy.sparse.csr_array(np.eye(ROWS)[start:stop])
        )
        c = world.constant("c", lambda start, stop: np.arange(start, stop))
        if which not in balance:
            rank = 0 if world.is_joining else world.rank
            wrong: dict[str, Any] = {
                "nothing": {},
                "constant": {c: np.arange(3)},
                "type": {x: np.zeros(3, np.float32 if rank else np.float64)},
                "shape": {x: np.zeros((3, rank + 1))},
                "lengths": {x: np.zeros(3), w: np.zeros(3 + rank)},
                "others": {x: np.zeros(3)} if rank else {w: np.zeros(3)},
                "dense": {m: np.zeros((3, ROWS))},
                "masked": {x: np.ma.masked_array([1.0], [True])},
                "scalar": {x: 1.0},
            }
            for name, rows in wrong.items():
                if world.is_joining:
                    break
                try:
                    world.replace(rows)
                except RegistrationError as error:
                    found[name] = world.comm.gather(str(error))
        if which == "weights" and not world.is_joining and world.rank == 1:
            w.local[...] = -1.0
        for _ in world.steps(12):
            assert np.array_equal(x.local, np.arange(x.start, x.stop))
        errors = [record.error for record in world.resizes]
        outcome = {"found": found, "errors": errors, "ranks": world.size}
        is_first = world.rank == 0
    if is_first:
        print(json.dumps(outcome))


def ones(start: int, stop: int) -> Any:
    """Return rows of the unit matrix."""
    return scipy.sparse.csr_array(np.eye(ROWS)[start:stop])


def _after_start(function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
    """Deal the rows evenly to two ranks, and as a function says to any other number."""
    return lambda rows, size: [0, rows // 2, rows] if size == 2 else function(rows, size)


main()
