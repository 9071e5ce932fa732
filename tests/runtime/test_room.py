"""Room is short: what can be had again is dropped, `memory=` is never exceeded, nothing is lost."""

from __future__ import annotations

import gc
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import StorageFullError
from freestone.units import parse_nbytes

from .conftest import Opened

MIB = 1 << 20
SMALL: dict[str, Any] = {"executors": 1, "memory": "16MiB", "disk": "16MiB"}


@pytest.fixture
def within(opened: Opened) -> Opened:
    """Open clusters none of whose workers has more blocks in memory than it may have."""

    @contextmanager
    def cluster(memory: str = "16MiB", **options: Any) -> Iterator[fs.Cluster]:
        with opened(**SMALL | options | {"memory": memory}) as cluster:
            yield cluster
            for worker in cluster.statistics().workers:
                assert worker.status.memory_nbytes <= parse_nbytes(memory)
                assert in_memory(worker.folder) <= parse_nbytes(memory)

    return cluster


def in_memory(folder: str) -> int:
    """The bytes that the files of a worker's memory tier have, each counted once."""
    found: dict[int, int] = {}
    for path in Path(folder).rglob("*"):
        with suppress(FileNotFoundError):
            status = path.stat()
            found[status.st_ino] = status.st_blocks * 512 * stat.S_ISREG(status.st_mode)
    return sum(found.values())


def block(number: int, mib: int = 5) -> np.ndarray:
    return np.full(mib * MIB // 8, float(number))


def first(values: np.ndarray) -> float:
    return float(values[0])


@pytest.mark.parametrize("keep", ["session", "worker"])
def test_kept_blocks_are_dropped_and_made_again_when_asked_for(within: Opened, keep: str) -> None:
    with within() as cluster:
        total = [
            cluster.submit(first, cluster.submit(block, number, keep=keep)) for number in range(12)
        ]
        assert cluster.gather(total) == list(range(12))
        assert cluster.submit(block, 0, keep=keep).result()[0] == 0
        assert cluster.statistics().failed == 0


@pytest.mark.parametrize("commutes", [True, False])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("holds", [True, False])
def test_a_reduction_of_more_than_fits_is_right(
    within: Opened, commutes: bool, waits: bool, holds: bool
) -> None:
    with within() as cluster:
        parts = [cluster.submit(block, number) for number in range(12)]
        if waits:
            # Those that are there take all the room, and each is needed by a call without any.
            fs.wait(parts, timeout_s=600)
        total = fs.reduce(np.add, parts, commutes=commutes)
        if not holds:
            del parts
            gc.collect()
        assert total.result()[-1] == sum(range(12))
        assert cluster.statistics().failed == 0


def test_held_results_are_dropped_and_made_again(within: Opened) -> None:
    with within() as cluster:
        parts = [cluster.submit(block, number) for number in range(12)]
        assert [first(part.result()) for part in parts] == list(range(12))
        assert [first(part.result()) for part in parts] == list(range(12))


def test_what_is_held_and_cannot_be_made_again_stays_and_the_next_is_refused(
    within: Opened,
) -> None:
    with within() as cluster:
        held = [cluster.submit(block, number, pure=False) for number in range(8)]
        failures = [future.exception(60) for future in held]
        refused = [failure for failure in failures if failure is not None]
        assert refused
        assert all(isinstance(failure, StorageFullError) for failure in refused)
        for number, (future, failure) in enumerate(zip(held, failures, strict=True)):
            if failure is None:
                assert first(future.result()) == number


def test_a_result_too_large_for_both_tiers_is_refused(within: Opened) -> None:
    with within() as cluster, pytest.raises(StorageFullError):
        cluster.submit(block, 1, 20).result(60)


def test_many_executors_at_once_stay_within_the_limit(within: Opened) -> None:
    with within(executors=4, disk="64MiB") as cluster:
        futures = [cluster.submit(first, cluster.submit(block, number, 3)) for number in range(30)]
        assert cluster.gather(futures) == list(range(30))
