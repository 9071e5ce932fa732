"""Python's integers of any size beside lazy values of 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freestone.lang.daphnelib import DaphneContext

CONTEXT = DaphneContext()
CELLS = ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8"]
NUMBERS: list[Any] = [0, -1, 300, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, -(2**63), -(2**63) - 1]
NUMBERS += [-(2**70), np.uint64(1), np.uint64(2**63), np.int64(-1), np.int8(3), True]
COMPARISONS: list[Any] = [np.equal, np.not_equal, np.less, np.less_equal, np.greater]
COMPARISONS += [np.greater_equal]


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("kind", CELLS)
def test_comparisons_are_right_for_any_integer(kind: str, compare: Any) -> None:
    low, high = (-1.5, 3.5) if kind[0] == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    cells = np.array([[low, high], [0, 1], [2, 3]], kind)
    x = CONTEXT.from_numpy(cells)
    for number in NUMBERS if kind[0] == "f" else [*NUMBERS, 10**400, -(10**400)]:
        found = compare(x, number).compute()
        np.testing.assert_array_equal(found, compare(cells, number), str(number)[:30])
        found = compare(number, x).compute()
        np.testing.assert_array_equal(found, compare(number, cells), str(number)[:30])


@pytest.mark.parametrize(
    "compute",
    [
        operator.add,
        operator.sub,
        operator.mul,
        np.maximum,
        np.minimum,
        lambda one, other: np.where(CONTEXT.from_numpy(np.array([[1, 0]])), one, other),
    ],
)
@pytest.mark.parametrize(
    ("kind", "number", "what"),
    [
        ("i8", 2**63, "9223372036854775808: it does not fit into si64"),
        ("i8", -(2**70), "-1180591620717411303424: it does not fit into si64"),
        ("u4", 2**70, "ui32 elements and 1180591620717411303424: it does not fit into si64"),
        ("u8", -1, "ui64 elements and -1: it does not fit into ui64, which holds 0 to 18"),
        ("u8", 10**400, "an integer of 1329 bits: it does not fit into ui64"),
        ("i8", np.uint64(2**63), "9223372036854775808: it does not fit into si64"),
    ],
)
def test_what_does_not_fit_is_refused(
    kind: str, number: Any, what: str, compute: Callable[[Any, Any], Any]
) -> None:
    x = CONTEXT.from_numpy(np.array([[1, 2]], kind))
    with pytest.raises(OverflowError, match=what):
        compute(x, number)
    with pytest.raises(OverflowError, match=what):
        compute(number, x)


def test_what_fits_into_the_elements_is_as_in_numpy() -> None:
    cells = np.array([[1, 2**63]], "u8")
    x = CONTEXT.from_numpy(cells)
    for compute in (
        lambda a: a + (2**63 - 1),
        lambda a: a - 1,
        lambda a: 2**64 - 1 - a,
        lambda a: np.where(np.array([[1, 0]]), 2**63, a),
        lambda a: np.maximum(a, 2**63 + 1),
    ):
        np.testing.assert_array_equal(compute(x).compute(), compute(cells))
    floats = np.array([[1.5, -2.0]], "f4")
    found = (CONTEXT.from_numpy(floats) * 2**70).compute()
    assert found.dtype == "f4"
    np.testing.assert_array_equal(found, floats * 2.0**70)
    assert np.logical_and(CONTEXT.from_numpy(np.array([[1, 0]])), 2**70).compute().tolist() == [
        [1, 0]
    ]


def test_integers_alone_have_at_most_64_bits() -> None:
    assert CONTEXT.fill(2**64 - 1, 1, 2).compute().tolist() == [[2**64 - 1, 2**64 - 1]]
    with pytest.raises(OverflowError, match="does not fit into an integer of 64 bits"):
        CONTEXT.fill(2**64, 1, 2)
    x = CONTEXT.from_numpy(np.array([[1, 2]]))
    assert (x.sum() > 2**70).compute() == 0
    with pytest.raises(OverflowError, match="add of si64 elements"):
        x.sum() + 2**63
