"""Unique values, counts and a tall QR, by blocks: as NumPy's of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.client.future import Future
from tests.collections.cut_arrays import PROPERTY, cut_arrays, same


def check_unique(array: Any, cuts: list[int], equal_nan: bool) -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    same(np.unique(blocks, equal_nan=equal_nan), np.unique(array, equal_nan=equal_nan))
    options: dict[str, Any] = {"return_index": True, "return_counts": True, "equal_nan": equal_nan}
    for found, expected in zip(
        np.unique(blocks, **options), np.unique(array, **options), strict=True
    ):
        same(found, expected)
    _, counts = np.unique(blocks, return_counts=True, equal_nan=equal_nan)
    same(counts, np.unique(array, return_counts=True, equal_nan=equal_nan)[1])


@PROPERTY
@given(cut_arrays(), st.booleans())
@example((np.array([np.nan, 1, np.nan, 1]), [0, 1, 1, 3, 4]), True)
@example((np.array([np.nan, 1, np.nan, 1]), [0, 1, 1, 3, 4]), False)
@example((np.zeros((0, 2)), [0, 0]), True)
def test_unique_values(given: tuple[Any, list[int]], equal_nan: bool) -> None:
    check_unique(*given, equal_nan)


@pytest.mark.filterwarnings("ignore:unique of an Array is not computed lazily:UserWarning")
@pytest.mark.parametrize("dtype", ["f8", "M8[s]"])
@pytest.mark.parametrize("more", [{}, {"return_index": True, "return_counts": True}])
def test_where_values_that_are_missing_are_among_the_unique(
    dtype: str, more: dict[str, bool]
) -> None:
    array = np.array([1, np.nan, 2, np.nan, 1, 3]).astype(dtype)
    blocks = fs.Array.from_numpy(array, 2)
    found = np.unique(blocks, return_inverse=True, **more)
    for one, expected in zip(found, np.unique(array, return_inverse=True, **more), strict=True):
        np.testing.assert_array_equal(np.asarray(one), expected)


@settings(PROPERTY, max_examples=15)
@given(given=cut_arrays(), equal_nan=st.booleans())
def test_unique_values_on_workers(
    two_workers: fs.Cluster, given: tuple[Any, list[int]], equal_nan: bool
) -> None:
    check_unique(*given, equal_nan)


@PROPERTY
@given(
    st.lists(st.integers(0, 3), max_size=20),
    st.sampled_from(["?", "u1", "<i4", ">i4", "<i8"]),
    st.lists(st.integers(0, 20), max_size=4),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_counts(values: list[int], dtype: str, cuts: list[int], minlength: int, dice: Any) -> None:
    array = np.array(values, int).astype(dtype)
    offsets = [0, *sorted(min(cut, len(array)) for cut in cuts), len(array)]
    blocks = fs.Array.from_numpy(array, offsets)
    same(np.bincount(blocks, minlength=minlength), np.bincount(array, minlength=minlength))
    # Sums of these are exact in any order.
    weights = np.array([dice.randrange(-64, 64) / 4 for _ in array])
    expected = np.bincount(array, weights, minlength)
    same(np.bincount(blocks, weights, minlength), expected)
    assert np.bincount(blocks, weights, minlength).dtype == expected.dtype
    same(np.bincount(blocks, fs.Array.from_numpy(weights, offsets), minlength), expected)


def test_what_numpy_does_not_count() -> None:
    blocks = fs.Array.from_numpy(np.array([1, 2, -1]), 2)
    with pytest.raises(ValueError, match="negative"):
        np.asarray(np.bincount(blocks))
    with pytest.raises(TypeError, match="safe"):
        np.bincount(fs.Array.from_numpy(np.array([1.0, 2]), 1))
    with pytest.raises(ValueError, match="3 values with 2 weights"):
        np.bincount(blocks, np.ones(2))


def check_factors(array: Any, cuts: list[int]) -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    found, expected = np.linalg.qr(blocks), np.linalg.qr(array)
    q, r = np.asarray(found.Q), np.asarray(found.R)
    assert found.Q.offsets.tolist() == cuts
    assert (q.shape, q.dtype) == (expected.Q.shape, expected.Q.dtype)
    assert (r.shape, r.dtype) == (expected.R.shape, expected.R.dtype)
    eps = np.finfo(r.dtype).eps * 100 * max(array.shape)
    np.testing.assert_allclose(q @ r, array, atol=eps * max(np.abs(array).max(), 1))
    np.testing.assert_allclose(q.conj().T @ q, np.eye(q.shape[1]), atol=eps)
    assert not np.tril(r, -1).any()
    np.testing.assert_array_equal(np.asarray(np.linalg.qr(blocks, "r")), r)


@st.composite
def tall_arrays(draw: st.DrawFn) -> tuple[Any, list[int]]:
    """Draw a matrix of at least as many rows as columns, also of less than full rank."""
    columns = draw(st.integers(1, 4))
    rows = draw(st.integers(columns, 20))
    dtype = np.dtype(draw(st.sampled_from(["<f4", "<f8", ">f8", "<c16", "<i4", "?"])))
    dice = np.random.default_rng(draw(st.integers(0, 99)))
    made = (dice.integers(-4, 5, (rows, columns)) / 2).astype(dtype)
    cuts = draw(st.lists(st.integers(0, rows), max_size=3))
    return made, [0, *sorted(cuts), rows]


@PROPERTY
@given(tall_arrays())
@example((np.zeros((5, 2)), [0, 0, 1, 5]))
def test_factors(given: tuple[Any, list[int]]) -> None:
    check_factors(*given)


def test_factors_are_as_numpys_up_to_signs(two_workers: fs.Cluster) -> None:
    array = np.random.default_rng(3).normal(size=(200, 5))
    check_factors(array, [0, 3, 90, 200])
    q, r = np.linalg.qr(fs.Array.from_numpy(array, 60))
    expected = np.linalg.qr(array)
    signs = np.sign(np.diag(np.asarray(r))) * np.sign(np.diag(expected.R))
    np.testing.assert_allclose(np.asarray(q) * signs, expected.Q, atol=1e-12)
    np.testing.assert_allclose(np.asarray(r) * signs[:, None], expected.R, atol=1e-12)


def test_workers_hold_parts_and_nothing_goes_through_the_program(
    two_workers: fs.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    fetch = Future._value

    def noted(future: Future, *timeout: Any) -> Any:
        fetched.append(future.nbytes or 0)
        return fetch(future, *timeout)

    def made(start: int, stop: int) -> Any:
        return np.arange(start, stop) * 7919 % 100_000

    x = fs.Array.from_function(100_000, 20_000, made, dtype=np.int64)
    monkeypatch.setattr(Future, "_value", noted)
    whole = np.sort(x)
    counts = np.bincount(x // 1000)
    q, _ = np.linalg.qr(x.map_blocks(lambda block: np.c_[block, block % 7], shape=(100_000, 2)))
    sizes = np.diff(whole.offsets)
    assert len(sizes) == 2
    # A sample says where the parts begin, here to within a few of a hundred.
    assert sizes.max() < 60_000
    assert (len(whole), len(counts), q.shape) == (100_000, 100, (100_000, 2))
    # Of 5 blocks 256 values each.
    assert sum(fetched) < 40_000
    np.testing.assert_array_equal(np.asarray(whole), np.arange(100_000))


def test_rows_that_a_mask_chooses() -> None:
    array = np.array([5, 1, 5, 0, 3, 1])
    blocks = fs.Array.from_numpy(array, 4)
    same(np.unique(blocks[blocks > 0]), np.array([1, 3, 5]))
    same(np.sort((blocks * 2)[blocks > 1]), np.array([6, 10, 10]))
    same(np.bincount(blocks[blocks < 5]), np.bincount(array[array < 5]))


@pytest.mark.filterwarnings("ignore:tile of an Array")
def test_dask_keeps_the_byte_order_of_what_is_repeated() -> None:
    pytest.importorskip("dask.array")
    array = np.arange(6, dtype=">i4")
    same(np.tile(fs.Array.from_numpy(array, 4), 2), np.tile(array, 2))
