"""A job of two loops that saves its state, and may lose a rank or a process.

Words: a JSON object with settings of the World, and "die" (the step at which rank 1 is killed),
"archive" (a file that is saved in the last step of the first loop) and "seed".
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

from freestone import malleable

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.malleable.program import arrays, is_same

ROWS = 101


def main() -> None:
    """Run the job, and print its steps and its result."""
    settings = json.loads(sys.argv[1])
    die, archive = settings.pop("die", None), settings.pop("archive", None)
    settings["targets"] = {int(step): n for step, n in settings.pop("targets", {}).items()}
    whole = arrays(settings.pop("seed", 1), ROWS)
    steps: list[int] = []
    with malleable.World(rows=ROWS, **settings) as world:
        constants = {name: world.constant(name, rows_of(value)) for name, value in whole.items()}
        x = world.variable("x", lambda start, stop: np.arange(start, stop, dtype=float))
        entries = world.variable("entries", rows_of(whole["matrix"]))
        total = world.replicated("total", 0.0)
        scale = world.once(lambda: float(world.comm.allreduce(2)) / world.size)
        for loop in range(2):
            if loop == 1:
                scale = world.once(functools.partial(float, scale + 1))
            for step in world.steps(12):
                if die == [loop, step]:
                    if world.rank == world.size - 1:
                        os.kill(os.getpid(), signal.SIGKILL)
                    world.comm.Barrier()
                for name, array in constants.items():
                    assert is_same(array.local, whole[name], array.start, array.stop), name
                x.local[...] = (x.local * scale + step) % 1009
                entries.local.data[...] += 1
                total.value += world.comm.allreduce(float(x.local.sum()))
                steps.append(12 * loop + step)
                if archive and (loop, step) == (0, 11):
                    world.save(archive)
        rows = world.comm.gather(x.local)
        values = world.comm.gather(entries.local.data)
        outcome = {"steps": steps, "total": total.value, "ranks": world.size}
        outcome |= {"saved": [one.step for one in world.saved]}
        outcome |= {"errors": [one.error for one in world.saved]}
        is_first = world.rank == 0
    if is_first:
        whole_x, whole_values = (np.concatenate(all_of).tolist() for all_of in (rows, values))
        print(json.dumps({**outcome, "x": whole_x, "values": whole_values}))


def rows_of(whole: Any) -> Any:
    """Return what loads rows of an array."""
    return lambda start, stop: whole[start:stop]


main()
