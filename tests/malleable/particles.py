"""A job whose particles come and go, each with a position, a row of a matrix and a weight.

Words: a JSON object with "resizes" ([size, method] each), "steps", and settings of the World.
Every step checks each particle; the result is what one process would have.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from freestone import malleable

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.malleable.program import Sequence

BEGIN = np.arange(1, 301)


def positions(ids: Any) -> Any:
    """Return where particles are, who never move."""
    return np.sin(np.multiply.outer(ids, [1.0, 2.0, 3.0]))


def links(ids: Any) -> Any:
    """Return a row of a matrix for each particle, with none to three non-zeros."""
    pairs = [(row, column) for row, one in enumerate(ids) for column in range(int(one) % 4)]
    rows, columns = np.array(pairs, int).reshape(-1, 2).T
    values = np.asarray(ids, float)[rows]
    return scipy.sparse.csr_array((values, (rows, columns)), shape=(len(ids), 5))


def weights(ids: Any) -> Any:
    """Return how much work each particle is."""
    return 1.0 + ids % 10


def after(ids: Any, step: int) -> Any:
    """Return the particles that are left after a step, and those that were born in it."""
    left = ids[(ids * 7 + step) % 11 != 0]
    born = ids[(ids * 5 + step) % 9 == 0]
    return np.concatenate([left, born % 1000 + 1000 * (step + 1)])


def main() -> None:
    """Run the job, and print what became of it on rank 0."""
    settings = json.loads(sys.argv[1])
    steps, rebalance = settings.pop("steps"), settings.pop("rebalance", None)
    pause_s = settings.pop("pause_s", 0.0)
    targets = Sequence(settings.pop("resizes", []))
    spread: list[float] = []
    with malleable.World(rows=len(BEGIN), targets=targets, **settings) as world:
        ids = world.variable("ids", lambda start, stop: BEGIN[start:stop])
        place = world.variable("place", lambda start, stop: positions(BEGIN[start:stop]))
        matrix = world.variable("matrix", lambda start, stop: links(BEGIN[start:stop]))
        cost = world.variable("cost", lambda start, stop: weights(BEGIN[start:stop]))
        fixed = world.constant("fixed", lambda start, stop: np.arange(start, stop))
        for step in world.steps(steps):
            mine = ids.local
            assert np.array_equal(place.local, positions(mine))
            assert (matrix.local != links(mine)).nnz == 0
            assert np.array_equal(cost.local, weights(mine))
            assert np.array_equal(fixed.local, np.arange(fixed.start, fixed.stop))
            loads = world.comm.allgather(float(cost.local.sum()))
            spread.append(max(loads) * world.size / sum(loads))
            time.sleep(pause_s)
            if step == rebalance:
                world.rebalance()
            if step % 2 == 0:
                new = after(mine, step)
                world.replace(
                    {ids: new, place: positions(new), matrix: links(new), cost: weights(new)}
                )
        found = world.comm.gather(ids.local)
        records = [record.as_dict() for record in world.resizes]
        outcome = {"records": records, "spread": spread, "ranks": world.size}
        is_first = world.rank == 0
    if is_first:
        outcome["ids"] = sorted(np.concatenate(found).tolist())
        print(json.dumps(outcome))


if __name__ == "__main__":
    main()
