"""Kernels take arrays, and look at them before they read or write: what does not fit is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freestone import _native
from freestone.lang.settings import Settings

F64 = 7


def csr(offsets: list[int], columns: list[int]) -> tuple[Any, Any, Any]:
    return np.array(offsets, "i8"), np.array(columns, "i4"), np.ones(len(columns))


def panel(left: tuple[Any, Any, Any], right: Any = None, out: Any = None) -> Any:
    right = np.ones((3, 2)) if right is None else right
    out = np.zeros((2, 2)) if out is None else out
    _native.vector.csr_panel(F64, left, right, 2, 1, out)
    return out


def test_a_product_is_that_of_the_rows() -> None:
    np.testing.assert_array_equal(panel(csr([0, 1, 3], [2, 0, 1])), [[1, 1], [2, 2]])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: panel(csr([0, 1, 3], [2, 0, 3])), "column 3 is outside of a matrix that has 3"),
        (lambda: panel(csr([0, 1, 3], [2, 0, -1])), "column 4294967295 is outside"),
        (lambda: panel(csr([0, 3, 1], [2, 0, 1])), "row 1 of a CSR matrix has elements 3 to 1"),
        (lambda: panel(csr([0, 1, 4], [2, 0, 1])), "row 1 of a CSR matrix has elements 1 to 4"),
        (lambda: panel(csr([-1, 1, 3], [2, 0, 1])), "row 0 of a CSR matrix has elements -1"),
        (lambda: panel(csr([], [])), "0 elements, where the other arguments need 1"),
        (lambda: panel(csr([0, 1], [2])), "the product: 4 elements, where"),
        (lambda: panel(csr([0, 0, 0], []), np.ones((3, 2), "f4")), "not F64"),
        (lambda: panel(csr([0, 0, 0], []), np.ones((3, 4))[:, ::2]), "not contiguous"),
        (lambda: panel(csr([0, 0, 0], []), np.ones(6, ">f8")), "not F64"),
        (lambda: panel(csr([0, 0, 0], []), out=np.zeros(3)), "the product: 3 elements"),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        wrong()


def test_arrays_that_are_written_are_writable_and_apart() -> None:
    read_only = np.zeros((2, 2))
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        panel(csr([0, 0, 0], []), out=read_only)
    shared = np.ones((3, 2))
    with pytest.raises(ValueError, match="shares memory"):
        panel(csr([0, 0, 0], []), shared, shared[1:])
    with pytest.raises(ValueError, match="share memory"):
        _native.vector.copy_rows(shared[:2], shared[1:], 1)
    objects = np.empty((2, 2), object)
    with pytest.raises(ValueError, match="no numbers"):
        _native.vector.copy_rows(objects, objects.copy(), 1)


def test_an_address_is_no_array() -> None:
    address = np.ones(6).ctypes.data
    for array in (address, (address, 6), None):
        with pytest.raises(TypeError):
            panel(csr([0, 0, 0], []), array if array is not None else 0)


def summed(offsets: Any, columns: Any, cells: Any, rows: int, width: int) -> Any:
    """Sum a CSR matrix, and their columns' products with a vector of ones, in a pipeline."""
    inputs = [(F64, "sparse", cells, 0.0, 0), (F64, "row", np.ones(width), 0.0, 0)]
    out = np.zeros((rows, 1))
    _native.vector.run_pipeline(
        (rows, width),
        inputs,
        (offsets, columns),
        [("row_product", "", F64, [0, 1])],
        [("store", "", 2, out)],
        Settings(num_threads=2),
    )
    return out


def test_a_pipeline_checks_csr_matrices() -> None:
    offsets, columns, cells = csr([0, 1, 3], [2, 0, 1])
    np.testing.assert_array_equal(summed(offsets, columns, cells, 2, 3), [[1], [2]])
    with pytest.raises(ValueError, match="column 2 is outside of a matrix that has 2"):
        summed(offsets, columns, cells, 2, 2)
    with pytest.raises(ValueError, match="row 1 of a CSR matrix"):
        summed(np.array([0, 1, 9]), columns, cells, 2, 3)
    with pytest.raises(ValueError, match="offsets of a pipeline have 3 elements, not 4"):
        summed(offsets, columns, cells, 3, 3)


def test_what_others_change_meanwhile_is_read_within_bounds() -> None:
    rows, width = 20_000, 50
    offsets = np.arange(rows + 1) * 5
    columns = np.zeros(5 * rows, "i4")
    end, wrong = threading.Event(), np.array([-1, 2**31 - 1, width], "i4")

    def spoil() -> None:
        rng = np.random.default_rng(1)
        while not end.is_set():
            columns[rng.integers(0, 5 * rows, 10)] = rng.choice(wrong, 10)
            offsets[rng.integers(0, rows, 10)] = rng.integers(-(2**40), 2**40, 10)
            columns[:], offsets[:] = 0, np.arange(rows + 1) * 5

    other, found = threading.Thread(target=spoil), set()
    other.start()
    try:
        for _ in range(100):
            try:
                summed(offsets, columns, np.ones(5 * rows), rows, width)
            except BaseException as error:
                found.add(type(error).__name__)
    finally:
        end.set()
        other.join()
    # What is seen to be wrong is refused; what changes after a look may panic.
    assert found <= {"ValueError", "PanicException"}


def test_numbers_that_can_not_be_drawn_are_refused() -> None:
    with pytest.raises(ValueError, match="no number other than 0"):
        _native.vector.Drawing(F64, 10, 0.0, 0.0, 0.5, 1)
    with pytest.raises(ValueError, match="no 2 different numbers below 1"):
        _native.vector.sample(4, np.zeros(2, "i8"), 1.0, False, 1)


def test_huge_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="1099511627776 places: 16777216 are the most"):
        _native.layout.RowBlocks.even(10, 2**40)
    with pytest.raises(ValueError, match="places: 16777216 are the most"):
        _native.layout.layout_reassign([0, 1], 2**40)
    with pytest.raises(ValueError, match="1 to 65536 ranks, not 0"):
        _native.events.EventMemory(0, arena=1)
    with pytest.raises(ValueError, match="at most 1048576 outputs"):
        _native.manager.Options(outputs=2**50)
    left, right = csr([0, 1], [0]), csr([0, 1], [2**31 - 1])
    with pytest.raises(ValueError, match="at most 1024 workers"):
        _native.vector.csr_product_sizes(F64, left, right, 2**31, 2**40, np.zeros(1, "i8"))
