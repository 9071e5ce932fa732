"""The sequential program is the parallel one: without a cluster blocks are values here."""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import freestone as fs
from freestone.errors import ScriptRunError


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
    x = fs.Array.from_numpy(numbers(0, 50), 8)
    pairs = zip(x[3:44][2:].blocks, x.blocks, strict=False)
    assert all(np.shares_memory(part, block) for part, block in pairs)


def sparse_of(kind: str) -> Any:
    return scipy.sparse.csr_array(numbers(0, 4) + 1).asformat(kind)


@pytest.mark.parametrize("make", [np.array, lambda x: [x[:2], x[2:]]])
def test_blocks_are_copies(make: Any) -> None:
    given = make(numbers(0, 4))
    is_whole = isinstance(given, np.ndarray)
    x = fs.Array.from_numpy(given, 2) if is_whole else fs.Array.from_blocks(given)
    for part in given:
        part[:] = 7
    np.testing.assert_array_equal(x.compute(), numbers(0, 4))


@pytest.mark.parametrize("kind", ["csr", "coo"])
def test_blocks_are_copies_of_sparse_ones(kind: str) -> None:
    given = sparse_of(kind)
    x = fs.Array.from_numpy(given, 4)
    given.data[:] = 7
    np.testing.assert_array_equal(x.compute().toarray(), numbers(0, 4) + 1)


def test_blocks_of_frames_and_bags_are_copies() -> None:
    column, items = np.arange(4.0), [{"a": 1}, {"a": 2}]
    table = fs.Frame.from_table({"a": column}, 3)
    bag = fs.Bag.from_items(items, 1)
    column[:] = 7
    items[0]["a"] = 7
    assert table.compute().to_pydict() == {"a": [0, 1, 2, 3]}
    assert bag.compute() == [{"a": 1}, {"a": 2}]


def halve(block: Any) -> Any:
    values = getattr(block, "data", block) if scipy.sparse.issparse(block) else block
    values *= 0.5
    return block


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_blocks_are_not_written_into(make: Any) -> None:
    given = make(numbers(0, 4))
    x = fs.Array.from_numpy(given, 2)
    with pytest.raises(ValueError, match="output array is read-only"):
        x.map_blocks(halve)
    (part,) = fs.split(x, per=1)
    with pytest.raises(ValueError, match="output array is read-only"):
        halve(next(iter(part)))
    with pytest.raises(ValueError, match="output array is read-only"):
        halve(x.map_blocks(lambda block: block * 2).blocks[0])
    # What the program has is its own.
    assert halve(given) is given


def test_the_rows_that_a_mask_chooses_are_counted_by_what_the_error_says() -> None:
    x = fs.Array.from_numpy(np.array([-2, -1, 1]), 2)
    mask = x > 0
    with pytest.raises(TypeError, match=r"np\.count_nonzero\(mask\) only counts them"):
        len(x[mask])
    assert int(np.count_nonzero(mask)) == len(x[mask].to_array()) == 1


def test_integers_to_negative_powers_say_what_to_write() -> None:
    x = fs.Array.from_numpy(np.array([-2, -1, 1]), 2)
    with pytest.raises(ScriptRunError, match=r"x\.astype\(float\) \*\* y"):
        (2**x).compute()
    np.testing.assert_array_equal((x.astype(float) ** -1).compute(), [-0.5, -1, 1])
