"""Arrays of many types with blocks of any lengths, for comparisons with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import freestone as fs

__all__ = ["PROPERTY", "cut_arrays", "same"]

DTYPES = [
    *("?", "i1", "u1", "<i4", ">i4", "<u8", "<i8", "<f2", "<f4", ">f8", "<f8", "<c8", "<c16"),
    *("<M8[s]", "<m8[ms]", "<U3", "S2"),
]
FEW = {"u": st.integers(0, 3), "i": st.integers(-2, 2), "U": st.sampled_from(["", "a", "ab"])}
PROPERTY = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def cut_arrays(
    draw: st.DrawFn, shapes: tuple[tuple[int, ...], ...] = ((), (2,))
) -> tuple[Any, list[int]]:
    """Draw an array with values that are there more than once, and blocks, some without rows."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rows, shape = draw(st.integers(0, 25)), draw(st.sampled_from(shapes))
    elements = FEW.get(dtype.kind) if draw(st.booleans()) else None
    made = draw(arrays.arrays(dtype, (rows, *shape), elements=elements))
    cuts = draw(st.lists(st.integers(0, rows), max_size=4))
    return made, [0, *sorted(cuts), rows]


def same(found: Any, expected: Any) -> None:
    assert isinstance(found, fs.Array)
    whole = np.asarray(found)
    assert whole.dtype == expected.dtype
    np.testing.assert_array_equal(whole, expected)
