"""A job under Slurm that checks its data at every step, until its folder has a file "stop".

Words: --saves, the file of its state, and a JSON object with parameters of `Slurm`. It writes
"places", the nodes of its ranks after each start and resize. If its folder has a file "kill", the
last rank kills itself.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from freestone import malleable
from freestone.malleable.slurm import Slurm

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.malleable.program import arrays, is_same

ROWS = 101


def rows_of(whole: Any) -> Any:
    """Return what loads rows of an array."""
    return lambda start, stop: whole[start:stop]


def main() -> None:
    """Run the job."""
    _, saves, settings = sys.argv[1:]
    folder = Path.cwd()
    source = Slurm(**json.loads(settings), log="log.jsonl")
    whole = arrays(1, ROWS)
    with malleable.World(rows=ROWS, targets=source, saves=saves, save_every=5) as world:
        held = {name: world.constant(name, rows_of(value)) for name, value in whole.items()}
        x = world.variable("x", lambda start, stop: np.arange(start, stop, dtype=float))
        places = world.replicated("places", [])
        is_new = not world.is_joining
        for step in world.steps(1_000_000):
            for name, array in held.items():
                assert is_same(array.local, whole[name], array.start, array.stop), name
            assert np.array_equal(x.local, np.arange(x.start, x.stop) + step)
            x.local[...] += 1
            if world.comm.allreduce(is_new or world.changed):
                is_new = False
                its = world.comm.allgather(os.environ["SLURMD_NODENAME"])
                places.value = [*places.value, sorted(its)]
                if world.rank == 0:
                    write(folder / "places", json.dumps(places.value))
            names = world.comm.bcast(os.listdir(folder))
            if "kill" in names and world.rank == world.size - 1:
                (folder / "kill").unlink()
                os.kill(os.getpid(), signal.SIGKILL)
            if "stop" in names:
                break
            # As long as a step of a real program takes.
            time.sleep(0.01)


def write(path: Path, text: str) -> None:
    """Write a file that nobody sees half of."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


main()
