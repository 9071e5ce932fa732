"""Frames against pandas and Arrow, bags against lists."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import BlockShapeError, BlockTypeError

TABLE = pa.table({"a": np.arange(100), "b": np.arange(100.0) / 2, "c": ["x", "yy"] * 50})


def rows(start: int, stop: int) -> pa.Table:
    return TABLE.slice(start, stop - start)


def test_frames_from_every_source(cluster: fs.Cluster) -> None:
    pandas = TABLE.to_pandas()
    frames = [
        fs.Frame.from_table(TABLE, 13),
        fs.Frame.from_table(pandas, 13),
        fs.Frame.from_function(100, 13, rows),
        fs.Frame.from_function(100, 13, lambda start, stop: pandas[start:stop]),
        fs.Frame.from_blocks([rows(0, 40), rows(40, 100)]),
        fs.Frame.from_futures([cluster.submit(rows, 0, 40), cluster.submit(rows, 40, 100)]),
    ]
    for frame in frames:
        assert (len(frame), frame.columns) == (100, ("a", "b", "c"))
        assert frame.compute().to_pydict() == TABLE.to_pydict()
        assert frame[7:60].rechunk(9).compute().to_pydict() == rows(7, 60).to_pydict()


def test_frames_may_change_their_rows(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_table(TABLE, 13)
    odd = frame.map_blocks(lambda table: table.filter(pa.compute.equal(table["c"], "yy")))
    assert len(odd) == 50
    assert odd.compute()["a"].to_pylist() == list(range(1, 100, 2))
    total = sum(
        cluster.submit(
            lambda part: sum(table["b"].to_numpy().sum() for table in part), one
        ).result()
        for one in fs.split(frame)
    )
    assert total == TABLE["b"].to_numpy().sum()


def test_a_partition_of_a_frame_is_materialized_as_a_table(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_table(TABLE, 13)
    tables = [part.materialize().result() for part in fs.split(frame)]
    assert pa.concat_tables(tables).to_pydict() == TABLE.to_pydict()


def test_ragged_columns_are_refused_by_name(cluster: fs.Cluster) -> None:
    with pytest.raises(BlockShapeError, match=r"block 0 of 'ragged'.*'a' 3, 'b' 2"):
        fs.Frame.from_function(
            3, 3, lambda start, stop: {"a": [1, 2, 3], "b": [1, 2]}, name="ragged"
        ).persist()
    other = fs.Frame.from_blocks([{"a": [1]}, {"b": [2]}], name="mixed")
    with pytest.raises(BlockShapeError, match="block 1 of 'mixed' should be like block 0"):
        _ = other.columns
    with pytest.raises(BlockTypeError, match="an Arrow table, a frame of pandas or polars, or a"):
        fs.Frame.from_blocks([np.zeros(3)])


def test_bags(cluster: fs.Cluster) -> None:
    words = ["a", "bb", None, 3.5, {"k": 1}] * 7
    bag = fs.Bag.from_items(words, 4)
    assert (len(bag), len(bag.blocks)) == (35, 9)
    assert bag.compute() == words
    assert bag[5:30].compute() == words[5:30]
    assert bag.rechunk(10).compute() == words
    texts = bag.map_blocks(lambda block: [item for item in block if isinstance(item, str)])
    assert texts.compute() == ["a", "bb"] * 7
    assert fs.Bag.from_function(10, 3, lambda a, b: range(a, b)).compute() == list(range(10))
    with pytest.raises(BlockTypeError, match="a list of items"):
        fs.Bag.from_blocks(["text"])
