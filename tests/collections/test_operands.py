"""Operands of expressions that the program changes later, and numbers of all kinds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import freestone as fs

REALS = np.arange(12.0).reshape(6, 2)

EXPRESSIONS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "a sum": (np.ones(2), lambda x, w: x + w),
    "a product": (np.ones(2), lambda x, w: x @ w),
    "a product from the left": (np.ones(6), lambda x, w: w @ x),
    "as many rows": (np.ones((6, 1)), lambda x, w: x * w),
    "where": (np.ones(2), lambda x, w: np.where(x > w, x, w)),
    "clip": (np.ones(2), lambda x, w: np.clip(x, w, 9)),
    "a list": ([1.0, 1.0], lambda x, w: x + w),
    "columns": (np.array([0, 1]), lambda x, w: (x + 1)[:, w]),
    "columns of a list": ([0, 1], lambda x, w: (x + 1)[:, w]),
    "columns of a row": (np.array([0, 1]), lambda x, w: (x + 1)[2, w]),
    "a mask": (np.arange(6) > 2, lambda x, w: (x + 1)[w]),
}


@pytest.mark.parametrize("rows", [4, 100])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_what_is_written_into_an_operand_later_is_not_seen(
    two_workers: fs.Cluster, name: str, rows: int
) -> None:
    operand, function = EXPRESSIONS[name]
    operand = operand.copy()
    expected = function(REALS, operand)
    made = function(fs.Array.from_numpy(REALS, rows), operand)
    operand[:] = operand[::-1] if isinstance(operand, list) else np.zeros_like(operand)
    if isinstance(operand, list):
        operand[0] = 0
    np.testing.assert_array_equal(np.asarray(made), expected)


def test_a_complex_number_keeps_its_imaginary_part() -> None:
    x = fs.Array.from_numpy(np.arange(12) + 1j, 5)
    assert complex(x.sum()) == 66 + 12j
    np.testing.assert_array_equal(np.array([x.sum(), x.mean()]), [66 + 12j, 5.5 + 1j])


@pytest.mark.filterwarnings("ignore:dot of an Array")
@pytest.mark.parametrize("dtype", ["i1", "u1", "?", "f2", "i8"])
def test_dot_has_the_type_of_its_operands(dtype: str) -> None:
    pytest.importorskip("dask", reason="the extra 'dask' is not installed")
    here = np.array([[100, 100], [1, 2]]).astype(dtype)
    x = fs.Array.from_numpy(here, 1)
    made = np.asarray(np.dot(x, x.T))
    assert made.dtype == dtype
    np.testing.assert_array_equal(made, np.dot(here, here.T))


def test_a_mask_of_other_blocks_is_cut_like_the_array(two_workers: fs.Cluster) -> None:
    x = fs.Array.from_numpy(np.arange(48.0).reshape(12, 4), 5)
    numbers = fs.Array.from_numpy(np.arange(12), 4)
    expected = x.compute()[np.arange(12) > 3]
    np.testing.assert_array_equal(x[numbers > 3].compute(), expected)
    np.testing.assert_array_equal((x * 1)[(numbers > 3).to_array()].compute(), expected)


def test_an_array_from_another_process_has_its_methods() -> None:
    make = """
import pickle, sys
import numpy as np
import freestone as fs
pickle.dump(fs.Array.from_numpy(np.arange(12.0), 4), sys.stdout.buffer)
"""
    use = """
import pickle, sys
import freestone
print(float(pickle.load(sys.stdin.buffer).sum()))
"""
    made = subprocess.run([sys.executable, "-c", make], capture_output=True, check=True).stdout
    done = subprocess.run([sys.executable, "-c", use], input=made, capture_output=True, check=True)
    assert float(done.stdout) == 66
