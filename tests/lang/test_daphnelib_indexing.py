"""What stands in the brackets of lazy values: positions, slices and masks, as in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freestone.errors.lang import ScriptError
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.daphnelib.lazy import FUSED
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
CELLS = np.array([[5.0, 1, 7], [2, 3, 4], [9, 6, 0], [1, 2, 3]])
BITS = np.array([True, False, True, True])


def lazy() -> Any:
    return CONTEXT.from_numpy(CELLS)


@pytest.mark.parametrize(
    ("mask", "expected"),
    [
        (lambda x, b: (x > 3)[:, 0], CELLS[:, 0] > 3),
        (lambda x, b: (x > 3).T[0], CELLS[:, 0] > 3),
        (lambda x, b: b, BITS),
        (lambda x, b: ~b, ~BITS),
        (lambda x, b: b & (x[:, 1] > 2), BITS & (CELLS[:, 1] > 2)),
        (lambda x, b: (x[:, 1] > 2) | b, BITS | (CELLS[:, 1] > 2)),
        (lambda x, b: (x[:, 0] > 2) != b, (CELLS[:, 0] > 2) != BITS),
        (lambda x, b: np.where(x[:, 0] > 2, True, False), CELLS[:, 0] > 2),
        (lambda x, b: np.where(b, x[:, 0] > 2, x[:, 1] > 2), np.where(BITS, *(CELLS.T[:2] > 2))),
        (lambda x, b: (x[:, 1] > 1) * (x[:, 1] < 4), (CELLS[:, 1] > 1) & (CELLS[:, 1] < 4)),
        (lambda x, b: (x[:, 1] < 2) + (x[:, 1] < 4), CELLS[:, 1] < 4),
        (lambda x, b: np.max(x > 6, axis=1), (CELLS > 6).max(1)),
        (lambda x, b: (x[:2, 0] > 3).rbind(x[2:, 0] > 3), CELLS[:, 0] > 3),
        (lambda x, b: (x[:, 0] > 2).asType("bool"), CELLS[:, 0] > 2),
        (lambda x, b: BITS, BITS),
        (lambda x, b: BITS.tolist(), BITS),
    ],
)
def test_what_comes_of_truth_values_is_a_mask(mask: Callable[..., Any], expected: Any) -> None:
    x = lazy()
    chosen = x[mask(x, CONTEXT.from_numpy(BITS))]
    np.testing.assert_array_equal(chosen.compute(), CELLS[expected])


def test_numbers_are_positions() -> None:
    x = lazy()
    first = CELLS[:, 0] > 2
    for places, expected in (
        (CONTEXT.from_numpy(np.array([1, 0])), [1, 0]),
        ((x[:, 0] > 2).asType("si64"), first.astype(int)),
        ((x[:, 0] > 2) * 2, first * 2),
        (range(1, 3), range(1, 3)),
        ([], []),
    ):
        found = x[places].compute()
        np.testing.assert_array_equal(found, CELLS[np.asarray(expected, int)])


def test_slices_have_steps() -> None:
    x = lazy()
    for part in (slice(None, None, 2), slice(3, 0, -2), slice(None, None, -1), slice(-1, 9, 3)):
        np.testing.assert_array_equal(x[part].compute(), CELLS[part])
        np.testing.assert_array_equal(x[..., part].compute(), CELLS[..., part])


ENDS = (None, -9, -2, 0, 1, 3, np.int64(9), 2**70)
SETTINGS = [FUSED, Settings()]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("least", [0, 4, 9])
def test_slices_of_unknown_rows_end_where_numpys_do(least: int, settings: Settings) -> None:
    x = lazy()
    rows, expected = x[x[:, 0] > least], CELLS[CELLS[:, 0] > least]
    columns, across = x[:, x[0] > least], CELLS[:, CELLS[0] > least]
    for begin, end, step in itertools.product(ENDS, ENDS, (None, 1, 2, -1)):
        part = slice(begin, end, step)
        np.testing.assert_array_equal(rows[part].compute(settings), expected[part])
        np.testing.assert_array_equal(columns[:, part].compute(settings), across[:, part])


def test_lazy_ends_of_slices_are_clipped_too() -> None:
    x = lazy()
    kept = x[x[:, 0] > 1]
    for y, expected in ((x, CELLS), (kept, CELLS[CELLS[:, 0] > 1])):
        count = y.nrow()
        np.testing.assert_array_equal(y[count - 2 :].compute(), expected[-2:])
        np.testing.assert_array_equal(y[: count + 5].compute(), expected)
        np.testing.assert_array_equal(y[count:0:-1].compute(), expected[:0:-1])
    with pytest.raises(IndexError, match="a lazy step has a begin and an end"):
        x[:: count - 1]


def test_slices_of_frames_and_csr_end_where_numpys_do() -> None:
    pandas = pytest.importorskip("pandas")
    sparse = pytest.importorskip("scipy.sparse")
    frame = CONTEXT.from_pandas(pandas.DataFrame(CELLS, columns=["a", "b", "c"]))
    kept = frame[frame[:, "a"].toMatrix() > 4]
    few = CONTEXT.from_scipy(sparse.csr_array(CELLS))
    for part in (slice(0, 10), slice(-10, None), slice(1, 3), slice(5, 9), slice(None, None, -1)):
        np.testing.assert_array_equal(kept[part].compute().to_numpy(), CELLS[[0, 2]][part])
        if part.step is None:
            found = few[few.nrow() * 0 + (part.start or 0) :].compute()
            assert found.shape == CELLS[part.start :].shape


@pytest.mark.parametrize("part", [slice(1.5, None), slice(None, "a"), slice(None, None, 0.5)])
def test_ends_of_slices_are_integers(part: slice) -> None:
    x = lazy()
    for y in (x, x[x[:, 0] > 1]):
        with pytest.raises(IndexError, match="is no end of a slice; ends and steps are integers"):
            y[part]
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            y[::0]


def test_a_mask_of_numpys_has_to_fit() -> None:
    x = lazy()
    kept = x[x[:, 0] > 1]
    np.testing.assert_array_equal(
        kept[np.array([True, False, True])].compute(), CELLS[:3][[True, False, True]]
    )
    with pytest.raises(ScriptError, match="a filter of 3 needs as many bits"):
        kept[np.array([True, False])].compute()
    with pytest.raises(IndexError, match="a mask of 2 truth values for 4 rows"):
        x[np.array([True, False])]
    with pytest.raises(IndexError, match=r"not of the shape \(4, 3\)"):
        x[CELLS > 1]


@pytest.mark.parametrize(
    ("key", "what"),
    [
        (True, "True is no position"),
        (1.0, "1.0 is no position"),
        (np.float64(1), "1.0 is no position"),
        ([1.0, 2.0], "is no position; rows and columns are chosen by integers"),
        (2**70, "position 1180591620717411303424 is outside"),
        ((0, 0, 0), "3 are given"),
    ],
)
def test_what_is_no_position_is_refused(key: Any, what: str) -> None:
    with pytest.raises(IndexError, match=what):
        lazy()[key]


def test_only_columns_of_frames_have_labels() -> None:
    pandas = pytest.importorskip("pandas")
    x, frame = lazy(), CONTEXT.from_pandas(pandas.DataFrame({"a": [1], "b": [2]}))
    for key in ("a", ["a", "b"], (slice(None), "a"), ("a", 0)):
        with pytest.raises(IndexError, match="a matrix<f64> 4x3 has no labels"):
            x[key]
    with pytest.raises(IndexError, match=r"rows have positions, not labels, .* f\[:, 'b'\]"):
        frame["b", "a"]


def test_a_lazy_truth_value_is_no_position() -> None:
    x = lazy()
    with pytest.raises(IndexError, match="a truth value is no position"):
        x[x.sum() > 3]


def test_what_a_loop_carries_has_to_say_what_it_is() -> None:
    x = lazy()
    rows = CONTEXT.from_numpy(np.array([[1], [0]]))
    with pytest.raises(IndexError, match="may be a mask or positions"):
        CONTEXT.for_loop([x, x[:, 0] > 2], lambda y, mask, i: (y[mask], mask), 1, 1)
    chosen, _ = CONTEXT.for_loop([x, rows], lambda y, at, i: (y[at + 0] * 1.0, at), 1, 2)
    np.testing.assert_array_equal(chosen.compute(), CELLS[[0, 1]])
    kept, _ = CONTEXT.for_loop([x, x[:, 0] > 2], lambda y, m, i: (y[m != 0], m), 1, 1)
    np.testing.assert_array_equal(kept.compute(), CELLS[CELLS[:, 0] > 2])
