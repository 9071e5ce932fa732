"""CSR and COO matrices: as SciPy and NumPy compute them."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.lang.daphnelib import DaphneContext, programs
from freestone.lang.run.kernels.coordinates import Coo
from freestone.lang.run.kernels.sparse import Csr
from freestone.lang.settings import Settings
from tests.lang.schedules import schedules
from tests.lang.scripts import printed

sparse = pytest.importorskip("scipy.sparse")
Array = np.ndarray[Any, Any]
CONTEXT = DaphneContext()
LONG = 200 if os.environ.get("CI") else 50
DTYPES = ["f8", "f4", "i8", "i4", "i1", "u8", "u4", "u1"]
WAYS = [Settings(vec=vec, num_threads=n) for vec in (False, True) for n in (1, 3)]
ways = st.just(Settings()) | schedules


def cells(draw: Any, rows: int, columns: int, dtype: str, share: float = 0.2) -> Array:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low = 0 if dtype[0] == "u" else -4
    dense = rng.integers(low, 5, (rows, columns)) * (rng.random((rows, columns)) < share)
    return dense.astype(dtype)


def coo(dense: Array) -> Any:
    """Make a lazy matrix that is held as COO."""
    from dataclasses import replace

    from freestone.lang.daphnelib import Matrix
    from freestone.lang.daphnelib.graph import given

    type = replace(CONTEXT.from_numpy(dense)._value.type, coo=True)
    return Matrix(given(Coo.of(dense), type))


def densely(value: Any) -> Array:
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def equal(found: Any, expected: Any) -> None:
    found, expected = densely(found), densely(expected)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5 if found.dtype == "f4" else 1e-12)


@settings(max_examples=LONG, deadline=None)
@given(st.data())
def test_coo_matrices_give_what_dense_ones_give(data: Any) -> None:
    rows, columns = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 30))
    one = cells(data.draw, rows, columns, data.draw(st.sampled_from(DTYPES)))
    two = cells(data.draw, rows, columns, data.draw(st.sampled_from(DTYPES)))
    row = cells(data.draw, 1, columns, "f8", 0.9)
    column = cells(data.draw, rows, 1, "f8", 0.9)
    way = data.draw(ways)
    plain = [CONTEXT.from_numpy(one), CONTEXT.from_numpy(two)]
    stored = [coo(one), coo(two)]
    for (x, y), (p, q) in [(stored, plain), ([stored[0], plain[1]], plain)]:
        for left, right in [
            (x + y, p + q),
            (x - y, p - q),
            (x * y, p * q),
            (x.max(y), p.max(q)),
            (x != y, p != q),
            (x == y, p == q),
            (x * row, p * row),
            (x * column, p * column),
            (x * 3, p * 3),
            (x + 1, p + 1),
            (abs_of(x), abs_of(p)),
            (x.t(), p.t()),
            (x.asType("f32"), p.asType("f32")),
            (x.t() @ x, p.t() @ p),
        ]:
            equal(left.compute(way), right.compute(Settings()))
        for name in ("sum", "aggMin", "aggMax", "mean"):
            for axis in ((), (0,), (1,)):
                found = getattr(x, name)(*axis).compute(way)
                expected = getattr(p, name)(*axis).compute(Settings())
                np.testing.assert_allclose(found, expected, rtol=1e-5)


def abs_of(x: Any) -> Any:
    return x.abs()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 5)])
def test_matrices_without_cells_work(shape: tuple[int, int]) -> None:
    empty = np.zeros(shape)
    x = coo(empty)
    for way in WAYS:
        equal((x + x).compute(way), empty)
        equal(x.t().compute(way), empty.T)
        equal((x * 2.0).compute(way), empty)
        assert x.sum().compute(way) == 0
    equal(Coo.of(empty).tocsr(), empty)
    g = CONTEXT.from_scipy(sparse.csr_array(empty))
    equal((g @ CONTEXT.from_numpy(np.ones((shape[1], 1)))).compute(), np.zeros((shape[0], 1)))
    equal((g @ g.t()).compute(), empty @ empty.T)


@settings(max_examples=LONG, deadline=None)
@given(st.data())
def test_products_of_csr_matrices_are_those_of_scipy(data: Any) -> None:
    rows, inner, columns = (data.draw(st.integers(1, 300)) for _ in range(3))
    dtype = data.draw(st.sampled_from(DTYPES))
    left = sparse.csr_array(cells(data.draw, rows, inner, dtype, 0.05))
    right = sparse.csr_array(cells(data.draw, inner, columns, dtype, 0.05))
    way = data.draw(ways)
    one, two = CONTEXT.from_scipy(left), CONTEXT.from_scipy(right)
    found = (one @ two).compute(way)
    assert found.has_sorted_indices
    equal(found, left @ right)
    equal(one.t().compute(way), left.T)
    panel = cells(data.draw, inner, data.draw(st.integers(2, 5)), dtype, 0.9)
    equal((one @ CONTEXT.from_numpy(panel)).compute(way), left.toarray() @ panel)
    vector = cells(data.draw, inner, 1, dtype, 0.9)
    equal((one @ CONTEXT.from_numpy(vector)).compute(way), left.toarray() @ vector)


def test_products_that_do_not_fit_are_reported() -> None:
    from freestone.errors.lang import ScriptError

    g = CONTEXT.from_scipy(sparse.csr_array(np.eye(3)))
    with pytest.raises(ScriptError):
        (g @ CONTEXT.from_numpy(np.ones((2, 2)))).compute()


def test_bad_csr_matrices_are_refused() -> None:
    bad = sparse.csr_array(np.eye(3))
    bad.indices[1] = 7
    with pytest.raises(ValueError, match="columns"):
        Csr.of_scipy(bad)
    bent = sparse.csr_array(np.eye(3))
    bent.indptr[1] = 3
    with pytest.raises(ValueError, match="indptr"):
        Csr.of_scipy(bent)
    twice = sparse.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
    assert Csr.of_scipy(twice).cells.tolist() == [3.0]
    assert twice.nnz == 2


def test_the_form_is_chosen_by_the_estimate() -> None:
    chosen = Settings(select_matrix_repr=True)
    for share, form, count in ((0.01, "coo", 200), (0.1, "csr", 2000)):
        x = CONTEXT.rand(1000, 20, 1.0, 2.0, share, 3)
        found = x.compute(chosen)
        assert found.format == form
        assert found.nnz == count
        assert np.count_nonzero(x.compute(Settings())) == count
        assert x.t().compute(chosen).format == form
        assert (x * 2.0).compute(chosen).format == form
    assert isinstance(CONTEXT.rand(1000, 20, 1.0, 2.0, 0.5, 3).compute(chosen), np.ndarray)


def test_scripts_print_what_is_stored() -> None:
    text = "X = rand(1000, 20, 1.0, 2.0, 0.01, 3); Y = t(X * 2.0 + X); print(typeOf(Y));"
    rest = " print(nrow(Y)); print(sum(Y != 0.0)); print(Y[0:1, 0:3]);"
    found = printed(text + rest, select_matrix_repr=True).splitlines()
    assert found[:3] == ["CSRMatrix(20x1000, double)", "20", "200"]
    assert found[3] == "DenseMatrix(1x3, double)"
    assert printed(text, vec=True, select_matrix_repr=True).splitlines() == found[:1]


def test_pipelines_are_put_together_once_for_csr_of_one_shape(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from freestone.lang.run.kernels import pipeline

    monkeypatch.setattr(programs, "_programs", {})
    made = []
    prepared = pipeline._prepared
    monkeypatch.setattr(
        pipeline, "_prepared", lambda *given: made.append(given) or prepared(*given)
    )
    random = np.random.default_rng(5)
    vector = random.random((70, 1))
    column, row = CONTEXT.from_numpy(vector), CONTEXT.from_numpy(vector.T.copy())
    for density, products, others in ((0.1, 1, 1), (0.1, 1, 2), (0.3, 2, 3)):
        matrix = sparse.random_array((60, 70), density=density, rng=random, format="csr")
        lazy, dense = CONTEXT.from_scipy(matrix), matrix.toarray()
        found = (lazy @ column * 2.0).compute(WAYS[2])
        np.testing.assert_allclose(found, dense @ vector * 2)
        # Whether what is not stored stays 0 depends on the row.
        scaled = (lazy * row).compute(WAYS[2])
        np.testing.assert_allclose(scaled.toarray(), dense * vector[:, 0])
        assert len(made) == products + others
