"""What once was wrong in silence: exact now, or an error with the block and what to do."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import freestone as fs
from freestone.errors import BlockShapeError, BlockTypeError

A = np.arange(6.0)
E = [A[:3], A[:0], A[3:]]


def x() -> fs.Array:
    return fs.Array.from_numpy(A, 2)


def test_numpy_scalars_keep_their_types() -> None:
    single = fs.Array.from_numpy(A.astype("f4"), 2)
    assert (single * np.float64(2)).compute().dtype == np.float64
    assert (single * 2.0).compute().dtype == np.float32
    np.testing.assert_array_equal((x() - x().mean().compute()).compute(), A - A.mean())
    np.testing.assert_array_equal((x() > np.float64(2)).compute(), A > 2)
    bounded = np.clip(x(), np.float64(1), np.float64(3))
    np.testing.assert_array_equal(bounded.compute(), A.clip(1, 3))


@pytest.mark.parametrize("name", ["min", "max", "any", "all", "sum", "prod", "mean", "std"])
def test_empty_blocks_have_no_part_in_reductions(name: str) -> None:
    found = getattr(fs.Array.from_blocks(E), name)().compute()
    np.testing.assert_allclose(found, getattr(A, name)())


def test_extremes_of_no_rows_raise_as_numpy_does() -> None:
    nothing = fs.Array.from_blocks([A[:0], A[:0]])
    assert nothing.sum().compute() == 0
    assert nothing.all().compute()
    with pytest.raises(ValueError, match="no max of no cells"):
        nothing.max()


def test_the_variance_of_complex_numbers_is_real() -> None:
    z = np.array([1 + 1j, 2 - 3j, 0.5j])
    found = fs.Array.from_numpy(z, 2).var().compute()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, z.var())


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.masked_greater(np.arange(6), 3)
    with pytest.raises(BlockTypeError, match=r"block 0 of 'm' is a masked array.*filled\(\)"):
        fs.Array.from_numpy(masked, 2, name="m")
    with pytest.raises(TypeError, match=r"filled\(\)"):
        x() + masked


def test_the_truth_of_several_elements_is_ambiguous() -> None:
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x())
    assert fs.Array.from_numpy(np.ones(1), 1)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x()[x() > 1])


def test_dates_keep_their_units_and_have_extremes() -> None:
    dates = np.datetime64("2024-01-01") + np.arange(4) * np.timedelta64(7, "h")
    blocks = fs.Array.from_numpy(dates, 2)
    later = (blocks + np.timedelta64(1, "D")).compute()
    assert later.dtype == dates.dtype
    np.testing.assert_array_equal(later, dates + np.timedelta64(1, "D"))
    assert blocks.max().compute() == dates.max()
    # NumPy's scalars would take the wrong kind of error for True.
    with pytest.raises(TypeError, match="did not contain a loop"):
        np.uint64(7) == blocks  # noqa: B015


def test_csr_matrices_stay_compressed() -> None:
    matrix = sp.random_array((9, 4), density=0.3, format="csr", rng=np.random.default_rng(1))
    blocks = fs.Array.from_numpy(matrix, 4)
    doubled = (np.abs(blocks) * 2.0).to_array()
    assert all(isinstance(block, sp.csr_array) for block in doubled.iter_blocks())
    np.testing.assert_array_equal(doubled.compute().toarray(), np.abs(matrix.toarray()) * 2)
    assert isinstance((fs.Array.from_numpy(sp.csr_matrix(matrix), 4) * 2).compute(), sp.csr_matrix)


def test_blocks_of_other_types_are_named() -> None:
    with pytest.raises(BlockShapeError, match=r"block 1 of 'm' should be like block 0.*<i8.*<f8"):
        fs.Array.from_blocks([np.arange(3), np.arange(3.0)], name="m")
    with pytest.raises(BlockShapeError, match=r"block 1 of 'm'.*sparse"):
        fs.Array.from_blocks([sp.csr_array(np.eye(2)), np.eye(2)], name="m")
    odd = fs.Array.from_function(6, 3, lambda a, b: np.arange(a, b) / (1 if a else 1.0), name="m")
    assert odd.sum().compute() == 15
    mixed = fs.Array.from_function(6, 3, lambda a, b: np.arange(a, b) * (1.5 if a else 1), name="m")
    for compute in (lambda: mixed.sum().compute(), lambda: (mixed + 1).compute(), mixed.compute):
        with pytest.raises(TypeError, match=r"block 1 of 'm' is .* float64"):
            compute()


ANY_BLOCKS: dict[str, Callable[[Any], Any]] = {
    "to_dask": lambda array: array.to_dask().compute(),
    "take": lambda array: np.take(array, [0, 5], axis=0).compute(),
    "median": np.median,
    "einsum": lambda array: np.einsum("i->", array),
    "slice": lambda array: np.median(array[1:5]),
}


@pytest.mark.filterwarnings("ignore:.* is not computed lazily")
@pytest.mark.parametrize("name", ANY_BLOCKS)
def test_no_block_is_cut_to_the_dtype_of_the_first(name: str) -> None:
    def narrow(start: int, stop: int) -> Any:
        rows = np.arange(start, stop)
        return rows * 100_000 if start else rows.astype("i2")

    mixed = fs.Array.from_function(6, 3, narrow, name="m")
    with pytest.raises(BlockShapeError, match=r"block 1 of 'm.*<i2.*<i8"):
        np.asarray(ANY_BLOCKS[name](mixed))
    # Asked for its dtype before, it is what the first block says.
    assert mixed.dtype == np.int16
    with pytest.raises(BlockShapeError, match=r"block 1 of 'm.*<i2.*<i8"):
        np.asarray(ANY_BLOCKS[name](mixed))
    alike = fs.Array.from_function(6, 3, narrow, dtype="i8", name="m")
    whole = ANY_BLOCKS[name](fs.Array.from_numpy(alike.compute(), 3))
    np.testing.assert_array_equal(np.asarray(ANY_BLOCKS[name](alike)), np.asarray(whole))


def test_blocks_of_other_columns_are_no_array() -> None:
    ragged = fs.Array.from_futures([np.ones((2, 2)), np.ones((2, 3))], rows=[2, 2], name="m")
    for compute in (np.sum, np.max, np.mean, lambda array: array + 1):
        with pytest.raises(TypeError, match=r"block 1 of 'm' is .*2, 3\).*columns \(2,\)"):
            compute(ragged).compute()
    with pytest.raises(BlockShapeError, match="block 1 of 'm'"):
        ragged.to_dask()


def test_columns_of_tables_go_by_name() -> None:
    joined = fs.Frame.from_blocks([{"a": [1], "b": [2]}, {"b": [4], "a": [None]}]).compute()
    assert joined.to_pylist() == [{"a": 1, "b": 2}, {"a": None, "b": 4}]
    for block in ({"a": [3]}, {"a": [3], "b": [4], "c": [5]}):
        with pytest.raises(BlockShapeError, match=r"block 1 of 't' should be a table of"):
            fs.Frame.from_blocks([{"a": [1], "b": [2]}, block], name="t").compute()
    with pytest.raises(BlockTypeError, match=r"block 2 of 't' is a table of 'a' of string.*int64"):
        fs.Frame.from_blocks([{"a": [1]}, {"a": [2]}, {"a": ["x"]}], name="t").compute()


def test_an_index_of_pandas_is_kept_by_its_name() -> None:
    table = pd.DataFrame({"a": [1, 2, 3]}, index=pd.Index(["p", "q", "r"], name="key"))
    frame = fs.Frame.from_table(table, 2)
    assert frame.columns == ("a", "key")
    pd.testing.assert_frame_equal(frame.to_pandas(), table)
    # Numbers of rows, which a filter leaves with gaps, are no labels.
    numbers = fs.Frame.from_table(pd.DataFrame({"a": range(9)})[lambda t: t.a % 3 > 0], 2)
    assert numbers.columns == ("a",)
    assert pd.DataFrame(numbers).to_numpy().ravel().tolist() == [1, 2, 4, 5, 7, 8]


def test_from_dask_runs_shared_work_once() -> None:
    calls = []

    def load(block_info: Any = None) -> Any:
        calls.append(1)
        return np.ones((10, 2))

    made = da.map_blocks(load, chunks=((10,) * 20, (2,)), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        blocks = fs.Array.from_dask(made - made.mean(axis=0))
    assert len(calls) == 20
    assert not blocks.compute().any()


@fs.task
def count(partition: Any) -> int:
    return sum(map(len, partition))


def test_the_page_about_split_runs_without_a_cluster() -> None:
    counts = [count(partition) for partition in fs.split(x())]
    total = fs.reduce(operator.add, counts, commutes=True)
    assert total.result() == 6
    assert total.done()
    assert fs.reduce(operator.add, [total, 1]).result() == 7
    assert fs.task(operator.add)(total, 1) == 7
    with pytest.raises(TypeError, match=r"call result\(\)"):
        total == 6  # noqa: B015


def test_rows_below_each_other() -> None:
    joined = np.concatenate([x(), A[:2], x() * 2])
    np.testing.assert_array_equal(joined.compute(), np.concatenate([A, A[:2], A * 2]))
    assert np.vstack([x()[:, None], A[:, None]]).shape == (12, 1)
    with pytest.raises(ValueError, match="rows of different shapes"):
        np.concatenate([fs.Array.from_numpy(np.ones((2, 2)), 1), np.ones((2, 3))])


@pytest.mark.parametrize(
    "options", [{"bins": 3, "range": (0, 6)}, {"bins": [0, 1, 4]}, {"bins": 4}]
)
def test_histograms(options: Any) -> None:
    counts, edges = np.histogram(x(), **options)
    wanted, ends = np.histogram(A, **options)
    np.testing.assert_array_equal(counts.compute(), wanted)
    np.testing.assert_array_equal(edges, ends)
    density = np.histogram(x(), density=True, **options)[0]
    np.testing.assert_allclose(density.compute(), np.histogram(A, density=True, **options)[0])


def test_three_dimensions() -> None:
    cube = np.arange(24.0).reshape(4, 3, 2)
    blocks = fs.Array.from_numpy(cube, [0, 0, 3, 4])
    assert blocks.shape == (4, 3, 2)
    np.testing.assert_array_equal(blocks.mean(axis=(0, 2)).compute(), cube.mean(axis=(0, 2)))
    np.testing.assert_array_equal(blocks[1:, :, 0].compute(), cube[1:, :, 0])
    np.testing.assert_array_equal(blocks[blocks > 3].compute(), cube[cube > 3])
    made = fs.Array.from_function((4, 3, 2), 2, lambda a, b: cube[a:b])
    np.testing.assert_array_equal((made.rechunk(3) + 1).compute(), cube + 1)


def test_scikit_learn_takes_an_array() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    points = np.random.default_rng(1).normal(size=(20, 2))
    ours, known = (
        cluster.KMeans(2, n_init=1, random_state=0).fit(data)
        for data in (fs.Array.from_numpy(points, 6), points)
    )
    np.testing.assert_array_equal(ours.cluster_centers_, known.cluster_centers_)


def test_blocks_may_be_in_another_byte_order() -> None:
    swapped = fs.Array.from_numpy(np.arange(3, dtype=">i4"), 2)
    assert swapped.compute().dtype == np.dtype(">i4")
    assert swapped.sum().compute() == 3
    assert (swapped * 2).compute().tolist() == [0, 2, 4]


def test_an_empty_table_of_a_pandas_frame() -> None:
    frame = fs.Frame.from_table(pd.DataFrame({"a": pa.array([], "int64")}), 2)
    assert frame.to_pandas().shape == (0, 1)


@pytest.mark.parametrize("columns", [[0, 1], [("a", "b"), ("a", "c")]])
def test_names_of_columns_are_texts(columns: list[Any]) -> None:
    index = pd.MultiIndex.from_tuples(columns) if isinstance(columns[0], tuple) else columns
    frame = pd.DataFrame([[1, 2]], columns=index)
    assert fs.Frame.from_table(frame, 1).columns == tuple(map(str, columns))


def test_no_rows_keep_their_categories() -> None:
    none = pd.DataFrame({"c": pd.Categorical(list("ab"))}).iloc[:0]
    found = fs.Frame.from_table(none, 2).to_pandas()
    assert found.c.cat.categories.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "table", [pd.DataFrame(index=range(5)), pa.table({"a": range(5)}).select([])]
)
def test_rows_without_columns_are_refused(table: Any) -> None:
    with pytest.raises(BlockShapeError, match="5 rows without columns"):
        fs.Frame.from_table(table, 2)
    assert len(fs.Frame.from_table(table[:0], 2)) == 0


def test_what_is_in_a_collection() -> None:
    assert 4.0 in x()
    assert 9 not in x()
    assert 3 in fs.Bag.from_items([1, 2, 3], 2)
    assert [3] not in fs.Bag.from_items([1, 2, 3], 2)
    assert "a" in fs.Frame.from_table({"a": [1]}, 1)
    assert 1 not in fs.Frame.from_table({"a": [1]}, 1)


@pytest.mark.parametrize("rows", [0, 2])
def test_arrays_of_types_that_cannot_be_compared_are_equal_if_they_are_empty(rows: int) -> None:
    """As NumPy's operator has it, whose elements all differ then."""
    kinds = ["m8[s]", "M8[s]", "f8", "U1", "S1", "?"]
    for left, right in itertools.product((np.ones(rows, kind) for kind in kinds), repeat=2):
        found = np.array_equal(fs.Array.from_numpy(left, 1), right)
        assert bool(found) == np.array_equal(left, right), (left.dtype, right.dtype)


@pytest.mark.filterwarnings("ignore:.*is not computed lazily:UserWarning")
@pytest.mark.parametrize("kind", ["U", "S"])
def test_texts_of_blocks_have_one_width(kind: str, tmp_path: Path) -> None:
    """What is computed of them has the width of the first ones: longer ones would be cut."""
    parts = [np.array(["a", "b"], f"{kind}1"), np.array(["cdef"], f"{kind}4")]

    def named() -> fs.Array:
        return fs.Array.from_function(3, [0, 2, 3], lambda start, stop: parts[start // 2], name="t")

    assert named().compute().tolist() == np.concatenate(parts).tolist()
    refused: list[Callable[[], Any]] = [
        lambda: named().dtype,
        lambda: np.strings.upper(named()),
        lambda: np.take(named(), [2]),
        lambda: named().to_dask(),
        lambda: np.where(np.arange(3) > 0, named(), "q"),
        lambda: fs.write(named(), tmp_path / "t.npy"),
        lambda: fs.write(named(), tmp_path / "t.parquet"),
        lambda: fs.Array.from_blocks(parts, name="t"),
    ]
    for call in refused:
        with pytest.raises(
            BlockShapeError, match=r"block 1 of 't' .*4; astype\(\) where the blocks"
        ):
            call()
    wide = named().map_blocks(lambda block: block.astype(f"{kind}4"))
    assert (
        np.strings.upper(wide).compute().tolist() == np.char.upper(np.concatenate(parts)).tolist()
    )


GIVEN: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "longer": ("i2", lambda b: b + 2**40),
    "fractions": ("i8", lambda b: b + 0.5),
    "negative": ("u8", lambda b: -b),
    "complex": ("f8", lambda b: b + 1j),
    "texts": ("U2", lambda b: np.array(["abcdef"] * len(b))),
    "digits": ("f8", lambda b: b + 2**53 + 1),
    "numbers": ("U9", lambda b: b),
    "years": ("M8[ns]", lambda b: b.astype("M8[Y]") + 9000),
}


@pytest.mark.parametrize("name", GIVEN)
def test_map_blocks_checks_the_dtype_that_is_given(name: str) -> None:
    dtype, function = GIVEN[name]
    array = fs.Array.from_numpy(np.arange(6), 3)
    with pytest.raises(BlockTypeError, match=r"block 0 of 'm' is .*dtype= says; call \.astype"):
        array.map_blocks(function, dtype=dtype, name="m").compute()


def test_map_blocks_converts_what_loses_nothing() -> None:
    array = fs.Array.from_numpy(np.arange(6, dtype="i4"), 3)
    for dtype, function in (
        ("f8", lambda b: b),
        ("i8", lambda b: b > 2),
        (">i4", lambda b: b),
        ("U3", lambda b: b.astype("U2")),
    ):
        found = array.map_blocks(function, dtype=dtype).compute()
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found, function(np.arange(6, dtype="i4")).astype(dtype))


NOT_ALIKE: dict[str, tuple[Any, Any, str]] = {
    "dtypes": (np.arange(2, dtype="i2"), np.arange(2), r"made: \.astype\(\) gives all blocks one"),
    "texts": (np.array(["a"]), np.array(["bb"]), r"made gives all texts one width"),
    "forms": (sp.csr_array(np.eye(2)), np.eye(2), r"make all blocks sparse or, with \.toarray"),
    "columns": (np.ones((2, 2)), np.ones((2, 3)), "give all blocks the same columns"),
}


@pytest.mark.parametrize("name", NOT_ALIKE)
def test_blocks_that_are_not_alike_say_what_helps(name: str) -> None:
    one, other, advice = NOT_ALIKE[name]
    for make in (fs.Array.from_blocks, fs.Array.from_futures):
        with pytest.raises(BlockShapeError, match=rf"block 1 of 'm'.*{advice}"):
            make([one, other], name="m").to_dask()
