"""`numpy.linalg.lstsq` by blocks: as NumPy's of the whole."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import freestone as fs

pytestmark = pytest.mark.filterwarnings("error:.*is not computed lazily")
RNG = np.random.default_rng(7)
TALL = RNG.normal(size=(20, 3))
SIDES = {
    "a vector": (TALL, RNG.normal(size=20)),
    "several": (TALL, RNG.normal(size=(20, 2))),
    "equal columns": (TALL[:, [0, 1, 1]], RNG.normal(size=20)),
    "whole numbers": (RNG.integers(0, 9, (20, 3)), np.arange(20)),
    "float32": (TALL.astype("f4"), np.ones(20, "f4")),
    "two types": (TALL.astype("f4"), np.ones(20)),
    "wide": (RNG.normal(size=(4, 6)), np.ones(4)),
    "square": (RNG.normal(size=(4, 4)), np.ones(4)),
}


def same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (np.shape(one), one.dtype) == (np.shape(other), other.dtype)
        tolerance = 1e-4 if other.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SIDES)
@pytest.mark.parametrize("options", [{}, {"rcond": 0.3}])
def test_the_same_as_numpy(name: str, options: dict[str, Any]) -> None:
    a, b = SIDES[name]
    cuts = [0, 1, 1, 3, len(a)]
    blocks = [fs.Array.from_numpy(side, cuts) for side in (a, b)]
    expected = np.linalg.lstsq(a, b, **options)
    same(np.linalg.lstsq(*blocks, **options), expected)
    same(np.linalg.lstsq(blocks[0], b, **options), expected)


def test_on_workers(two_workers: fs.Cluster) -> None:
    a, b = SIDES["equal columns"]
    blocks = [fs.Array.from_numpy(side, 6) for side in (a, b)]
    same(np.linalg.lstsq(*blocks), np.linalg.lstsq(a, b))


def test_rows_of_another_number_get_numpys_error() -> None:
    x = fs.Array.from_numpy(TALL, 5)
    with (
        warnings.catch_warnings(action="ignore"),
        pytest.raises(np.linalg.LinAlgError, match="Incompatible dimensions"),
    ):
        np.linalg.lstsq(x, np.ones(3))
