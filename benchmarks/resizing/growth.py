"""A job that is resized often: what rank 0 holds meanwhile.

Words: resizes. It prints, after each of them, the descriptors, the threads and the KiB of resident
memory of rank 0.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

from freestone import malleable
from freestone.malleable import Request, Source, Status

ROWS, WIDTH = 100_000, 22


class Turns(Source):
    """Three processes and two, in turn."""

    def __init__(self, resizes: int) -> None:
        self._resizes = resizes

    def ask(self, status: Status) -> Request | None:
        """Return the next size."""
        return Request(5 - status.size) if status.resizes < self._resizes else None

    def agreed(self) -> str:
        """Return how many."""
        return str(self._resizes)


def held() -> tuple[int, int, int]:
    """Return descriptors, threads and KiB of resident memory of this process."""
    status = Path("/proc/self/status").read_text().splitlines()
    numbers = {line.split()[0]: line.split()[1] for line in status if len(line.split()) > 1}
    return len(os.listdir("/proc/self/fd")), int(numbers["Threads:"]), int(numbers["VmRSS:"])


def main() -> None:
    """Go through the resizes."""
    resizes = int(sys.argv[1])
    found = []
    with malleable.World(rows=ROWS, method="merge-p2p-sync", targets=Turns(resizes)) as world:
        x = world.variable("x", lambda start, stop: np.ones((stop - start, WIDTH)))
        for _ in world.steps(1_000_000):
            if world.changed and world.resizes:
                found.append(held())
            x.local[...] += 1
            if len(world.resizes) == resizes:
                break
    if world.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
