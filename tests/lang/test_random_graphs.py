"""Random expression graphs: as NumPy computes them, fused or not, whatever the schedule."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.lang.compile import fusion
from freestone.lang.daphnelib import DaphneContext, small
from freestone.lang.settings import Settings
from tests.lang.schedules import schedules

Array = np.ndarray[Any, Any]
CONTEXT = DaphneContext()
DTYPES = ["f8", "f4", "i8", "i4", "i1", "u8", "u4", "u1"]
UNARY = ["abs", "sign", "floor", "sqrt", "minus"]
BINARY = ["add", "sub", "mul", "min", "max", "lt", "ge", "eq"]
LONG = 300 if os.environ.get("CI") else 60


@pytest.fixture(autouse=True, scope="module", params=["planned", "small"])
def _single_operations(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let single operations of few cells run in the engine, or small values without a plan."""
    before, most = fusion.MANY_CELLS, small.MAX_BYTES
    fusion.MANY_CELLS = 1
    if request.param == "planned":
        small.MAX_BYTES = 0
    yield
    fusion.MANY_CELLS, small.MAX_BYTES = before, most


def cells(draw: Any, rows: int, columns: int, dtype: str) -> Array:
    seed = draw(st.integers(0, 2**32 - 1))
    low = 0 if dtype[0] == "u" else -4
    return np.random.default_rng(seed).integers(low, 5, (rows, columns)).astype(dtype)


@st.composite
def graphs(draw: Any) -> Any:
    """Draw a lazy expression: chains over matrices, rows, columns and scalars, then reductions."""
    rows, columns = draw(st.integers(0, 40)), draw(st.integers(0, 9))
    dtype = draw(st.sampled_from(DTYPES))
    current = CONTEXT.from_numpy(cells(draw, rows, columns, dtype))
    made = [current]
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            current = getattr(current, draw(st.sampled_from(UNARY)))()
        else:
            shape = draw(st.sampled_from([(rows, columns), (1, columns), (rows, 1), None]))
            other: Any = draw(st.integers(1, 3))
            if shape is not None:
                other = CONTEXT.from_numpy(cells(draw, *shape, draw(st.sampled_from(DTYPES))))
            if draw(st.integers(0, 3)) == 0:
                other = draw(st.sampled_from(made))
            name = draw(st.sampled_from(BINARY))
            if name in ("min", "max"):
                current = getattr(current, name)(other)
            else:
                signs = {"add": "__add__", "sub": "__sub__", "mul": "__mul__"}
                current = getattr(current, signs.get(name, f"__{name}__"))(other)
        made.append(current)
    ends = ["none", "sum", "aggMax0", "sum0", "sum1", "aggMin1", "product"]
    end = draw(st.sampled_from(ends if rows and columns else ["none", "sum"]))
    if end == "product":
        return current @ CONTEXT.from_numpy(cells(draw, columns, 1, "f8"))
    if end == "none":
        return current
    return getattr(current, end.rstrip("01"))(*map(int, end[-1:] if end[-1:].isdigit() else ""))


@settings(max_examples=LONG, deadline=None)
@given(graphs(), schedules)
def test_a_pipeline_gives_what_numpy_gives(graph: Any, schedule: Settings) -> None:
    expected = np.asarray(graph.compute(Settings(vec=False)))
    found = np.asarray(graph.compute(schedule))
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    # A sum of 32-bit cells is a float of Python's, which has 64.
    short = expected.dtype == "f4" or repr(graph).startswith("<Scalar f32")
    np.testing.assert_allclose(found, expected, rtol=1e-5 if short else 1e-12)


@settings(max_examples=LONG, deadline=None)
@given(st.data(), schedules)
def test_csr_matrices_give_what_dense_ones_give(data: Any, schedule: Settings) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows, columns = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 9))
    dense = np.maximum(cells(data.draw, rows, columns, "f8"), 0)
    row, vector = cells(data.draw, 1, columns, "f8"), cells(data.draw, columns, 1, "f8")
    column = cells(data.draw, rows, 1, "f8")
    stored = sparse.csr_array(dense)
    before = stored.copy()
    for matrix, reference in ((CONTEXT.from_scipy(stored), CONTEXT.from_numpy(dense)),):
        pairs = [
            ((m * row).aggMax(0).max(column), (m @ vector) * 2.0 + column, (m * column).sum(1))
            for m in (matrix, reference)
        ]
        for one, two in zip(*pairs, strict=True):
            found = one.compute(schedule)
            np.testing.assert_allclose(found, two.compute(Settings()), rtol=1e-12)
    assert (stored != before).nnz == 0


def test_what_has_gaps_comes_in_right() -> None:
    array = np.arange(48.0).reshape(6, 8)
    for view in (array[::2, 1::3], np.asfortranarray(array), array.T, array[::-1]):
        found = (CONTEXT.from_numpy(view) * 2.0 + 1.0).compute()
        np.testing.assert_array_equal(found, view * 2 + 1)
    wide = np.arange(4, dtype="i2")
    np.testing.assert_array_equal((CONTEXT.from_numpy(wide) + 1).compute()[:, 0], [1, 2, 3, 4])


def test_numpy_functions_are_lazy() -> None:
    array = np.linspace(0.5, 2.0, 12).reshape(4, 3)
    x = CONTEXT.from_numpy(array)
    lazy = np.exp(x).sum() + np.sum(np.log(x) * array) - np.max(x)
    assert "not computed" in repr(lazy)
    expected = np.exp(array).sum() + (np.log(array) * array).sum() - array.max()
    assert lazy.compute() == pytest.approx(expected)
    np.testing.assert_allclose(np.matmul(x.T, x).compute(), array.T @ array)
    np.testing.assert_allclose((array - x).compute(), 0)
    np.testing.assert_allclose(np.mean(x, axis=1).compute()[:, 0], array.mean(1))
    with pytest.raises(TypeError, match="no truth yet"):
        bool(x)
    with pytest.raises(AttributeError):
        x.nothing()


def test_nothing_between_is_stored() -> None:
    import tracemalloc

    x = CONTEXT.from_numpy(np.ones((1000, 1000)))
    lazy = (((x * 2.0 + 1.0) / 3.0 - 0.5) > 0.25).sum()
    assert lazy.compute() == 1e6
    tracemalloc.start()
    lazy.compute()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # One array between would be 8 MB.
    assert peak < 1e6


def test_frames_of_pandas_go_in_and_out() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2, 2], "b": [0.5, 1.5, 2.5]})
    lazy = CONTEXT.from_pandas(frame)
    assert lazy.groupSum("a", "b").compute().to_dict("list") == {"a": [1, 2], "SUM(b)": [0.5, 4.0]}
    np.testing.assert_array_equal(lazy.toMatrix().compute(), frame.to_numpy())
