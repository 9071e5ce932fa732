"""Matrices that are large enough for the engine to fill, join and cut them, beside NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext

CONTEXT = DaphneContext()
Array = np.ndarray[Any, Any]
ROWS, COLUMNS = 1501, 701


def cells(dtype: str = "f8") -> Array:
    return (np.arange(ROWS * COLUMNS) % 251).reshape(ROWS, COLUMNS).astype(dtype)


SIDES = {
    "rows": lambda a: a,
    "transposed": lambda a: np.asfortranarray(a),
    "backwards": lambda a: a[::-1],
    "some columns": lambda a: np.hstack([a, a])[:, 5 : 5 + COLUMNS],
    "one row": lambda a: np.broadcast_to(a[7], a.shape),
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1"])
def test_large_matrices_are_joined(side: str, dtype: str) -> None:
    one, two = cells(dtype), SIDES[side](cells(dtype))
    lazy = CONTEXT.from_numpy(one), CONTEXT.from_numpy(two)
    for left, right in [(0, 1), (1, 0)]:
        both = [(one, two)[left], (one, two)[right]]
        np.testing.assert_array_equal(lazy[left].cbind(lazy[right]).compute(), np.hstack(both))
        np.testing.assert_array_equal(lazy[left].rbind(lazy[right]).compute(), np.vstack(both))


@pytest.mark.parametrize("value", [1.5, -7, 0])
@pytest.mark.parametrize("shape", [(ROWS, COLUMNS), (ROWS * COLUMNS, 1), (1, ROWS * COLUMNS)])
def test_large_matrices_are_filled(value: float, shape: tuple[int, int]) -> None:
    made = CONTEXT.fill(value, *shape).compute()
    assert made.shape == shape
    assert (made == value).all()


@pytest.mark.parametrize("dtype", ["f8", "i4", "u1"])
@pytest.mark.parametrize("diag", [False, True])
@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles_are_cut(dtype: str, diag: bool, values: bool, lower: bool) -> None:
    square = cells(dtype)[:COLUMNS]
    square[3, 3] = 0
    for given in (square, square.T, square[:1, :1], square[::-1]):
        lazy = CONTEXT.from_numpy(given)
        made = lazy.lowerTri(diag, values) if lower else lazy.upperTri(diag, values)
        offset = 0 if diag else 1
        kept = np.tril(given, -offset) if lower else np.triu(given, offset)
        np.testing.assert_array_equal(made.compute(), kept if values else kept != 0)
