"""Shapes, numbers and places at the edges, by this process and by two workers."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import freestone as fs
from freestone import _native
from freestone.cli.main import main
from freestone.errors import FormatError, UsageError
from freestone.io import folders, open_dataset
from tests.io.table import FRAMES, SPARSE, STRINGS, TYPES, need, same
from tests.lang.scripts import printed, printed_on

SHAPES = [(0, 1), (0, 4), (1, 1), (1, 5), (5, 1), (3, 2)]
FORMS = ["csr", "coo"]


def edges_of(code: str) -> Any:
    """Return a column of the largest and smallest values of a type, and of odd ones."""
    dtype = np.dtype(code)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, limits.max, 0, 1, limits.max - 1], dtype)
    if dtype.kind in "fc":
        limits = np.finfo(dtype)
        found = [np.nan, np.inf, -np.inf, -0.0, 0.0, limits.smallest_subnormal, limits.max]
        return np.array([*found, limits.min, limits.tiny, limits.eps, 1 / 3], dtype)
    if dtype.kind in "SU":
        return np.array(["", "a", "xyz"], dtype)
    return np.array([0, 1, 1, 0], dtype)


PAIRS = [(format, code) for format, codes in TYPES.items() for code in codes]


@pytest.mark.parametrize(("format", "code"), PAIRS)
def test_values_at_the_edges_of_a_type(tmp_path: Path, format: str, code: str) -> None:
    need(format)
    x = np.column_stack([edges_of(code), edges_of(code)[::-1]])
    fs.write(x, tmp_path / f"x.{format}")
    same(fs.read(tmp_path / f"x.{format}").compute(), x, format)


@pytest.mark.parametrize(("format", "code"), PAIRS)
def test_values_at_the_edges_of_a_type_by_workers(
    two_workers: fs.Cluster, tmp_path: Path, format: str, code: str
) -> None:
    need(format)
    x = np.column_stack([edges_of(code), edges_of(code)[::-1]])
    fs.write(fs.Array.from_numpy(x, 2), tmp_path / f"x.{format}")
    same(fs.read(tmp_path / f"x.{format}", block_rows=2).compute(), x, format)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("format", TYPES)
def test_shapes_by_workers(
    two_workers: fs.Cluster, tmp_path: Path, format: str, shape: tuple[int, int]
) -> None:
    need(format)
    x = np.arange(float(np.prod(shape))).reshape(shape)
    fs.write(fs.Array.from_numpy(x, 1), tmp_path / f"x.{format}")
    same(fs.read(tmp_path / f"x.{format}", block_rows=1).compute(), x, format)


@pytest.mark.parametrize("shape", [(3, 0), (0, 0)])
@pytest.mark.parametrize("format", TYPES)
def test_no_columns_by_workers(
    two_workers: fs.Cluster, tmp_path: Path, format: str, shape: tuple[int, int]
) -> None:
    need(format)
    x, path = np.ones(shape), tmp_path / f"x.{format}"
    if format not in ("dbdf", "mtx", "npy", "zarr"):
        with pytest.raises(UsageError, match="no columns"):
            fs.write(fs.Array.from_numpy(x, 2), path)
        return
    fs.write(fs.Array.from_numpy(x, 2), path)
    same(fs.read(path, block_rows=2).compute(), x, format)


@pytest.mark.parametrize("shape", [*SHAPES, (3, 0), (0, 0)])
@pytest.mark.parametrize("format", SPARSE)
@pytest.mark.parametrize("form", FORMS)
def test_sparse_shapes_by_workers(
    two_workers: fs.Cluster, tmp_path: Path, form: str, format: str, shape: tuple[int, int]
) -> None:
    """Nothing is stored, or all."""
    path = tmp_path / f"x.{format}"
    for x in (np.zeros(shape), np.ones(shape)):
        fs.write(fs.Array.from_numpy(scipy.sparse.coo_array(x).asformat(form), 2), path)
        found = fs.read(path, block_rows=2, sparse=form).compute()
        assert found.format == form
        same(found.toarray(), x, format)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("format", FRAMES)
def test_short_frames(two_workers: fs.Cluster, tmp_path: Path, format: str, rows: int) -> None:
    need(format)
    columns = {f"c {code}": np.ones(rows, code) for code in ("u1", "i4", "u8", "f4", "f8")}
    if format in STRINGS:
        columns["text"] = np.full(rows, "x")
    table = pa.table(columns)
    fs.write(fs.Frame.from_table(table, 1), tmp_path / f"x.{format}")
    found = fs.read(tmp_path / f"x.{format}", block_rows=1).compute()
    assert found.schema.names == table.schema.names
    assert found.to_pydict() == table.to_pydict()


@pytest.mark.parametrize("format", ["csv", "dbdf", "npy"])
def test_ten_million_rows(two_workers: fs.Cluster, tmp_path: Path, format: str) -> None:
    x = np.arange(10_000_000).astype(np.int8)[:, np.newaxis]
    path, copy = tmp_path / f"x.{format}", tmp_path / f"y.{format}"
    fs.write(x, path)
    found = fs.read(path, block_rows=3_000_000)
    fs.write(found, copy)
    assert copy.read_bytes() == path.read_bytes()
    assert (found.compute() == x).all()


@pytest.mark.parametrize("format", ["csv", "dbdf", "mtx", "npy", "zarr"])
def test_a_hundred_thousand_columns(two_workers: fs.Cluster, tmp_path: Path, format: str) -> None:
    need(format)
    x = np.random.default_rng(1).normal(size=(1, 100_000))
    path = tmp_path / f"x.{format}"
    fs.write(fs.Array.from_numpy(x, 1), path)
    same(fs.read(path).compute(), x, format)


def test_columns_of_their_own_names(tmp_path: Path) -> None:
    """Looking for names that are there twice, and for where labels are, takes linear time."""
    names = [f"c{at}" for at in range(30_000)]
    table = pa.table([np.full(2, at) for at in range(len(names))], names=names)
    for format in ("csv", "dbdf"):
        path = tmp_path / f"x.{format}"
        fs.write(table, path, meta=False, **({"header": True} if format == "csv" else {}))
        assert fs.read(path).compute().equals(table)
    with pytest.raises(UsageError, match="has 70,000 bytes; in DBDF one has 65,535 at most"):
        fs.write(pa.table({"x" * 70_000: [1]}), tmp_path / "y.dbdf")


FOUR_GIB = 1 << 32


def late_dbdf(file: Any, rows: int) -> int:
    head = struct.pack("<BBQQ", 1, 1, rows, 1) + struct.pack("<BQQIIBB", 7, 0, 0, rows, 1, 1, 7)
    return int(file.write(head))


def late_npy(file: Any, rows: int) -> int:
    printed = {"descr": "<f8", "fortran_order": False, "shape": (rows, 1)}
    np.lib.format.write_array_header_1_0(file, printed)
    return int(file.tell())


@pytest.mark.parametrize("format", ["dbdf", "npy"])
def test_rows_behind_four_gigabytes(two_workers: fs.Cluster, tmp_path: Path, format: str) -> None:
    """Most of the file is a hole, which takes no room."""
    path, rows = tmp_path / f"x.{format}", FOUR_GIB // 8 + 10
    with open(path, "wb") as file:
        values = {"dbdf": late_dbdf, "npy": late_npy}[format](file, rows)
        file.truncate(values + rows * 8)
        file.seek(values + (rows - 3) * 8)
        file.write(np.array([1.5, 2.5, 3.5]).tobytes())
    dataset, wanted = open_dataset(path), [[0], [1.5], [2.5], [3.5]]
    assert dataset.rows == rows
    np.testing.assert_array_equal(dataset.read(rows - 4, rows), wanted)
    there = [two_workers.submit(dataset.read_block, rows - 4, rows, worker=at) for at in range(2)]
    for found in two_workers.gather(there):
        np.testing.assert_array_equal(found, wanted)


def test_csv_behind_four_gigabytes(tmp_path: Path) -> None:
    path, x = tmp_path / "x.csv", np.array([[1.5, 2.5], [3.5, 4.5]])
    path.touch()
    code = {"code": "f8", "columns": 2, "delimiter": ord(","), "threads": 2}
    data = x.reshape(-1).view(np.uint8)
    end = _native.io.csv_write_dense(
        str(path), FOUR_GIB + 5, data, unit=1, decimals=None, width=None, **code
    )
    assert end == path.stat().st_size == FOUR_GIB + 5 + 16
    with open(path, "rb") as file:
        file.seek(FOUR_GIB + 5)
        assert file.read() == b"1.5,2.5\n3.5,4.5\n"


def test_booleans_of_csv_are_0_or_1(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    fs.write(np.array([[True, False], [False, False]]), path)
    assert path.read_text() == "1,0\n0,0\n"
    path.write_text("1,0\n0,2\n")
    with pytest.raises(FormatError, match='row 2, column 2: "2" is not 0 or 1'):
        fs.read(path).compute()
    fs.write(scipy.sparse.coo_array([[True, False], [False, True]]), path)
    path.write_text("0,0,1\n1,1,3\n")
    with pytest.raises(FormatError, match='row 2, column 3: "3" is not 0 or 1'):
        fs.read(path).compute()


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    """A pipe would wait for a writer, and a device would be no device any more."""
    pipe = tmp_path / "x.csv"
    os.mkfifo(pipe)
    with pytest.raises(fs.FreestoneError, match=r"x\.csv is a pipe, of which no rows"):
        fs.read(pipe)
    with pytest.raises(fs.FreestoneError, match=r"x\.csv is a pipe, and no file can"):
        fs.write(np.ones((2, 2)), pipe)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["x.csv"]


def test_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.table([[1], [2]], names=["a", "a"])
    for format in ("csv", "dbdf", "parquet", "arrow"):
        fs.write(table, tmp_path / f"x.{format}")
        assert fs.read(tmp_path / f"x.{format}").compute().equals(table)
    for format in ("tdms", "root"):
        need(format)
        with pytest.raises(UsageError, match=r"two columns are called 'a'|Duplicate"):
            fs.write(table, tmp_path / f"x.{format}")
        assert not (tmp_path / f"x.{format}").exists()


def test_arrays_of_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    for cells, reason in [
        ("a,b", '"a" is not a number'),
        ("a,1", '"a" is not an integer'),
        ("true,false", '"true" is not a number'),
    ]:
        path.write_text(f"{cells}\n")
        with pytest.raises(FormatError, match=f"row 1, column 1: {reason}"):
            fs.read(path, kind="array").compute()
    path.write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(FormatError, match="it is UTF-16; say encoding='utf-16'"):
        fs.read(path)


def test_what_the_system_says_of_a_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    os.symlink("loop.csv", tmp_path / "loop.csv")
    for name, reason in [
        (f"{'x' * 300}.csv", "File name too long"),
        ("file/x.csv", "Not a directory"),
        ("loop.csv", "Too many levels of symbolic links"),
    ]:
        with pytest.raises(fs.FreestoneError, match=f"can't be used: {reason}"):
            fs.read(tmp_path / name)
        assert main(["convert", str(tmp_path / name), str(tmp_path / "y.npy")]) == 2
    with pytest.raises(fs.FreestoneError, match="can't be used: File name too long"):
        fs.write(np.ones((2, 2)), tmp_path / f"{'x' * 250}.csv")
    assert sorted(os.listdir(tmp_path)) == ["file", "loop.csv"]


def test_a_url_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a b%é#.csv"
    fs.write(np.ones((2, 2)), path.as_uri())
    assert path.exists()
    assert fs.read(f"file://localhost{path.as_uri().removeprefix('file://')}").shape == (2, 2)


@pytest.mark.parametrize("at_once", [True, False])
def test_zarr_replaces_an_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    need("zarr")
    path = tmp_path / "x.zarr"
    fs.write(np.ones((2, 2)), path)
    if not at_once:
        monkeypatch.setattr(folders, "_exchanged", lambda *names: False)
    fs.write(np.zeros((3, 2)), path)
    same(fs.read(path).compute(), np.zeros((3, 2)), "zarr")
    assert os.listdir(tmp_path) == ["x.zarr"]


def test_zarr_replaces_no_folder_of_something_else(tmp_path: Path) -> None:
    groups = pytest.importorskip("zarr")
    mine = tmp_path / "mine.zarr"
    mine.mkdir()
    fs.write(np.ones((2, 2)), mine)
    (tmp_path / "other.zarr").mkdir()
    (tmp_path / "other.zarr" / "letter").touch()
    groups.open_group(tmp_path / "group.zarr", mode="w").create_array("a", shape=(2,), dtype="f8")
    for name in ("other.zarr", "group.zarr"):
        before = sorted((tmp_path / name).rglob("*"))
        with pytest.raises(fs.FreestoneError, match="is a folder that is no array"):
            fs.write(np.ones((2, 2)), tmp_path / name)
        with pytest.raises(fs.FreestoneError, match="is a folder that is no array"):
            fs.Array.from_blocks([np.ones((2, 2))]).to_zarr(str(tmp_path / name))
        assert sorted((tmp_path / name).rglob("*")) == before
    assert sorted(os.listdir(tmp_path)) == ["group.zarr", "mine.zarr", "other.zarr"]


SCRIPTED = [
    pair for pair in PAIRS if pair[1] in ("i1", "i4", "i8", "u1", "u4", "u8", "f4", "f8", "?")
]


@pytest.mark.parametrize(("format", "code"), SCRIPTED)
def test_scripts_keep_values_and_types(
    two_workers: fs.Cluster, tmp_path: Path, format: str, code: str
) -> None:
    need(format)
    x = np.column_stack([edges_of(code), edges_of(code)[::-1]])
    path, here, there = (tmp_path / f"{name}.{format}" for name in ("x", "here", "there"))
    fs.write(x, path)
    printed(f'writeMatrix(readMatrix("{path}"), "{here}");')
    printed_on(two_workers, f'writeMatrix(readMatrix("{path}"), "{there}");')
    for copy in (here, there):
        same(fs.read(copy).compute(), x, format)


CUBE = np.arange(24.0).reshape(4, 3, 2)


@pytest.mark.parametrize(
    "name", ["x.csv", "x.dbdf", "x.mtx", "x.parquet", "x.arrow", "x.tdms", "x.root", "x.npy.hdfs"]
)
def test_an_array_of_three_dimensions_replaces_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(UsageError, match=r"shape \(4, 3, 2\) has no form here.*npy or zarr"):
        fs.write(fs.Array.from_numpy(CUBE, 2), tmp_path / name)
    assert (tmp_path / name).read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["x.npy", "x.zarr"])
def test_an_array_of_three_dimensions_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    need(name[2:])
    fs.write(fs.Array.from_numpy(CUBE, 2), tmp_path / name)
    found = fs.read(tmp_path / name)
    assert found.shape == CUBE.shape
    np.testing.assert_array_equal(found.compute(), CUBE)
    with pytest.raises(FormatError, match="1 or 2 dimensions"):
        open_dataset(tmp_path / name)


@pytest.mark.parametrize("name", ["x.npy", "x.zarr"])
def test_workers_read_an_array_of_three_dimensions(
    two_workers: fs.Cluster, tmp_path: Path, name: str
) -> None:
    need(name[2:])
    fs.write(fs.Array.from_numpy(CUBE, 2), tmp_path / name)
    found = fs.read(tmp_path / name, block_rows=2)
    assert len(found.blocks) == 2
    np.testing.assert_array_equal(found.compute(), CUBE)


def test_three_dimensions_in_fortran_order_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(CUBE))
    with pytest.raises(FormatError, match="Fortran"):
        fs.read(tmp_path / "x.npy")


def test_without_pyarrow_errors_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,x\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"a frame needs pyarrow; .*'freestone\[arrow\]'"):
        open_dataset(str(path)).arrow_schema()
    with pytest.raises(ImportError, match=r"frames need pyarrow: .*'freestone\[tables\]'"):
        fs.Frame.from_arrow({"a": [1]})
    with pytest.raises(UsageError, match=r"pip install 'freestone\[root\]'"):
        fs.write(fs.Array.from_numpy([[1.0]], 1), str(tmp_path / "x.root"))
