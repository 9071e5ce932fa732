"""Sparse matrices as blocks of entries (COO): kept so, cut, read and written, here and there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import freestone as fs
from freestone.cli.main import main
from freestone.errors import FormatError, UsageError
from freestone.io import open_dataset


def entries(rows: int = 97, columns: int = 20, dtype: str = "f8") -> Any:
    """Return a matrix whose entries are in no order."""
    dice = np.random.default_rng(5)
    places = dice.choice(rows * columns, rows * columns // 8, replace=False)
    values = dice.integers(1, 100, len(places)).astype(dtype)
    return scipy.sparse.coo_array((values, np.divmod(places, columns)), shape=(rows, columns))


def same(found: Any, wanted: Any) -> None:
    assert found.format == "coo"
    assert (found.shape, found.dtype, found.nnz) == (wanted.shape, wanted.dtype, wanted.nnz)
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())


@pytest.mark.parametrize("by_workers", [False, True])
def test_blocks_stay_entries(two_workers: fs.Cluster, by_workers: bool) -> None:
    x = entries()
    if by_workers:
        array = fs.Array.from_numpy(x, 10)
        assert len(array.blocks) == 10
    else:
        array = fs.Array([x], None, name="here")
    same(array.compute(), x)
    assert all(block.format == "coo" for block in array.iter_blocks())
    dense = x.toarray()
    for cut in (slice(0, 97), slice(7, 43), slice(20, 20)):
        found = array[cut].compute()
        assert found.format == "coo"
        np.testing.assert_array_equal(found.toarray(), dense[cut])
    same(array.rechunk(33).compute(), x)
    held = x.data.nbytes + x.row.nbytes + x.col.nbytes
    # In a cache there is a little around each block.
    assert array.nbytes > held if by_workers else array.nbytes == held
    assert np.asarray(array).tolist() == dense.tolist()
    assert (array * 2).sum().compute() == dense.sum() * 2
    mixed = fs.Array.from_blocks([x, scipy.sparse.csr_array(x)]).compute()
    assert mixed.format == "csr"


def test_functions_may_return_entries(two_workers: fs.Cluster) -> None:
    array = fs.Array.from_numpy(entries(), 10).map_blocks(lambda block: block.tocoo() * 3)
    same(array.compute(), entries() * 3)


@pytest.mark.parametrize("kind", ["csv", "mtx", "dbdf"])
@pytest.mark.parametrize("dtype", ["f8", "i8"])
@pytest.mark.parametrize("by_workers", [False, True])
def test_files_of_entries(
    two_workers: fs.Cluster, tmp_path: Path, kind: str, dtype: str, by_workers: bool
) -> None:
    x, path, other = entries(dtype=dtype), tmp_path / f"s.{kind}", tmp_path / f"o.{kind}"
    fs.write(fs.Array.from_numpy(x, 10) if by_workers else x, path)
    read = fs.read(path, sparse="coo", block_rows=13)
    assert isinstance(read, fs.Array)
    assert len(read.blocks) == 8
    assert all(block.format == "coo" for block in read.iter_blocks())
    same(read.compute(), x)
    assert fs.read(path, block_rows=13).compute().format == "csr"
    fs.write(scipy.sparse.csr_array(x), other)
    np.testing.assert_array_equal(
        fs.read(other, sparse="coo").compute().toarray(), read.compute().toarray()
    )
    if kind == "mtx":
        np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), x.toarray())
    if kind == "csv":
        rows = [int(line.split(",")[0]) for line in path.read_text().splitlines()]
        assert rows == sorted(rows)


def test_entries_of_others_keep_their_order(tmp_path: Path) -> None:
    x = entries()
    scipy.io.mmwrite(tmp_path / "x.mtx", x)
    found = open_dataset(tmp_path / "x.mtx", sparse="coo").read(0, 97)
    assert found.row.tolist() == x.row.tolist()
    assert found.col.tolist() == x.col.tolist()
    assert found.data.tolist() == x.data.tolist()


@pytest.mark.parametrize("kind", ["csv", "mtx", "dbdf"])
def test_entries_of_one_place(two_workers: fs.Cluster, tmp_path: Path, kind: str) -> None:
    """They are kept where a format has entries, and added up where it has rows."""
    twice = scipy.sparse.coo_array(([1.0, 2.0, 4.0], ([1, 0, 1], [2, 0, 2])), shape=(2, 3))
    path = tmp_path / f"twice.{kind}"
    for given in (twice, fs.Array.from_numpy(twice, 1)):
        fs.write(given, path)
        found = fs.read(path, sparse="coo").compute()
        assert found.nnz == (2 if kind == "dbdf" else 3)
        assert fs.read(path).compute().toarray().tolist() == [[2, 0, 0], [0, 0, 5]]
        if kind != "mtx":
            printed = json.loads((tmp_path / f"twice.{kind}.meta").read_text())
            assert printed["numNonZeros"] == found.nnz


def test_what_has_no_entries_is_refused(tmp_path: Path) -> None:
    for kind in ("npy", "parquet", "zarr", "tdms", "root"):
        with pytest.raises(UsageError, match="sparse"):
            fs.write(entries(), tmp_path / f"s.{kind}")
    fs.write(entries(), tmp_path / "s.mtx")
    with pytest.raises(UsageError, match="read as 'csr' or as 'coo'"):
        fs.read(tmp_path / "s.mtx", sparse="bsr")
    assert [each.name for each in tmp_path.iterdir()] == ["s.mtx"]


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_convert_of_entries(tmp_path: Path, workers: list[str]) -> None:
    x = entries()
    scipy.io.mmwrite(tmp_path / "x.mtx", x)
    first, second = str(tmp_path / "x.csv"), str(tmp_path / "y.mtx")
    words = ["convert", "--no-progress", *workers, "--read", "sparse=coo"]
    assert main([*words, str(tmp_path / "x.mtx"), first]) == 0
    assert main([*words, first, second]) == 0
    np.testing.assert_array_equal(scipy.io.mmread(second).toarray(), x.toarray())


def test_patterns_are_written_without_their_ones(two_workers: fs.Cluster, tmp_path: Path) -> None:
    x = scipy.sparse.random_array((40, 9), density=0.2, rng=np.random.default_rng(2), format="csr")
    x.data[:] = 1
    path = tmp_path / "p.mtx"
    fs.write(fs.Array.from_numpy(x, 11), path, pattern=True)
    assert path.read_text().startswith(
        "%%MatrixMarket matrix coordinate pattern general\n40 9 72\n"
    )
    np.testing.assert_array_equal(scipy.io.mmread(path).toarray(), x.toarray())
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), x.toarray())
    x.data[30] = 2
    row = int(x.tocoo().row[30]) + 1
    with pytest.raises(FormatError, match=rf"row {row}, column \d: a pattern has ones only"):
        fs.write(fs.Array.from_numpy(x, 11), path, pattern=True)
    with pytest.raises(UsageError, match="pattern= is for sparse arrays"):
        fs.write(x.toarray(), path, pattern=True)
