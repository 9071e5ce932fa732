"""Members of `.npz` files, Arrow streams and NetCDF 3: as their own libraries write them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse

import freestone as fs
from freestone.errors import FormatError, UsageError
from freestone.io import open_dataset

CUBE = np.random.default_rng(1).normal(size=(9, 2, 3))
TALL = np.asfortranarray(np.arange(20, dtype="i2").reshape(10, 2))
LINKS = scipy.sparse.random_array((40, 30), density=0.1, rng=np.random.default_rng(2))


def test_members_of_npz(two_workers: fs.Cluster, tmp_path: Path) -> None:
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", cube=CUBE, tall=TALL)
        found = fs.read(tmp_path / "a.npz", array="cube", block_rows=4)
        np.testing.assert_array_equal(found.compute(), CUBE)
        np.testing.assert_array_equal(fs.read(tmp_path / "a.npz", array="tall").compute(), TALL)
    np.savez(tmp_path / "b.npz", CUBE)
    np.testing.assert_array_equal(fs.read(tmp_path / "b.npz").compute(), CUBE)
    with pytest.raises(UsageError, match="has the arrays 'cube', 'tall'; say array="):
        fs.read(tmp_path / "a.npz")


def test_rows_of_a_stored_member_are_read_where_they_lie(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", tall=TALL, cube=CUBE)
    dataset = open_dataset(tmp_path / "a.npz", array="cube", matrix=False)
    assert dataset.unit_rows == 1
    out = np.empty((2, 2, 3))
    assert dataset.read_into(out, 3, 5)
    np.testing.assert_array_equal(out, CUBE[3:5])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "dia"])
def test_sparse_matrices_of_scipy(two_workers: fs.Cluster, tmp_path: Path, form: str) -> None:
    scipy.sparse.save_npz(tmp_path / "a.npz", LINKS.asformat(form))
    found = fs.read(tmp_path / "a.npz").compute()
    assert found.format == "csr"
    assert (found != LINKS).nnz == 0
    fs.write(fs.read(tmp_path / "a.npz", sparse="coo"), tmp_path / "b.npz")
    assert (scipy.sparse.load_npz(tmp_path / "b.npz") != LINKS).nnz == 0


def test_what_numpy_reads_of_what_is_written(two_workers: fs.Cluster, tmp_path: Path) -> None:
    fs.write(fs.Array.from_numpy(CUBE, 4), tmp_path / "a.npz", array="cube", compress=True)
    with np.load(tmp_path / "a.npz") as archive:
        assert archive.files == ["cube"]
        np.testing.assert_array_equal(archive["cube"], CUBE)


def test_npz_that_is_damaged_or_holds_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((50, 2)))
    raw = bytearray(path.read_bytes())
    raw[70] ^= 255
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=r"a\.npz"):
        fs.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "no array")
    with pytest.raises(UsageError, match="has the arrays none"):
        fs.read(path)
    with pytest.raises(UsageError, match=r"has no array 'y'; there are none"):
        fs.read(path, array="y")
    np.savez(path, x=np.array([{}], object))
    with pytest.raises(FormatError, match="Python objects"):
        fs.read(path)
    scipy.sparse.save_npz(path, LINKS.tocsr())
    with np.load(path) as archive:
        members = dict(archive)
    members["indices"] = members["indices"] + 100
    for form in (b"csr", b"csc"):
        np.savez(path, **members | {"format": form})
        with pytest.raises(FormatError, match=r"a\.npz"):
            fs.read(path)
    with pytest.raises(UsageError, match="arrays only"):
        fs.write(fs.Frame.from_table({"a": [1]}, 1), path)


TABLE = pa.table({"n": list(range(10)), "s": pa.array(list("abcdeabcde")).dictionary_encode()})


@pytest.mark.parametrize("columns", [["n"], ["n", "s"]])
def test_arrow_streams(two_workers: fs.Cluster, tmp_path: Path, columns: list[str]) -> None:
    table = TABLE.select(columns)
    with pa.ipc.new_stream(tmp_path / "a.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=3)
    found = fs.read(tmp_path / "a.arrows", block_rows=4)
    assert found.compute().to_pydict() == table.to_pydict()
    assert open_dataset(tmp_path / "a.arrows").unit_rows == 3
    part = fs.read(tmp_path / "a.arrows", columns=["n"], where=[("n", ">", 7)]).compute()
    assert part.to_pydict() == {"n": [8, 9]}


def test_a_stream_without_its_end(tmp_path: Path) -> None:
    path = tmp_path / "a.arrows"
    with pa.ipc.new_stream(path, TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=5)
    whole = path.read_bytes()
    for content in (whole[:-8], whole + b"more", whole[:100], b""):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"a\.arrows"):
            fs.read(path)


def test_netcdf_3(two_workers: fs.Cluster, tmp_path: Path) -> None:
    for number in range(2):
        write_classic(tmp_path / f"{number}.nc", number, version=number + 1)
    found = fs.read(f"{tmp_path}/*.nc", variable="t").compute()
    expected = np.arange(12.0).reshape(4, 3)
    expected = np.concatenate([expected, expected + 1])
    expected = np.where(expected == 5, np.nan, expected * 0.5 + 100)
    np.testing.assert_array_equal(found, expected)
    plain = fs.read(tmp_path / "1.nc", variable="n", block_rows=3).compute()
    assert plain.dtype == np.dtype("=f4")
    np.testing.assert_array_equal(plain, np.arange(12, dtype="f4").reshape(4, 3))
    with pytest.raises(UsageError, match="variables 'time', 't', 'n'; say variable="):
        fs.read(tmp_path / "0.nc")
    (tmp_path / "c.nc").write_bytes((tmp_path / "0.nc").read_bytes()[:-20])
    with pytest.raises(FormatError, match=r"c\.nc"):
        fs.read(tmp_path / "c.nc", variable="n").compute()


def write_classic(path: Path, number: int, version: Any) -> None:
    """Write a NetCDF 3 file whose first dimension is that of its records."""
    with scipy.io.netcdf_file(path, "w", version=version) as file:
        file.createDimension("time", None)
        file.createDimension("lat", 3)
        file.createVariable("time", "i4", ("time",))[:] = np.arange(4)
        packed = file.createVariable("t", "i2", ("time", "lat"))
        packed[:] = np.arange(12).reshape(4, 3) + number
        packed.scale_factor, packed.add_offset = 0.5, 100.0
        packed.missing_value = np.int16(5)
        file.createVariable("n", "f4", ("time", "lat"))[:] = np.arange(12).reshape(4, 3)
