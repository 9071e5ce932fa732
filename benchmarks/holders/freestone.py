"""Freestone: blocks in a node's cache, mapped by its executors, sent to another worker's."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import freestone as fs
from benchmarks.holders.arrays import (
    Cases,
    Now,
    bandwidth,
    clock,
    ends,
    make,
    since,
    size_name,
)


def measure(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Put blocks, map them in both executors of a worker, and send them to another worker."""
    cases: Cases = {}
    processes: set[int] = set()
    with fs.Cluster(workers=1, executors=2) as cluster:
        for seed, nbytes in enumerate(sizes):
            found, ran_in = put_and_map(cluster, nbytes, seed, repeats)
            cases.update(found)
            processes |= ran_in
    with fs.Cluster(workers=2, executors=1) as cluster:
        cases.update(send(cluster, max(sizes), repeats))
    return {"cases": cases, "processes": len(processes)}


def put_and_map(
    cluster: fs.Cluster, nbytes: int, seed: int, repeats: int
) -> tuple[Cases, set[int]]:
    """Measure putting a block, and mapping it in executors, each call anew.

    Inputs are loaded in the order of the arguments, so the clock of the first starts when the
    second is about to be mapped.
    """
    array = make(nbytes, seed)
    seconds, block = clock(partial(cluster.put, array))
    now = cluster.put(Now())
    submit = partial(cluster.submit, since, pure=False)
    found = cluster.gather([submit(now, block, nbytes, seed) for _ in range(4 * repeats)])
    read, _ = clock(block.result)
    cases: Cases = {
        f"map {size_name(nbytes)}": (statistics.median(s for _, s in found) * 1e6, "us"),
        f"result {size_name(nbytes)}": (read * 1e6, "us"),
        "put": bandwidth(nbytes, seconds),
    }
    return cases, {process for process, _ in found}


def send(cluster: fs.Cluster, nbytes: int, repeats: int) -> Cases:
    """Measure a call on one worker with a block that the other one made."""
    samples = []
    for seed in range(1, repeats + 1):
        block = cluster.submit(make, nbytes, seed, worker=0)
        cluster.wait([block])
        start = time.perf_counter()
        if not cluster.submit(ends, block, nbytes, seed, worker=1).result():
            raise ValueError("the array is not what was sent")
        samples.append(time.perf_counter() - start)
        del block
    return {
        "send, first": bandwidth(nbytes, samples[0]),
        "send": bandwidth(nbytes, statistics.median(samples[1:] or samples)),
    }
