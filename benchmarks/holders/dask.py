"""dask.distributed: arrays in the memory of two workers; nothing is shared between processes."""

from __future__ import annotations

import statistics
import time
from typing import Any

from distributed import Client, LocalCluster, wait

from benchmarks.holders.arrays import Cases, bandwidth, ends, make


def measure(sizes: list[int], repeats: int) -> dict[str, Any]:
    """Send arrays from one worker to the other."""
    nbytes = max(sizes)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        source, target = client.scheduler_info()["workers"]
        samples = []
        for seed in range(1, repeats + 1):
            array = client.submit(make, nbytes, seed, workers=[source], pure=False)
            wait(array)
            start = time.perf_counter()
            sent = client.submit(ends, array, nbytes, seed, workers=[target], pure=False)
            if not sent.result():
                raise ValueError("the array is not what was sent")
            samples.append(time.perf_counter() - start)
            del array, sent
    cases: Cases = {
        "send, first": bandwidth(nbytes, samples[0]),
        "send": bandwidth(nbytes, statistics.median(samples[1:] or samples)),
    }
    return {"cases": cases}
