"""Loops over collections: rows and items, as NumPy's and Python's own, not blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import freestone as fs

X = np.arange(24.0).reshape(8, 3)
V = X[:, 0].copy()
PEOPLE = np.array([("Ada", 36), ("Bob", 41)], [("name", "U3"), ("age", "i4")])


def cut(x: Any, block_rows: int = 3) -> fs.Array:
    return fs.Array.from_numpy(x, block_rows)


def assert_same(found: Any, wanted: Any) -> None:
    found, wanted = list(found), list(wanted)
    assert [type(row) for row in found] == [type(row) for row in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


ARRAYS = {
    "a vector": V,
    "a matrix": X,
    "three dimensions": X.reshape(2, 4, 3),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "dates": V.astype("M8[D]"),
    "texts": V.astype("U4"),
    "records": PEOPLE,
    "big-endian": V.astype(">f8"),
}


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_a_loop_gives_rows(x: NDArray[Any]) -> None:
    assert_same(cut(x), x)
    assert_same(reversed(cut(x)), reversed(x))


MADE: dict[str, Callable[[Any], Any]] = {
    "cells": lambda x: x * 2,
    "rows of a mask": lambda x: x[x[:, 0] > 5],
    "a column": lambda x: x[:, 1],
    "a row": lambda x: x[1],
    "a total": lambda x: x.sum(axis=0),
    "turned": lambda x: x.T,
    "sorted": lambda x: np.sort(x, axis=0),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_a_loop_over_an_expression_gives_its_rows(make: Callable[[Any], Any]) -> None:
    assert_same(make(cut(X)), make(X))
    assert_same(reversed(make(cut(X))), reversed(make(X)))


def test_what_python_makes_of_rows() -> None:
    v = cut(V)
    assert (sum(v), min(v), max(v), sorted(v, reverse=True)) == (84, 0, 21, sorted(V)[::-1])
    assert dict(zip(v, cut(V * 2), strict=True)) == {number: 2 * number for number in V}
    one, two, *rest = cut(X)
    assert_same([one, two, *rest], X)
    with pytest.raises(ValueError, match="too many values to unpack"):
        one, two, rest = v
    assert [index for index, _ in enumerate(v)] == list(range(8))
    assert 21 in v
    assert 22 not in v
    assert 42 in v * 2
    assert 5 not in v * 2


def test_numpy_joins_the_rows_of_one_array() -> None:
    for join in (np.concatenate, np.vstack, np.hstack, np.stack):
        np.testing.assert_array_equal(join(cut(X)), join(X))  # type: ignore[operator]


@pytest.mark.parametrize("loop", [iter, list, reversed, max])
def test_a_number_is_not_iterated_over(loop: Callable[[Any], Any]) -> None:
    for number in (cut(V).sum(), cut(V)[3], cut(V).sum() + 1):
        with pytest.raises(TypeError, match="iteration over a 0-d array"):
            loop(number)


@pytest.mark.parametrize("form", ["csr", "coo"])
def test_rows_of_sparse_blocks(form: str) -> None:
    x = cut(sp.csr_array(X).asformat(form))
    np.testing.assert_array_equal([row.toarray() for row in x], X)
    np.testing.assert_array_equal([row.toarray() for row in reversed(x)], X[::-1])


def test_a_loop_over_a_bag_gives_items() -> None:
    bag = fs.Bag.from_items(["a", "bag", "of", "words", "in", "blocks"], 2)
    assert list(bag) == bag.compute() == ["a", "bag", "of", "words", "in", "blocks"]
    assert list(reversed(bag)) == bag.compute()[::-1]
    assert len(list(bag)) == len(bag)
    assert list(bag.iter_blocks()) == [["a", "bag"], ["of", "words"], ["in", "blocks"]]
    tables = fs.Bag.from_blocks([pa.table({"a": [1, 2]})])
    with pytest.raises(TypeError, match=r"has rows and no items.* iter_blocks\(\)"):
        list(tables)


def test_a_frame_says_what_to_iterate_over() -> None:
    frame = fs.Frame.from_blocks([pa.table({"a": [1, 2]}), pa.table({"a": [3]})])
    with pytest.raises(TypeError, match=r"iter_rows.*iter_blocks.*columns"):
        list(frame)
    assert [block.num_rows for block in frame.iter_blocks()] == [2, 1]


def test_each_block_is_fetched_once_and_only_when_it_is_needed(
    two_workers: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    from freestone.collections import base

    fetched = []
    fetch = base.own_value_of
    monkeypatch.setattr(base, "own_value_of", lambda piece: fetched.append(piece) or fetch(piece))
    x = fs.Array.from_function((8, 3), 3, lambda start, stop: X[start:stop]).persist()
    rows = iter(x)
    assert fetched == []
    for number, blocks in enumerate([1, 1, 1, 2, 2, 2, 3, 3]):
        np.testing.assert_array_equal(next(rows), X[number])
        assert len(fetched) == blocks
    assert_same(x + 1, X + 1)
    assert len(fetched) == 6
