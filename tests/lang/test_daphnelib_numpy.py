"""What a lazy matrix shares with NumPy's arrays: attributes, reductions, lists, assignments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from freestone.errors.lang import ScriptError
from freestone.lang.daphnelib import DaphneContext

CONTEXT = DaphneContext()
CELLS = np.array([[5.0, 1, 7], [2, 3, 4], [9, 6, 0], [1, 2, 3]])


def lazy(cells: Any = CELLS) -> Any:
    return CONTEXT.from_numpy(np.array(cells))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: np.sum(x, axis=-1, keepdims=True),
        lambda x: np.mean(x, axis=-2, keepdims=True),
        lambda x: np.max(x, 1, keepdims=True),
        lambda x: np.sum(x, keepdims=True),
        lambda x: np.any(x > 6, axis=1, keepdims=True),
        lambda x: np.all(x > 1, axis=0, keepdims=True),
        lambda x: np.all(x, axis=0, keepdims=True),
        lambda x: np.any(x > 8),
        lambda x: np.clip(x, 1, 5),
        lambda x: np.clip(x, None, x[[0]]),
        lambda x: np.clip(x, min=2),
        lambda x: np.clip(x, a_min=None, a_max=3),
        lambda x: np.clip(x, a_min=[1, 2, 3], a_max=3),
        lambda x: x.clip(1, 3),
        lambda x: x.clip(max=3),
        lambda x: x.reshape(-1, 6),
        lambda x: x.reshape(3, -1),
        lambda x: np.reshape(x, (2, 6)),
        lambda x: x * [1, 2, 3],
        lambda x: [1, 2, 3] - x,
        lambda x: x > (1, 2, 3),
        lambda x: x * [[1], [2], [3], [4]],
        lambda x: np.where([1, 0, 1], x, 0),
        lambda x: (x @ [[1], [2], [3]]) * 1,
        lambda x: np.add(x, [1, 2, 3]),
    ],
)
def test_results_are_numpys(compute: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(compute(lazy()).compute(), compute(CELLS))


def test_a_list_beside_a_product_is_a_vector() -> None:
    np.testing.assert_array_equal((lazy() @ [1, 2, 3]).compute().ravel(), CELLS @ [1, 2, 3])
    np.testing.assert_array_equal(([1, 2, 3, 4] @ lazy()).compute()[0], [1, 2, 3, 4] @ CELLS)


def test_attributes_are_those_of_arrays() -> None:
    x = lazy(CELLS.astype("f4"))
    assert (x.ndim, x.size, len(x), x.dtype) == (2, 12, 4, np.float32)
    assert (np.ndim(x), np.size(x), np.shape(x)) == (2, 12, (4, 3))
    np.testing.assert_array_equal([row.compute()[0] for row in x], CELLS)
    kept = x[x[:, 0] > 1]
    assert np.isnan(kept.size)
    for ask in (len, list):
        with pytest.raises(TypeError, match=r"known only when it is computed: x.nrow\(\)"):
            ask(kept)


@pytest.mark.parametrize("key", [0, (slice(None), 0), slice(1, 3), (0, 0), (slice(0, 2), 1)])
@pytest.mark.parametrize("kind", ["f8", "f4", "i8", "i1"])
def test_a_number_fills_what_it_is_assigned_to(kind: str, key: Any) -> None:
    expected = CELLS.astype(kind)
    x = lazy(expected)
    x[key] = 9
    expected[key] = 9
    found = x.compute()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_assigned_are_numbers_and_lists_that_fit() -> None:
    x = lazy()
    x[0] = [1.0, 2.0, 3.0]
    x[1:, 0] = x.sum()
    assert x.compute()[:, 0].tolist() == [1.0, 36.0, 36.0, 36.0]
    kept = x[x[:, 1] > 2]
    kept[:, 0] = 8.5
    assert kept.compute()[:, 0].tolist() == [8.5, 8.5]
    with pytest.raises(OverflowError, match="300"):
        lazy(CELLS.astype("i1"))[0] = 300
    with pytest.raises(ScriptError, match="holds si64, not f64"):
        lazy(CELLS.astype("i8"))[0] = 1.5


def test_a_new_shape_has_rows_and_columns() -> None:
    x = lazy()
    for sides, what in (((-1,), "x.reshape(1, -1) is a row"), ((5, -1), "here 12, is a multiple")):
        with pytest.raises(ValueError, match=re.escape(what)):
            x.reshape(*sides)
    kept = x[x[:, 0] > 1].reshape(1, -1)
    np.testing.assert_array_equal(kept.compute(), CELLS[CELLS[:, 0] > 1].reshape(1, -1))


def test_clip_computes_into_arrays_and_takes_each_limit_once() -> None:
    out = np.zeros(CELLS.shape)
    assert np.clip(lazy(), 1, 3, out=out) is out
    assert lazy().clip(1, max=3, out=out) is out
    np.testing.assert_array_equal(out, CELLS.clip(1, 3))
    with pytest.raises(ValueError, match="not both"):
        np.clip(lazy(), 1, 3, min=2)


@pytest.mark.parametrize("name", ["any", "argmax", "cumsum", "std"])
def test_methods_of_arrays_that_are_none_here_say_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"Matrix has no {name!r}; write"):
        getattr(lazy(), name)


def test_a_product_takes_no_number() -> None:
    for compute in (lambda x: 2 @ x, lambda x: x @ 2, lambda x: np.matmul(2.0, x)):
        with pytest.raises(ValueError, match="@ takes matrices on both sides"):
            compute(lazy())


def test_a_negative_power_of_integers_is_refused() -> None:
    x = lazy([[1, 2]])
    for compute in (lambda: x**-1, lambda: np.power(x, -1)):
        with pytest.raises(ValueError, match="truncated to integers; convert the elements"):
            compute()
    assert (x.asType("f64") ** -1).compute().tolist() == [[1.0, 0.5]]


def test_matrices_of_scipys_on_the_left_are_computed_with_at_once() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    np.testing.assert_array_equal(sparse.csr_array(np.eye(4)) @ lazy(), CELLS)
    found = sparse.csr_array(CELLS) * lazy()
    np.testing.assert_array_equal(found.toarray(), CELLS * CELLS)


def test_counts_go_below_zero() -> None:
    assert (lazy().nrow() + -5).compute() == -1
    assert (lazy().idxMin(0) * -1).compute().ravel().tolist() == [-1, 0, -2, 0]
