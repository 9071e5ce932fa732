"""Sorted values, their order, and rows in another order, by blocks: as NumPy's of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.lang.arrays import sorting
from tests.collections.cut_arrays import PROPERTY, cut_arrays, same

SHAPES = ((), (1,), (3,), (2, 2), (0,))
pytestmark = pytest.mark.filterwarnings("error:.*is not computed lazily")


def check_order(array: Any, cuts: list[int]) -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    for axis in (None, *range(-array.ndim, array.ndim)):
        same_rows(np.sort(blocks, axis=axis), np.sort(array, axis=axis))
        expected = np.argsort(array, axis=axis, kind="stable")
        same_rows(np.argsort(blocks, axis=axis, kind="stable"), expected)
    same_rows(np.sort(blocks, axis=0)[::-1], np.sort(array, axis=0)[::-1])


def same_rows(found: Any, expected: Any) -> None:
    whole = np.asarray(found)
    assert whole.dtype == expected.dtype
    np.testing.assert_array_equal(whole, expected)


@PROPERTY
@given(cut_arrays(SHAPES))
@example((np.array([np.nan, -0.0, 0.0, np.nan, 1]), [0, 1, 1, 3, 5]))
@example((np.array([1 + 1j, complex(1, np.nan), 1, complex(np.nan, 0)]), [0, 2, 4]))
@example((np.zeros((0, 2)), [0, 0]))
def test_order(given: tuple[Any, list[int]]) -> None:
    check_order(*given)


@settings(PROPERTY, max_examples=10)
@given(cut_arrays(SHAPES))
@example((np.array([[np.nan, 1], [-1, np.nan], [0, 1], [0, 1]]), [0, 1, 1, 4]))
def test_order_on_workers(two_workers: fs.Cluster, given: tuple[Any, list[int]]) -> None:
    check_order(*given)


@settings(PROPERTY, max_examples=5)
@given(cut_arrays(((1,), (3,))))
def test_columns_too_large_for_one_call(
    two_workers: fs.Cluster, given: tuple[Any, list[int]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "PART_NBYTES", 8)
        check_order(*given)


def test_of_the_transpose() -> None:
    array = np.array([[3, 1], [2, 5], [4, 0]])
    blocks = fs.Array.from_numpy(array, 2)
    for axis in (0, 1):
        same_rows(np.sort(blocks.T, axis=axis), np.sort(array.T, axis=axis))


def test_the_order_of_one_element_is_of_one_dimension() -> None:
    element = fs.Array.from_numpy(np.array([3, 1, 2]), 2)[1]
    for axis in (None, 0, -1):
        same_rows(np.argsort(element, axis=axis), np.argsort(np.array(1), axis=axis))
    with pytest.raises(np.exceptions.AxisError):
        np.asarray(np.argsort(element, axis=1))


def test_a_kind_of_sort_that_numpy_does_not_know() -> None:
    array = fs.Array.from_numpy(np.array([3, 1, 2]), 2)
    for function in (np.sort, np.argsort):
        with pytest.raises(ValueError, match="nope"):
            function(array, kind="nope")
        with pytest.raises(np.exceptions.AxisError):
            function(array, axis=1)
    assert np.asarray(np.sort(array, kind="stable")).tolist() == [1, 2, 3]


KEYS = st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, np.nan]), st.sampled_from("ab"))


def check_lexsort(rows: list[Any], cuts: list[int]) -> None:
    keys = [np.array([row[at] for row in rows], kind) for at, kind in enumerate(["i1", "f4", "U1"])]
    offsets = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    blocks = [fs.Array.from_numpy(key, offsets) for key in keys]
    same(np.lexsort(tuple(blocks)), np.lexsort(keys))
    same(np.lexsort((blocks[0] > 1, keys[1], blocks[2])), np.lexsort((keys[0] > 1, *keys[1:])))


@PROPERTY
@given(st.lists(KEYS, max_size=25), st.lists(st.integers(0, 25), max_size=4))
def test_order_by_several_keys(rows: list[Any], cuts: list[int]) -> None:
    check_lexsort(rows, cuts)


def test_order_by_several_keys_on_workers(two_workers: fs.Cluster) -> None:
    dice = np.random.default_rng(1)
    columns = dice.integers(4, size=90), dice.integers(3, size=90), dice.choice(["a", "b"], 90)
    rows = list(zip(*columns, strict=True))
    check_lexsort(rows, [7, 7, 50])


def test_keys_of_other_shapes() -> None:
    array = fs.Array.from_numpy(np.arange(4), 2)
    with pytest.raises(ValueError, match="same shape"):
        np.lexsort((array, fs.Array.from_numpy(np.arange(3), 2)))


# -- rows in another order --------------------------------------------------------------------

STEPS = st.builds(
    slice,
    st.none() | st.integers(-30, 30),
    st.none() | st.integers(-30, 30),
    st.integers(-5, 5).filter(bool),
)


def check_rows(array: Any, cuts: list[int], step: slice, numbers: list[int]) -> None:
    blocks = fs.Array.from_numpy(array, cuts)
    same_rows(blocks[step], array[step])
    same_rows((blocks == blocks)[step], (array == array)[step])
    same_rows(np.flip(blocks, 0), np.flip(array, 0))
    same_rows(np.flip(blocks), np.flip(array))
    index = np.array([number % len(array) for number in numbers] if len(array) else [], int)
    index[::2] -= len(array)
    same_rows(blocks[index], array[index])
    same_rows(blocks[index.tolist()], array[index.tolist()])
    same_rows(np.take(blocks, index, axis=0), array[index])
    wanted = fs.Array.from_numpy(index, 3)
    same_rows(blocks[wanted], array[index])
    if array.ndim == 1:
        same_rows(blocks[np.argsort(blocks)], array[np.argsort(array, kind="stable")])


@PROPERTY
@given(cut_arrays(((), (2,), (2, 3))), STEPS, st.lists(st.integers(0, 40), max_size=9))
def test_rows(given: tuple[Any, list[int]], step: slice, numbers: list[int]) -> None:
    check_rows(*given, step, numbers)


@settings(PROPERTY, max_examples=10)
@given(cut_arrays(((), (2,))), STEPS, st.lists(st.integers(0, 40), max_size=9))
def test_rows_on_workers(
    two_workers: fs.Cluster, given: tuple[Any, list[int]], step: slice, numbers: list[int]
) -> None:
    check_rows(*given, step, numbers)


def test_rows_and_columns_of_many_dimensions() -> None:
    array = np.arange(120).reshape(5, 4, 3, 2)
    blocks = fs.Array.from_numpy(array, 2)
    same_rows(blocks[[4, 0], 1:, None, ::2], array[[4, 0], 1:, None, ::2])
    same_rows(blocks[..., 1], array[..., 1])
    same_rows(blocks[::-2, :, 1], array[::-2, :, 1])
    same_rows(np.cumsum(blocks, axis=2), np.cumsum(array, axis=2))
    same_rows(np.argmax(blocks, axis=-1), np.argmax(array, axis=-1))


def test_numbers_that_no_row_has(two_workers: fs.Cluster) -> None:
    blocks = fs.Array.from_numpy(np.arange(4), 3)
    for index in ([0, 4], [-5], np.array([2**63], np.uint64)):
        with pytest.raises(IndexError, match="of 4"):
            blocks[index]
    with pytest.raises(IndexError, match="row 9 is out of bounds of an array of 4 rows"):
        np.asarray(blocks[fs.Array.from_numpy(np.array([1, 9]), 1)])
