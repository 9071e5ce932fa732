"""NumPy's functions and operators on arrays in blocks give what they give on NumPy's own."""

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.lang.arrays import computing
from freestone.lang.arrays.nodes import ordered

LONG = 1000 if os.environ.get("CI") else 150
# A thousand examples took up to 107 s beside three other processes of pytest and a build.
pytestmark = pytest.mark.timeout(300)
DTYPES = ["f8", "f4", "i8", "i4", "u1", "?", "i2", "f2", "u8"]
FLOATS = [0.0, -0.0, 1.5, -2.0, 3.25, float("inf"), float("nan"), 1e3]


@st.composite
def arrays(draw: Any) -> tuple[Any, Any]:
    """Draw an array and the same one in blocks."""
    rows, columns = draw(st.integers(1, 12)), draw(st.sampled_from([None, 1, 2, 3]))
    return draw(like(rows, columns, draw(st.integers(1, 5))))


@st.composite
def like(draw: Any, rows: int, columns: int | None, block_rows: int) -> tuple[Any, Any]:
    """Draw an array of a certain shape and blocking."""
    shape = (rows,) if columns is None else (rows, columns)
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    cells = st.sampled_from(FLOATS) if dtype.kind == "f" else st.integers(0, 100)
    count = int(np.prod(shape))
    drawn = draw(st.lists(cells, min_size=count, max_size=count))
    array = np.array(drawn).astype(dtype).reshape(shape)
    return array, fs.Array.from_numpy(array, block_rows)


@pytest.fixture(scope="module", autouse=True)
def _lazily_or_not_at_all() -> Iterator[None]:
    """Refuse what is not computed lazily, which Dask would compute."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FREESTONE_NUMPY_FALLBACK", "error")
        yield


def check(lazy: Any, expected: Any, exact: bool = False) -> None:
    """Compare a lazy value with NumPy's: cells, shape and type."""
    found = lazy.compute()
    found = found.toarray() if sp.issparse(found) else found
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if exact or np.asarray(expected).dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = {2: 2e-2, 4: 1e-4, 8: 1e-9}[np.asarray(expected).dtype.itemsize]
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def same(function: Any, *pairs: tuple[Any, Any]) -> None:
    """Check that a function gives the same of arrays and of arrays in blocks, or refuses both."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = function(*[array for array, _ in pairs])
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else type(error)
            with pytest.raises(kind):
                function(*[blocks for _, blocks in pairs]).compute()
            return
        check(function(*[blocks for _, blocks in pairs]), expected)


UNARY = [np.exp, np.sqrt, np.negative, np.absolute, np.sign, np.floor, np.isnan, np.isfinite]
UNARY += [np.square, np.logical_not, np.tanh, np.log, np.arctan, np.rint, np.isinf, np.ceil]
BINARY = [np.add, np.subtract, np.multiply, np.divide, np.minimum, np.maximum, np.less, np.equal]
BINARY += [np.greater_equal, np.logical_and, np.logical_or, np.fmod, np.floor_divide, np.not_equal]
BINARY += [np.arctan2, np.remainder, np.hypot, np.logical_xor]
REDUCTIONS = [np.sum, np.mean, np.min, np.max, np.var, np.std, np.any, np.all, np.prod]
REDUCTIONS += [np.count_nonzero]


@settings(max_examples=LONG, deadline=None)
@given(arrays(), st.sampled_from(UNARY))
def test_functions_of_cells(pair: Any, function: Any) -> None:
    same(function, pair)


@settings(max_examples=LONG, deadline=None)
@given(st.data(), st.sampled_from(BINARY))
def test_functions_of_two_cells(data: Any, function: Any) -> None:
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([None, 1, 3]))
    size = data.draw(st.integers(1, 4))
    one, other = (data.draw(like(rows, columns, size)) for _ in range(2))
    same(function, one, other)
    number = data.draw(st.sampled_from([2, 0.5, np.float32(1.5), np.int8(3), True]))
    same(lambda x: function(x, number), one)
    same(lambda x: function(number, x), one)
    if columns == 3:
        row = np.array([1.0, 2.0, 4.0])
        same(lambda x: function(x, row), one)
        same(lambda x: function(row, x), one)
        same(lambda x: function(x[:, :1], x), one)
    whole = other[0]
    same(lambda x: function(x, whole), one)


@settings(max_examples=LONG, deadline=None)
@given(arrays(), st.sampled_from(REDUCTIONS), st.sampled_from([None, 0, 1, -1]), st.booleans())
def test_reductions(pair: Any, function: Any, axis: int | None, keepdims: bool) -> None:
    if pair[0].ndim == 1 and axis == 1:
        axis = 0
    same(lambda x: function(x, axis=axis, keepdims=keepdims), pair)


@settings(max_examples=LONG, deadline=None)
@given(st.data())
def test_masks_choose_rows_and_cells(data: Any) -> None:
    pair = data.draw(arrays())
    bound = data.draw(st.sampled_from([-1, 1, 50, 1e6]))
    same(lambda x: x[x > bound], pair)
    same(lambda x: x[x > bound].sum(), pair)
    same(lambda x: (x[x > bound] * 2.0).mean() if bound < 0 else x[x > bound] * 2.0, pair)
    if pair[0].ndim == 2:
        same(lambda x: x[x[:, 0] > bound], pair)
        same(lambda x: x[x[:, 0] > bound].sum(axis=0), pair)
    mask = pair[0].astype("f8").reshape(len(pair[0]), -1)[:, 0] > bound
    same(lambda x: x[mask], pair)


@settings(max_examples=LONG, deadline=None)
@given(st.data())
def test_slices_rows_and_columns(data: Any) -> None:
    pair = data.draw(arrays())
    count = len(pair[0])
    start, stop = (data.draw(st.integers(-count, count)) for _ in range(2))
    same(lambda x: np.add(x, x)[start:stop], pair)
    same(lambda x: np.add(x, x)[start], pair) if start < count else None
    if pair[0].ndim == 2:
        same(lambda x: x[:, 0], pair)
        same(lambda x: x[start:stop, ::-1], pair)
        same(lambda x: x[..., -1], pair)
        same(lambda x: x[:, [0, -1]], pair)
    else:
        same(lambda x: x[:, None], pair)


@settings(max_examples=LONG, deadline=None)
@given(st.data())
def test_products_of_matrices(data: Any) -> None:
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1, 2, 3]))
    size = data.draw(st.integers(1, 4))
    one, other = data.draw(like(rows, columns, size)), data.draw(like(rows, None, size))
    with np.errstate(all="ignore"):
        one = np.nan_to_num(one[0], posinf=1, nan=0), np.nan_to_num(one[1], posinf=1, nan=0)
        other = np.nan_to_num(other[0], posinf=1, nan=0), np.nan_to_num(other[1], posinf=1, nan=0)
    vector, matrix = np.arange(1.0, columns + 1), np.ones((columns, 2), "f4")
    weights = np.linspace(0, 1, rows)
    same(lambda x: x @ vector, one)
    same(lambda x: x @ matrix, one)
    same(lambda x: x.T @ x, one)
    same(lambda x, y: x.T @ y, one, other)
    same(lambda x, y: y @ x, one, other)
    same(lambda y: y @ y, other)
    same(lambda x: weights @ x, one)
    same(lambda x: np.dot(x, 2.0), one)


@settings(max_examples=LONG, deadline=None)
@given(arrays())
def test_choices_between_two_sides(pair: Any) -> None:
    same(lambda x: np.where(x > 1, x, x + x), pair)
    same(lambda x: np.where(x, x, 2), pair)
    same(lambda x: np.where(np.isnan(x), 0, x).sum(), pair)
    same(lambda x: np.where(x > 1, True, x == 0), pair)
    same(lambda x: np.where(x > 1, 1, 0).sum(axis=0), pair)
    same(lambda x: np.where(x > 1, np.float32(1), x), pair)
    same(lambda x: np.select([x > 3, x > 1], [x, x + x], -1.0), pair)
    if pair[0].ndim == 2:
        row = np.arange(float(pair[0].shape[1]))
        same(lambda x: np.where(x > 1, x, row), pair)
        same(lambda x: np.where(x > 1, row, row), pair)
        same(lambda x: np.where(x[:, :1] > 1, x, row), pair)
        same(lambda x: np.where(x > 1, x[:, :1], 0), pair)


@settings(max_examples=LONG, deadline=None)
@given(arrays())
def test_other_functions(pair: Any) -> None:
    same(lambda x: np.where(x > 1, x, -1.0), pair)
    same(lambda x: np.where(x > 1, x, np.float64(2)), pair)
    same(lambda x: np.clip(x, 1, 2), pair)
    if pair[0].dtype != bool:
        # Numbers of the other byte order come back in that of the machine.
        same(lambda x: np.clip(x.astype(x.dtype.newbyteorder()), None, None), pair)
    same(lambda x: np.round(x, 1) if pair[0].dtype != bool else x + x, pair)
    same(lambda x: np.nan_to_num(x), pair)
    same(lambda x: np.isclose(x, 1.5), pair)
    same(lambda x: np.full_like(x, 3), pair)
    same(lambda x: x.astype("f4"), pair)
    same(lambda x: np.transpose(x), pair)
    if pair[0].ndim == 2:
        same(lambda x: np.cumsum(x, axis=1), pair)
        same(lambda x: np.argmax(x, axis=1), pair)
        same(lambda x: np.sort(x, axis=1), pair)
        same(lambda x: np.column_stack([x, x[:, 0]]), pair)
        same(lambda x: np.concatenate([x, x], axis=1), pair)


def test_columns_of_three_dimensions_beside_each_other() -> None:
    x, y = np.arange(30).reshape(5, 3, 2), np.ones((5, 4, 2))
    pairs = [(array, fs.Array.from_numpy(array, [0, 4, 5])) for array in (x, y, x[:, 0])]
    same(lambda x, y: np.column_stack([x, y]), *pairs[:2])
    assert np.column_stack([pairs[0][1], pairs[1][1]]).shape == (5, 7, 2)
    same(lambda x, z: np.column_stack([x, z]), pairs[0], pairs[2])


@settings(max_examples=LONG // 3, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7))
def test_csr_matrices(seed: int, block_rows: int) -> None:
    matrix = sp.random(13, 4, 0.3, format="csr", rng=np.random.default_rng(seed))
    kept = matrix.copy()
    pair = matrix.toarray(), fs.Array.from_numpy(matrix, block_rows)
    same(lambda x: x * 2.0, pair)
    same(lambda x: np.exp(x).sum(axis=0), pair)
    same(lambda x: x @ np.arange(4.0), pair)
    same(lambda x: x.T @ x, pair)
    same(lambda x: x.max(axis=0), pair)
    same(lambda x: x.sum(axis=1), pair)
    assert (kept != matrix).nnz == 0


@pytest.fixture(scope="module")
def cluster() -> Iterator[fs.Cluster]:
    with fs.Cluster(executors=2) as opened:
        yield opened


def test_in_a_cluster_it_runs_where_the_blocks_are(cluster: fs.Cluster) -> None:
    # Blocks so large that none is kept in messages.
    array = np.random.default_rng(1).normal(size=(18_000, 4))
    pair = array, fs.Array.from_numpy(array, 1800)
    same(lambda x: np.exp(x).sum(), pair)
    same(lambda x: ((x - x.mean(axis=0)) / x.std(axis=0))[5:900], pair)
    same(lambda x: x[x[:, 1] > 0].mean(axis=0), pair)
    same(lambda x: np.linalg.norm(x) if x is array else np.sqrt((x * x).sum()), pair)
    same(lambda x: x.T @ x, pair)
    large = np.ones((4, 20_000))
    same(lambda x: (x[:900] @ large).sum(axis=1), pair)
    doubled = (pair[1] * 2).to_array()
    assert isinstance(doubled, fs.Array)
    np.testing.assert_array_equal(doubled.compute(), array * 2)
    assert doubled.where() == pair[1].where()
    chosen = pair[1][pair[1][:, 0] > 0].to_array()
    np.testing.assert_array_equal(chosen.compute(), array[array[:, 0] > 0])


def test_a_sum_is_one_call_for_each_partition(cluster: fs.Cluster) -> None:
    x = fs.Array.from_function((400, 2), 10, lambda start, stop: np.ones((stop - start, 2)))
    x.persist()
    before = cluster.statistics().done
    assert float((x * 3).sum()) == 2400
    # Blocks are described, each executor has a partition, and their parts are combined.
    assert cluster.statistics().done - before <= 8


def test_the_plan_shows_what_is_fused() -> None:
    x = fs.Array.from_numpy(np.ones((10, 2)), 5)
    plan = ((x - x.mean(axis=0)) ** 2.0).sum().explain()
    assert plan.count("-- stage") == 2
    assert plan.count("agg_col sum") == 1
    assert "fused" in plan.partition("stage 2")[2]


def test_choices_and_sums_of_what_a_mask_chooses_are_fused() -> None:
    x = fs.Array.from_numpy(np.arange(20.0).reshape(10, 2), 5)
    for lazy, expected in [
        (np.where(x > 3, x, 0.0).sum(), 184.0),
        (x[x > 3].sum(), 184.0),
        (x[x > 3].mean(), 11.5),
        (x[x[:, 0] > 3].mean(axis=0)[1], 12.0),
    ]:
        shown = lazy.explain()
        assert "choose" in shown
        assert "apply filter" not in shown
        assert "apply where" not in shown
        assert lazy.compute() == expected


def test_an_expression_of_thousands_of_operations() -> None:
    array = np.ones(10)
    x = fs.Array.from_numpy(array, 4)
    for _ in range(3000):
        x = x + 1.0
    assert x.compute().tolist() == [3001.0] * 10


X = fs.Array.from_numpy(np.arange(12.0).reshape(6, 2), 4)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: np.linalg.svd(X), "np.svd of an Array is not computed lazily; call compute()"),
        (lambda: np.cumsum(X, axis=0), "goes along rows only"),
        (lambda: np.add(1, 1, out=X), "out= can't be given"),
        (lambda: np.add.accumulate(X), "np.add.accumulate"),
        (lambda: X.T + 1, "transpose"),
        (lambda: X[[2, 1], [0, 1]], "would pair them"),
        (lambda: X[X[:, 0] > 1][::2].sum(), "have no numbers yet"),
        (lambda: X + fs.Array.from_numpy(np.ones((6, 2)), 3), "rechunk"),
        (lambda: X[X > 0] + X[X > 1], "one and the same mask"),
        (lambda: X + object(), "object can't be part"),
        (lambda: bool(X * 2), "shape (6, 2) is ambiguous"),
        (lambda: bool(X), "take any() or all()"),
        (lambda: X.sum().to_array(), "compute"),
    ],
)
def test_what_is_not_lazy_says_what_to_do(call: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        call()
    assert words in str(caught.value)


def test_in_place_operators_make_another_array() -> None:
    array = np.arange(12.0).reshape(6, 2)
    x = first = fs.Array.from_numpy(array, 4)
    x += 1
    x **= 2
    x @= np.eye(2)
    np.testing.assert_array_equal(x.compute(), (array + 1) ** 2)
    np.testing.assert_array_equal(first.compute(), array)


@pytest.mark.parametrize("masked", ["by NumPy's", "lazily", "of a row"])
def test_ufuncs_write_into_numpys_arrays_where_the_mask_is_true(masked: str) -> None:
    array = np.arange(24.0).reshape(8, 3) - 7
    x = fs.Array.from_numpy(array, 3)
    wanted: Any = array != 0 if masked != "of a row" else np.array([True, False, True])
    mask = x != 0 if masked == "lazily" else wanted
    goals = [np.full((8, 3), -99.0) for _ in range(2)]
    with np.errstate(all="ignore"):
        expected = np.divide(1, array, out=np.full((8, 3), -99.0), where=wanted)
    # The array in blocks may be an operand, the mask, or both.
    assert np.divide(1, x, out=goals[0], where=mask) is goals[0]
    np.divide(np.ones((8, 3)), x, out=goals[1], where=mask)
    np.testing.assert_array_equal(goals[0], expected)
    np.testing.assert_array_equal(goals[1], expected)


def test_a_mask_in_blocks_chooses_where_an_array_of_numpys_is_written() -> None:
    array = np.arange(6.0).reshape(3, 2)
    out = np.full((3, 2), -1.0)
    np.add(array, 1, out=out, where=fs.Array.from_numpy(array, 2) > 2)
    assert out.tolist() == [[-1, -1], [-1, 4], [5, 6]]
    with pytest.raises(ValueError, match="broadcast"):
        np.add(array, 1, out=out, where=fs.Array.from_numpy(np.ones((4, 2), bool), 2))


def test_numbers_of_python_are_of_the_type_that_is_named() -> None:
    array = np.array([1, 2, 3], "u1")
    x: Any = fs.Array.from_numpy(array, 2)
    check(np.subtract(x, -3, dtype="f4"), np.subtract(array, -3, dtype="f4"))
    check(np.add(x, 300, dtype="i8"), np.add(array, 300, dtype="i8"))


def test_numbers_of_python() -> None:
    array = np.arange(6.0).reshape(3, 2)
    x = fs.Array.from_numpy(array, 2)
    assert (x.sum().item(), x.tolist(), x.itemsize) == (15.0, array.tolist(), 8)
    with pytest.raises(ValueError, match="size 1"):
        x.item()


def test_elements_are_taken_by_position() -> None:
    array = np.arange(12.0).reshape(4, 3)
    x = fs.Array.from_numpy(array, 3)
    for at in [(5,), (-1,), (2, 1), (-1, 0), ((3, 2),)]:
        assert x.item(*at) == array.item(*at)
        assert type((x + 1).item(*at)) is float
    assert x[:, 0].item(3) == 9.0
    with pytest.raises(IndexError, match="index 12 is out of bounds for size 12"):
        x.item(12)


def test_shapes_that_do_not_go_together_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="do not go together"):
        X + np.ones(3)
    with pytest.raises(ValueError, match="matmul"):
        X @ np.ones(3)
    with pytest.raises(IndexError):
        X[:, 5]
    with pytest.raises(IndexError):
        (X + 1)[7]


@pytest.mark.parametrize("rows", [1.5, "a", None, np.array([1.5]), ["a"]])
def test_what_is_no_index_of_rows_is_named(rows: Any) -> None:
    x = fs.Array.from_numpy(np.ones((4, 2)), 3)
    with pytest.raises(IndexError, match="rows are taken by a number, a slice or a mask, not by"):
        x[rows]


@pytest.mark.parametrize("side", [0, 3])
@pytest.mark.parametrize("shape", [(4, 0), (0, 3), (0, 0), (0,)])
def test_a_mask_without_elements_chooses_none(side: int, shape: tuple[int, ...]) -> None:
    array, mask = np.ones((4, 3, side)), np.ones(shape, bool)
    assert np.asarray(fs.Array.from_numpy(array, 2)[mask]).shape == array[mask].shape
    with pytest.raises(IndexError, match="a mask of shape"):
        fs.Array.from_numpy(array, 2)[np.ones((3, 0), bool)]


@pytest.mark.parametrize("axis", [0, -1, None])
def test_a_value_is_taken_as_its_one_element(axis: int | None) -> None:
    value = np.all(fs.Array.from_numpy(np.ones(4), 2) > 0)
    for rows in ([0, -1], 0):
        np.testing.assert_array_equal(
            np.asarray(np.take(value, rows, axis=axis)), np.take(True, rows)
        )
    with pytest.raises(IndexError, match="out of bounds"):
        np.asarray(np.take(value, [1], axis=axis))


def test_a_mask_that_does_not_fit_is_explained() -> None:
    x = fs.Array.from_numpy(np.ones((4, 2)), 3)
    with pytest.raises(IndexError, match=r"a mask of shape \(2,\) for an array of shape \(4, 2\)"):
        x[np.array([True, False])]
    other = fs.Array.from_numpy(np.arange(4.0), 2)
    # One of other blocks is cut like the array.
    assert x[other > 1].compute().shape == (2, 2)


def test_vectors_side_by_side_are_one_vector() -> None:
    v = np.arange(4.0)
    x = fs.Array.from_numpy(v, 3)
    np.testing.assert_array_equal(np.asarray(np.hstack([x, x * 2])), np.hstack([v, v * 2]))
    np.testing.assert_array_equal(np.asarray(np.hstack([v, x])), np.hstack([v, v]))
    with pytest.raises(ValueError, match="dimensions"):
        np.hstack([x, fs.Array.from_numpy(v[:, None], 3)])


def test_expressions_are_written(tmp_path: Path) -> None:
    data = np.arange(8.0).reshape(4, 2)
    x = fs.Array.from_numpy(data, 3)
    for made, expected in [(x * 2, data * 2), (x.T @ x, data.T @ data), (x[x[:, 0] > 2], data[2:])]:
        fs.write(made, tmp_path / "x.npy")
        np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), expected)


class Counted(dict[Any, Any]):
    """Values that are known; `lookups` says how often somebody asked for one."""

    lookups = 0

    def __contains__(self, node: object) -> bool:
        self.lookups += 1
        return super().__contains__(node)


def test_steps_of_a_loop_do_not_look_at_all_steps_before() -> None:
    x = fs.Array.from_numpy(np.arange(12.0).reshape(4, 3), 2)
    step: Any = x
    means = []
    for _ in range(60):
        means.append(step.mean()._node)
        step = step - step.mean()
    known = Counted()
    for mean in means:
        known.update({node: 1.0 for node in ordered([mean]) if node.kind == "total"})
    for mean in means:
        computing._small(mean, known)
    assert known.lookups < 20 * len(means)
    np.testing.assert_allclose(step.compute(), np.arange(12.0).reshape(4, 3) - 5.5)


def test_an_expression_does_not_change() -> None:
    made = fs.Array.from_numpy(np.arange(6.0).reshape(3, 2), 2) + 1
    for key in (0, (0, 1), made > 2):
        with pytest.raises(TypeError, match="an expression does not change; make another"):
            made[key] = 0.0
