"""Processes killed with kill -9 during the demo: its result is the same to the last bit."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import freestone as fs
from freestone.demo import DemoResult, analysis, main
from freestone.demo.samples import ZMUMU_FILE, read_zmumu, sample_path

for module in ("uproot", "awkward", "pyarrow", "scipy", "matplotlib", "skhep_testdata"):
    pytest.importorskip(module)

FILES, EVENTS, DATA_SEED = 24, 2_000, 7
LARGER_PT_GEV = 30.0


class Hunter:
    """Kills workers and executors of a cluster when given numbers of calls have ended.

    A call that was running when three executors died is refused, so at most two are killed.
    """

    def __init__(
        self, seed: int, calls: int, workers: int, executors: int, spares_home: bool = True
    ) -> None:
        self.random = random.Random(seed)
        self.cluster: fs.Cluster | None = None
        self.killed: list[str] = []
        moments = self.random.sample(range(calls), workers + executors)
        kinds = ["worker"] * workers + ["executor"] * executors
        self._victims = dict(zip(moments, kinds, strict=True))
        self._ended = 0
        self._spares_home = spares_home
        self._lock = threading.Lock()

    def watch(self, future: fs.Future) -> fs.Future:
        """Count a call when it has ended."""
        future.add_done_callback(self._on_end)
        return future

    def _on_end(self, _: fs.Future) -> None:
        with self._lock:
            kind = self._victims.get(self._ended)
            self._ended += 1
        if kind is not None and self.cluster is not None:
            self.kill(kind)

    def kill(self, kind: str) -> None:
        """Kill a worker, or an executor of one, at random; neither where none is left."""
        assert self.cluster is not None
        workers = self.cluster.statistics().workers
        if kind == "worker" and self._spares_home:
            workers = [worker for worker in workers if worker.folder[-2:] != "/0"]
        if not workers:
            return
        pid = self.random.choice(workers).pid
        with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, IndexError):
            if kind == "executor":
                pid = self.random.choice(psutil.Process(pid).children()).pid
            os.kill(pid, signal.SIGKILL)
            self.killed.append(kind)


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return resampled events in files, made in this process."""
    folder = tmp_path_factory.mktemp("events")
    measured = read_zmumu(sample_path(ZMUMU_FILE), 0, 2304)
    paths = [folder / f"events-{index:04d}.parquet" for index in range(FILES)]
    for index, path in enumerate(paths):
        analysis.make_file(str(path), [measured], EVENTS, DATA_SEED, index)
    return paths


@pytest.fixture(scope="module")
def undisturbed(paths: list[Path]) -> np.ndarray:
    """Return the histogram that the functions give in this process, without a cluster."""
    counts: np.ndarray = analysis.total_of(map(analysis.dimuons_of_file, map(fs.file, paths)))
    return counts


def masses_of(hunter: Hunter, paths: Iterable[Path]) -> list[Any]:
    return [hunter.watch(analysis.dimuons_of_file(fs.file(path))) for path in paths]


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_scaled_analysis_while_workers_and_executors_die(
    paths: list[Path], undisturbed: np.ndarray, workers: int, seed: int
) -> None:
    hunter = Hunter(seed, calls=FILES, workers=3, executors=2)
    with fs.Cluster(workers=workers, executors=1, memory="256MiB") as hunter.cluster:
        blocks = masses_of(hunter, paths)
        counts = analysis.total_of(blocks)
        # Masses that died with their worker are read again for another selection, and then for
        # the first one.
        hunter.kill("worker")
        analysis.total_of(blocks, LARGER_PT_GEV)
        hunter.kill("worker")
        again = analysis.total_of(blocks)
    np.testing.assert_array_equal(counts, undisturbed)
    np.testing.assert_array_equal(again, undisturbed)
    assert hunter.killed


@pytest.mark.parametrize("seed", range(2))
def test_the_scaled_analysis_while_the_programs_own_worker_dies(
    paths: list[Path], undisturbed: np.ndarray, seed: int
) -> None:
    hunter = Hunter(seed, calls=FILES, workers=4, executors=0, spares_home=False)
    with fs.Cluster(workers=2, executors=1, memory="256MiB") as hunter.cluster:
        counts = analysis.total_of(masses_of(hunter, paths))
    np.testing.assert_array_equal(counts, undisturbed)


@pytest.mark.parametrize("seed", range(2))
def test_files_made_while_workers_and_executors_die(
    paths: list[Path], tmp_path: Path, seed: int
) -> None:
    hunter = Hunter(seed, calls=FILES, workers=2, executors=2)
    with fs.Cluster(workers=2, executors=1, memory="256MiB") as hunter.cluster:
        file = fs.file(sample_path(ZMUMU_FILE))
        measured = [hunter.watch(analysis.zmumu_pairs(file, 0, 2304))]
        made = [
            hunter.watch(
                analysis.make_file(str(tmp_path / path.name), measured, EVENTS, DATA_SEED, index)
            )
            for index, path in enumerate(paths)
        ]
        sizes = [size.result() for size in made]
    assert sizes == [path.stat().st_size for path in paths]
    for path in paths:
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def run_demo(out: Path) -> DemoResult:
    return main(files=FILES, events=EVENTS, workers=2, out=out, output="quiet")


@pytest.mark.parametrize("seed", range(2))
def test_the_whole_demo_while_workers_and_executors_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    quiet = run_demo(tmp_path)
    hunter = Hunter(seed, calls=6 * FILES, workers=5, executors=2)

    class Hunted(fs.Cluster):
        def __enter__(self) -> Hunted:
            hunter.cluster = self
            submit = self.client.submit
            watched = lambda *args, **more: hunter.watch(submit(*args, **more))  # noqa: E731
            monkeypatch.setattr(self.client, "submit", watched)
            return self

    monkeypatch.setattr(fs, "Cluster", Hunted)
    hunted = run_demo(tmp_path)
    assert len(hunter.killed) >= 3
    for one, other in zip(quiet.runs, hunted.runs, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
    for mine, theirs in zip(quiet.samples, hunted.samples, strict=True):
        np.testing.assert_array_equal(mine.counts, theirs.counts)
    assert quiet.mass_gev == hunted.mass_gev
    assert quiet.making.nbytes == hunted.making.nbytes
