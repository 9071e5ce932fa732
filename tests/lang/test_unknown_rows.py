"""Rows whose number only a mask says: NaN in a shape, as in Dask, until they are computed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import freestone as fs
from freestone.lang.daphnelib import DaphneContext

DATA = np.arange(24.0).reshape(8, 3)
KEPT = DATA[DATA[:, 0] > 7]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is not computed lazily")
        yield


def chosen() -> Any:
    x = fs.Array.from_numpy(DATA, 3)
    return x[x[:, 0] > 7]


def test_a_shape_has_nan_for_them_as_in_dask() -> None:
    y = chosen()
    assert y.shape == np.shape(y) == (np.nan, 3)
    assert y.T.shape == (3, np.nan)
    assert np.isnan(y.shape[0] * 2)
    assert np.isnan([y.size, np.size(y), np.size(y, 0)]).all()
    assert np.size(y, 1) == 3
    assert "(nan, 3)" in repr(y)


@pytest.mark.parametrize("transposed", [False, True])
def test_chunk_sizes_are_computed_in_place(transposed: bool) -> None:
    y = chosen().T if transposed else chosen()
    expected = KEPT.T if transposed else KEPT
    assert y.compute_chunk_sizes() is y
    assert (y.shape, y.size) == (expected.shape, expected.size)
    assert_array_equal(y, expected)
    assert y.compute_chunk_sizes() is y


def test_chunk_sizes_that_are_known_stay() -> None:
    x = fs.Array.from_numpy(DATA, 3)
    blocks = list(x.blocks)
    assert x.compute_chunk_sizes() is x
    assert all(one is other for one, other in zip(x.blocks, blocks, strict=True))
    assert_array_equal(chosen().to_array().compute_chunk_sizes().compute(), KEPT)


def test_of_a_cluster_they_stay_on_the_workers() -> None:
    with fs.Cluster(executors=1, memory="64MiB"):
        y = chosen().compute_chunk_sizes()
        assert len(y) == len(KEPT)
        assert_array_equal(y[1], KEPT[1])
        assert_array_equal(y[-2:], KEPT[-2:])


def test_len_says_what_to_do() -> None:
    with pytest.raises(TypeError, match=r"x.compute_chunk_sizes\(\).*np.count_nonzero\(mask\)"):
        len(chosen())
    assert len([*chosen()]) == len(KEPT)


REFUSED: list[Callable[[Any], Any]] = [
    lambda y: y[0],
    lambda y: y[0:2],
    lambda y: y[np.array([True, False, True, False, True])],
    lambda y: y + np.ones((5, 3)),
    lambda y: np.ones((2, 5)) @ y,
    lambda y: np.array_equal(y, KEPT),
    lambda y: y + chosen(),
]


@pytest.mark.parametrize("call", REFUSED)
def test_what_needs_their_number_is_computed_or_says_how(call: Callable[[Any], Any]) -> None:
    with fs.Cluster(executors=1, memory="64MiB", numpy_fallback="error"):
        y = chosen()
        with pytest.raises(TypeError, match=r"not known yet; x.compute_chunk_sizes\(\)"):
            call(y)
        assert y.compute_chunk_sizes().shape == KEPT.shape


@pytest.mark.parametrize(
    "call", [*REFUSED[:-2], lambda y: y.reshape(-1), lambda y: y.reshape(5, -1)]
)
def test_dask_computes_them(call: Callable[[Any], Any]) -> None:
    assert_array_equal(call(chosen()), call(KEPT))


def test_a_single_element_is_a_number() -> None:
    x = fs.Array.from_numpy(np.arange(6.0), 4)
    assert float(x[x == 4]) == int(x[x == 4]) == 4
    with pytest.raises(TypeError, match=r"shape \(2,\) is no number"):
        float(x[x > 3])
    with pytest.raises(TypeError, match=r"shape \(0,\) is no number"):
        float(x[x > 9])


def test_a_lazy_number_has_one_item() -> None:
    mean = chosen().mean()
    assert mean.item(0) == mean.item() == KEPT.mean()
    with pytest.raises(IndexError, match="index 1 is out of bounds for size 1"):
        mean.item(1)


def test_they_are_written_into_arrays_of_numpys() -> None:
    out = np.zeros(KEPT.shape)
    assert np.add(chosen(), 1, out=out) is out
    out += chosen()
    assert_array_equal(out, 2 * KEPT + 1)
    with pytest.raises(ValueError, match="non-broadcastable"):
        np.add(chosen(), 1, out=np.zeros((4, 3)))


def test_operators_in_place_keep_the_shape() -> None:
    y = chosen()
    y += np.ones(KEPT.shape)
    assert_array_equal(y, KEPT + 1)
    y = chosen()[:, :1]
    with pytest.raises(ValueError, match=r"shape \(5, 1\) can't become one of shape \(5, 3\)"):
        y += np.ones((5, 3))


# -- DaphneLib ----------------------------------------------------------------------------------


def lazily_chosen() -> Any:
    x = DaphneContext().from_numpy(DATA)
    return x[x[:, 0] > 7]


def test_lazy_matrices_have_nan_too() -> None:
    y = lazily_chosen()
    assert y.shape == (np.nan, 3)
    assert np.isnan(y.size)


@pytest.mark.parametrize("shape", [(-1, 1), (1, -1), (5, -1), (-1, 5)])
def test_lazy_matrices_are_reshaped(shape: tuple[int, int]) -> None:
    assert_array_equal(lazily_chosen().reshape(*shape).compute(), KEPT.reshape(shape))


def test_a_shape_that_does_not_fit_is_refused_when_it_is_computed() -> None:
    y = lazily_chosen().reshape(-1, 2)
    with pytest.raises(fs.FreestoneError, match="5x3 cells can't be 7x2"):
        y.compute()


@pytest.mark.parametrize(
    "key",
    [
        slice(0, 2),
        slice(-2, None),
        slice(None, -1),
        (slice(1, 3), 0),
        (slice(1, None), slice(0, 2)),
        (slice(1, None), slice(-1, None)),
    ],
)
def test_a_number_is_written_into_rows_of_lazy_matrices(key: Any) -> None:
    y, expected = lazily_chosen(), KEPT.copy()
    y[key] = expected[key] = 9.0
    assert_array_equal(y.compute(), expected)
