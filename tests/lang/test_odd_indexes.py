"""Indexes and functions that once gave something else than NumPy's values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

X = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize("index", [True, False, np.True_])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_index_by_a_truth_value_adds_an_axis(index: Any) -> None:
    found = fs.Array.from_numpy(X, 2)[index]
    np.testing.assert_array_equal(np.asarray(found), X[index])
    assert np.shape(found) == X[index].shape


def test_zeros_like_texts_are_empty() -> None:
    texts = np.array(["ab", "c"])
    found = np.zeros_like(fs.Array.from_numpy(texts, 1)).compute()
    assert found.tolist() == np.zeros_like(texts).tolist() == ["", ""]
    assert np.zeros_like(fs.Array.from_numpy(X, 1), dtype="U3").compute().tolist() == [["", ""]] * 3


def test_what_is_read_has_expressions_at_once(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    program = f"""
import freestone as fs
print(float((fs.read({str(tmp_path / "x.npy")!r}) * 2).sum().compute()))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=110
    )
    assert (ran.stdout, ran.stderr) == ("30.0\n", "")


@pytest.mark.parametrize("name", ["s.npy", "s.zarr"])
def test_structured_arrays_are_refused_by_writes(name: str, tmp_path: Path) -> None:
    x = np.array([(1, 2.0), (3, 4.0)], dtype=[("run", "i4"), ("mass", "f8")])
    with pytest.raises(fs.errors.UsageError, match="fields of structured arrays go as the columns"):
        fs.write(x, str(tmp_path / name))
    assert list(tmp_path.iterdir()) == []


ROWS = np.arange(505.0).reshape(101, 5)


@pytest.mark.parametrize(
    "part",
    [
        lambda x: (x - x[0])[10:][2:9],
        lambda x: (x + x[5])[::-1][2:9],
        lambda x: np.maximum(x, x[3])[::2][::2],
        lambda x: (x * x[0].sum())[::3][4],
        lambda x: (x - x[7])[10:50][::5].sum(axis=0),
        lambda x: (x - x[-1])[3:90][x[3:90, 0] > 100],
        lambda x: x[0][x[:5, 0] >= 10],
    ],
)
def test_rows_in_an_expression_are_not_cut_as_it_is(part: Any) -> None:
    found = part(fs.Array.from_numpy(ROWS, 16))
    np.testing.assert_array_equal(np.asarray(found), part(ROWS))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_masks_of_rows_that_another_mask_chose() -> None:
    x = fs.Array.from_numpy(ROWS, 16)
    chosen, again = x[x[:, 0] > 100], x[x[:, 0] > 100]
    expected = ROWS[ROWS[:, 0] > 100]
    np.testing.assert_array_equal(chosen[again[:, 0] > 107], expected[expected[:, 0] > 107])
    np.testing.assert_array_equal(chosen[np.ones(80, bool)], expected)
    with pytest.raises(IndexError, match=r"axis is 80.* axis is 101"):
        np.asarray(chosen[x[:, 0] > 3])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_columns_of_a_transposed_selection_with_blocks_of_no_rows() -> None:
    x, mask = ROWS[:8], np.arange(8) % 2 == 0
    found = fs.Array.from_numpy(x, 1)[mask].T[:, ::-1]
    np.testing.assert_array_equal(np.asarray(found), x[mask].T[:, ::-1])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("rows", "others"), [(3, 30), (1000, 30), (30, 7)])
@pytest.mark.parametrize("dtypes", [("i2", "i2"), ("u1", "i2"), ("i4", "i2")])
def test_products_of_narrow_integers_that_are_cut_differently(
    rows: int, others: int, dtypes: tuple[str, str]
) -> None:
    left, right = (np.full((40, 2), 100, dtype) for dtype in dtypes)
    found = fs.Array.from_numpy(left, rows).T @ fs.Array.from_numpy(right, others)
    expected = left.T @ right
    assert np.asarray(found).dtype == found.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_expressions_have_the_methods_of_blocks(tmp_path: Path) -> None:
    x = fs.Array.from_numpy(ROWS, 16)
    y, expected = x * 2, ROWS * 2
    np.testing.assert_array_equal(y.persist(), expected)
    np.testing.assert_array_equal(y.map_blocks(np.sqrt), np.sqrt(expected))
    assert y.rechunk(50).offsets.tolist() == [0, 50, 100, 101]
    assert y.offsets.tolist() == x.offsets.tolist()
    assert [len(block) for block in y.iter_blocks()] == np.diff(x.offsets).tolist()
    assert (len(y.blocks), y.nbytes, y[y[:, 0] > 200].nbytes) == (7, 101 * 40, 80 * 40)
    assert x[x[:, 0] > 100].offsets[-1] == 80
    y.to_zarr(str(tmp_path / "y"))
    np.testing.assert_array_equal(fs.Array.from_zarr(str(tmp_path / "y")), expected)
    with pytest.raises(TypeError, match="call compute"):
        x.sum().persist()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x[y > 0],
        lambda x, y: np.bincount(y, weights=x),
        lambda x, y: np.bincount(y + 1, weights=x * 2),
        lambda x, y: np.linalg.lstsq(x[:, None], y * 1.0)[0],
        lambda x, y: np.average(x, weights=y),
    ],
)
def test_arrays_that_are_cut_differently_with_blocks_of_no_rows(function: Any) -> None:
    x, y = np.arange(5.0), np.array([0, 1, 1, 0, 2])
    cut = fs.Array.from_numpy(x, [0, 0, 2, 2, 5]), fs.Array.from_numpy(y, [0, 3, 5])
    np.testing.assert_allclose(function(*cut), function(x, y))
    assert cut[1].rechunk(cut[0].offsets).offsets.tolist() == [0, 0, 2, 2, 5]


WIDE = np.arange(21.0).reshape(7, 3)
EMPTY: list[Any] = [
    lambda x: np.hstack([x[:1, :1][:0], x]),
    lambda x: np.concatenate([x[:0], x[:1, :1]], axis=1),
    lambda x: np.hstack([np.ones((0, 1)), x]),
    lambda x: np.append(x, np.zeros((0, 2)), axis=0),
    lambda x: np.append(x, np.zeros((0, 2))),
    lambda x: np.vstack([x[:2], x[0][x[0] > 100]]),
    lambda x: np.concatenate([x.reshape(7, 3, 1), np.zeros((7, 0, 3))], axis=1),
    lambda x: np.concatenate([x, np.zeros((0, 3))]),
    lambda x: np.concatenate([x, np.zeros((7, 0))], axis=-1),
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("joined", EMPTY)
def test_arrays_without_elements_are_joined_where_numpy_joins_them(joined: Any) -> None:
    x = fs.Array.from_numpy(WIDE, 2)
    try:
        expected = joined(WIDE)
    except ValueError:
        with pytest.raises(ValueError, match=r"must match|dimensions"):
            np.asarray(joined(x))
    else:
        np.testing.assert_array_equal(joined(x), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_corners_of_joins_indexes_and_choices() -> None:
    x, y = fs.Array.from_numpy(WIDE, 2), np.arange(9.0)
    np.testing.assert_array_equal(np.hstack([x.sum(), x.max()]), [WIDE.sum(), WIDE.max()])
    np.testing.assert_array_equal(x[None, [0, -2]], WIDE[None, [0, -2]])
    cut = fs.Array.from_numpy(y, 4)
    for part in (
        slice(-2, None, -1),
        slice(-5, None, -1),
        slice(-5, -5, -2),
        slice(None, None, -1),
    ):
        for most in (0, 1, 2, 5):
            np.testing.assert_array_equal(cut[cut < most][part], y[y < most][part])
    narrow = np.arange(4, dtype="i1")
    for choices in ((narrow, narrow > 0), (narrow.astype("u8"), narrow > 0), (narrow, narrow)):
        first, second = (fs.Array.from_numpy(one, 2) for one in choices)
        found = np.select([first > 1, first > 0], [first, second], 0)
        expected = np.select([choices[0] > 1, choices[0] > 0], list(choices), 0)
        assert found.dtype == np.asarray(found).dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_loops_over_slices_of_their_own_results_do_not_double() -> None:
    found, expected = fs.Array.from_numpy(ROWS, 16), ROWS
    for _ in range(30):
        found, expected = (found + found[::-1]) / 2, (expected + expected[::-1]) / 2
        found, expected = found[1:] - found[:-1] * 0.5, expected[1:] - expected[:-1] * 0.5
    np.testing.assert_allclose(found, expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_orders_and_inner_sides_that_dask_takes_otherwise() -> None:
    ties = np.arange(21).reshape(7, 3) % 3
    for rows in (1, 2, 5):
        cut = fs.Array.from_numpy(ties, rows)
        assert (cut.T.argmin(), cut.T.argmax()) == (ties.T.argmin(), ties.T.argmax())
    x, y = fs.Array.from_numpy(ROWS[:7, :1], 2), fs.Array.from_numpy(np.arange(3.0), 2)
    for product in (lambda: x @ y[y > 0], lambda: y[y > 0] @ np.ones((1, 4))):
        with pytest.raises(ValueError, match="mismatch in its core dimension"):
            product()
    with pytest.raises(ValueError, match="not aligned"):
        np.dot(y[y == 1], y[y > 0])


def test_arrays_of_no_rows_in_other_blocks() -> None:
    mask = fs.Array.from_numpy(np.zeros(0, bool), [0, 0, 0])
    assert fs.Array.from_numpy(np.zeros((0, 3)), [0, 0])[mask].compute().shape == (0, 3)
    assert fs.Array.from_numpy(np.arange(5.0), [0, 0, 5, 5])[:-5][mask].compute().shape == (0,)
    deep = np.arange(84.0).reshape(7, 3, 4)
    found = np.median(fs.Array.from_numpy(deep, [0, 3, 3, 7]), axis=(2, 1))
    np.testing.assert_array_equal(found, np.median(deep, axis=(2, 1)))


def test_blocks_of_expressions_go_with_blocks() -> None:
    x = fs.Array.from_numpy(ROWS, 16)
    found = (x - x[5]).map_blocks(lambda block, other: block * len(other), x[:, 1] * 2)
    counts = np.repeat(np.diff(x.offsets), np.diff(x.offsets))[:, None]
    np.testing.assert_array_equal(found, (ROWS - ROWS[5]) * counts)
    whole = x.map_blocks(lambda block, sums: block + np.asarray(sums), x.sum(axis=0))
    np.testing.assert_array_equal(whole, ROWS + ROWS.sum(axis=0))
    with pytest.raises(fs.errors.BlockingError):
        x.map_blocks(lambda block, other: block, fs.Array.from_numpy(ROWS, 30) * 2)
