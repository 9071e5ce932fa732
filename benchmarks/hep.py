"""The turns of `benchmarks.stacks` and `benchmarks.reduction`: the paper's analyses."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import numpy as np

import freestone as fs
from benchmarks.dask_graphs import DATA

STEPS: dict[str, dict[str, Any]] = {
    "by the program": {"retain": False, "resident": False, "hoist": False},
    "retained": {"resident": False, "hoist": False, "tree": False, "fuse": False},
    "resident": {"isolation": "fork", "hoist": False, "tree": False, "fuse": False},
    "hoisted": {"isolation": "fork", "tree": False, "fuse": False},
    "tree": {"isolation": "fork", "fuse": False},
    "all": {},
}
"""Options of `cluster.get`, each row one step further."""

BINS = 1000
DISTINCT = 40
"""Files that are made; further ones are these under other names."""


def measure_step(step: str, files: int) -> dict[str, Any]:
    """Time DV3, one task a file and one that adds up, with the options of a step."""
    from coffea.processor import accumulate

    from examples.dv3.__main__ import mistakes
    from examples.dv3.analysis import results_of_file
    from examples.dv3.samples import make_samples

    warnings.simplefilter("ignore")
    source = DATA / "pfnano.root"
    if not source.is_file():
        return {"absent": f"{source.name} is not there: name its folder in FREESTONE__TEST_DATA"}
    with tempfile.TemporaryDirectory() as folder, fs.Cluster(executors=2) as cluster:
        made = make_samples(source, Path(folder), files=min(files, DISTINCT), events=5)
        samples = [under_other_name(made[i % DISTINCT], i // DISTINCT) for i in range(files)]
        analyse = dask.delayed(results_of_file, pure=True)
        parts = [analyse(sample.path, sample.dataset) for sample in samples]
        total = dask.delayed(accumulate, pure=True)(parts)
        start = time.perf_counter()
        result = total.compute(scheduler=cluster.get, **STEPS[step])
        seconds = time.perf_counter() - start
        problems = mistakes(samples, result)
        if problems:
            raise AssertionError(problems)
    return {"seconds": seconds, "tasks": files + 1}


def under_other_name(sample: Any, copy: int) -> Any:
    """Give a file one more name, so that a task on it is another task; the first has its own."""
    if not copy:
        return sample
    path = f"{sample.path.removesuffix('.root')}-{copy}.root"
    os.link(sample.path, path)
    return dataclasses.replace(sample, path=path)


def mass_table(path: str) -> Any:
    """Count events of a file by the largest mass of a pair and of a triple, in a fine table."""
    import awkward as ak

    from examples.triphoton.analysis import masses_of, skim

    events = skim(path)
    largest = [ak.to_numpy(ak.max(masses_of(events, count), axis=1)) for count in (2, 3)]
    # Counted to the last event: what is beyond the table is in its last bin.
    places = [np.minimum(mass, 999).astype(np.int64) * BINS // 1000 for mass in largest]
    return np.bincount(places[0] * BINS + places[1], minlength=BINS**2).reshape(BINS, BINS)


def add_up(tables: list[Any]) -> Any:
    """Add tables up."""
    total = tables[0].copy()
    for table in tables[1:]:
        total += table
    return total


fs.graph.associative(add_up, commutes=True)


class Watcher:
    """Looks again and again at what each worker holds, and keeps the most."""

    def __init__(self, cluster: fs.Cluster) -> None:
        self._cluster, self._ended = cluster, threading.Event()
        self.peaks: dict[str, int] = {}
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.002):
            for worker in self._cluster.statistics().workers:
                self.peaks[worker.worker] = max(self.peaks.get(worker.worker, 0), worker.nbytes)


def in_pairs(level: list[Any]) -> Any:
    """Add lazy tables up in a binary tree, as the paper's Figure 11 has it."""
    combine = dask.delayed(add_up, pure=True)
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [combine(level[i : i + 2]) for i in range(0, len(level) - 1, 2)] + odd
    return level[0]


def measure_way(way: str, files: int, workers: int) -> dict[str, Any]:
    """Time the reduction of one table a file, and take the peak of each worker's cache."""
    from examples.triphoton.samples import make_samples

    warnings.simplefilter("ignore")
    source = DATA / "nano_tree.root"
    if not source.is_file():
        return {"absent": f"{source.name} is not there: name its folder in FREESTONE__TEST_DATA"}
    with (
        tempfile.TemporaryDirectory() as folder,
        fs.Cluster(workers=workers, executors=1, memory="2GiB") as cluster,
    ):
        samples = make_samples(source, Path(folder), files=files, events=200)
        tables = [dask.delayed(mass_table, pure=True)(sample.path) for sample in samples]
        total = in_pairs(tables) if way == "tree" else dask.delayed(add_up, pure=True)(tables)
        options = {"tree": way == "by place", "fuse": False}
        start = time.perf_counter()
        with Watcher(cluster) as watcher:
            counts = total.compute(scheduler=cluster.get, **options)
        seconds = time.perf_counter() - start
        if counts.sum() != sum(sample.events for sample in samples):
            raise AssertionError(f"{counts.sum()} events in the sum")
    return {"seconds": seconds, "peak": max(watcher.peaks.values()), "table": counts.nbytes}
