"""DaphneLib's vocabulary: control flow, functions, indexing, frames, SQL, scripts from Python."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from freestone.errors.lang import ScriptError, ScriptRunError
from freestone.lang.daphnelib import DaphneContext, Frame, Matrix, Scalar, lazy
from freestone.lang.settings import Settings

CONTEXT = DaphneContext()
X = np.arange(1.0, 13.0).reshape(4, 3)
WAYS = [Settings(), Settings(vec=True, num_threads=2)]


@pytest.fixture(params=WAYS, ids=["plain", "fused"])
def way(request: pytest.FixtureRequest) -> Settings:
    """How values are computed."""
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("chosen", [1.0, -1.0])
def test_a_condition_runs_one_of_two_ways(chosen: float, way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    asked = CONTEXT.from_numpy(np.full((1, 1), chosen)).sum()
    more, same = CONTEXT.cond(
        [x, x.sum()],
        lambda: asked > 0.0,
        lambda a, s: (a * 2.0 + 1.0, s),
        lambda a, s: (a - s, s * 0.0),
    )
    np.testing.assert_array_equal(more.compute(way), X * 2 + 1 if chosen > 0 else X - X.sum())
    assert same.compute(way) == (X.sum() if chosen > 0 else 0)


def test_what_is_not_chosen_does_not_run(way: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    zero = CONTEXT.from_numpy(np.zeros((1, 1), "i8")).sum()

    def wrong(a: Scalar) -> Scalar:
        CONTEXT.print("wrong")
        return a / zero

    def right(a: Scalar) -> Scalar:
        CONTEXT.print("right")
        return a

    (found,) = CONTEXT.cond([zero + 5], lambda: zero > 0, wrong, right)
    assert found.compute(way) == 5
    assert capsys.readouterr().out == "right\n"
    (found,) = CONTEXT.cond([zero + 5], lambda: zero == 0, wrong, right)
    with pytest.raises(ScriptRunError, match="divided by zero"):
        found.compute(way)


def test_a_condition_without_else_leaves_what_is_not_chosen(way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    (found,) = CONTEXT.cond([x], lambda: x.sum() < 0.0, lambda a: a * 0.0)
    np.testing.assert_array_equal(found.compute(way), X)


@pytest.mark.parametrize(
    ("ends", "numbers"), [((1, 3), [1, 2, 3]), ((3, 1), [3, 2, 1]), ((0, 6, 3), [0, 3, 6])]
)
def test_a_loop_counts_with_both_ends(
    ends: tuple[int, ...], numbers: list[int], way: Settings
) -> None:
    (found,) = CONTEXT.for_loop([CONTEXT.from_numpy(X)], lambda a, i: a * 10.0 + i, *ends)
    expected = X
    for number in numbers:
        expected = expected * 10 + number
    np.testing.assert_array_equal(found.compute(way), expected)


def test_what_grows_in_a_loop_has_no_known_shape(way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    grown, total = CONTEXT.for_loop([x, 0.0], lambda a, s, i: (a.rbind(a), s + a.sum()), 1, 3)
    assert grown.shape == (np.nan, 3)
    np.testing.assert_array_equal(grown.compute(way), np.vstack([X] * 8))
    assert total.compute(way) == X.sum() * 7


def test_while_asks_first_and_do_while_asks_after(way: Settings) -> None:
    body = lambda a, n: (a * 2.0, n + 1)  # noqa: E731
    for start, rounds in ((0, 3), (7, 0)):
        found, count = CONTEXT.while_loop([CONTEXT.from_numpy(X), start], lambda a, n: n < 3, body)
        np.testing.assert_array_equal(found.compute(way), X * 2**rounds)
        assert count.compute(way) == start + rounds
    for start, rounds in ((0, 3), (7, 1)):
        found, count = CONTEXT.do_while_loop(
            [CONTEXT.from_numpy(X), start], lambda a, n: CONTEXT.logical_and(n < 3, n >= 0), body
        )
        np.testing.assert_array_equal(found.compute(way), X * 2**rounds)
        assert count.compute(way) == start + rounds


def test_loops_are_inside_one_another(way: Settings) -> None:
    def outer(a: Matrix, i: Scalar) -> Matrix:
        (inner,) = CONTEXT.for_loop([a], lambda b, j: b + i * j, 1, 2)
        (chosen,) = CONTEXT.cond([inner], lambda: i > 1, lambda b: b * 2.0, lambda b: b)
        return chosen

    (found,) = CONTEXT.for_loop([CONTEXT.from_numpy(X)], outer, 1, 3)
    expected = X
    for i in (1, 2, 3):
        expected = (expected + i * 3) * (2 if i > 1 else 1)
    np.testing.assert_array_equal(found.compute(way), expected)


@pytest.mark.parametrize(
    ("problem", "make"),
    [
        ("one way gives", lambda x: CONTEXT.cond([x], lambda: 1, lambda a: a, lambda a: (a, a))),
        ("value 0 is a matrix", lambda x: CONTEXT.cond([x], lambda: 1, lambda a: a, lambda a: 5)),
        ("one round gives 1 values", lambda x: CONTEXT.for_loop([x], lambda a, i: (a, a), 1, 2)),
        ("can't be 0", lambda x: CONTEXT.for_loop([x], lambda a, i: a, 1, 2, 0)),
        ("the condition", lambda x: CONTEXT.while_loop([x], lambda a: a, lambda a: a)),
    ],
)  # fmt: skip
def test_bodies_that_do_not_fit_are_refused(problem: str, make: object) -> None:
    with pytest.raises(ScriptError, match=problem):
        make(CONTEXT.from_numpy(X))  # type: ignore[operator]


@pytest.mark.parametrize(
    "body",
    [
        lambda a, i: (a + 1.0) * (a + 1.0).compute(),
        lambda a, i: a * a.compute(),
        lambda a, i: a * np.asarray(a.sum() + i),
    ],
)
def test_what_a_round_is_given_has_no_value_yet(body: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(ScriptError, match="of the body of a loop has no value yet"):
        CONTEXT.for_loop([CONTEXT.from_numpy(X)], body, 1, 2)


def test_what_stands_outside_of_a_loop_is_computed_inside() -> None:
    x = CONTEXT.from_numpy(X)
    (found,) = CONTEXT.for_loop([x], lambda a, i: a + float((x * 2.0).sum().compute()), 1, 2)
    np.testing.assert_allclose(found.compute(), X + 4 * X.sum())


def test_functions_check_their_hints(way: Settings) -> None:
    @CONTEXT.function
    def scaled(a: Matrix, by: Scalar) -> tuple[Matrix, Scalar]:
        return a * by, by + 1.0

    found, more = scaled(CONTEXT.from_numpy(X), by=2.0)
    np.testing.assert_array_equal(found.compute(way), X * 2)
    assert more.compute(way) == 3
    with pytest.raises(TypeError, match="'by' is a Scalar, and is given a Matrix"):
        scaled(X, X)
    (alone,) = CONTEXT.function(lambda a: a.t())(X)
    np.testing.assert_array_equal(alone.compute(way), X.T)


@pytest.mark.parametrize(
    "key",
    [
        (1, 2),
        (slice(1, 3), slice(None)),
        (slice(None, -1), slice(1, 99)),
        (-1, slice(0, 2)),
        slice(2, None),
        ([3, 0, 3], slice(None)),
        (slice(None), [2, 0]),
        (np.array([True, False, True, False]), slice(None)),
    ],
)
def test_indexing_is_that_of_numpy_with_two_dimensions_kept(key: object, way: Settings) -> None:
    rows, columns = key if isinstance(key, tuple) else (key, slice(None))
    first, second = (
        slice(k, None if k == -1 else k + 1) if isinstance(k, int) else k for k in (rows, columns)
    )
    expected = X[first][:, second]
    np.testing.assert_array_equal(CONTEXT.from_numpy(X)[key].compute(way), expected)


def test_positions_may_be_lazy(way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    at = CONTEXT.from_numpy(np.array([[2]])).sum()
    np.testing.assert_array_equal(x[at, :].compute(way), X[2:3])
    np.testing.assert_array_equal(x[at:, 0].compute(way), X[2:, :1])
    np.testing.assert_array_equal(x[0:at, :].compute(way), X[:2])
    with pytest.raises(IndexError, match="4 is outside of 0 to 3"):
        x[4, 0]


def test_writing_to_a_matrix_changes_neither_its_copies_nor_the_input(way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    before = x * 1.0
    x[1, 2] = 99.0
    x[2:4, :] = np.zeros((2, 3))
    expected = X.copy()
    expected[1, 2], expected[2:4] = 99, 0
    np.testing.assert_array_equal(x.compute(way), expected)
    np.testing.assert_array_equal(before.compute(way), np.arange(1.0, 13.0).reshape(4, 3))
    x[0, 0] = 7
    x[3, :] = np.arange(3.0)
    x[1:, 1] = np.arange(3.0)
    expected[0, 0], expected[3], expected[1:, 1] = 7, np.arange(3), np.arange(3)
    np.testing.assert_array_equal(x.compute(way), expected)
    with pytest.raises(ScriptError, match="holds f64, not str"):
        x[0, 0] = "a"


@pytest.mark.parametrize("shape", [(4, 4), (3, 4), (1, 4), (4, 1)])
def test_arrays_of_one_dimension_are_rows_beside_matrices(
    shape: tuple[int, int], way: Settings
) -> None:
    cells, flat = np.arange(1.0, 17.0)[: np.prod(shape)].reshape(shape), np.array([3.0, 1, 2, 5])
    x = CONTEXT.from_numpy(cells)
    # One column is what such an array itself becomes.
    other = flat[:, None] if shape[1] == 1 else flat
    functions = [np.add, np.subtract, np.multiply, np.divide, np.power, np.maximum, np.less]
    for function in functions:
        for one, two in ((x, flat), (flat, x)):
            expected = function(cells, other) if one is x else function(other, cells)
            np.testing.assert_array_equal(function(one, two).compute(way), expected)
    np.testing.assert_array_equal(x.max(flat).compute(way), np.maximum(cells, other))
    np.testing.assert_array_equal((flat - x).compute(way), other - cells)
    found = np.where(x > 4, x, flat).compute(way)
    np.testing.assert_array_equal(found, np.where(cells > 4, cells, other))
    if shape == (4, 4):
        np.testing.assert_array_equal((x @ flat).compute(way), cells @ flat[:, None])
        np.testing.assert_array_equal((flat @ x).compute(way), flat[None, :] @ cells)
    if shape == (3, 4):
        with pytest.raises(ScriptError, match="sub of a 3x4 and a 1x3 matrix"):
            x - flat[:3]


def test_names_of_parameters_are_those_of_daphnelib(way: Settings) -> None:
    x = CONTEXT.from_numpy(X)
    half = CONTEXT.fill(0.5, rows=4, cols=3)
    np.testing.assert_array_equal(x.max(other=half * 12.0).compute(way), np.maximum(X, 6))
    np.testing.assert_array_equal(x.sum(axis=0).compute(way), X.sum(1, keepdims=True))
    assert x.sum(axis=None).compute(way) == X.sum()
    np.testing.assert_array_equal(x.reshape(numRows=3, numCols=4).compute(way), X.reshape(3, 4))
    np.testing.assert_array_equal(CONTEXT.seq(start=1, end=5, inc=2).compute(way)[:, 0], [1, 3, 5])
    bins = x.bin(numBins=3, Min=1.0, Max=13.0)
    np.testing.assert_array_equal(bins.compute(way)[0], [0, 0, 0])
    down = x.order(colIdxs=[0], ascs=[False], returnIndexes=False)
    np.testing.assert_array_equal(down.compute(way), X[::-1])
    np.testing.assert_array_equal(x.order([0], [False], True).compute(way)[:, 0], [3, 2, 1, 0])
    np.testing.assert_array_equal(x.order(0, False, False).compute(way), X[::-1])
    chosen = (x > 6.0).ifElse(x, -1.0)
    np.testing.assert_array_equal(chosen.compute(way), np.where(X > 6, X, -1))
    np.testing.assert_array_equal(np.where(x > 6.0, x, 0.0).compute(way), np.where(X > 6, X, 0))
    for small in (x.asType("f32"), x.asType(vtype=np.float32), x.asType("matrix", "f32")):
        assert small.compute(way).dtype == np.float32
    frame = x.asType(dtype="frame").compute(way)
    assert list(frame.columns) == ["col_0", "col_1", "col_2"]
    assert CONTEXT.logical_or(x.sum() < 0.0, x.sum() > 0.0).compute(way) == 1
    assert abs(-x).sum().compute(way) == X.sum()
    np.testing.assert_array_equal((2.0**x).compute(way), 2**X)
    np.testing.assert_array_equal((X.T @ x).compute(way), X.T @ X)
    assert CONTEXT.rand(5, 4, seed=3).compute(way).shape == (5, 4)
    assert CONTEXT.sample(9, 5, False).compute(way).shape == (5, 1)


def test_printing_and_writing_happen_when_they_are_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], way: Settings
) -> None:
    x = CONTEXT.from_numpy(X[:1])
    action = (x * 2.0).print()
    assert capsys.readouterr().out == ""
    assert action.compute(way) is None
    assert capsys.readouterr().out == "DenseMatrix(1x3, double)\n2 4 6\n"
    path = str(tmp_path / "x.csv")
    written = x.write(path)
    assert not Path(path).exists()
    written.compute(way)
    np.testing.assert_array_equal(CONTEXT.readMatrix(file=path).compute(way), X[:1])
    CONTEXT.from_pandas(CONTEXT.readFrame(path).compute(way)).write(path).compute(way)
    assert list(CONTEXT.readFrame(path).compute(way).columns) == ["col_0", "col_1", "col_2"]


def test_frames(way: Settings) -> None:
    pd = pytest.importorskip("pandas")
    data = pd.DataFrame({"a": [1, 2, 2], "b": [0.5, 1.5, 2.5]})
    frame = CONTEXT.from_pandas(data)
    assert frame.shape == (3, 2)
    assert frame["b"].compute(way).to_dict("list") == {"b": [0.5, 1.5, 2.5]}
    assert frame[["b", "a"]].compute(way).to_dict("list") == {"b": [0.5, 1.5, 2.5], "a": [1, 2, 2]}
    assert frame[1:, "a"].compute(way).to_dict("list") == {"a": [2, 2]}
    assert list(frame.setColLabels(["x", "y"]).compute(way).columns) == ["x", "y"]
    assert list(frame.setColLabelsPrefix(prefix="p").compute(way).columns) == ["p.a", "p.b"]
    other = CONTEXT.createFrame([CONTEXT.seq(2, 3), CONTEXT.fill(7, 2, 1)], labels=["c", "d"])
    joined = frame.innerJoin(right_frame=other, left_on="a", right_on="c").compute(way)
    assert joined["b"].tolist() == [1.5, 2.5]
    assert len(frame.cartesian(other).compute(way)) == 6
    assert frame.toMatrix().compute(way).dtype == np.float64
    assert frame["a"].toMatrix(value_type=None).compute(way).dtype == np.int64
    assert frame.order(["b"], [False], False).compute(way)["b"].tolist() == [2.5, 1.5, 0.5]
    kept = CONTEXT.from_pandas(data.set_index("a"), keepIndex=True)
    assert list(kept.compute(way).columns) == ["a", "b"]
    data.index.name = None
    back = CONTEXT.from_pandas(data, keepIndex=True).compute(way, useIndexColumn=True)
    assert back.index.tolist() == [0, 1, 2]


def test_sql_knows_frames_that_were_registered(way: Settings) -> None:
    pytest.importorskip("duckdb")
    pd = pytest.importorskip("pandas")
    frame = CONTEXT.from_pandas(pd.DataFrame({"a": [1, 2, 2], "b": [0.5, 1.5, 2.5]}))
    assert isinstance(frame.registerView("f"), Frame)
    CONTEXT.registerView("g", CONTEXT.from_pandas(pd.DataFrame({"a": [2], "c": [9]})))
    query = "SELECT f.a, SUM(f.b) AS s FROM f, g WHERE f.a = g.a GROUP BY f.a"
    found = CONTEXT.sql(query).compute(way)
    assert found.to_dict("list") == {"f.a": [2], "s": [4.0]}
    with pytest.raises(ScriptError, match="SQL"):
        CONTEXT.sql("SELECT x FROM nowhere")


def test_scripts_take_arrays_and_give_results() -> None:
    text = "X = receiveFromNumpy($at, $rows, $cols, 7); saveDaphneLibResult(t(X) @ X);"
    text += " saveDaphneLibResult(X); saveDaphneLibResult(sum(X) + $more);"
    array = np.asfortranarray(X)
    with CONTEXT.lend(X) as (at, rows, columns, code):
        assert code == 7
        product, same, total = CONTEXT.run(text, at=at, rows=rows, cols=columns, more=0.5)
    np.testing.assert_array_equal(product, X.T @ X)
    assert np.shares_memory(same, X)
    assert not same.flags.writeable
    assert total == X.sum() + 0.5
    with CONTEXT.lend(array) as (at, rows, columns, _):
        (_, same, _) = CONTEXT.run(text, at=at, rows=rows, cols=columns, more=0)
    np.testing.assert_array_equal(same, X)
    with pytest.raises(ScriptRunError, match="no array is lent at address"):
        CONTEXT.run(text, at=at, rows=rows, cols=columns, more=0)
    with CONTEXT.lend(X) as (at, rows, columns, _), pytest.raises(ScriptRunError, match="4x3 of f"):
        CONTEXT.run(text, at=at, rows=columns, cols=rows, more=0)


@pytest.mark.parametrize("number", [np.float64(2.5), np.int8(2), np.bool_(True), 2.5])
def test_arguments_of_scripts_may_be_numbers_of_numpy(number: Any) -> None:
    (found,) = CONTEXT.run("saveDaphneLibResult(fill(1.0, 1, 1) * as.f64($n));", n=number)
    assert found.item() == float(number)


def test_a_computation_can_be_asked_in_daphnelibs_way(capsys: pytest.CaptureFixture[str]) -> None:
    x = CONTEXT.from_numpy(X, verbose=True)
    assert "taken: matrix<f64> 4x3" in capsys.readouterr().err
    for way in ("files", "shared memory"):
        np.testing.assert_array_equal((x * 2.0).compute(type=way, verbose=True), X * 2)
        assert "compute():" in capsys.readouterr().err
    with pytest.raises(ValueError, match="there are shared memory, files"):
        x.compute(type="mail")
    matrix, shape = CONTEXT.from_numpy(np.zeros((2, 3, 4)), return_shape=True)
    assert (matrix.shape, shape) == ((2, 12), (2, 3, 4))


def test_a_sum_counts_truth_values(way: Settings) -> None:
    cells = np.array([[True, False], [True, True]])
    x = CONTEXT.from_numpy(cells)
    assert x.sum().compute(way) == np.sum(x).compute(way) == 3
    np.testing.assert_array_equal(x.sum(0).compute(way), [[1], [2]])
    np.testing.assert_array_equal(x.sum(1).compute(way), [[2, 1]])
    np.testing.assert_array_equal(x.cumSum().compute(way), cells.cumsum(0))
    groups = CONTEXT.from_numpy(np.array([0, 0]))
    column = CONTEXT.from_numpy(np.array([True, True]))
    np.testing.assert_array_equal(column.sum(groups, 1).compute(way), [[2]])


def test_lazy_comparisons_choose_rows_and_columns() -> None:
    cells = np.array([[5.0, 1.0, 7.0], [2.0, 3.0, 4.0], [np.nan, 6.0, 0.0]])
    x = CONTEXT.from_numpy(cells)
    first = cells[:, 0]
    for mask, wanted in (
        (x[:, 0] > 3.0, first > 3.0),
        (np.logical_and(x[:, 0] > 1.0, x[:, 1] < 2.0), (first > 1.0) & (cells[:, 1] < 2.0)),
        (x[:, 0].isNan(), np.isnan(first)),
    ):
        np.testing.assert_array_equal(x[mask].compute(), cells[wanted])
        np.testing.assert_array_equal(x[mask, 1:].compute(), cells[wanted][:, 1:])
        np.testing.assert_array_equal(
            (x[mask] * 2.0).sum(1).compute(), [(cells[wanted] * 2).sum(0)]
        )
    np.testing.assert_array_equal(x[:, x[1, :].t() > 2.5].compute(), cells[:, cells[1] > 2.5])
    # Numbers are positions.
    places = CONTEXT.from_numpy(np.array([[1], [0]]))
    np.testing.assert_array_equal(x[places].compute(), cells[[1, 0]])
    with pytest.raises(IndexError, match="not assigned by a mask"):
        x[x[:, 0] > 3.0] = 0.0


def test_signs_join_lazy_comparisons(way: Settings) -> None:
    cells = np.array([[5.0, 1.0, 7.0], [2.0, 3.0, 4.0], [np.nan, 6.0, 0.0]])
    x = CONTEXT.from_numpy(cells)
    for function in (
        lambda a, _: (a > 1) & (a < 5),
        lambda a, isnan: ~((a > 1) | isnan),
        lambda a, _: (cells > 2) & (a < 5),
        lambda a, isnan: isnan | (cells > 2),
        lambda a, isnan: (a > 1) ^ (a < 5),
        lambda a, isnan: (cells > 2) ^ (a < 5) ^ True,
        lambda a, isnan: np.bitwise_xor(a > 1, isnan),
        lambda a, _: np.array([True, False, True]) & (a > 1),
    ):
        found = function(x, x.isNan()).compute(way)
        np.testing.assert_array_equal(found, function(cells, np.isnan(cells)))
    first = x[:, 0]
    chosen = x[(first > 1) & ~(first > 4)].compute(way)
    np.testing.assert_array_equal(chosen, cells[[1]])
    with pytest.raises(TypeError, match=r"& takes truth values, .* np.logical_and\(x, y\)"):
        operator.and_(x, x > 1)
    with pytest.raises(TypeError, match=r"\^ takes truth values, .* \(x != 0\) \^ \(y != 0\)"):
        operator.xor(x, x > 1)
    with pytest.raises(TypeError, match=r"~x takes truth values"):
        operator.invert(x)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda x: np.prod(x), "numpy.prod does not take lazy matrices"),
        (lambda x: np.concatenate([x, x]), r"numpy.concatenate does not .*write x.rbind\(y\)"),
        (lambda x: np.concatenate([x, x], axis=1), r"with axis= does not .*write x.cbind\(y\), or"),
        (lambda x: np.cumprod(x, axis=0), r"with axis= does not .*write x.cumProd\(\), down"),
        (lambda x: np.cumsum(x, 1), r"cumsum does not .*write x.t\(\).cumSum\(\).t\(\), along"),
        (lambda x: np.argmax(x, axis=1), r"write x.idxMax\(0\), for each row, or compute"),
        (lambda x: np.argmax(x), r"write x.reshape\(1, -1\).idxMax\(0\), or"),
        (lambda x: np.count_nonzero(x), r"write np.sum\(x != 0\), or"),
        (lambda x: np.sort(x, axis=0), r"write x.order\(0, True, False\)"),
        (lambda x: np.where(x > 3), r"where with 1 argument .*write np.where\(mask, x, y\)"),
        (lambda x: np.sum(x, where=x > 3), r"write np.sum\(np.where\(mask, x, 0\)\)"),
        (lambda x: np.clip(x, 1, 3, out=x), r"numpy.clip with out= .*nothing is written into"),
        (lambda x: np.logical_xor(x, x), r"write \(x != 0\) \^ \(y != 0\)"),
        (lambda x: x // 2, r"numpy.floor_divide does not take .*write \(x / y\).floor"),
        (lambda x: np.round(x, 2), r"write x.round\(\), .*halves are rounded away from zero"),
        (lambda x: np.mod(x, 2), r"numpy.remainder does not .*write x - y \* \(x / y\).floor\(\)"),
        (lambda x: np.median(x), "numpy.median does not take .*use an operation"),
        (lambda x: np.sum(x, initial=1), "numpy.sum with initial= does not take"),
        (lambda x: np.exp(x, out=x), r"numpy.exp with out= does not take .*write z = np.add"),
        (lambda x: np.add(x, x, where=x > 1), r"with where= does not take .*write np.where"),
        (lambda x: np.add(x, x, dtype="f4"), r"with dtype= does not take .*asType"),
        (lambda x: np.add.reduce(x), r"numpy.add.reduce does not take .*write np.sum"),
        (lambda x: np.add.accumulate(x), r"numpy.add.accumulate does not take .*write x.cumSum"),
        (lambda x: np.multiply.outer(x, x), r"numpy.multiply.outer does not take .*outerMul"),
        (lambda x: np.add.at(x, [0], 1), r"numpy.add.at does not take .*write y = x.compute"),
        (lambda x: np.ones(3) // x, "numpy.floor_divide does not take"),
    ],
)
def test_functions_of_numpy_that_are_not_lazy_say_what_to_do(
    call: Callable[[Any], Any], what: str
) -> None:
    x = DaphneContext().from_numpy(np.ones((3, 1)))
    with pytest.raises(TypeError, match=rf"{what}.*compute\(\)"):
        call(x)


def test_what_is_written_into_numpys_arrays_is_computed_at_once() -> None:
    cells = np.arange(12.0).reshape(4, 3)
    x = DaphneContext().from_numpy(cells)
    out = np.ones((4, 3))
    assert np.add(x, 1, out=out) is out
    np.testing.assert_array_equal(out, cells + 1)
    out -= x
    np.testing.assert_array_equal(out, np.ones((4, 3)))
    booleans = np.zeros((4, 3), bool)
    np.testing.assert_array_equal(np.greater(x, 5, out=booleans), cells > 5)
    for axis, length in ((None, ()), (0, 3), (1, 4)):
        every_second = np.zeros((*np.atleast_1d(length), 2))[..., 0] if length else np.zeros(())
        np.testing.assert_array_equal(np.sum(x, axis=axis, out=every_second), cells.sum(axis))
    counts = np.zeros((2, 3))
    np.add.at(counts, [0, 1, 1, 0], x)
    np.testing.assert_array_equal(counts, [cells[0] + cells[3], cells[1] + cells[2]])
    with pytest.raises(ValueError, match=r"out= has the shape \(3,\), and the result \(4, 3\)"):
        np.exp(x, out=np.ones(3))
    with pytest.raises(TypeError, match="same_kind"):
        np.exp(x, out=np.ones((4, 3), int))


def test_arrays_are_made_of_lazy_numbers() -> None:
    x = DaphneContext().from_numpy(np.arange(12.0).reshape(4, 3))
    np.testing.assert_array_equal(np.array([x.sum(), x.aggMax()]), [66, 11])
    assert (float(x.sum()), int(x.mean())) == (66.0, 5)


def test_a_misspelt_method_gets_a_suggestion() -> None:
    x = DaphneContext().from_numpy(np.ones((3, 1)))
    with pytest.raises(AttributeError, match="Matrix has no 'summ'; did you mean 'sum'"):
        x.summ()
    with pytest.raises(AttributeError, match="did you mean 'compute'"):
        x.comput()
    with pytest.raises(AttributeError, match="DaphneContext has no 'rnd'; did you mean 'rand'"):
        CONTEXT.rnd()


def test_extremes_of_all_elements_have_another_name() -> None:
    x = CONTEXT.from_numpy(X)
    for name, other in (("max", "aggMax"), ("min", "aggMin")):
        for keywords in ({}, {"axis": 0}):
            with pytest.raises(TypeError, match=rf"x\.{other}\(\)"):
                getattr(x, name)(**keywords)
    np.testing.assert_array_equal(x.max(other=2.0).compute(), np.maximum(X, 2))


def test_help_says_how_a_method_is_called() -> None:
    method = CONTEXT.from_numpy(X).reshape
    assert method.__name__ == "reshape"
    assert "reshape(arg, numRows, numCols)" in str(method.__doc__)


def test_what_a_name_is_near_to_is_looked_for_when_somebody_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(lazy, "did_you_mean", lambda name, known: asked.append(name) or "")
    x = CONTEXT.from_numpy(X)
    assert not hasattr(x, "shapes_of_all")
    assert asked == []
    with pytest.raises(AttributeError, match="has no 'shapes_of_all'"):
        x.shapes_of_all()
    assert asked == ["shapes_of_all"]


def test_a_column_that_can_not_be_held_is_named() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"n": [1, 2], "word": ["a", None]})
    with pytest.raises(ValueError, match="numbers of one type, or strings") as caught:
        DaphneContext().from_pandas(frame)
    assert caught.value.__notes__ == ["in column 'word'"]
