"""fsspec's file system in this process's memory, which no worker reaches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import freestone as fs
from freestone.errors import FileMissingError
from freestone.io import open_dataset
from tests.lang.scripts import printed_on

fsspec = pytest.importorskip("fsspec")

X = np.random.default_rng(1).normal(size=(100, 7))


@pytest.fixture(autouse=True)
def emptied() -> Iterator[None]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    yield
    files.store.clear()


@pytest.mark.parametrize("kind", ["csv", "dbdf", "npy", "mtx", "parquet", "arrow"])
def test_arrays(kind: str) -> None:
    url = f"memory://some/folder/m.{kind}"
    for x in (X, -X[:9]):
        fs.write(x, url)
        np.testing.assert_array_equal(fs.read(url).compute(), x)
        np.testing.assert_array_equal(open_dataset(url).read(2, 8), x[2:8])


def test_blocks_are_cut_here_for_workers(two_workers: fs.Cluster) -> None:
    fs.write(fs.Array.from_numpy(X, 30), "memory://m.csv")
    found = fs.read("memory://m.csv", block_rows=40)
    assert found.client is two_workers.client
    assert found.offsets.tolist() == [0, 40, 80, 100]
    np.testing.assert_array_equal(found.compute(), X)
    table = pa.table({"n": range(50), "t": [f"{n}" for n in range(50)]})
    fs.write(fs.Frame.from_blocks([table.slice(0, 30), table.slice(30)]), "memory://t.csv")
    rows = fs.read("memory://t.csv", block_rows=20)
    assert [block.num_rows for block in rows.iter_blocks()] == [20, 20, 10]
    sparse = scipy.sparse.random_array((60, 9), density=0.2, rng=1, format="csr")
    fs.write(sparse, "memory://s.mtx")
    for form in ("csr", "coo"):
        found = fs.read("memory://s.mtx", block_rows=25, sparse=form).compute()
        assert found.format == form
        assert (found != sparse).nnz == 0
    with pytest.raises(FileMissingError):
        fs.read("memory://none.csv")


def test_a_script_on_blocks_reads_it_here(two_workers: fs.Cluster) -> None:
    fs.write(X, "memory://m.dbdf")
    printed = printed_on(two_workers, 'print(sum(readMatrix("memory://m.dbdf")));')
    np.testing.assert_allclose(float(printed), X.sum(), rtol=1e-4)
