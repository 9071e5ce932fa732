"""Dask: a task per block, `rechunk`, and `fs.split` on a plain Dask cluster.

The tasks are those of `examples`, so that only the engines differ. Blocks are futures, the
cheapest way to a task per block; partitions are those of `fs.split` on Dask's arrays, and results
are merged in groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, futures_of, wait

from benchmarks.splits import cases, tasks

GROUP = 50


class Blocks:
    """A persisted array: its blocks as futures, and where each begins."""

    def __init__(self, client: Client, array: Any) -> None:
        self.client = client
        self.array = array.persist()
        wait(self.array)
        by_key = {future.key: future for future in futures_of(self.array)}
        keys = [key for row in self.array.__dask_keys__() for key in _flat(row)]
        self.futures = [by_key[key] for key in keys]
        rows = (0, *np.cumsum(self.array.chunks[0]).tolist())
        self.runs = [range(start, stop) for start, stop in pairwise(rows)]

    def rechunked(self) -> Blocks:
        """Return the same rows in one block per core."""
        rows = cases.block_rows(self.array.shape[0], cases.CORES)
        return Blocks(self.client, self.array.rechunk((rows, *self.array.shape[1:])))


def _flat(keys: Any) -> Sequence[Any]:
    return keys if isinstance(keys, list) else [keys]


def made(client: Client, function: Any, shape: tuple[int, ...], blocks: int) -> Blocks:
    """Make an array on the workers by a function of first and last row."""
    rows = cases.block_rows(shape[0], blocks)

    def block(block_info: Any = None) -> Any:
        start, stop = block_info[None]["array-location"][0]
        return function(start, stop)

    chunks = (rows, *shape[1:])
    sizes = da.core.normalize_chunks(chunks, shape, dtype=float)
    return Blocks(client, da.map_blocks(block, chunks=sizes, dtype=float, meta=np.empty((0,))))


def grouped(client: Client, merge: Any, parts: list[Any]) -> Any:
    """Merge futures in groups, level by level, and return the value."""
    while len(parts) > 1:
        groups = [parts[start : start + GROUP] for start in range(0, len(parts), GROUP)]
        parts = client.map(merge, groups, pure=False)
    return parts[0].result()


def measure(application: str, blocks: int, quick: bool) -> dict[str, Any]:
    """Measure all variants at so many blocks in all."""
    workers = {"n_workers": cases.CORES, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        client.wait_for_workers(cases.CORES)
        found = {}
        make = tasks.MAKERS[application]
        warm = make(client, cases.WARM_ROWS, cases.WARM_BLOCKS, cases.WARM_SEED)
        run = make(client, cases.rows_of(application, quick), blocks, 0)
        for variant in ("blocks", "rechunk", "split", "materialize"):
            warm(variant)
            found[variant] = cases.seconds_of(partial(run, variant))
    return {"cases": found}
