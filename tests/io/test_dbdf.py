"""DBDF: against bytes laid out by hand, round trips, and headers that lie."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone.errors import FormatError, UsageError

QUICK = settings(max_examples=60, deadline=None)
CODES = ["i1", "i4", "i8", "u1", "u4", "u8", "f4", "f8"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dbdf")


def dense(x: Any, code: int) -> bytes:
    rows, columns = x.shape
    head = struct.pack("<BBQQ", 1, 1, rows, columns)
    head += struct.pack("<BQQIIBB", code, 0, 0, rows, columns, 1, code)
    return head + x.tobytes()


def sparse(x: Any, code: int, pointer: str) -> bytes:
    rows, columns = x.shape
    head = struct.pack("<BBQQ", 1, 2, rows, columns)
    head += struct.pack("<BQQIIBBQ", code, 0, 0, rows, columns, 2, code, x.nnz)
    parts = x.indptr.astype(pointer), x.indices.astype("<u8"), x.data
    return head + b"".join(part.tobytes() for part in parts)


def test_the_bytes_are_those_of_daphne(tmp_path: Path) -> None:
    x = np.arange(6, dtype="<f8").reshape(3, 2)
    fs.write(x, tmp_path / "m.dbdf")
    assert (tmp_path / "m.dbdf").read_bytes() == dense(x, 7)
    s = scipy.sparse.csr_array(np.array([[0, 1.5], [0, 0], [2, 3]]))
    fs.write(s, tmp_path / "s.dbdf")
    assert (tmp_path / "s.dbdf").read_bytes() == sparse(s, 7, "<u8")


def test_the_manuals_form_is_told_apart(tmp_path: Path) -> None:
    x = np.arange(6, dtype="<f8").reshape(3, 2)
    path = tmp_path / "m.dbdf"
    path.write_bytes(dense(x, 8))
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    # 7 is f64 for the code and f32 for the manual; the size of the file decides.
    path.write_bytes(dense(x.astype("<f4"), 7))
    assert fs.read(path).dtype == np.float32
    s = scipy.sparse.csr_array(np.array([[0, 1.5], [0, 0], [2, 3]]))
    path.write_bytes(sparse(s, 8, "<u4"))
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), s.toarray())


@QUICK
@given(data=st.data(), code=st.sampled_from(CODES))
def test_matrices_come_back(folder: Path, data: st.DataObject, code: str) -> None:
    shape = data.draw(st.tuples(st.integers(0, 20), st.integers(1, 6)))
    x = data.draw(hnp.arrays(code, shape))
    path = folder / "m.dbdf"
    fs.write(x, path)
    back = fs.read(path).compute()
    assert (back.shape, back.dtype) == (x.shape, x.dtype)
    assert back.tobytes() == x.tobytes()
    kept = np.nan_to_num(x)
    fs.write(scipy.sparse.csr_array(kept), path)
    np.testing.assert_array_equal(fs.read(path).compute().toarray(), kept)


def test_frames_come_back_and_missing_values_are_refused(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(5), "b": np.arange(5) / 3, "c": np.arange(5, dtype="u1")})
    fs.write(table, tmp_path / "t.dbdf")
    assert fs.read(tmp_path / "t.dbdf").compute().equals(table)
    with pytest.raises(UsageError, match="'a' has 1 missing values"):
        fs.write(pa.table({"a": [1, None]}), tmp_path / "t.dbdf")
    with pytest.raises(UsageError, match="'a' of type string"):
        fs.write(pa.table({"a": ["x"]}), tmp_path / "t.dbdf")
    assert fs.read(tmp_path / "t.dbdf").compute().equals(table)


@settings(max_examples=10, deadline=None)
@given(rows=st.integers(1, 60), block_rows=st.integers(1, 30))
def test_many_writers_one_file(
    two_workers: fs.Cluster, folder: Path, rows: int, block_rows: int
) -> None:
    x = np.random.default_rng(rows).integers(0, 3, (rows, 4)).astype(float)
    table = pa.table({"a": x[:, 0], "b": np.arange(rows)})
    s = scipy.sparse.csr_array(x)
    path, other = folder / "one.dbdf", folder / "many.dbdf"
    cases: list[tuple[Any, Any]] = [
        (x, fs.Array.from_numpy(x, block_rows)),
        (s, fs.Array.from_numpy(s, block_rows)),
        (table, fs.Frame.from_table(table, block_rows)),
    ]
    for here, there in cases:
        fs.write(here, path)
        fs.write(there, other)
        assert path.read_bytes() == other.read_bytes()
        back = fs.read(other, block_rows=7).compute()
        if here is table:
            assert back.equals(table)
        else:
            dense = [m.toarray() if here is s else m for m in (back, here)]
            np.testing.assert_array_equal(*dense)


@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_any_change_of_a_file_is_read_or_refused(folder: Path, data: st.DataObject) -> None:
    x = np.array([[0, 1.5], [0, 0], [2, 3]])
    samples = [dense(x, 7), sparse(scipy.sparse.csr_array(x), 7, "<u8")]
    content = bytearray(data.draw(st.sampled_from(samples)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        if data.draw(st.booleans()):
            content[at] = data.draw(st.integers(0, 255))
        else:
            del content[at : at + data.draw(st.integers(1, 9))]
        if not content:
            break
    path = folder / "bad.dbdf"
    path.write_bytes(content)
    # Anything but a FormatError fails the test.
    with contextlib.suppress(FormatError):
        assert fs.read(path).compute().shape[0] < 1000
