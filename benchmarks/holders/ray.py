"""Ray's object stores: two nodes on this machine, each with its own."""

from __future__ import annotations

import statistics
import time
from functools import partial
from typing import Any

import ray
from ray.cluster_utils import Cluster

from benchmarks.holders.arrays import (
    Array,
    Cases,
    bandwidth,
    clock,
    ends,
    make,
    size_name,
    witness,
)

STORE_NBYTES = 4 * 2**30


def measure(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Put arrays, get them in both workers of a node, and send them to the other node."""
    cluster = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 2,
            "resources": {"source": 2},
            "object_store_memory": STORE_NBYTES,
            "include_dashboard": False,
        },
    )
    cluster.add_node(num_cpus=1, resources={"target": 1}, object_store_memory=STORE_NBYTES)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    try:
        cases: Cases = {}
        for seed, nbytes in enumerate(sizes):
            cases.update(put_and_get(nbytes, seed, repeats))
        return {"cases": {**cases, **send(max(sizes), repeats)}}
    finally:
        ray.shutdown()
        cluster.shutdown()


def put_and_get(nbytes: int, seed: int, repeats: int) -> Cases:
    """Measure putting an array, and getting it in workers of the node that has it."""
    array = make(nbytes, seed)
    get = ray.remote(get_inside).options(resources={"source": 1})
    seconds, reference = clock(partial(ray.put, array))
    found = ray.get([get.remote([reference], nbytes, seed) for _ in range(4 * repeats)])
    return {
        f"map {size_name(nbytes)}": (statistics.median(s for _, s in found) * 1e6, "us"),
        "put": bandwidth(nbytes, seconds),
    }


def get_inside(references: list[Any], nbytes: int, seed: int) -> tuple[int, float]:
    """Get an array; this process and the seconds it took."""
    start = time.perf_counter()
    array: Array = ray.get(references[0])
    return witness(time.perf_counter() - start, array, nbytes, seed)


def send(nbytes: int, repeats: int) -> Cases:
    """Measure a call on the other node with an array that the first one holds."""
    produce = ray.remote(make).options(resources={"source": 1})
    consume = ray.remote(ends).options(resources={"target": 1})
    samples = []
    for seed in range(1, repeats + 1):
        reference = produce.remote(nbytes, seed)
        ray.wait([reference], fetch_local=False)
        start = time.perf_counter()
        if not ray.get(consume.remote(reference, nbytes, seed)):
            raise ValueError("the array is not what was sent")
        samples.append(time.perf_counter() - start)
        del reference
    return {
        "send, first": bandwidth(nbytes, samples[0]),
        "send": bandwidth(nbytes, statistics.median(samples[1:] or samples)),
    }
