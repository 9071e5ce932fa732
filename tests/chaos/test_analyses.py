"""Workers that are killed while the two analyses run: the results are the same, to the last bin."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import freestone as fs
from tests.examples.test_hep import pytestmark, real, same

__all__ = ["pytestmark"]

DEATHS = 3


@pytest.fixture
def workers() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=4, executors=1, memory="256MiB", disk="1GiB") as cluster:
        yield cluster


class Killer:
    """Kills a worker, but not the program's own, after some more calls have ended."""

    def __init__(self, cluster: fs.Cluster, seed: int) -> None:
        self._cluster, self._random = cluster, random.Random(seed)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.killed: list[int] = []

    def _run(self) -> None:
        after = self._cluster.statistics().done + 1
        while not self._ended.wait(0.001) and len(self.killed) < DEATHS:
            found = self._cluster.statistics()
            pids = [one.pid for one in found.workers if one.worker != "worker-0" and one.assigned]
            pids = [pid for pid in pids if pid not in self.killed]
            if found.done >= after and pids:
                self.killed.append(self._random.choice(pids))
                os.kill(self.killed[-1], signal.SIGKILL)
                after = found.done + 1

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


@pytest.mark.parametrize("how", ["by_dask", "by_calls"])
def test_dv3(workers: fs.Cluster, tmp_path: Path, how: str) -> None:
    from examples.dv3 import __main__ as dv3
    from examples.dv3.samples import make_samples

    samples = make_samples(real("pfnano.root"), tmp_path, files=16, events=5)
    run: Any = dv3.by_dask if how == "by_dask" else dv3.by_calls
    with Killer(workers, seed=1) as killer:
        found = run(samples, workers.get if how == "by_dask" else workers)
        # On a busy machine it may be over before anybody has been killed.
        while not killer.killed:
            found = run(samples, workers.get if how == "by_dask" else workers)
    assert not dv3.mistakes(samples, found)
    assert same(found, dv3.by_dask(samples, "synchronous"))


@pytest.mark.parametrize("how", ["by_dask", "by_calls"])
def test_triphoton(workers: fs.Cluster, tmp_path: Path, how: str) -> None:
    from examples.triphoton import __main__ as triphoton
    from examples.triphoton.samples import make_samples

    samples = make_samples(real("nano_tree.root"), tmp_path, files=20, events=60)
    run: Any = triphoton.by_dask if how == "by_dask" else triphoton.by_calls
    with Killer(workers, seed=2) as killer:
        found = run(samples, workers.get if how == "by_dask" else workers)
        # On a busy machine it may be over before anybody has been killed.
        while not killer.killed:
            found = run(samples, workers.get if how == "by_dask" else workers)
    assert same(found, triphoton.by_dask(samples, "synchronous"))
