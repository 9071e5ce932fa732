"""``map`` of elements, rows and columns, and ``like``, in every mode."""

from __future__ import annotations

import numpy as np
import pytest

from freestone import Cluster
from freestone.errors.lang import ScriptError
from freestone.lang.daphnelib import DaphneContext
from freestone.lang.settings import Settings
from tests.lang.scripts import outcome, printed, printed_on

FUNCTIONS = """
def spread(a) { return as.scalar<f64>(aggMax(a)) - as.scalar<f64>(aggMin(a)); }
def scaled(a) { return a * 2 + 1; }
def ends(a) { return cbind(a[, 0], a[, -1]); }
def tops(a) { return order(a, 0, false, false)[:2, ]; }
def cumulated(a) { return cumSum(a); }
def even(a) { return as.bool(sum(a) % 2 == 0); }
"""
X = np.arange(12).reshape(4, 3) * 7 % 11
MADE = "X = (reshape(seq(0, 11), 4, 3) * 7) % 11;"
EXPECTED = {
    "map(X, spread, 0)": np.ptp(X, axis=1, keepdims=True),
    "map(X, spread, 1)": np.ptp(X, axis=0, keepdims=True),
    "map(X, scaled, 0)": X * 2 + 1,
    "map(X, scaled, 1)": X * 2 + 1,
    "map(X, scaled)": X * 2 + 1,
    "map(X, ends, 0)": X[:, [0, 2]],
    "map(X, tops, 1)": np.sort(X, axis=0)[::-1][:2],
    "map(X, cumulated, 1, false)": X.cumsum(axis=0),
    "map(X, even, 1, true)": X.sum(axis=0, keepdims=True) % 2 == 0,
    "map(X * 0.5, ends, 0)": X[:, [0, 2]] / 2,
    "map(X[0:0, ], scaled, 0)": X[:0],
}
WAYS: list[dict[str, object]] = [{}, {"vec": True, "num_threads": 2}, {"memory_bytes": 500}]
WAYS += [{"vec": True, "memory_bytes": 500}, {"select_matrix_repr": True}]


@pytest.mark.parametrize("call", EXPECTED)
def test_of_rows_and_columns(two_workers: Cluster, call: str) -> None:
    script = f"{FUNCTIONS} {MADE} print({call});"
    plain = printed(script)
    rows = [line.split() for line in plain.splitlines()[1:]]
    np.testing.assert_array_equal(
        np.array(rows, float).reshape(EXPECTED[call].shape), EXPECTED[call]
    )
    for way in WAYS[1:]:
        found = outcome(script, **way)
        assert found == plain or "this needs" in found
    assert printed_on(two_workers, script) == plain


def test_of_sparse_rows() -> None:
    script = f"{FUNCTIONS} S = rand(50, 8, 1.0, 2.0, 0.1, 3); print(map(S, spread, 0) + 0.0);"
    assert printed(script, select_matrix_repr=True) == printed(
        script.replace("map(S", "map(S + 0.0"), select_matrix_repr=True
    )


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("map(X, scaled, 2)", "the axis of map is 0, for rows, or 1, for columns, not 2"),
        ("map(X, scaled, sum(X))", "the axis of map has to be known"),
        ("map(X, turned, 0)", "turned has to return one row of each row, not a"),
        ("map(X, grown, 1)", "grown returns 1 and 2 elements for different columns"),
        ("map(X, both, 0)", "both has to return one scalar, or one row"),
        ("map(X, framed, 0)", "framed has to return a scalar or a row, not a frame"),
        ("map(X, absent, 0)", "there is no function 'absent'"),
        ("map(X, 3, 0)", r"map\(x, f, axis\)"),
    ],
)
def test_what_does_not_fit_is_refused(call: str, problem: str) -> None:
    functions = """
    def turned(a) { return t(a); }
    def grown(a) { return a[0:as.scalar(a[0, 0]) % 2 + 1, ]; }
    def both(a) { return a, a; }
    def framed(a) { return as.frame(a); }
    """
    with pytest.raises(ScriptError, match=problem):
        printed(f"{FUNCTIONS} {functions} {MADE} print({call});")


LIKE = {
    '"Hello" like "%el%"': "1\n",
    '"Hello" like "el"': "0\n",
    '"50% of it" like "50\\\\%%"': "0\n",
    '"a.c" like "a.c" && "abc" like "a.c"': "0\n",
    '"a\\nb" like "a_b"': "1\n",
    '["abc", "b", ""] like "%b%"': "DenseMatrix(3x1, int32_t)\n1\n1\n0\n",
    '["abc", "b", ""] like ["a__", "_", "_"]': "DenseMatrix(3x1, int32_t)\n1\n1\n0\n",
    'sum(["abc", "b"] like "%b" == [0, 1])': "2\n",
}


@pytest.mark.parametrize("expression", LIKE)
def test_like(two_workers: Cluster, expression: str) -> None:
    script = f"like = 1; print({expression});"
    for way in WAYS[:2]:
        assert printed(script, **way) == LIKE[expression]
    assert printed_on(two_workers, script) == LIKE[expression]


def test_like_takes_strings() -> None:
    with pytest.raises(ScriptError, match="like takes strings, not si64 and str"):
        printed('print(1 like "a");')


def test_a_script_of_python_maps_rows() -> None:
    script = f"{FUNCTIONS} {MADE} saveDaphneLibResult(map(X, scaled, 0));"
    (found,) = DaphneContext().run(script, Settings(vec=True))
    np.testing.assert_array_equal(found, X * 2 + 1)
