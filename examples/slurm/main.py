"""Sum up a table again and again, on as many processes as Slurm has room for.

Hand it in with ``sbatch examples/slurm/job.sh``; it prints at each resize how many processes there
are, and on which nodes. Decisions are in ``decisions-JOB.jsonl``.
"""

from __future__ import annotations

import argparse
import os
import socket
import time

import numpy as np

from freestone import malleable
from freestone.malleable.slurm import Slurm


def main() -> None:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--most", type=int, default=4, help="processes at most, 4")
    parser.add_argument("--per-node", type=int, default=2, help="processes of a node, 2")
    parser.add_argument("--look", type=float, default=5.0, help="seconds between two looks, 5")
    parser.add_argument("--saves", help="the file of the job's state")
    options = parser.parse_args()
    node = os.environ.get("SLURMD_NODENAME", socket.gethostname())
    log = f"decisions-{os.environ['SLURM_JOB_ID']}.jsonl"
    slurm = Slurm(options.most, options.per_node, every_s=options.look, log=log)
    with malleable.World(
        rows=100_000,
        targets=slurm,
        saves=options.saves,
        save_every=options.saves and 500,
    ) as world:
        table = world.constant("table", lambda a, b: np.arange(a, b, dtype=float))
        began = world.once(time.time)
        for _ in world.steps(1_000_000_000):
            total = world.comm.allreduce(float(table.local.sum()))
            if world.changed:
                nodes = ", ".join(sorted(set(world.comm.allgather(node))))
                if world.rank == 0:
                    print(f"{world.size} processes on {nodes}, sum {total:.0f}", flush=True)
            is_over = world.comm.bcast(time.time() - began > options.seconds)
            if is_over:
                break
            time.sleep(0.01)
    if world.rank == 0:
        print(f"ended with {world.size} processes after {len(world.resizes)} resizes")


if __name__ == "__main__":
    main()
