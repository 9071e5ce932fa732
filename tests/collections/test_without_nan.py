"""Sums, means and extremes without NaN, lazily: as NumPy's of the whole."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import freestone as fs
from tests.collections.cut_arrays import PROPERTY

pytestmark = [
    pytest.mark.filterwarnings("error:.*is not computed lazily"),
    pytest.mark.filterwarnings("ignore:Mean of empty|All-NaN|invalid value:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
FUNCTIONS: list[Any] = [
    *(np.nansum, np.nanmean, np.nanmin, np.nanmax, np.nanvar, np.nanstd),
    functools.partial(np.nanvar, ddof=2),
]
NUMBERS = st.sampled_from([np.nan, 0.0, 1.0, -2.0, 3.5, np.inf])


@st.composite
def gaps(draw: st.DrawFn) -> tuple[Any, list[int]]:
    dtype = draw(st.sampled_from(["<f4", "<f8", ">f8", "<i4"]))
    rows, shape = draw(st.integers(1, 9)), draw(st.sampled_from([(), (2,), (2, 2)]))
    elements = st.integers(-3, 3) if dtype == "<i4" else NUMBERS
    made = draw(arrays.arrays(dtype, (rows, *shape), elements=elements))
    cuts = draw(st.lists(st.integers(0, rows), max_size=3))
    return made, [0, *sorted(cuts), rows]


def check(array: Any, cuts: list[int]) -> None:
    x = fs.Array.from_numpy(array, cuts)
    axes = [None, 0, -1, *([(0, 1)] if array.ndim > 1 else [])]
    for function in FUNCTIONS:
        for axis in axes:
            for keepdims in (False, True):
                found = function(x, axis=axis, keepdims=keepdims)
                expected = np.asarray(function(array, axis=axis, keepdims=keepdims))
                assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


@PROPERTY
@given(gaps())
def test_the_same_as_numpy(given: tuple[Any, list[int]]) -> None:
    check(*given)


def test_on_workers(two_workers: fs.Cluster) -> None:
    array = np.random.default_rng(3).normal(size=(90, 4))
    array[array > 1] = np.nan
    array[:, 2] = np.nan
    check(array, [0, 40, 40, 90])


@pytest.mark.parametrize("dtype", ["f4", "c8", "i4", "?", "M8[s]", "U2"])
def test_the_real_and_the_imaginary_part_are_lazy(dtype: str) -> None:
    array = np.ones((4, 2), "i4").astype(dtype)
    x = fs.Array.from_numpy(array, 3)
    for found, expected in ((x.real, array.real), (x.imag, array.imag)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(found), expected)
