"""Tiles: the same rows, in arrays of one size."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.tiles import joined


@given(sizes=st.lists(st.integers(0, 50), max_size=30), rows=st.integers(1, 40))
def test_all_rows_in_order_and_none_too_long(sizes: list[int], rows: int) -> None:
    ends = np.cumsum(sizes, dtype=int).tolist()
    blocks = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    tiles = list(joined(((block, -block) for block in blocks), rows))
    assert [len(left) for left, _ in tiles] == [len(right) for _, right in tiles]
    assert all(len(left) <= max(1, 1.5 * rows) for left, _ in tiles)
    found = np.concatenate([left for left, _ in tiles] or [np.arange(0)])
    np.testing.assert_array_equal(found, np.arange(sum(sizes)))
    assert all(np.array_equal(left, -right) for left, right in tiles)


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=30), rows=st.integers(1, 40))
def test_small_blocks_are_joined_and_large_ones_are_not_copied(sizes: list[int], rows: int) -> None:
    blocks = [np.zeros(size) for size in sizes]
    tiles = [tile for (tile,) in joined(((block,) for block in blocks), rows)]
    # No two that stand side by side would fit in one tile.
    lengths = list(map(len, tiles))
    large = [size for size in sizes if 2 * size >= rows]
    if not large:
        assert all(a + b > rows for a, b in pairwise(lengths))
    shared = [tile for tile in tiles if any(np.shares_memory(tile, block) for block in blocks)]
    assert sum(map(len, shared)) >= sum(large)


@pytest.mark.parametrize("materialized", [False, True])
def test_tiles_of_a_partition(materialized: bool) -> None:
    x = fs.Array.from_numpy(np.arange(1000.0).reshape(-1, 2), 7)
    (part,) = fs.split(x, per="worker")[:1]
    if materialized:
        part.materialize()
    tiles = list(part.tiles(160))
    assert {len(tile) for tile in tiles} <= set(range(1, 16))
    expected = np.concatenate(list(part))
    np.testing.assert_array_equal(np.concatenate(tiles), expected)


def test_tiles_of_two_collections_go_together() -> None:
    x = fs.Array.from_numpy(np.arange(100.0), 7)
    y = fs.Array.from_numpy(np.arange(100), 7)
    for part in fs.split(x, y):
        for left, right in part.tiles(64):
            np.testing.assert_array_equal(left, right)
