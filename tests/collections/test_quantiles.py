"""Medians and quantiles along the rows, by columns: as NumPy's of the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import freestone as fs
from freestone.lang.arrays import selecting
from freestone.lang.arrays.ranks import positions
from tests.collections.cut_arrays import PROPERTY

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
BY_BLOCKS = pytest.mark.filterwarnings("error:.*is not computed lazily")
QUANTILES: list[Any] = [0, 1, 0.5, 0.9, 1 / 3, np.float64(0.25), [0.1, 0.75], [0.0, 1.0], [[0.5]]]


METHODS: list[Any] = [
    *("inverted_cdf", "averaged_inverted_cdf", "closest_observation"),
    *("interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased"),
    *("normal_unbiased", "lower", "higher", "midpoint", "nearest"),
]


@st.composite
def numbers(draw: st.DrawFn) -> tuple[Any, list[int]]:
    """Draw numbers, with NaN and infinities among them, and blocks."""
    dtype = draw(st.sampled_from(["<i4", "u1", ">i8", "<f4", "<f8", "<f2"]))
    rows, shape = draw(st.integers(1, 20)), draw(st.sampled_from([(1,), (3,), (2, 2)]))
    made = draw(arrays.arrays(dtype, (rows, *shape)))
    cuts = draw(st.lists(st.integers(0, rows), max_size=3))
    return made, [0, *sorted(cuts), rows]


def check(array: Any, cuts: list[int], q: Any) -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    for call in (
        lambda x: np.median(x, axis=0),
        lambda x: np.nanmedian(x, 0),
        lambda x: np.quantile(x, q, axis=0),
        lambda x: np.quantile(x, q, -x.ndim, method="lower"),
        lambda x: np.percentile(x, np.multiply(q, 100), axis=0),
        lambda x: np.nanpercentile(x, np.multiply(q, 100), 0),
        lambda x: np.median(x, axis=0, keepdims=True),
        lambda x: np.nanquantile(x, q, axis=0, keepdims=True, method="hazen"),
        *([lambda x: np.quantile(x, q, (0, 2), keepdims=True)] if array.ndim == 3 else []),
        *([lambda x: np.nanmedian(x, (1, 0))] if array.ndim == 3 else []),
        *([lambda x: np.percentile(x.T, 30, axis=1)] if array.ndim == 2 else []),
    ):
        found, expected = call(blocks), call(array)
        assert isinstance(found, fs.Array)
        assert found.shape == expected.shape
        whole = np.asarray(found)
        assert whole.dtype == expected.dtype
        np.testing.assert_array_equal(whole, expected)


def check_of_all(array: Any, cuts: list[int], q: Any, method: Any = "linear") -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    calls: list[Callable[[Any], Any]] = [np.median, np.nanmedian]
    calls += [lambda x: np.median(x, keepdims=True)]
    if array.dtype != np.float16:
        calls += [
            lambda x: np.quantile(x, q, method=method),
            lambda x: np.percentile(x, np.asarray(q) * 100, method=method, keepdims=True),
            lambda x: np.nanquantile(x, q, axis=tuple(range(x.ndim)), method=method),
            lambda x: np.nanpercentile(x, np.asarray(q) * 100, method=method),
        ]
    for call in calls:
        found, expected = call(blocks), call(array)
        assert np.asarray(found).dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("method", METHODS)
def test_positions_are_those_of_numpy(method: Any) -> None:
    for count in (1, 2, 3, 4, 10, 97):
        values = np.square(np.arange(float(count)))
        for q in map(np.float64, [0, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.625, 0.9, 0.99, 1]):
            first, last, part = positions(method, count, q)
            pair = values[[first, last]]
            found = pair[0] if part is None else np.quantile(pair, part)
            assert found == np.quantile(values, q, method=method)


@BY_BLOCKS
@PROPERTY
@given(
    numbers(),
    st.sampled_from(QUANTILES),
    st.sampled_from([1, 3, 1024]),
    st.sampled_from(METHODS),
)
def test_of_all_values(given: tuple[Any, list[int]], q: Any, samples: int, method: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selecting, "SAMPLES", samples)
        patch.setattr(selecting, "DEVIATIONS", 1)
        check_of_all(*given, q, method)
        check_of_all(given[0].reshape(len(given[0]), -1)[:, 0], given[1], q, method)


@BY_BLOCKS
def test_of_all_values_on_workers(two_workers: fs.Cluster) -> None:
    values = np.random.default_rng(1).normal(size=(9_000, 3))
    gaps = np.where(values > 1, np.nan, values)
    gaps[:2_500] = np.nan
    for array in (values, np.round(values), np.sort(values, axis=None)[:9_000], gaps):
        check_of_all(array, [0, 2_500, 2_500, 6_000, 9_000], [0.0, 0.1, 0.5, 0.999])


@BY_BLOCKS
def test_few_numbers_among_many_nans() -> None:
    array = np.full(9_000, np.nan)
    array[[17, 5_000]] = [3.0, 1.0]
    for values in (array, np.full(9_000, np.nan)):
        check_of_all(values, [0, 4_500, 9_000], [0.1, 0.5, 1.0])


@BY_BLOCKS
@PROPERTY
@given(numbers(), st.sampled_from(QUANTILES), st.sampled_from(METHODS))
def test_of_each_row(given: tuple[Any, list[int]], q: Any, method: Any) -> None:
    array, blocks = given[0], fs.Array.from_numpy(*given)
    # Of a matrix of them NumPy's functions without NaN move another axis, where the last one goes.
    listed = np.ravel(q) if np.ndim(q) > 1 else q
    for call in (
        lambda x: np.median(x, axis=1),
        lambda x: np.nanmedian(x, axis=-1, keepdims=True),
        lambda x: np.quantile(x, q, axis=1, method=method),
        lambda x: np.percentile(x, np.multiply(q, 100), 1, keepdims=True),
        lambda x: np.nanquantile(x, listed, axis=-1, method=method, keepdims=True),
        lambda x: np.nanpercentile(x, np.multiply(listed, 100), axis=tuple(range(1, x.ndim))),
        *([lambda x: np.quantile(x.T, q, axis=0)] if array.ndim == 2 else []),
    ):
        found, expected = call(blocks), call(array)
        assert found.shape == expected.shape
        if found.dtype == expected.dtype:
            np.testing.assert_array_equal(found.compute(), expected)
            continue
        # Of a first row of nothing but NaN, NumPy's functions without NaN take the values' type.
        assert np.isnan(array[:1]).any()
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-6)


@BY_BLOCKS
@pytest.mark.parametrize("axis", [0, 1])
def test_a_block_of_nothing_but_nan_has_the_type_of_the_others(axis: int) -> None:
    array = np.array([[np.nan, np.nan], [np.nan, np.nan], [1, 3], [2, 7]], np.float32)
    array = array if axis else array.T.copy()
    found = np.nanquantile(fs.Array.from_numpy(array, 2 if axis else 1), [0.1, 0.7], axis=axis)
    # NumPy's own type is that of the first row: of nothing but NaN, it is the values'.
    expected = np.nanquantile(array.astype(np.float64), [0.1, 0.7], axis=axis)
    np.testing.assert_allclose(found.compute(), expected, rtol=1e-6)
    assert found.dtype == found.compute().dtype == np.float64


@BY_BLOCKS
@PROPERTY
@given(numbers(), st.sampled_from(QUANTILES))
def test_quantiles(given: tuple[Any, list[int]], q: Any) -> None:
    check(*given, q)


@BY_BLOCKS
@settings(PROPERTY, max_examples=5)
@given(numbers(), st.sampled_from(QUANTILES))
def test_quantiles_on_workers(
    two_workers: fs.Cluster, given: tuple[Any, list[int]], q: Any
) -> None:
    check(*given, q)


def test_what_is_no_quantile() -> None:
    x = fs.Array.from_numpy(np.ones((5, 2)), 2)
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        np.quantile(x, 2, axis=0)
    with pytest.raises(ValueError, match="Percentiles must be in the range"):
        np.percentile(x, [50, 101], axis=0)
    with pytest.raises(ValueError, match="nope"):
        np.quantile(x, 0.5, axis=0, method="nope")  # type: ignore[call-overload]


@pytest.mark.filterwarnings("ignore:.*is not computed lazily")
@pytest.mark.parametrize("axis", [None, 1, -1, (0, 1)])
def test_other_axes_and_methods(axis: Any) -> None:
    array = np.arange(12.0).reshape(4, 3)
    x = fs.Array.from_numpy(array, 3)
    np.testing.assert_array_equal(np.asarray(np.median(x, axis=axis)), np.median(array, axis=axis))
    found = np.quantile(x, 0.3, axis=axis, method="lower")
    np.testing.assert_array_equal(np.asarray(found), np.quantile(array, 0.3, axis, method="lower"))
