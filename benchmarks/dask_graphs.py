"""One scheduler's turn in a round of `benchmarks.graphs`: the same Dask graphs."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks.common import ROOT

WORKERS = 2
SCHEDULERS = ("freestone", "dask.distributed", "threads", "processes")
DATA = Path(os.environ.get("FREESTONE__TEST_DATA", ROOT.parent / "shared" / "data"))


@contextlib.contextmanager
def scheduler(name: str) -> Iterator[Any]:
    """Start two single-threaded workers and give what `compute(scheduler=...)` takes."""
    if name == "freestone":
        import freestone as fs

        with fs.Cluster(workers=1, executors=WORKERS) as cluster:
            yield cluster.get
    elif name == "dask.distributed":
        from distributed import Client, LocalCluster

        with (
            LocalCluster(WORKERS, threads_per_worker=1, dashboard_address=None) as local,
            Client(local) as client,
        ):
            yield client
    else:
        with dask.config.set(num_workers=WORKERS):
            yield name


def increment(number: int) -> int:
    """Add one."""
    return number + 1


def add(one: int, other: int) -> int:
    """Add two numbers."""
    return one + other


def histogram(seed: int, chunks: int) -> Any:
    """Count random numbers in bins: 10,000 a chunk."""
    values = da.random.RandomState(seed).random_sample(10_000 * chunks, chunks=10_000)
    return da.histogram(values, bins=100, range=(0, 1))[0]


def product(seed: int, side: int) -> Any:
    """Multiply two matrices in blocks of 500 x 500 and sum up."""
    state = da.random.RandomState(seed)
    left, right = (state.random_sample((side, side), chunks=500) for _ in range(2))
    return (left @ right).sum()


def delayed(seed: int, tasks: int) -> Any:
    """Make numbers and add them up in pairs, each a task that does next to nothing."""
    make, combine = dask.delayed(increment), dask.delayed(add)
    level = [make(number) for number in range(seed, seed + tasks // 2)]
    while len(level) > 1:
        odd = level[len(level) & ~1 :]
        level = [combine(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)] + odd
    return level[0]


class Physics:
    """DV3 on resampled files, which are made before the clock starts."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def __call__(self, seed: int, files: int) -> Any:
        """Describe the analysis of some files; all its results in one delayed object."""
        from examples.dv3.analysis import lazy_results
        from examples.dv3.samples import make_samples

        made = make_samples(DATA / "pfnano.root", self.folder, files=files, seed=seed)
        paths: dict[str, list[str]] = {}
        for sample in made:
            paths.setdefault(sample.dataset, []).append(sample.path)
        return lazy_results(paths)


SIZES = {"histogram": 1000, "product": 4000, "delayed": 20_000, "dv3": 60}
QUICK = {"histogram": 300, "product": 1500, "delayed": 2_000, "dv3": 12}


def cases(folder: str) -> dict[str, Callable[[int, int], Any]]:
    """Give the cases by name; DV3 only where its data are."""
    found: dict[str, Callable[[int, int], Any]] = {
        "histogram": histogram,
        "product": product,
        "delayed": delayed,
    }
    if (DATA / "pfnano.root").is_file():
        found["dv3"] = Physics(folder)
    return found


def timed(collection: Any, how: Any) -> float:
    """Return the seconds that computing takes."""
    start = time.perf_counter()
    dask.compute(collection, scheduler=how)
    return time.perf_counter() - start


def measure(scheduler_name: str, quick: bool) -> dict[str, Any]:
    """Measure each case once, after one of half the size, so that all is imported everywhere."""
    warnings.simplefilter("ignore")
    sizes = QUICK if quick else SIZES
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, scheduler(scheduler_name) as how:
        for name, make in cases(folder).items():
            timed(make(1, sizes[name] // 2), how)
            found[name] = {"seconds": timed(make(2, sizes[name]), how), "size": sizes[name]}
    return {"cases": found, "numpy": np.__version__}
