"""How long it takes to plan the partitions of 100,000 blocks on 100 workers."""

from __future__ import annotations

import json
import statistics
import time

import numpy as np

from freestone.partitions.planning import Holders, assign, plan

BLOCKS, WORKERS, SLOTS = 100_000, 100, 8


def measure(most_replicas: int, repeats: int = 7) -> float:
    """Return the median seconds to plan blocks with up to so many replicas each."""
    random = np.random.default_rng(0)
    counts = random.integers(1, most_replicas + 1, BLOCKS)
    starts = np.concatenate(([0], np.cumsum(counts)))
    holders = Holders(starts, random.integers(0, WORKERS, starts[-1]))
    nbytes = random.integers(1, 1 << 20, BLOCKS)
    slots = dict.fromkeys(range(WORKERS), SLOTS)
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        plan(assign(holders, nbytes, slots), nbytes, slots, "core")
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


if __name__ == "__main__":
    figures = {f"up to {replicas} replicas": measure(replicas) for replicas in (1, 2, 3)}
    print(json.dumps({"blocks": BLOCKS, "workers": WORKERS, "seconds": figures}, indent=2))
