"""DaphneLib's operators repeat rows, columns and single cells as NumPy's do."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.errors.lang import ScriptError
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
WAYS = [Settings(), Settings(vec=True, num_threads=2)]
FUNCTIONS: list[Any] = [operator.add, operator.sub, operator.mul, operator.truediv, operator.lt]
FUNCTIONS += [operator.ge, operator.eq, operator.ne, np.maximum, np.minimum]
CELLS = {"f8": [0, 1, 2, -1, -0.0, np.inf, np.nan], "f4": [0, 1.5, -2, np.nan], "i8": [-3, 0, 1, 2]}


@st.composite
def sides(draw: st.DrawFn) -> tuple[Any, Any]:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    made = []
    for _ in range(2):
        kind = draw(st.sampled_from(sorted(CELLS)))
        shape = draw(st.sampled_from([(rows, columns), (1, columns), (rows, 1), (1, 1)]))
        count = shape[0] * shape[1]
        cells = draw(st.lists(st.sampled_from(CELLS[kind]), min_size=count, max_size=count))
        made.append(np.array(cells, kind).reshape(shape))
    return made[0], made[1]


@settings(deadline=None, max_examples=300)
@given(sides(), st.sampled_from(FUNCTIONS), st.sampled_from(WAYS), st.booleans(), st.booleans())
def test_both_sides_are_repeated(
    pair: tuple[Any, Any], function: Any, way: Settings, is_computed: bool, is_array: bool
) -> None:
    left, right = pair
    kinds = {left.dtype.str[1:], right.dtype.str[1:]}
    if kinds == {"i8", "f4"} or (function is operator.truediv and kinds == {"i8"}):
        # The language's own: 32 bits, and truncated.
        return
    with np.errstate(all="ignore"):
        expected = function(left, right)
    one = CONTEXT.from_numpy(left) * 1 if is_computed else CONTEXT.from_numpy(left)
    found = np.atleast_2d(
        function(one, right if is_array else CONTEXT.from_numpy(right)).compute(way)
    )
    np.testing.assert_array_equal(found, expected)
    if expected.dtype != bool:
        assert found.dtype == expected.dtype


@pytest.mark.parametrize("way", WAYS, ids=["plain", "fused"])
def test_parts_of_a_choice_are_repeated(way: Settings) -> None:
    cells, row, column = (
        np.arange(6.0).reshape(2, 3),
        np.array([[7.0, 8, 9]]),
        np.array([[1.0], [2]]),
    )
    x = CONTEXT.from_numpy(cells)
    found = np.where(x > 2, CONTEXT.from_numpy(row), CONTEXT.from_numpy(column)).compute(way)
    np.testing.assert_array_equal(found, np.where(cells > 2, row, column))
    np.testing.assert_array_equal(
        np.where(x > 2, x, x[0, 1]).compute(way), np.where(cells > 2, cells, 1)
    )


@pytest.mark.parametrize("shape", [(2, 1), (1, 3), (1, 1), ()])
def test_a_condition_is_repeated(shape: tuple[int, ...]) -> None:
    cells, condition = np.arange(6.0).reshape(2, 3), np.resize([1.0, 0.0], shape)
    x = CONTEXT.from_numpy(cells)
    lazy = CONTEXT.from_numpy(condition) if shape else CONTEXT.from_numpy(np.ones((1, 1))).sum()
    np.testing.assert_array_equal(np.where(lazy, x, -1.0).compute(), np.where(condition, cells, -1))
    if not shape:
        assert np.where(lazy > 0, 2.0, 3.0).compute() == 2.0


TABLE = np.array([[1.5, -2.0, 3.0], [-1.0, 4.0, 0.5], [2.0, -3.0, 1.0], [0.5, 2.5, -4.0]])


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, m: m(x) - x,
        lambda x, m: m(x) * x,
        lambda x, m: m(x) < x,
        lambda x, m: np.maximum(m(x), x),
        lambda x, m: m(x) / x,
        lambda x, m: np.array([1.0, 2.0, 3.0]) - x,
        lambda x, m: np.array([[2.0]]) * x,
        lambda x, m: x - np.array([[2.0]]),
        lambda x, m: x[:, [0]] - x,
        lambda x, m: x[:, [0]] - m(x),
        lambda x, m: m(x) - x[:, [0]],
        lambda x, m: x[:, [0]] * m(x),
        lambda x, m: x[[0]] / x,
        lambda x, m: np.where(x > 1, x, m(x)),
        lambda x, m: np.where(x > 1, x[:, [0]], m(x)),
        lambda x, m: np.where(m(x) > 0, x, -1.0),
        lambda x, m: np.where(x[:, [0]] > 1, x, -x),
        lambda x, m: np.where(np.array([[1.0]]), x, 0.0),
        lambda x, m: np.where(x[:, [0]] > 1, m(x), 3.0),
    ],
)
@pytest.mark.parametrize("least", [0.0, 1.9])
@pytest.mark.parametrize("way", WAYS, ids=["plain", "fused"])
def test_sides_are_repeated_to_rows_that_a_mask_leaves(
    way: Settings, least: float, compute: Any
) -> None:
    x, kept = CONTEXT.from_numpy(TABLE), TABLE[TABLE[:, 0] > least]
    found = compute(x[x[:, 0] > least], _mean).compute(way)
    np.testing.assert_array_equal(found, compute(kept, _mean))


def _mean(x: Any) -> Any:
    return np.mean(x, axis=0)


@pytest.mark.parametrize("way", WAYS, ids=["plain", "fused"])
def test_sides_are_repeated_to_no_rows(way: Settings) -> None:
    x, row = CONTEXT.from_numpy(TABLE), np.array([1.0, 2.0, 3.0])
    nothing = x[x[:, 0] > 9]
    assert (row - nothing).compute(way).shape == (0, 3)
    assert np.where(nothing > 0, nothing, row).compute(way).shape == (0, 3)


def test_sides_are_repeated_in_a_loop_whose_rows_change() -> None:
    x = CONTEXT.from_numpy(TABLE)
    [grown] = CONTEXT.for_loop(
        [CONTEXT.from_numpy(np.ones((1, 3)))], lambda y, i: ((x[0] - y).rbind(y),), 1, 3
    )
    expected = np.ones((1, 3))
    for _ in range(3):
        expected = np.vstack([TABLE[0] - expected, expected])
    np.testing.assert_array_equal(grown.compute(), expected)


def test_what_does_not_go_together_is_refused() -> None:
    x = CONTEXT.from_numpy(np.ones((3, 4)))
    with pytest.raises(ScriptError, match="a row of 4 or a column of 3"):
        x - np.ones((1, 3))
    with pytest.raises(ScriptError, match="2x4 matrix"):
        x + CONTEXT.from_numpy(np.ones((2, 4)))


def test_none_in_brackets_adds_what_is_there() -> None:
    cells = np.arange(6.0).reshape(2, 3)
    x = CONTEXT.from_numpy(cells)
    found = x - np.mean(x, axis=1)[:, None]
    np.testing.assert_array_equal(found.compute(), cells - cells.mean(1)[:, None])
    np.testing.assert_array_equal(np.mean(x, axis=0)[None, :].compute(), cells.mean(0)[None])
    with pytest.raises(IndexError, match="leave it out"):
        x[:, None]


def test_a_row_of_truth_values_chooses_columns() -> None:
    cells = np.arange(6.0).reshape(2, 3)
    x = CONTEXT.from_numpy(cells)
    np.testing.assert_array_equal(x[:, x[0] > 0].compute(), cells[:, cells[0] > 0])
    with pytest.raises(ScriptError, match="a mask is one row or one column"):
        x[:, x > 0]


@pytest.mark.parametrize("function", [*FUNCTIONS, operator.pow, operator.mod])
@pytest.mark.parametrize("least", [-9.0, 1.9])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("way", WAYS, ids=["plain", "fused"])
def test_the_row_that_a_mask_leaves_is_repeated_on_either_side(
    way: Settings, columns: int, least: float, function: Any
) -> None:
    chosen, whole = np.abs(TABLE[:, :columns]), np.abs(TABLE) + 1
    x, y = CONTEXT.from_numpy(chosen), CONTEXT.from_numpy(whole)
    left, kept = x[CONTEXT.from_numpy(TABLE)[:, 0] > least], chosen[TABLE[:, 0] > least]
    np.testing.assert_array_equal(function(left, y).compute(way), function(kept, whole))
    np.testing.assert_array_equal(function(y, left).compute(way), function(whole, kept))
    column = y[:, [0]]
    np.testing.assert_array_equal(function(left, column).compute(way), function(kept, whole[:, :1]))
    np.testing.assert_array_equal(function(column, left).compute(way), function(whole[:, :1], kept))


def test_several_rows_that_a_mask_leaves_are_not_repeated() -> None:
    x = CONTEXT.from_numpy(TABLE)
    left = x[x[:, 0] > 1]
    for function in (operator.add, operator.sub):
        for sides in ((left, x), (x, left)):
            with pytest.raises(ScriptError, match=r"of a 4x3 and a 2x3 matrix"):
                function(*sides).compute()
