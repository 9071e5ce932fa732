"""What arrays in blocks once did otherwise than NumPy: each was found by a program of a user."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import freestone as fs

pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

CELLS = np.arange(84).reshape(7, 3, 4)
FOUR = np.arange(168).reshape(7, 2, 3, 4)
REALS = CELLS.astype("f8")
BIG = CELLS.astype(">i4")
TEXTS = np.array([["ab", "cd"], ["efg", "h"], ["70", "1"]])
HALF = np.array([[1, np.inf], [2, 3], [4, 5]], "f2")
MASK = np.arange(7) % 2 == 0
RECORDS = np.array([(1, "abc"), (2, "d")], [("a", "i4"), ("b", "U3")])
NONE = np.empty((0, 3))


def in_place(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that changes a copy of an array."""

    def changed(x: Any) -> Any:
        return change(x.copy())

    return changed


def added(amount: Any) -> Callable[[Any], Any]:
    def add(x: Any) -> Any:
        x += amount
        return x

    return in_place(add)


def multiplied(amount: Any) -> Callable[[Any], Any]:
    def multiply(x: Any) -> Any:
        x *= amount
        return x

    return in_place(multiply)


def divided(x: Any) -> Any:
    x /= 2
    return x


def squared(x: Any) -> Any:
    x **= 2
    return x


def blocks(x: Any) -> fs.Array:
    return fs.Array.from_numpy(x, 2)


Case = tuple[str, Callable[[Any], Any], np.ndarray[Any, Any]]
INDEXES: list[Case] = [
    ("a number and a list apart", lambda x: x[1, :, [0, 1]], CELLS),
    ("a number and a list", lambda x: x[1, [0, 1]], CELLS),
    ("a number, an axis, a list", lambda x: x[1, None, [0, 1]], CELLS),
    ("a number and a mask apart", lambda x: x[1, :, np.array([True, False, True, True])], CELLS),
    ("a number and two lists", lambda x: x[1, [0, 1], [2, 1]], CELLS),
    ("a mask and a list apart", lambda x: x[MASK, :, [0, 1, 2, 1]], CELLS),
    ("a mask and a list", lambda x: x[MASK, [0, 1, 2, 1]], CELLS),
    ("a mask and a number", lambda x: x[MASK, :, 1], CELLS),
    ("a list and a number", lambda x: x[[1, 2], 1], CELLS),
    ("rows, a number, a list", lambda x: x[1:3, 1, [0, 1]], CELLS),
    ("rows, a number, a list apart", lambda x: x[1:3, 1, :, [0, 1]], FOUR),
    ("rows, lists apart", lambda x: x[:, [0, 1], :, [0, 1]], FOUR),
    ("rows, numbers apart", lambda x: x[:, 1, :, 2], FOUR),
    ("a real number", lambda x: x[1.0], CELLS),
    ("a real number of a column", lambda x: x[1:, 1.0], CELLS),
    ("a list of real numbers", lambda x: x[[1.0, 2.0]], CELLS),
    ("an empty list", lambda x: x[[]], CELLS),
    ("a mask without elements", lambda x: x[np.zeros(0, bool)], CELLS),
    ("a mask without elements, and a column", lambda x: x[np.zeros(0, bool), 1], CELLS),
    ("a number in an array", lambda x: x[np.array(2), :, [0, 1]], CELLS),
    ("a mask of what is whole", lambda x: x.sum(axis=0)[x.sum(axis=0) > 40], REALS[:, 0]),
    ("columns by what is whole", lambda x: x[:, x.sum(axis=0) > 150], REALS[:, 0]),
    ("the place of an extreme", lambda x: x.sum(axis=0)[x.sum(axis=0).argmax()], REALS[:, 0]),
    ("an order", lambda x: x.sum(axis=0)[np.argsort(-x.sum(axis=0))], REALS[:, 0]),
    ("a field of a record", lambda x: x[0]["b"], RECORDS),
    ("a text", lambda x: x[0, 0], TEXTS),
    ("a text that is longer", lambda x: x[1, 0], TEXTS),
    ("bytes", lambda x: x[0, 0], TEXTS.astype("S4")),
    ("a number in a text", lambda x: int(x[2, 0]), TEXTS),
]
TYPES: list[Case] = [
    ("cumsum of float64 in float32", lambda x: np.cumsum(x, axis=0, dtype="f4"), REALS),
    ("cumsum of columns", lambda x: np.cumsum(x, axis=1, dtype="f4"), REALS),
    ("cumsum of all", lambda x: np.cumsum(x, dtype="f4"), REALS),
    ("cumsum of all, placed", lambda x: np.cumsum(x, None, "f4"), REALS),
    ("the transpose as integers", lambda x: x.T.astype(int), REALS[:, 0]),
    ("cumsum of integers in float64", lambda x: np.cumsum(x, axis=0, dtype="f8"), CELLS),
    ("cumsum in uint8", lambda x: x.cumsum(axis=0, dtype="u1"), CELLS.astype("u1")),
    ("cumprod in uint64", lambda x: np.cumprod(x + 1, axis=1, dtype="u8"), CELLS),
    ("weights of int32", lambda x: weighed(x), CELLS.astype("i4")),
    ("weights of float32", lambda x: weighed(x), CELLS.astype("f4")),
    ("weights of uint8", lambda x: weighed(x), CELLS.astype("u1")),
    ("weights that are here", lambda x: weighed(x, CELLS * 0.5), CELLS),
    ("weights of a density", lambda x: weighed(x, CELLS, density=True), CELLS),
    ("weights of another shape", lambda x: weighed(x, CELLS[:3]), CELLS),
    ("no bins", lambda x: np.histogram(x, bins=[]), CELLS),
    ("one edge, weights", lambda x: np.histogram(x, bins=[1], weights=x * 0.5), CELLS),
    ("weights, edges of the data", lambda x: np.histogram(x, 3, weights=x * 2), CELLS),
    *[
        (f"{name} of another byte order", function, BIG)
        for name, function in {
            "roll": lambda x: np.roll(x, 2, axis=0),
            "repeat": lambda x: np.repeat(x, 2, axis=0),
            "pad": lambda x: np.pad(x, 1),
            "delete": lambda x: np.delete(x, [0, 2], axis=0),
            "fftshift": np.fft.fftshift,
        }.items()
    ],
    ("nanstd of half precision", np.nanstd, HALF),
    ("nanvar of half precision", lambda x: np.nanvar(x, axis=0), HALF),
    ("a norm of no rows", lambda x: np.linalg.norm(x, np.inf, axis=0), NONE),
    (
        "concatenate with another type",
        lambda x: np.concatenate([x, np.ones((2, 3, 4), "f4")]),
        REALS,
    ),
    ("concatenate in front", lambda x: np.concatenate([np.ones((2, 3, 4), "i1"), x]), REALS),
]
FLAT = CELLS[:, :, 0]
UNIQUES = np.array([(1, 2.5), (0, 1.5), (3, np.nan), (1, 0)], [("a", "i4"), ("b", "f8")])
DIFFERENT: list[Case] = [
    ("a sum along no axes", lambda x: x.sum(axis=()), FLAT),
    ("a mean along no axes", lambda x: x.mean(axis=()), FLAT),
    ("the size of an axis", lambda x: (np.size(x, 0), np.size(x, axis=-1)), CELLS),
    ("the size of an axis that is not there", lambda x: np.size(x, 3), CELLS),
    ("more dimensions on the left", lambda x: np.ones((5, 7, 3)) * x, FLAT),
    ("as many rows on the left", lambda x: np.arange(147.0).reshape(7, 7, 3) * x, FLAT),
    ("one row to many", lambda x: np.where(np.arange(6) > 2, x, 1), FLAT[0, :1]),
    ("an average by weights", lambda x: np.average(x, weights=x), FLAT.astype("u1")),
    ("a pad longer than an axis", lambda x: np.pad(x, 5, mode="reflect"), FLAT),
    ("a pad, symmetric", lambda x: np.pad(x, 5, "symmetric"), FLAT),
    ("a diagonal that is summed", lambda x: np.einsum("ii", x), FLAT[:3]),
    ("a diagonal of what is not square", lambda x: np.einsum("ii", x), FLAT),
    ("a diagonal by numbers", lambda x: np.einsum(x, [0, 0], [0]), FLAT[:3]),
    ("diagonals of texts", lambda x: np.diag(x[:, 0], 1), TEXTS),
    ("diagonals of another byte order", lambda x: np.diag(x[0, 0], 1), BIG),
    ("compress in another byte order", lambda x: np.compress([True, False], x, axis=0), BIG),
    ("conj of booleans", lambda x: x.conj(), FLAT % 2 == 0),
    ("conj of dates", lambda x: x.conj(), FLAT.astype("M8[s]")),
    ("unique in another byte order", lambda x: np.unique(x, return_inverse=True)[0], BIG),
    ("counts of records with NaN", lambda x: np.unique(x, return_counts=True)[1], UNIQUES),
    ("a sum of dates as integers", lambda x: np.cumsum(x, 0, "i2"), FLAT.astype("M8[s]")),
    ("cumsum of no columns", np.cumsum, FLAT[:, :0]),
    ("searchsorted of no columns", lambda x: np.searchsorted(np.ravel(x), x), FLAT[:, :0]),
]
IN_PLACE: list[Case] = [
    ("reals to integers", added(1.5), CELLS),
    ("integers divided", in_place(divided), CELLS),
    ("numbers out of bounds", added(300), CELLS.astype("u1")),
    ("float64 to float32", added(REALS), CELLS.astype("f4")),
    ("another shape", added(FOUR), CELLS),
    ("another byte order", added(1), BIG),
    ("a power", in_place(squared), CELLS.astype("i2")),
    ("a product", multiplied(CELLS.astype("i2")), CELLS.astype("i4")),
]
NUMBERS: list[Case] = [
    ("format", lambda x: f"{x.sum():.2f}", REALS),
    ("format of a mean", lambda x: f"{x.mean():>12.3e}", CELLS),
    ("round", lambda x: round(x.mean()), REALS),
    ("round to a digit", lambda x: round(x.mean(), 1), REALS),
]


TIMES = np.arange(3).astype("M8[D]")
COMPARED: list[Case] = [
    ("texts and a number", lambda x: x == 1, TEXTS),
    ("texts and numbers", lambda x: x != np.arange(2), TEXTS),
    ("texts and bytes", lambda x: x == TEXTS.astype("S3"), TEXTS),
    ("bytes and a text", lambda x: x != "ab", TEXTS.astype("S3")),
    ("how many texts are no number", lambda x: (x != 1).sum(axis=0), TEXTS),
    ("numbers and a text", lambda x: x == "a", CELLS),
    ("a transpose and a text", lambda x: x.T == "a", CELLS[0]),
    ("times and a number", lambda x: x != 1, TIMES),
    ("texts and others of another shape", lambda x: x == np.arange(7), TEXTS),
    ("records and records", lambda x: x == x, RECORDS),
    ("records and a record", lambda x: x != RECORDS[1], RECORDS),
    ("records and a number", lambda x: x == 1, RECORDS),
    ("records of other fields", lambda x: x == RECORDS[["a"]], RECORDS),
    ("a text in numbers", lambda x: "a" in x, CELLS),
]
ODD = np.arange(4) % 2 == 1
MASK_OF_THREE = np.array([True, False, True])
BY_DASK: list[Case] = [
    ("a product of three dimensions", lambda x: x.dot(x[0].T), REALS),
    ("a product by a number", lambda x: x.dot(2), REALS),
    ("axes from the end", lambda x: np.tensordot(x, x, axes=([-1], [-1])), REALS),
    ("axes from both ends", lambda x: np.tensordot(x, x, ((-1, 1), (2, -2))), REALS),
    ("rows deleted by a mask", lambda x: np.delete(x, x[:, 0, 0] > 30, axis=0), CELLS),
    ("elements deleted by a mask", lambda x: np.delete(x, x % 3 == 0), CELLS[:, 0, 0]),
    ("elements before those of a mask", lambda x: np.insert(x, x % 3 == 0, 9), CELLS[:, 0, 0]),
    ("a choice of one row", lambda x: np.select([x[0] > 1], [x], x), FLAT),
    ("an axis repeated", lambda x: np.pad(x, 9, "wrap"), FLAT),
    ("a covariance of three dimensions", np.cov, CELLS),
    ("a covariance of one row", lambda x: np.cov(x, rowvar=False), REALS[:1, 0]),
    ("vectors of which one is empty", lambda x: np.vstack([x, np.empty(0)]), FLAT[:, 0]),
    ("blocks of which one is empty", lambda x: np.block([x, np.empty(0)]), FLAT[:, 0]),
    ("axes that are left out", lambda x: np.einsum("i...->i", x), CELLS),
    ("infinities of complex numbers", np.isposinf, REALS + 0j),
    ("where a number is in an order", lambda x: np.searchsorted(x, x.mean()), REALS[:, 0, 0]),
    ("vectors of all", lambda x: np.concatenate([x, x[0]], axis=None), CELLS),
    ("columns by a mask in blocks", lambda x: np.compress(blocks(ODD), x, axis=2), CELLS),
    ("a condition of another length", lambda x: np.extract(x[:2] > 0, x[:1]), CELLS[:, 0, 0]),
    ("positions of a number", lambda x: np.argwhere(x[1]), CELLS[:, 0, 0]),
    ("infinities less their mean", lambda x: np.nanstd(1 / x, dtype="f4"), FLAT),
    ("columns by booleans in blocks", lambda x: x[1:, blocks(MASK_OF_THREE)], CELLS),
    ("columns by numbers in blocks", lambda x: x[..., blocks(np.arange(3))], CELLS),
    ("a new axis and booleans in blocks", lambda x: x[None, x[:, 0, 0] > 9], CELLS),
    ("booleans in blocks and a list", lambda x: x[x[:, 0, 0] > 9, [0, 1, 2, 1, 0]][:2], CELLS[:6]),
    ("a value in blocks before others", lambda x: np.insert(x, 1, x.mean()), REALS[:, 0, 0]),
    ("a side repeated", lambda x: np.tensordot(x[:, :1], x[:2], axes=([-1], [0])), FLAT),
    ("both by booleans in blocks", lambda x: x[x[:, 0] > 1, x[0] < 8], FLAT[:3]),
    ("an element of those that a mask chose", lambda x: np.int64(x[x > 7].item(1)), FLAT[:, 0]),
    ("a triangle of a wide matrix", lambda x: np.abs(np.linalg.qr(x)[1]).round(9), REALS[:3, 0]),
    ("matrices of all singular values", lambda x: np.linalg.svd(x)[0].shape, FLAT),
    ("the reduced ones", lambda x: np.linalg.svd(x, full_matrices=False)[0].shape, FLAT),
    ("singular values", lambda x: np.linalg.svd(x, compute_uv=False).round(9), REALS[:, 0]),
    ("a cast that is not allowed", lambda x: np.add(x, np.int8(1), casting="no"), REALS),
    ("a cast that is", lambda x: np.add(x, 0.5, casting="unsafe", dtype="i4"), REALS),
]
POWERS: list[Case] = [
    (f"{label} to the power {power!r}", lambda x, made=made, power=power: made(x) ** power, MASK)
    for power in (2, 3, 2.0, np.int8(2))
    for label, made in {"booleans": np.copy, "a boolean": np.any}.items()
]
NO_MASK = np.zeros(0, bool)
NONE_CHOSEN: list[Case] = [
    ("a least of no rows and columns", lambda x: x[NO_MASK].min(axis=0), NONE[:, :0]),
    ("a greatest of no rows", lambda x: x[NO_MASK].max(axis=0), NONE),
    ("a greatest of rows without columns", lambda x: x[MASK].max(axis=0), FLAT[:, :0]),
    ("a greatest of none of them", lambda x: x[MASK & ~MASK].max(axis=0), FLAT[:, :0]),
]


CASES = [*INDEXES, *TYPES, *DIFFERENT, *IN_PLACE, *NUMBERS, *COMPARED, *BY_DASK]
CASES += [*POWERS, *NONE_CHOSEN]
KINDS = (ValueError, IndexError, TypeError, OverflowError)


def weighed(x: Any, weights: Any = None, **options: Any) -> Any:
    return np.histogram(x, 5, (-50, 50), weights=x if weights is None else weights, **options)


def found(function: Callable[[Any], Any], x: Any) -> Any:
    """Return values with their types and shapes, or the kind of error."""
    try:
        made = function(x)
        parts = made if isinstance(made, tuple) else (made,)
        arrays = [np.asarray(one.compute() if hasattr(one, "compute") else one) for one in parts]
    except KINDS as error:
        return next(kind for kind in KINDS if isinstance(error, kind))
    return [(one.shape, one.dtype, one.tolist()) for one in arrays]


@pytest.mark.parametrize("rows", [2, 100])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_it_is_as_numpys(two_workers: fs.Cluster, case: Case, rows: int) -> None:
    _, function, data = case
    expected = found(function, data)
    assert repr(found(function, fs.Array.from_numpy(data, rows))) == repr(expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_arrays_here_take_what_is_in_blocks(dtype: str) -> None:
    """As NumPy's, they keep their type, and take no other kind of it."""
    here, also = np.ones(CELLS.shape, dtype), np.ones(CELLS.shape, dtype)
    for more, blocks in ((CELLS, fs.Array.from_numpy(CELLS, 2)), (REALS, None)):
        if blocks is None:
            blocks = fs.Array.from_numpy(REALS, 3)
        if not np.can_cast(more.dtype, dtype, "same_kind"):
            with pytest.raises(TypeError, match="Cannot cast"):
                here += blocks
            continue
        here += blocks
        also += more
    assert here.dtype == dtype
    np.testing.assert_array_equal(here, also)
    large = np.zeros((2, *CELLS.shape))
    np.add(fs.Array.from_numpy(CELLS[:1], 1), 1, out=large)
    np.testing.assert_array_equal(large, np.broadcast_to(CELLS[:1] + 1, large.shape))
    with pytest.raises(ValueError, match="non-broadcastable output"):
        here[0] += fs.Array.from_numpy(REALS, 3)


def test_a_change_in_place_leaves_what_others_hold() -> None:
    x = fs.Array.from_numpy(CELLS, 2)
    y = x
    x += 1
    np.testing.assert_array_equal(y.compute(), CELLS)
    np.testing.assert_array_equal(x.compute(), CELLS + 1)
