"""One system's turn in a round of `benchmarks.frames`: the queries on tables in its memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.tpch.data import load

__all__ = ["measure"]

EXECUTORS = 2
Runner = tuple[Callable[[str], Any], Callable[[], Any]]


@contextmanager
def polars(folder: Path, scale: float) -> Iterator[Runner]:
    """Run on one process with a thread per core."""
    from benchmarks.tpch.queries import QUERIES

    tables = {name: table.lazy() for name, table in load(folder).items()}
    yield lambda name: QUERIES[name]({**tables, "scale": scale}).collect(), gc.collect


@contextmanager
def freestone(folder: Path, scale: float) -> Iterator[Runner]:
    """Run on one worker with an executor per core, whose cache has the tables."""
    import freestone as fs
    from benchmarks.tpch.queries import QUERIES

    with fs.Cluster(executors=EXECUTORS, memory="4GiB", disk="8GiB") as cluster:
        frames = {name: fs.Frame.from_polars(table) for name, table in load(folder).items()}
        for frame in frames.values():
            frame.persist()
        before = cluster.statistics()

        def run(name: str) -> Any:
            found = QUERIES[name]({**frames, "scale": scale}).to_polars()
            rows = len(found)
            del found
            return rows

        def forget() -> None:
            # A query whose blocks are still there would be answered by them.
            while gc.collect() or cluster.statistics().blocks > before.blocks:
                time.sleep(0.001)

        yield run, forget


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
        yield lambda name: QUERIES[name](tables).compute(), gc.collect


SYSTEMS = {"dask.dataframe": dask, "freestone": freestone, "polars": polars}


def measure(system: str, folder: str, scale: float, queries: list[str]) -> dict[str, Any]:
    """Time each query once, after a run that has loaded what it needs."""
    with SYSTEMS[system](Path(folder), scale) as (run, forget):
        seconds = {}
        for name in queries:
            run(name)
            forget()
            start = time.perf_counter()
            run(name)
            seconds[name] = time.perf_counter() - start
            forget()
    return {"seconds": seconds}
