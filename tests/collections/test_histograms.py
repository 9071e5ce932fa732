"""Histograms of several dimensions, by blocks: as NumPy's of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from tests.collections.cut_arrays import PROPERTY

pytestmark = [
    pytest.mark.filterwarnings("error:.*is not computed lazily"),
    pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning"),
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"bins": 3, "density": True},
    {"bins": [2, 5]},
    {"bins": [0, 1, 2, 7]},
    {"bins": [4, [0.0, 1.5, 3.0]], "density": True},
    {"bins": 4, "range": [(0, 6), (-1, 3)]},
    {"bins": 4, "range": [(0, 6), None]},
]


@st.composite
def points(draw: st.DrawFn) -> tuple[Any, Any, list[int]]:
    """Draw coordinates of few values, and blocks, some without rows."""
    rows = draw(st.integers(1, 12))
    dtypes = st.sampled_from(["<i4", "u1", "<f4", "<f8", ">f8"])
    made = [
        np.array(draw(st.lists(st.integers(0, 6), min_size=rows, max_size=rows)), draw(dtypes))
        for _ in range(2)
    ]
    return *made, [0, *sorted(draw(st.lists(st.integers(0, rows), max_size=3))), rows]


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple | list):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected)


def check(x: Any, y: Any, cuts: list[int], options: dict[str, Any]) -> None:
    blocks = [fs.Array.from_numpy(one, cuts) for one in (x, y)]
    weights = np.arange(len(x)) % 3
    same(np.histogram2d(*blocks, **options), np.histogram2d(x, y, **options))
    given = {**options, "weights": weights}
    same(np.histogram2d(blocks[0], y, **given), np.histogram2d(x, y, **given))
    if isinstance(options.get("bins"), list) and len(options["bins"]) == 4:
        options = {"bins": [options["bins"]] * 2}
    both = np.stack([x, y], axis=1)
    matrix = fs.Array.from_numpy(both, cuts)
    same(np.histogramdd(matrix, **options), np.histogramdd(both, **options))
    same(np.histogramdd(blocks, **options), np.histogramdd([x, y], **options))


@PROPERTY
@given(points(), st.sampled_from(OPTIONS))
def test_the_same_as_numpy(given: tuple[Any, Any, list[int]], options: dict[str, Any]) -> None:
    check(*given, options)


def test_on_workers(two_workers: fs.Cluster) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 5_000))
    for options in OPTIONS:
        check(x, y, [0, 2_000, 2_000, 5_000], options)


def test_of_one_column_and_of_none() -> None:
    x = np.arange(7.0)
    blocks = fs.Array.from_numpy(x, 3)
    same(np.histogramdd(blocks, bins=3), np.histogramdd(x, bins=3))
    empty = fs.Array.from_numpy(x[:0], 3)
    same(np.histogram2d(empty, empty, bins=2), np.histogram2d(x[:0], x[:0], bins=2))


def test_bad_arguments() -> None:
    x = fs.Array.from_numpy(np.arange(6.0), 3)
    with pytest.raises(ValueError, match=r"\d and \d rows"):
        np.histogram2d(x, np.arange(5.0))
    with pytest.raises(ValueError, match="monotonically increasing"):
        np.histogramdd([x, x], bins=[[3, 1], 2])
    with pytest.raises(ValueError, match="dimension of bins"):
        np.histogramdd([x, x], bins=[1, 2, 3])
    gaps = fs.Array.from_numpy(np.array([1.0, np.nan]), 1)
    with pytest.raises(ValueError, match="not finite"):
        np.histogram2d(gaps, gaps)[0].compute()
