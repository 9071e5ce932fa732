"""Workers killed with kill -9 at random in each example: the result is the same to the last bit.

At 1 % a worker is lost for every hundred calls that end, and one at the beginning; at 20 %, for
every five. The worker that holds what the program put is spared: its loss is told, not made good.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

pytest.importorskip("sklearn")
pytest.importorskip("boost_histogram")

# Blocks lie wherever there were workers; what has to move is told.
pytestmark = [pytest.mark.filterwarnings("ignore:.*not where their partners are:UserWarning")]


class Reaper:
    """Kills a worker whenever so many calls have ended, until it is stopped."""

    def __init__(self, cluster: fs.Cluster, every: int, seed: int) -> None:
        self.cluster, self.every = cluster, every
        self.random = random.Random(seed)
        self.killed = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        due = self.cluster.statistics().done
        while not self._over.wait(0.002):
            done = self.cluster.statistics().done
            # From now on: whoever has just joined would be killed again and again otherwise.
            if done >= due and self._kill_one():
                due = done + self.every

    def _kill_one(self) -> bool:
        workers = self.cluster.statistics().workers
        victims = [worker for worker in workers if worker.folder[-2:] != "/0"]
        if not victims:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.random.choice(victims).pid, signal.SIGKILL)
            self.killed += 1
        return True

    def stop(self) -> None:
        """Kill no more."""
        self._over.set()
        self._thread.join()


@pytest.fixture(params=[100, 5], ids=["1%", "20%"])
def survives(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    def run(work: Callable[[], Any]) -> Any:
        sizes = {"memory": "256MiB", "disk": "1GiB"}
        with fs.Cluster(workers=4, executors=1, **sizes) as cluster:
            reaper = Reaper(cluster, request.param, seed=request.param)
            try:
                result = work()
                # On a busy machine it may all be over before enough have been killed.
                while reaper.killed < (1 if request.param == 100 else 2):
                    result = work()
            finally:
                reaper.stop()
        return result

    return run


def test_histogram(survives: Callable[..., Any]) -> None:
    from examples.data import uniform
    from examples.histogram.histogram import histogram
    from examples.histogram.kernels import Grid, count_numpy

    grid = Grid.uniform(5, 4)
    points = uniform((20_000, 5), 100)
    expected = count_numpy(points.compute(), grid)

    def work() -> Any:
        return [histogram(uniform((20_000, 5), 100), grid, variant=v) for v in ("split", "blocks")]

    for found in survives(work):
        np.testing.assert_array_equal(found, expected)


def test_kmeans(survives: Callable[..., Any]) -> None:
    from examples.data import digits, in_blocks
    from examples.kmeans.kmeans import KMeans

    points = digits().points
    init = points[:10]
    expected = KMeans(10, init=init, variant="sequential").fit(in_blocks(points, 1))
    found = survives(lambda: KMeans(10, init=init, variant="split").fit(in_blocks(points, 24)))
    np.testing.assert_array_equal(found.cluster_centers_, expected.cluster_centers_)
    assert found.n_iter_ == expected.n_iter_


def test_knn(survives: Callable[..., Any]) -> None:
    from examples.data import uniform
    from examples.knn.neighbours import NearestNeighbors

    def work() -> Any:
        points, queries = uniform((4_000, 3), 100), uniform((1_000, 3), 50, seed=1)
        return NearestNeighbors(5, variant="split").fit(points).kneighbors(queries)

    expected, found = work(), survives(work)
    np.testing.assert_array_equal(found.indexes, expected.indexes)
    np.testing.assert_array_equal(found.distances, expected.distances)


def test_cascade_svm(survives: Callable[..., Any]) -> None:
    from examples.cascade_svm.svm import CascadeSVC
    from examples.data import Blobs, blobs

    def work() -> Any:
        points, labels = blobs(600, 53, Blobs(centres=2, columns=4, spread=8.0))
        model = CascadeSVC(variant="blocks", arity=4).fit(points, labels)
        return model.model_.support_vectors_, model.converged_

    (expected, _), (found, converged) = work(), survives(work)
    np.testing.assert_array_equal(found, expected)
    assert converged


def _same(one: Any, other: Any) -> bool:
    """Compare results to the last bin."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if hasattr(one, "axes"):
        return np.array_equal(one.view(flow=True), other.view(flow=True))
    return bool(one == other)


DATA = Path(os.environ.get("FREESTONE__TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.parametrize("example", ["dv3", "triphoton"])
@pytest.mark.filterwarnings("ignore")
def test_analyses(survives: Callable[..., Any], example: str, tmp_path: Path) -> None:
    for package in ("coffea", "dask_awkward", "fastjet", "hist.dask"):
        pytest.importorskip(package, reason="the extra 'hep' is not installed")
    import importlib

    main = importlib.import_module(f"examples.{example}.__main__")
    make = importlib.import_module(f"examples.{example}.samples").make_samples
    name = {"dv3": "pfnano.root", "triphoton": "nano_tree.root"}[example]
    if not (DATA / name).is_file():
        pytest.skip(f"{DATA / name} is not there: name its folder in FREESTONE__TEST_DATA")
    samples = make(DATA / name, tmp_path, files=40, events=6)
    expected = main.by_dask(samples, "synchronous")
    found = survives(lambda: main.by_dask(samples, fs.current().get))
    assert _same(found, expected)
