"""What once was wrong in silence: exact now, or an error with the block, in a cluster."""

from __future__ import annotations

from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import BlockTypeError

A = np.arange(6.0)


def x() -> fs.Array:
    return fs.Array.from_numpy(A, 2)


def test_blocks_of_other_types_are_named_in_a_cluster(cluster: fs.Cluster) -> None:
    mixed = fs.Array.from_function(6, 3, lambda a, b: np.arange(a, b) * (1.5 if a else 1), name="m")
    with pytest.raises(TypeError, match=r"block 1 of 'm' is .* float64.*give dtype="):
        mixed.sum().compute()


def test_rows_below_each_other_in_a_cluster(cluster: fs.Cluster) -> None:
    joined = np.concatenate([x(), fs.Array([A], None, name="here"), x() + 1])
    np.testing.assert_array_equal(joined.compute(), np.concatenate([A, A, A + 1]))
    assert joined.sum().compute() == 3 * A.sum() + 6


@pytest.mark.parametrize("blocks", [4, [0, 0, 2, 2, 9, 11, 11]])
def test_another_byte_order_stays_in_a_cluster(
    cluster: fs.Cluster, blocks: int | list[int]
) -> None:
    a = np.arange(33, dtype=">f8").reshape(11, 3)
    of_columns = np.asfortranarray(a)
    for given in (a, of_columns):
        array = fs.Array.from_numpy(given, blocks)
        for found, wanted in ((array, a), (array[:, 0], a[:, 0]), (array[:, ::-1], a[:, ::-1])):
            computed = found.compute()
            assert computed.dtype.str == ">f8"
            np.testing.assert_array_equal(computed, wanted)
    made = fs.Array.from_function(11, 4, lambda start, stop: a[start:stop, 1])
    assert made.compute().dtype.str == ">f8"


def test_map_blocks_checks_the_dtype_that_is_given(cluster: fs.Cluster) -> None:
    array = fs.Array.from_numpy(np.arange(6), 3)
    wrong = array.map_blocks(lambda b: b + 2**40 if b[0] else b.astype("i2"), dtype="i2", name="m")
    with pytest.raises(BlockTypeError, match=r"block 1 of 'm' is .*int64.*int16.*call \.astype"):
        wrong.compute()


WRITTEN = ["zarr", "parquet", "arrow", "arrows", "npz", "npy", "csv", "dbdf", "mtx"]


@pytest.fixture
def lying(cluster: fs.Cluster) -> fs.Array:
    """An array that Dask says is of another dtype than its blocks."""
    made = da.from_array(np.arange(6), 3).map_blocks(lambda b: b + 2**40, dtype=np.int16)
    return fs.Array.from_dask(made, name="m")


@pytest.mark.parametrize("suffix", WRITTEN)
def test_no_file_is_of_a_dtype_that_only_dask_says(
    suffix: str, lying: fs.Array, tmp_path: Path
) -> None:
    path = tmp_path / f"x.{suffix}"
    fs.write(fs.Array.from_numpy(np.arange(6), 3), path)
    with pytest.raises(BlockTypeError, match=r"block 0 of 'm' is of dtype int64.*int16"):
        fs.write(lying, path)
    kind = {"kind": "array"} if suffix in ("parquet", "arrow", "arrows") else {}
    np.testing.assert_array_equal(np.ravel(np.asarray(fs.read(path, **kind))), np.arange(6))


def test_no_value_is_of_a_dtype_that_only_dask_says(lying: fs.Array, tmp_path: Path) -> None:
    for compute in (lying.compute, lambda: lying[1:5].compute(), lambda: np.asarray(lying)):
        with pytest.raises(BlockTypeError, match=r"block 0 of 'm.* is of dtype int64.*int16"):
            compute()
    with pytest.raises(BlockTypeError, match=r"block 0 of 'm' is of dtype int64.*int16"):
        lying.to_zarr(str(tmp_path / "x.zarr"))


def test_frames_of_dask_become_arrays_and_bags(cluster: fs.Cluster) -> None:
    blocks = [pa.table({"c": [1, 2], "t": ["a", None]}), pa.table({"c": [3], "t": ["b"]})]
    lazy = fs.Frame.from_blocks(blocks).to_dask()
    for scheduler in (cluster.get, "sync"):
        for array in (lazy["c"].values, lazy["c"].to_dask_array(lengths=True)):
            assert array.compute(scheduler=scheduler).tolist() == [1, 2, 3]
        assert lazy.to_bag().compute(scheduler=scheduler)[2] == (3, "b")
        assert lazy.partitions[1]["t"].compute(scheduler=scheduler).tolist() == ["b"]


MIXED = {
    "digits": (pa.array([2**53 + 1]), pa.array([0.5])),
    "widths": (pa.array([1], pa.int16()), pa.array([2**40])),
    "truth": (pa.array([True]), pa.array([2])),
}


@pytest.mark.parametrize("name", MIXED)
def test_dask_gets_no_frame_of_mixed_types(cluster: fs.Cluster, name: str) -> None:
    frame = fs.Frame.from_blocks([pa.table({"c": one}) for one in MIXED[name]], name="m")
    with pytest.raises(BlockTypeError, match=r"block 1 of 'm' is a table of 'c'"):
        frame.to_dask()


def test_a_dtype_with_fields_is_kept(cluster: fs.Cluster) -> None:
    rows = np.zeros(6, [("a", "i4"), ("b", "f8", (2,))])
    rows["a"] = range(6)
    x = fs.Array.from_numpy(rows, 4)
    for found, wanted in [
        (x.compute(), rows),
        (x[1:5].compute(), rows[1:5]),
        (x.map_blocks(lambda block: block[::-1]).compute(), rows[[3, 2, 1, 0, 5, 4]]),
        (x.map_blocks(lambda block: block["a"]).compute(), rows["a"]),
    ]:
        assert found.dtype == wanted.dtype
        assert (found == wanted).all()
