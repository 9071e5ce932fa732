"""The sequential program is the parallel one: without a cluster blocks are values here."""

from __future__ import annotations

import operator
import os

import numpy as np
from numpy.typing import NDArray

import freestone as fs


def numbers(start: int, stop: int) -> NDArray[np.float64]:
    return np.arange(start * 3, stop * 3, dtype=float).reshape(-1, 3)


def test_the_same_program_without_a_cluster() -> None:
    x = fs.Array.from_function((50, 3), 8, numbers)
    assert x.where() == [[]] * 7
    np.testing.assert_array_equal(x[3:44].rechunk(5).compute(), numbers(3, 44))
    doubled = x.map_blocks(lambda block: 2 * block)
    assert doubled.reduce(operator.add, np.sum).result() == 2 * numbers(0, 50).sum()
    assert isinstance(x.blocks[0], np.ndarray)


def test_one_partition_per_core() -> None:
    x = fs.Array.from_function((50, 3), 1, numbers)
    y = fs.Array.from_numpy(np.arange(50.0), 1)
    partitions = fs.split(x, y)
    assert len(partitions) == len(os.sched_getaffinity(0))
    assert [index for part in partitions for index in part.indexes] == list(range(50))
    assert all(part.worker is None for part in partitions)
    total = sum((a * b[:, None]).sum() for part in partitions for a, b in part)
    assert total == (numbers(0, 50) * np.arange(50.0)[:, None]).sum()
    assert len(fs.split(x, per="worker")) == 1
    assert len(fs.split(x, per=7)) == 7


def test_materialized_here() -> None:
    (part,) = fs.split(fs.Array.from_function((50, 3), 8, numbers), per=1)
    np.testing.assert_array_equal(part.materialize(), numbers(0, 50))
    assert part.materialize() is part.materialize()
    np.testing.assert_array_equal(np.concatenate(list(part)), numbers(0, 50))


def test_what_a_rechunk_costs_without_a_cluster() -> None:
    x = fs.Array.from_numpy(np.zeros(100), 10)
    cost = x.rechunk_cost(20)
    assert (cost.moved_nbytes, cost.copied_nbytes, cost.peak_nbytes) == (0, 800, 1600)
    assert x.rechunk_cost(10).copied_nbytes == 0


def test_slices_share_the_memory_of_what_they_were_cut_from() -> None:
    whole = numbers(0, 50)
    x = fs.Array.from_numpy(whole, 8)
    assert all(np.shares_memory(block, whole) for block in x[3:44][2:].blocks)
