"""Dask and Zarr, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs

WHOLE = np.arange(60.0).reshape(20, 3)


def test_arrays_to_dask_and_back(cluster: fs.Cluster) -> None:
    da = pytest.importorskip("dask.array")
    x = fs.Array.from_numpy(WHOLE, 6)
    lazy = x.to_dask()
    assert (lazy.shape, lazy.chunks[0]) == ((20, 3), (6, 6, 6, 2))
    np.testing.assert_array_equal((lazy * 2).compute(scheduler="sync"), WHOLE * 2)
    back = fs.Array.from_dask(da.from_array(WHOLE, chunks=(6, 2)))
    assert back.offsets.tolist() == [0, 6, 12, 18, 20]
    np.testing.assert_array_equal(back.compute(), WHOLE)


def test_arrows_libraries_take_one_dimension(cluster: fs.Cluster) -> None:
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    x = fs.Array.from_numpy(WHOLE, 6)[:, 0]
    assert pa.array(x).to_pylist() == WHOLE[:, 0].tolist()
    assert pl.DataFrame({"a": x * 2})["a"].to_list() == (WHOLE[:, 0] * 2).tolist()
    frame = fs.Frame.from_table({"a": x, "b": x * 2}, 7)
    assert frame.compute()["b"].to_pylist() == (WHOLE[:, 0] * 2).tolist()
    with pytest.raises(pa.ArrowInvalid, match="1-dimensional"):
        pa.array(fs.Array.from_numpy(WHOLE, 6))


def test_a_number_of_dasks_is_no_array(cluster: fs.Cluster) -> None:
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="an Array has rows, and this has no dimension"):
        fs.Array.from_dask(da.ones(3, chunks=2).sum())


@pytest.mark.parametrize("dtype", [float, "M8[ns]", "m8[D]"])
def test_only_missing_times_equal_none(cluster: fs.Cluster, dtype: Any) -> None:
    whole = np.array([1, 2, 3]).astype(dtype)
    whole[1:2] = np.array(["NaT" if whole.dtype.kind in "mM" else "nan"], dtype)
    x = fs.Array.from_numpy(whole, 2)
    np.testing.assert_array_equal(np.asarray(x == None), whole == None)  # noqa: E711
    np.testing.assert_array_equal(np.asarray(x != None), whole != None)  # noqa: E711


def test_frames_and_bags_to_dask_and_back(cluster: fs.Cluster) -> None:
    pytest.importorskip("dask.dataframe")
    frame = fs.Frame.from_table({"a": list(range(10))}, 4)
    lazy = frame.to_dask()
    assert lazy.a.sum().compute(scheduler="sync") == 45
    assert fs.Frame.from_dask(lazy).compute()["a"].to_pylist() == list(range(10))
    bag = fs.Bag.from_items(range(10), 4)
    assert bag.to_dask().sum().compute(scheduler="sync") == 45
    assert fs.Bag.from_dask(bag.to_dask()).compute() == list(range(10))


def test_other_processes_of_dask_get_the_rows(cluster: fs.Cluster) -> None:
    bag = pytest.importorskip("dask.bag")
    lazy = fs.Bag.from_items(range(10), 4).to_dask()
    assert isinstance(lazy, bag.Bag)
    assert lazy.map(str).compute(scheduler="processes", num_workers=1) == list(map(str, range(10)))


@pytest.mark.parametrize("blocks", [6, [0, 3, 11, 20]])
def test_zarr_there_and_back(cluster: fs.Cluster, tmp_path: object, blocks: object) -> None:
    pytest.importorskip("zarr")
    url = f"{tmp_path}/x.zarr"
    fs.Array.from_numpy(WHOLE, blocks).to_zarr(url)  # type: ignore[arg-type]
    read = fs.Array.from_zarr(url)
    assert read.shape == (20, 3)
    np.testing.assert_array_equal(read.compute(), WHOLE)
    np.testing.assert_array_equal(fs.Array.from_zarr(url, block_rows=7).compute(), WHOLE)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_what_arrow_would_change_is_kept(tmp_path: Path, kind: str) -> None:
    """Texts with a NUL inside, other byte orders, and times in hours."""
    for cells in (
        np.array([b"a\0b", b"c"], "S5"),
        np.array(["a\0b", "c"], "U5"),
        np.arange(3, dtype=">i4"),
        np.arange(3).astype("M8[h]"),
        np.arange(3).astype("m8[D]"),
    ):
        path = tmp_path / f"x.{kind}"
        fs.write(fs.Array.from_numpy(cells, 2), path)
        np.testing.assert_array_equal(np.ravel(fs.read(path).compute()), cells)
        held = fs.Frame.from_blocks([{"a": cells}]).compute().column("a")
        np.testing.assert_array_equal(np.asarray(held.to_pylist(), cells.dtype), cells)


def test_complex_numbers_are_refused_by_tables(tmp_path: Path) -> None:
    with pytest.raises(fs.errors.UsageError, match=r"write x\.real and x\.imag"):
        fs.write(np.arange(3) * 1j, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_periods_are_read_by_workers_without_pandas(
    tmp_path: Path, two_workers: fs.Cluster
) -> None:
    pd = pytest.importorskip("pandas")
    index = pd.period_range("2024", periods=9, freq="M", name="month")
    table = pd.DataFrame({"a": range(9), "between": pd.interval_range(0, 9)}, index=index)
    fs.write(table, tmp_path / "x.parquet")
    pd.testing.assert_frame_equal(fs.read(tmp_path / "x.parquet", block_rows=4).to_pandas(), table)


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (lambda pd: pd.cut(np.arange(9.0), 3), r"'c' has categories of pandas\.interval"),
        (lambda pd: np.arange(9) * 1j, r"column 'c'.* complex128"),
        (lambda pd: [2**70] * 9, "column 'c': Python int too large"),
        (lambda pd: pd.arrays.SparseArray([0, 0, 1] * 3), "column c.* not supported"),
    ],
)
def test_columns_that_arrow_does_not_take_are_named(column: Any, reason: str) -> None:
    pd = pytest.importorskip("pandas")
    with pytest.raises(fs.errors.BlockTypeError, match=f"(?s){reason}.*convert that column"):
        fs.Frame.from_pandas(pd.DataFrame({"a": range(9), "c": column(pd)}), 4)


def test_a_file_that_went_away_is_named(tmp_path: Path, two_workers: fs.Cluster) -> None:
    pl = pytest.importorskip("polars")
    for at in range(3):
        pl.DataFrame({"a": range(9)}).write_parquet(tmp_path / f"{at}.parquet")
    frame = fs.read(tmp_path)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(fs.errors.FileMissingError, match=r"1\.parquet does not exist"):
        frame.select(pl.col("a").sum()).to_polars()


def test_one_element_is_a_number(cluster: fs.Cluster) -> None:
    for whole in (np.array([3.5]), np.array([[3.5]])):
        x = fs.Array.from_numpy(whole, 1)
        for one in (x, x * 1):
            assert (int(one), float(one), complex(one)) == (3, 3.5, 3.5)
    with pytest.raises(TypeError, match=r"shape \(2,\) is no number; take one element"):
        float(fs.Array.from_numpy(np.ones(2), 1))


def test_bytes_are_those_of_the_elements(cluster: fs.Cluster) -> None:
    whole = np.arange(30, dtype="i2").reshape(10, 3)
    x = fs.Array.from_numpy(whole, 4)
    assert x.nbytes == x.persist().nbytes == (x + x).nbytes == whole.nbytes
    assert fs.Array.from_numpy(whole[:0], 4).nbytes == 0
    sparse = pytest.importorskip("scipy.sparse").eye_array(1000, format="csr")
    assert fs.Array.from_blocks([sparse]).nbytes < 1000 * 1000
