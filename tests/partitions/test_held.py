"""Partitions of Dask collections that are persisted on a cluster of freestone's."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import freestone as fs
from freestone.errors import BlockingError

pytest.importorskip("dask", reason="the extra 'dask' is not installed")

import dask.array as da
import dask.bag as db
import dask.dataframe as dd


def numbers() -> Any:
    return da.arange(4800, chunks=50).reshape(480, 10)


def placed(partition: Any) -> list[tuple[Any, Any]]:
    return [(place, block.copy()) for place, block in zip(partition.slices, partition, strict=True)]


def assembled(shape: tuple[int, ...], partitions: list[Any], cluster: fs.Cluster) -> Any:
    whole = np.full(shape, -1)
    for future in cluster.map(placed, partitions):
        for place, block in future.result():
            whole[place] = block
    return whole


def test_rows(two_workers: fs.Cluster) -> None:
    x = two_workers.persist(numbers())
    before = two_workers.statistics().transfers
    parts = fs.split(x)
    assert sorted(index for part in parts for index in part.indexes) == list(range(96))
    totals = two_workers.map(lambda part: sum(int(block.sum()) for block in part), parts)
    assert sum(total.result() for total in totals) == 4800 * 4799 // 2
    assert two_workers.statistics().transfers == before
    rows = np.concatenate([part.get_item_indexes() for part in parts])
    assert sorted(rows.tolist()) == list(range(480))
    np.testing.assert_array_equal(
        assembled((480, 10), parts, two_workers), np.arange(4800).reshape(480, 10)
    )
    whole = np.concatenate([part.materialize().result() for part in parts])
    np.testing.assert_array_equal(whole[np.argsort(rows)], np.arange(4800).reshape(480, 10))


def test_blocks_cut_along_every_axis(two_workers: fs.Cluster) -> None:
    values = np.arange(7 * 11 * 5).reshape(7, 11, 5)
    x = two_workers.persist(da.from_array(values, chunks=(3, 4, (2, 3))) + 0)
    parts = fs.split(x, per=2)
    assert sum(map(len, parts)) == 3 * 3 * 2
    np.testing.assert_array_equal(assembled(values.shape, parts, two_workers), values)
    for ask in (
        lambda: parts[0].rows,
        lambda: parts[0].item_indexes,
        lambda: parts[0].get_item_indexes(),
        lambda: parts[0].materialize(),
        lambda: next(parts[0].tiles()),
    ):
        with pytest.raises(TypeError, match="take its slices"):
            ask()
    assert "rows" not in parts[0]._repr_html_()


def test_slices_of_rows_in_runs(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.arange(60).reshape(20, 3), [0, 3, 4, 9, 15, 20])
    for count in (1, 2, 3):
        parts = fs.split(x, per=count)
        whole = assembled((20, 3), parts, two_workers)
        np.testing.assert_array_equal(whole, np.arange(60).reshape(20, 3))


def test_several_together(cluster: fs.Cluster) -> None:
    x, y = cluster.persist(numbers(), numbers() * 2)
    pairs = fs.split(x, y)
    sums = cluster.map(lambda part: sum(int((b - 2 * a).sum()) for a, b in part), pairs)
    assert [one.result() for one in sums] == [0] * len(pairs)
    grid = cluster.persist(da.ones((4, 4), chunks=(2, 2)))
    other = cluster.persist(da.ones((4, 4), chunks=(2, (1, 3))))
    cuts = r"2 x 2 blocks of at most \(2, 2\) against 2 x 2 blocks of at most \(2, 3\)"
    with pytest.raises(BlockingError, match=rf"{cuts}; .*rechunk\(other.chunks\)"):
        fs.split(grid, other)


def test_frames_and_bags_keep_their_types(cluster: fs.Cluster) -> None:
    table = pd.DataFrame({"a": np.arange(30)})
    frame = cluster.persist(dd.from_pandas(table, npartitions=4))
    sums = cluster.map(lambda part: sum(int(block.a.sum()) for block in part), fs.split(frame))
    assert sum(one.result() for one in sums) == 435
    assert sum(part.rows for part in fs.split(frame)) == 30
    wholes = [part.materialize().result() for part in fs.split(frame, per=1)]
    assert sorted(pd.concat(wholes).a) == list(range(30))
    bag = cluster.persist(db.range(30, npartitions=4))
    lengths = cluster.map(lambda part: sum(map(len, part)), fs.split(bag))
    assert sum(one.result() for one in lengths) == 30


def test_what_is_not_persisted_is_refused(cluster: fs.Cluster) -> None:
    with pytest.raises(ValueError, match=r"is not persisted.*cluster.persist"):
        fs.split(numbers())
    with pytest.raises(ValueError, match=r"is not persisted.*cluster.persist"):
        fs.split(cluster.persist(numbers()), numbers())
    ones = da.ones((4, 4), chunks=2)
    unknown = cluster.persist(ones[ones[:, 0] > 0])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        fs.split(unknown)
    with pytest.raises(ValueError, match=r"is one value.*compute\(\)"):
        fs.split(cluster.persist(da.from_array(np.array(3.0), chunks=())))


def test_a_reduction_over_partitions(cluster: fs.Cluster) -> None:
    x = cluster.persist(da.ones((40, 40), chunks=(10, 20)))
    totals = [
        cluster.submit(lambda part: sum(float(block.sum()) for block in part), part)
        for part in fs.split(x)
    ]
    assert fs.reduce(operator.add, totals, commutes=True).result() == 1600
