"""Round trips through every format, type and shape, bit by bit; what can't be is refused."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone.errors import UsageError
from tests.io.table import FRAMES, NUMBERS, SPARSE, TYPES, need, same

QUICK = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
# What has columns side by side has no rows without them.
WIDE = ("dbdf", "mtx", "npy", "zarr")
EDGES = [(0, 1), (0, 4), (1, 1), (1, 5), (3, 0), (0, 0), (40, 1)]
SHAPES = st.sampled_from(EDGES) | st.tuples(st.integers(1, 30), st.integers(1, 5))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trips")


def there_and_back(folder: Path, format: str, x: Any, **options: Any) -> Any:
    """Write and read; None of a matrix without columns that is refused, and leaves no file."""
    path = folder / f"x.{format}"
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if x.shape[1] == 0 and format not in WIDE and not scipy.sparse.issparse(x):
        with pytest.raises(UsageError, match="no columns"):
            fs.write(x, path)
        assert not path.exists()
        return None
    fs.write(x, path)
    return fs.read(path, **options).compute()


def test_zarr_says_which_type_it_has_not(folder: Path) -> None:
    need("zarr")
    with pytest.raises(UsageError, match="dtype float128 can't be written as Zarr"):
        fs.write(np.ones(3, np.longdouble), folder / "long.zarr")
    assert not (folder / "long.zarr").exists()


@QUICK
@given(data=st.data(), shape=SHAPES)
@pytest.mark.parametrize("format", TYPES)
def test_matrices(folder: Path, data: st.DataObject, format: str, shape: tuple[int, int]) -> None:
    need(format)
    x = data.draw(hnp.arrays(data.draw(st.sampled_from(TYPES[format])), shape))
    found = there_and_back(folder, format, x)
    if found is not None:
        same(found, x, format)


@pytest.mark.parametrize("shape", EDGES)
@pytest.mark.parametrize(("format", "code"), [(one, code) for one in TYPES for code in TYPES[one]])
def test_every_type_at_the_edges(
    tmp_path: Path, format: str, code: str, shape: tuple[int, int]
) -> None:
    need(format)
    x = np.ones(shape, code)
    found = there_and_back(tmp_path, format, x)
    if found is not None:
        same(found, x, format)


@QUICK
@given(data=st.data(), shape=SHAPES, form=st.sampled_from(["csr", "coo"]))
@pytest.mark.parametrize("format", SPARSE)
def test_sparse_matrices(
    folder: Path, data: st.DataObject, format: str, shape: tuple[int, int], form: str
) -> None:
    code = data.draw(st.sampled_from(TYPES[format]))
    dense = data.draw(hnp.arrays(code, shape, fill=st.just(0)))
    x = scipy.sparse.coo_array(dense).asformat(form)
    found = there_and_back(folder, format, x, sparse=form)
    if found is not None:
        assert (found.format, found.nnz) == (form, x.nnz)
        # A negative zero is none of the values that are stored.
        same(found.toarray(), x.toarray(), format)


def columns_of(format: str, rows: int) -> st.SearchStrategy[list[Any]]:
    texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
    codes = [code for code in NUMBERS if format != "dbdf" or code in TYPES["dbdf"]]
    numbers = st.sampled_from(codes).flatmap(lambda code: hnp.arrays(code, rows))
    kinds: list[st.SearchStrategy[Any]] = [numbers]

    def column(values: st.SearchStrategy[Any], kind: Any) -> st.SearchStrategy[Any]:
        lists = st.lists(values, min_size=rows, max_size=rows)
        return lists.map(lambda found: pa.array(found, kind))

    if format in ("csv", "parquet", "arrow"):
        kinds += [column(st.none() | texts, pa.large_string()), column(st.booleans(), pa.bool_())]
    if format == "tdms":
        times = st.datetimes(datetime(1800, 1, 1), datetime(2300, 1, 1))
        kinds += [column(texts, pa.string()), column(times, pa.timestamp("us"))]
    return st.lists(st.one_of(kinds), min_size=1, max_size=4)


def bits_of(column: Any) -> list[Any]:
    values = column.to_pylist()
    return [each.hex() if isinstance(each, float) else each for each in values]


@QUICK
@given(data=st.data(), rows=st.sampled_from([0, 1, 2]) | st.integers(3, 30))
@pytest.mark.parametrize("format", [one for one in FRAMES if one != "feather"])
def test_frames(folder: Path, data: st.DataObject, format: str, rows: int) -> None:
    need(format)
    columns = data.draw(columns_of(format, rows))
    table = pa.table({f"column {at}": values for at, values in enumerate(columns)})
    found = there_and_back(folder, format, table)
    assert found.schema.names == table.schema.names
    assert found.schema.types == table.schema.types
    assert [bits_of(one) for one in found.columns] == [bits_of(one) for one in table.columns]


@pytest.mark.parametrize("format", [one for one in FRAMES if one != "feather"])
def test_frames_without_columns_are_refused(tmp_path: Path, format: str) -> None:
    need(format)
    there_and_back(tmp_path, format, pa.table({}))


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("code", ["M8[D]", "M8[ns]", "m8[ms]"])
def test_dates_that_are_absent_in_matrices(tmp_path: Path, format: str, code: str) -> None:
    x = np.array([[1, "NaT"], [2, 3]], code)
    found = there_and_back(tmp_path, format, x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("values", [["ab", "c"], np.array(["2020-01-01", "1999-12-31"], "M8[D]")])
def test_matrices_of_texts_and_dates_as_tdms(tmp_path: Path, values: Any) -> None:
    need("tdms")
    x = np.array([values])
    found = there_and_back(tmp_path, "tdms", x)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, x)


def test_a_frame_that_is_no_matrix_says_so(tmp_path: Path) -> None:
    fs.write(pa.table({"a": pa.array([1, None])}), tmp_path / "x.parquet")
    fs.write(pa.table({"a": ["text"]}), tmp_path / "y.parquet")
    for name in "xy":
        with pytest.raises(UsageError, match="kind='frame'"):
            fs.read(tmp_path / f"{name}.parquet", kind="array").compute()


@pytest.mark.parametrize("code", ["f4", "c8"])
def test_matrix_market_keeps_the_values_of_32_bits(tmp_path: Path, code: str) -> None:
    x = np.array([[0.1, 0], [-0.3, 7e20]], code)
    for matrix in (x, scipy.sparse.csr_array(x)):
        found = there_and_back(tmp_path, "mtx", matrix)
        dense = found.toarray() if scipy.sparse.issparse(found) else found
        np.testing.assert_array_equal(dense, x.astype(found.dtype))


@pytest.mark.parametrize("format", ["mtx", "zarr"])
def test_numbers_of_128_bits_are_refused_by_the_name_of_the_format(
    tmp_path: Path, format: str
) -> None:
    need(format)
    name = {"mtx": "Matrix Market", "zarr": "Zarr"}[format]
    with pytest.raises(UsageError, match=f"float128 can't be written as {name}.*convert"):
        fs.write(np.ones((1, 1), np.longdouble), tmp_path / f"x.{format}")
