"""The standard library's shared memory, attached by name in the processes of a pool."""

from __future__ import annotations

import multiprocessing
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np

from benchmarks.holders.arrays import Array, Cases, bandwidth, clock, make, size_name, witness


def measure(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Put arrays of all sizes and attach them in both processes."""
    cases: Cases = {}
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
        for seed, nbytes in enumerate(sizes):
            array = make(nbytes, seed)
            seconds, segment = clock(partial(put, array))
            calls = [pool.submit(attach, segment.name, nbytes, seed) for _ in range(4 * repeats)]
            found = [call.result() for call in calls]
            segment.close()
            segment.unlink()
            cases[f"map {size_name(nbytes)}"] = statistics.median(s for _, s in found) * 1e6, "us"
            cases["put"] = bandwidth(nbytes, seconds)
    return {"cases": cases, "processes": len({process for process, _ in found})}


def put(array: Array) -> SharedMemory:
    """Copy an array into a new segment."""
    segment = SharedMemory(create=True, size=array.nbytes)
    np.copyto(np.ndarray(array.shape, array.dtype, segment.buf), array)
    return segment


def attach(name: str, nbytes: int, seed: int) -> tuple[int, float]:
    """Attach a segment as an array; this process and the seconds it took."""
    start = time.perf_counter()
    segment = SharedMemory(name=name)
    array: Array = np.ndarray(nbytes // 8, np.int64, segment.buf)
    seconds = time.perf_counter() - start
    found = witness(seconds, array, nbytes, seed)
    del array
    segment.close()
    return found
