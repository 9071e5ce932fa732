"""Sum up a table again and again, on as many processes as a scheduler says.

``mpiexec -n 1 python -m mpi4py examples/scheduler/main.py /tmp/scheduler.sock first``
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from freestone import malleable


def main() -> None:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", help="path of the scheduler's socket, or host:port")
    parser.add_argument("job", help="the job's name")
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    targets = malleable.Scheduler(options.address, options.job)
    with malleable.World(rows=100_000, targets=targets) as world:
        table = world.constant("table", lambda a, b: np.arange(a, b, dtype=float))
        began = world.once(time.time)
        for _ in world.steps(1_000_000_000):
            total = world.comm.allreduce(float(table.local.sum()))
            if world.changed and world.rank == 0:
                print(f"{options.job}: {world.size} processes, sum {total:.0f}", flush=True)
            if world.comm.bcast(time.time() - began > options.seconds):
                break
            time.sleep(0.01)


if __name__ == "__main__":
    main()
