"""Blocks of collections follow when workers come and go, by the fewest bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import freestone as fs
from freestone.malleable import plans

from .test_workers import until

BLOCKS, ROWS = 24, 10_000


@pytest.fixture
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(workers=2, executors=1, memory="64MiB", disk="64MiB") as cluster:
        yield cluster


def rows(start: int, stop: int) -> np.ndarray:
    return np.arange(start, stop, dtype=float)


def array() -> fs.Array:
    return fs.Array.from_function(BLOCKS * ROWS, ROWS, rows).persist()


def owners(x: fs.Array) -> list[int]:
    """The number of the only worker of each block."""
    where = x.where()
    assert all(len(workers) == 1 for workers in where), where
    return [int(worker.removeprefix("worker-")) for (worker,) in where]


def balanced(cluster: fs.Cluster, *collections: fs.Array) -> bool:
    return cluster.statistics().moving == 0 and all(
        len(workers) == 1 for each in collections for workers in each.where()
    )


def fewest(x: fs.Array, before: list[int], places: int) -> int:
    """Bytes that have to move so that so many places have as many blocks."""
    after = plans.reassign(before, places)
    pairs = zip(before, after, x.blocks, strict=True)
    return sum(block.nbytes for was, now, block in pairs if was != now)


def test_what_moves_is_the_least_that_evens_workers_out(cluster: fs.Cluster) -> None:
    x = array()
    before, figures = owners(x), cluster.statistics()
    cluster.resize(4)
    assert until(lambda: balanced(cluster, x))
    after = cluster.statistics()
    assert Counter(owners(x)) == dict.fromkeys(range(4), BLOCKS // 4)
    assert after.transferred_nbytes - figures.transferred_nbytes == fewest(x, before, 4) > 0
    # Nothing was made again, and partitions are where the blocks are now.
    assert after.done == figures.done
    parts = fs.split(x, per="worker")
    assert [str(part.worker) for part in parts] == [f"worker-{n}" for n in range(4)]
    assert after.transferred_nbytes == cluster.statistics().transferred_nbytes
    assert np.array_equal(x.compute(), rows(0, BLOCKS * ROWS))


def test_what_leavers_hold_goes_to_those_with_room(cluster: fs.Cluster) -> None:
    x = array()
    cluster.resize(4)
    assert until(lambda: balanced(cluster, x))
    before, figures = owners(x), cluster.statistics()
    cluster.resize(3)
    assert until(lambda: len(cluster.statistics().workers) == 3)
    assert until(lambda: balanced(cluster, x))
    after = cluster.statistics()
    assert Counter(owners(x)) == dict.fromkeys(range(3), BLOCKS // 3)
    assert after.transferred_nbytes - figures.transferred_nbytes == fewest(x, before, 3) > 0
    assert after.done == figures.done
    assert np.array_equal(x.compute(), rows(0, BLOCKS * ROWS))


def test_collections_of_one_blocking_move_together(cluster: fs.Cluster) -> None:
    x = array()
    y = x.map_blocks(np.negative).persist()
    cluster.resize(3)
    assert until(lambda: balanced(cluster, x, y))
    assert owners(x) == owners(y)
    assert Counter(owners(x)) == dict.fromkeys(range(3), BLOCKS // 3)


def test_tasks_run_and_partitions_are_right_while_blocks_move(cluster: fs.Cluster) -> None:
    x = array()
    parts = fs.split(x)
    expected = rows(0, BLOCKS * ROWS).sum()

    def total(part: fs.Partition) -> float:
        return float(sum(block.sum() for block in part))

    for workers in (4, 1, 3):
        cluster.resize(workers)
        sums = [cluster.map(total, parts, pure=False) for _ in range(3)]
        assert [sum(cluster.gather(each)) for each in sums] == [expected] * 3
    assert until(lambda: balanced(cluster))
    assert sum(cluster.gather(cluster.map(total, fs.split(x)))) == expected
    assert np.array_equal(x.compute(), rows(0, BLOCKS * ROWS))


def test_what_was_dropped_does_not_move(cluster: fs.Cluster) -> None:
    x = array()
    cluster.submit(len, "abc").result(60)
    x.drop()
    before = cluster.statistics().transferred_nbytes
    cluster.resize(3)
    assert until(lambda: balanced(cluster))
    assert cluster.statistics().transferred_nbytes == before
