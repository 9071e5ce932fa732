"""NumPy's reductions of lazy matrices: without elements too, of all axes, and into its arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from freestone.lang.daphnelib import DaphneContext

CONTEXT = DaphneContext()
CELLS = np.array([[5.0, 1, 7], [2, 3, 4], [9, 6, 0], [1, 2, 3]])
OF_NOTHING = [np.sum, np.any, np.all, np.mean, np.var, np.std]
REDUCTIONS = [*OF_NOTHING, np.min, np.max]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        # NumPy warns of means of nothing.
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def lazy(cells: Any = CELLS) -> Any:
    return CONTEXT.from_numpy(np.array(cells))


@pytest.mark.parametrize("reduce", OF_NOTHING)
@pytest.mark.parametrize("kind", ["f8", "f4", "i1", "bool"])
@pytest.mark.parametrize("least", [0, 4, 9])
def test_rows_that_a_mask_leaves_are_reduced_as_numpys(
    least: int, kind: str, reduce: Callable[..., Any]
) -> None:
    cells = CELLS.astype(kind)
    x = lazy(cells)
    keep = lazy(CELLS)[:, 0] > least
    for axis in (None, 0, 1):
        for kept, expected in ((x[keep], cells[CELLS[:, 0] > least]), (x.T[:, keep], None)):
            expected = cells.T[:, CELLS[:, 0] > least] if expected is None else expected
            found = reduce(kept, axis=axis, keepdims=True).compute()
            wanted = reduce(expected, axis=axis, keepdims=True)
            assert_allclose(found, wanted, rtol=1e-5)
            if reduce in (np.any, np.all):
                assert found.dtype == bool


def test_many_truth_values_are_counted() -> None:
    x = lazy(np.ones((256, 1), "i1"))
    kept = x[x[:, 0] > 0]
    assert np.any(kept).compute() is True
    assert np.all(kept == 1).compute() is True


@pytest.mark.parametrize("name", ["mean", "var", "stddev"])
def test_methods_of_no_rows_warn_as_numpy_does(name: str) -> None:
    none = lazy(np.empty((0, 3)))
    with pytest.warns(RuntimeWarning, match="empty slice|Degrees of freedom"):
        whole = getattr(none, name)()
    assert np.isnan(whole.compute())
    with pytest.warns(RuntimeWarning):
        columns = getattr(none, name)(1)
    assert np.isnan(columns.compute()).all()
    assert columns.compute().shape == (1, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(none, name)(0).compute().shape == (0, 1)


def test_means_of_nothing_are_nan() -> None:
    x = lazy()
    none = x[x[:, 0] > 9]
    assert np.isnan(np.mean(none).compute())
    assert (np.mean(none, axis=0) - none).compute().shape == (0, 3)
    assert (none - np.std(none, axis=0)).compute().shape == (0, 3)
    assert np.isnan(np.mean(lazy(np.empty((0, 3)))).compute())


def test_results_of_any_and_all_are_masks() -> None:
    x = lazy()
    keep = np.any(x > 6, axis=1)
    assert_array_equal(x[keep].compute(), CELLS[(CELLS > 6).any(1)])
    assert_array_equal(x[~keep].compute(), CELLS[~(CELLS > 6).any(1)])


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_dimensions_are_kept_in_arrays_that_are_written_into(reduce: Callable[..., Any]) -> None:
    kind = "?" if reduce in (np.any, np.all) else "f8"
    x = lazy()
    for value, cells in ((x, CELLS), (x[x[:, 0] > 1], CELLS[CELLS[:, 0] > 1])):
        for axis in (None, 0, 1, (0, 1)):
            for keep in (False, True):
                expected = np.asarray(reduce(cells, axis=axis, keepdims=keep))
                out = np.zeros(expected.shape, kind)
                assert reduce(value, axis=axis, keepdims=keep, out=out) is out
                assert_allclose(out, expected)


@pytest.mark.parametrize(
    ("axis", "keepdims", "shape"),
    [(1, True, (4,)), (1, False, (4, 1)), (0, True, (3,)), (None, True, ()), (None, False, (1, 1))],
)
def test_arrays_of_other_shapes_are_refused(axis: Any, keepdims: bool, shape: Any) -> None:
    with pytest.raises(ValueError, match=r"out= has the shape"):
        np.sum(lazy(), axis=axis, keepdims=keepdims, out=np.zeros(shape))


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2), (), 0.0, (0, 2)])
def test_a_matrix_has_two_axes(axis: Any) -> None:
    with pytest.raises(ValueError, match="axis="):
        np.sum(lazy(), axis=axis)
