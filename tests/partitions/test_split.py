"""Splitting on a cluster: every block once, where it is, and nothing moves."""

from __future__ import annotations

import operator
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import freestone as fs

QUICK = settings(max_examples=12, deadline=None)


def numbers(start: int, stop: int) -> NDArray[np.int64]:
    return np.arange(start, stop)


def rows_of(part: fs.Partition) -> NDArray[np.int64]:
    return np.concatenate([*part, np.zeros(0, np.int64)])


def where_it_ran(part: fs.Partition) -> tuple[int, list[int]]:
    import os

    return os.getppid(), part.indexes


def transferred(cluster: fs.Cluster) -> int:
    return int(cluster.statistics().transferred_nbytes)


@QUICK
@given(
    rows=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 300), max_size=20),
    placement=st.lists(st.integers(0, 2), min_size=21, max_size=21),
    per=st.sampled_from(["core", "worker", 3]),
)
def test_each_block_once_on_its_worker(
    two_workers: fs.Cluster, rows: int, cuts: list[int], placement: list[int], per: str | int
) -> None:
    offsets = np.array(sorted({0, rows, *(cut % (rows + 1) for cut in cuts)}))
    futures = []
    for number, (start, stop) in enumerate(pairwise(offsets.tolist())):
        where = placement[number]
        options = {} if where == 2 else {"worker": where}
        futures.append(two_workers.submit(make, start, stop, **options))
    x = fs.Array.from_futures(futures, rows=np.diff(offsets).tolist()).persist()
    homes = x.where()
    before = transferred(two_workers)
    partitions = fs.split(x, per=per)
    found = [two_workers.submit(where_it_ran, part).result() for part in partitions]
    values = [two_workers.submit(rows_of, part).result() for part in partitions]
    assert transferred(two_workers) == before
    pids = {worker.worker: worker.pid for worker in two_workers.statistics().workers}
    for part, (pid, indexes) in zip(partitions, found, strict=True):
        assert indexes == part.indexes == part.get_indexes()
        assert pids[str(part.worker)] == pid
        assert all(part.worker in homes[index] for index in indexes)
    assert sorted(index for part in partitions for index in part.indexes) == list(
        range(len(futures))
    )
    # The positions put results back in order.
    order = np.concatenate([part.get_item_indexes() for part in partitions])
    whole = np.empty(rows, np.int64)
    whole[order] = np.concatenate(values)
    np.testing.assert_array_equal(whole, np.arange(rows))


def make(start: int, stop: int) -> object:
    from freestone import _native

    return _native.blocks.Stored(np.arange(start, stop))


def test_positions_of_many_items_are_few_bytes(two_workers: fs.Cluster) -> None:
    # What the program puts lies with the worker of its machine.
    x = fs.Array.from_numpy(np.arange(1_000_000), 10_000)
    (part,) = fs.split(x)
    assert part.item_indexes == (range(0, 1_000_000),)
    assert part.rows == 1_000_000


def test_a_partition_is_carried_as_one_input(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(5000, 5, numbers)
    parts = fs.split(x)
    assert sum(len(part) for part in parts) == 1000
    for repeat in range(3):
        calls = [
            two_workers.submit(lambda p, r: int(rows_of(p).sum()) + r, p, repeat) for p in parts
        ]
        assert fs.reduce(operator.add, calls).result() == 4999 * 2500 + 2 * repeat
    # Two lists of names, and three times two calls and a reduction.
    done = two_workers.statistics().done
    calls = [two_workers.submit(lambda p: len(p), p) for p in parts]
    assert fs.reduce(operator.add, calls).result() == 1000
    assert two_workers.statistics().done - done <= 4


@pytest.mark.parametrize("isolation", ["fork", "process"])
def test_partitions_in_every_isolation(two_workers: fs.Cluster, isolation: str) -> None:
    x = fs.Array.from_function(1000, 10, numbers)
    parts = fs.split(x)
    calls = [two_workers.submit(rows_of, part, isolation=isolation) for part in parts]
    for part, call in zip(parts, calls, strict=True):
        np.testing.assert_array_equal(call.result(), part.get_item_indexes())


def test_small_values_that_the_manager_holds(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.arange(100), 3)
    parts = fs.split(x)
    assert [part.worker for part in parts] == ["worker-0", "worker-1"]
    found = np.concatenate([two_workers.submit(rows_of, part).result() for part in parts])
    np.testing.assert_array_equal(found, np.arange(100))


def test_slices_are_split_like_arrays(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 100, numbers)[150:733]
    parts = fs.split(x)
    found = np.empty(583, np.int64)
    for part in parts:
        found[part.get_item_indexes()] = two_workers.submit(rows_of, part).result()
    np.testing.assert_array_equal(found, np.arange(150, 733))


def test_expressions_are_split_by_their_blocks(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 100, numbers)
    for made in (x * 2, x[x % 3 == 0]):
        parts = fs.split(made)
        rows = [two_workers.submit(rows_of, part).result() for part in parts]
        np.testing.assert_array_equal(np.sort(np.concatenate(rows)), np.asarray(made))
    pairs = [pair for part in fs.split(x, x + 1) for pair in part]
    assert sum(int((more - one).sum()) for one, more in pairs) == 1000


def test_materialize_is_kept_and_used(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 10, numbers)
    parts = fs.split(x)
    before = transferred(two_workers)
    wholes = [part.materialize() for part in parts]
    assert all(part.materialize() is whole for part, whole in zip(parts, wholes, strict=True))
    lengths = [two_workers.submit(lambda p: [len(b) for b in p], part).result() for part in parts]
    sums = [
        two_workers.submit(lambda p: int(p.materialize().sum()), part).result() for part in parts
    ]
    assert (sum(sums), sum(map(len, lengths))) == (499_500, 100)
    assert transferred(two_workers) == before
    assert [len(whole.result()) for whole in wholes] == [part.rows for part in parts]


def test_a_single_block_is_materialized_already(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 500, numbers).persist()
    before = two_workers.statistics().done
    parts = fs.split(x)
    assert [part.materialize() for part in parts] == x.blocks
    assert two_workers.statistics().done == before
    sums = [two_workers.submit(lambda p: int(p.materialize().sum()), part) for part in parts]
    assert sum(call.result() for call in sums) == 499_500


@pytest.mark.filterwarnings("ignore:.*will be sent there")
def test_collections_split_together(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 10, numbers, name="x")
    y = x.map_blocks(lambda block: 2 * block, name="y").persist()
    parts = fs.split(x, y)
    assert sum(two_workers.submit(differences, part).result() for part in parts) == -499_500
    a, b = parts[0].materialize()
    np.testing.assert_array_equal(2 * a.result(), b.result())
    assert sum(two_workers.submit(differences, part).result() for part in parts) == -499_500


def differences(part: fs.Partition) -> int:
    return int(sum((a - b).sum() for a, b in part))


def test_the_smaller_one_moves_with_a_warning(two_workers: fs.Cluster) -> None:
    large = [two_workers.submit(np.ones, 50_000 + i, worker=i % 2) for i in range(4)]
    small = [two_workers.submit(np.full, 20_000, i, worker=(i + 1) % 2) for i in range(4)]
    x = fs.Array.from_futures(large, rows=[10] * 4)
    y = fs.Array.from_futures(small, rows=[10] * 4)
    with pytest.warns(UserWarning, match="626 KiB of collections .* will be sent there"):
        parts = fs.split(y, x)
    before = transferred(two_workers)
    total = sum(
        two_workers.submit(lambda p: sum(float(a.sum()) for a, _ in p), p).result() for p in parts
    )
    assert total == 20_000 * 6
    assert 640_000 <= transferred(two_workers) - before < 700_000


def test_balance_moves_what_is_too_much(two_workers: fs.Cluster) -> None:
    lopsided = [two_workers.submit(np.full, 10_000, i, worker=0) for i in range(10)]
    x = fs.Array.from_futures(lopsided, rows=[10_000] * 10).persist()
    assert [part.worker for part in fs.split(x)] == ["worker-0"]
    before = transferred(two_workers)
    parts = fs.split(x, balance=True)
    assert sorted((part.worker, len(part)) for part in parts) == [("worker-0", 5), ("worker-1", 5)]
    ran = {two_workers.submit(where_it_ran, part).result()[0] for part in parts}
    assert len(ran) == 2
    assert transferred(two_workers) - before < 450_000


def test_two_partitions_of_different_workers_in_one_call(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.arange(100), 3)
    one, other = fs.split(x)
    assert one.worker != other.worker
    both = two_workers.submit(lambda p, q: int(rows_of(p).sum() + rows_of(q).sum()), one, other)
    assert both.result() == 4950


def test_a_call_that_is_sent_elsewhere_gets_the_blocks_there(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 100, numbers).persist()
    one, other = fs.split(x)
    pids = {worker.worker: worker.pid for worker in two_workers.statistics().workers}
    for part, worker in ((one, 1), (other, 0), (one, 0), (other, 1)):
        call = two_workers.submit(where_it_ran, part, worker=worker, pure=False)
        found = call.result()
        assert found == (pids[f"worker-{worker}"], part.indexes)


def test_of_several_workers_those_are_taken_that_hold_the_partners(
    two_workers: fs.Cluster,
) -> None:
    x = fs.Array.from_function(1000, 50, numbers, name="x").persist()
    y = fs.Array.from_function(1000, 50, numbers, name="y").persist()
    homes = y.where()
    # All of x on both workers, as other calls may leave it.
    for worker in (0, 1):
        here = {"worker": worker, "pure": False}
        two_workers.submit(lambda *blocks: len(blocks), *x.blocks, **here).result()
    assert all(len(where) == 2 for where in x.where())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = fs.split(x, y)
    assert all(homes[index] == [part.worker] for part in parts for index in part.indexes)


def test_made_blocks_are_dealt_in_runs_and_partners_lie_together(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_function(1000, 10, numbers).persist()
    homes = [home for (home,) in x.where()]
    assert homes == sorted(homes)
    assert homes.count(homes[0]) == 50
    y = fs.Array.from_function(1000, 10, lambda start, stop: -np.arange(start, stop)).persist()
    assert y.where() == x.where()


def test_what_map_blocks_makes_lies_beside_its_blocks(two_workers: fs.Cluster) -> None:
    futures = [two_workers.submit(make, at, at + 5, worker=at % 3 % 2) for at in range(300)]
    x = fs.Array.from_futures(futures, rows=[5] * 300).persist()
    before = transferred(two_workers)
    y = x.map_blocks(np.negative).persist()
    assert y.where() == x.where()
    assert transferred(two_workers) == before


def test_near_is_a_worker_or_input(two_workers: fs.Cluster) -> None:
    with pytest.raises(ValueError, match="near is the number of a worker or 'input', not 'there'"):
        two_workers.map(abs, [1], near="there")
