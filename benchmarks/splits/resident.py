"""What an iteration over resident partitions costs when the kernel does nothing."""

from __future__ import annotations

import statistics
import time
from typing import Any

import freestone as fs
from benchmarks.splits import cases
from examples.data import uniform

BLOCK_ROWS = 8


@fs.task(pure=False)
def look(partition: Any, iteration: int) -> int:
    """Do nothing with the blocks."""
    return iteration


def larger(left: int, right: int) -> int:
    """Combine two results."""
    return max(left, right)


def freestone(blocks: int, iterations: int) -> dict[str, Any]:
    """Time iterations: a call per partition, a reduction, a result."""
    with fs.Cluster(executors=cases.CORES):
        points = uniform((blocks * BLOCK_ROWS, 2), BLOCK_ROWS).persist()
        start = time.perf_counter()
        partitions = fs.split(points)
        split_s = time.perf_counter() - start

        def iterate(number: int) -> None:
            found = fs.reduce(
                larger, [look(part, number) for part in partitions], commutes=True
            ).result()
            if found != number:
                raise ValueError(f"iteration {number} gave {found}")

        for number in range(5):
            iterate(number)
        samples = []
        for number in range(5, iterations + 5):
            start = time.perf_counter()
            iterate(number)
            samples.append(time.perf_counter() - start)
    return {"split_s": split_s, "iteration_s": statistics.median(samples)}


def dask(blocks: int, iterations: int) -> dict[str, Any]:
    """Time the same on Dask, where partitions are futures."""
    from distributed import Client, LocalCluster

    from benchmarks.splits.dask import made
    from examples.data import draw

    workers = {"n_workers": cases.CORES, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        client.wait_for_workers(cases.CORES)
        shape = (blocks * BLOCK_ROWS, 2)
        points = made(client, lambda start, stop: draw(0, 2, start, stop), shape, blocks)
        start = time.perf_counter()
        partitions = fs.split(points.array)
        split_s = time.perf_counter() - start
        samples = []
        for number in range(5 + iterations):
            start = time.perf_counter()
            found = client.map(look.function, partitions, [number] * len(partitions), pure=False)
            client.submit(max, found, pure=False).result()
            samples.append(time.perf_counter() - start)
    return {"split_s": split_s, "iteration_s": statistics.median(samples[5:])}
