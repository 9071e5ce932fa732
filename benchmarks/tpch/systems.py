"""One system's turn in a round of `benchmarks.frames`: the queries on tables in its memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tpch.data import load

__all__ = ["measure"]

EXECUTORS = 2
Runner = Callable[[str], Any]


@contextmanager
def polars(folder: Path, scale: float) -> Iterator[Runner]:
    """Run on one process with a thread per core."""
    from benchmarks.tpch.queries import QUERIES

    tables = {name: table.lazy() for name, table in load(folder).items()}
    yield lambda name: QUERIES[name]({**tables, "scale": scale}).collect()


@contextmanager
def freestone(folder: Path, scale: float) -> Iterator[Runner]:
    """Run on one worker with an executor per core, whose cache has the tables."""
    import freestone as fs
    from benchmarks.tpch.queries import QUERIES

    with fs.Cluster(executors=EXECUTORS, memory="4GiB", disk="8GiB"):
        frames = {name: fs.Frame.from_polars(table) for name, table in load(folder).items()}
        for frame in frames.values():
            frame.persist()
        yield lambda name: QUERIES[name]({**frames, "scale": scale}).to_polars()


@contextmanager
def dask(folder: Path, scale: float) -> Iterator[Runner]:
    """Run dask.dataframe on two processes, whose memory has the tables."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from benchmarks.tpch.by_dask import QUERIES

    with (
        LocalCluster(n_workers=EXECUTORS, threads_per_worker=1, dashboard_address=None) as local,
        Client(local) as client,
    ):
        tables = {
            name: client.persist(dd.from_pandas(table.to_pandas(), npartitions=2 * EXECUTORS))
            for name, table in load(folder).items()
        }
        for table in tables.values():
            len(table)
        yield lambda name: QUERIES[name](tables).compute()


SYSTEMS = {"dask.dataframe": dask, "freestone": freestone, "polars": polars}


def measure(system: str, folder: str, scale: float, queries: list[str]) -> dict[str, Any]:
    """Time each query once, after a run that has loaded what it needs."""
    with SYSTEMS[system](Path(folder), scale) as run:
        seconds = {}
        for name in queries:
            run(name)
            start = time.perf_counter()
            run(name)
            seconds[name] = time.perf_counter() - start
    return {"seconds": seconds}
