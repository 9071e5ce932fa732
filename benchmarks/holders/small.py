"""What a call on a small block costs: the processor time of all processes of a cluster together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

import freestone as fs
from benchmarks.holders.arrays import Array, make

WARM_UP = 3
"""A block that a third call needs stays mapped in an executor."""


def total(array: Array) -> int:
    """Add the elements: little work, by NumPy."""
    return int(array.sum())


def grown(array: Array) -> NDArray[np.int64]:
    """Return as large an array: it becomes a block of its own, where it is no small result."""
    return array + 1


def read_all(cluster: fs.Cluster, blocks: Sequence[Any]) -> None:
    """Call `total` on each of some blocks."""
    cluster.gather(cluster.map(total, blocks, pure=False))


def grow_all(cluster: fs.Cluster, blocks: Sequence[Any]) -> None:
    """Make a block of each of some blocks, and read it."""
    read_all(cluster, cluster.map(grown, blocks, pure=False))


def processor_us(action: Callable[[], Any], repeats: int, calls: int) -> float:
    """Return the microseconds of processor time, of this process and its children, of each call.

    Linux counts them in hundredths of a second for each process.
    """
    here = psutil.Process()
    processes = [here, *here.children(recursive=True)]

    def now() -> float:
        times = [process.cpu_times() for process in processes]
        return sum(each.user + each.system for each in times)

    before = now()
    for _ in range(repeats):
        action()
    return (now() - before) / (repeats * calls) * 1e6


def plain_us(arrays: Sequence[Array], repeats: int) -> float:
    """Return the processor time of each call of `total` without a cluster, in microseconds."""
    start = time.process_time()
    for _ in range(repeats):
        for array in arrays:
            total(array)
    return (time.process_time() - start) / (repeats * len(arrays)) * 1e6


def measure(sizes: list[int], count: int, repeats: int) -> dict[str, Any]:
    """Call `total` on each of `count` blocks of each size, again and again, and `grown` once more.

    Returns the processor time of a call of `total` without that of the same calls in one process,
    and of a call that makes a block and one that reads it, in microseconds, by the size in bytes.
    """
    read, made = {}, {}
    with fs.Cluster(workers=1, executors=2) as cluster:
        for nbytes in sizes:
            blocks = cluster.map(make, [nbytes] * count, range(count))
            cluster.wait(blocks)
            look = partial(read_all, cluster, blocks)
            for _ in range(WARM_UP):
                look()
            own = plain_us([make(nbytes, seed) for seed in range(count)], repeats)
            read[nbytes] = processor_us(look, repeats, count) - own
            made[nbytes] = processor_us(partial(grow_all, cluster, blocks), repeats, count)
    return {"read": read, "made": made}
