"""The plain way: all ranks are there from the start, and Alltoallv moves even blocks.

Words: NS, NT, bytes, times, and "p2p" for messages of the rows that have to move, and no others.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from mpi4py import MPI


def bounds(total: int, places: int, size: int) -> list[int]:
    """Return where the block of each rank begins; those without one have none."""
    return [total * min(place, places) // places for place in range(size + 1)]


def moving(comm: MPI.Comm, nbytes: int, sources: int, targets: int) -> float:
    """Return how long it takes the rows of `sources` ranks to be those of `targets`.

    One of two is twice the other: where there are more ranks each even one has a half of its rows
    sent to the next one, and else gets that one's.
    """
    few, share = min(sources, targets), nbytes // max(sources, targets)
    grows = targets > sources
    is_even, other = comm.rank % 2 == 0, comm.rank ^ 1
    rows = np.ones(share if is_even == grows else 0, np.uint8)
    comm.Barrier()
    begin = time.perf_counter()
    if comm.rank < 2 * few:
        if is_even == grows:
            comm.Isend(rows, other).Wait()
        else:
            comm.Irecv(np.empty(share, np.uint8), other).Wait()
    comm.Barrier()
    return time.perf_counter() - begin


def main() -> None:
    """Move the blocks some times, always into fresh memory, and say how long each took."""
    sources, targets, nbytes, times = (int(word) for word in sys.argv[1:5])
    comm = MPI.COMM_WORLD
    old, new = bounds(nbytes, sources, comm.size), bounds(nbytes, targets, comm.size)
    mine = np.ones(old[comm.rank + 1] - old[comm.rank], np.uint8)

    def words(here: list[int], there: list[int]) -> tuple[list[int], list[int]]:
        first, last = here[comm.rank], here[comm.rank + 1]
        cuts = [(max(first, there[r]), min(last, there[r + 1])) for r in range(comm.size)]
        counts = [max(0, b - a) for a, b in cuts]
        return counts, [max(0, a - first) for a, _ in cuts]

    if sys.argv[5:] == ["p2p"]:
        moved = [moving(comm, nbytes, sources, targets) for _ in range(times)]
        if comm.rank == 0:
            print(json.dumps(moved))
        return
    found = []
    for _ in range(times):
        comm.Barrier()
        begin = time.perf_counter()
        target = np.empty(new[comm.rank + 1] - new[comm.rank], np.uint8)
        send, receive = words(old, new), words(new, old)
        comm.Alltoallv([mine, send, MPI.BYTE], [target, receive, MPI.BYTE])
        comm.Barrier()
        found.append(time.perf_counter() - begin)
        del target
    if comm.rank == 0:
        print(json.dumps(found))


if __name__ == "__main__":
    main()
