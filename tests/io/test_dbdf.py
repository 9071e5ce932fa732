"""DBDF: against bytes laid out by hand, round trips, and headers that lie."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterator
from dataclasses import replace
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
from freestone.io import open_dataset
from freestone.io.raw import fill_block
from tests.io.bad import check_content

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


def test_the_manuals_form_is_distinguished(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("kind", ["dbdf", "npy"])
def test_bytes_go_straight_into_the_workers_caches(
    two_workers: fs.Cluster, tmp_path: Path, kind: str
) -> None:
    x = np.random.default_rng(1).normal(size=(5000, 40))
    path = tmp_path / f"m.{kind}"
    fs.write(x, path)
    array = fs.read(path, block_rows=700).persist()
    assert {place for (place,) in array.where()} == {"worker-0", "worker-1"}
    np.testing.assert_array_equal(array.compute(), x)
    # They are blocks as any others, for calls and for other workers.
    sums = array.map_blocks(lambda block: block.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(sums.compute(), x.sum(axis=1, keepdims=True))
    moved = array.rechunk(2500)
    np.testing.assert_array_equal(moved.compute(), x)
    fs.write(moved, tmp_path / f"again.{kind}")
    assert (tmp_path / f"again.{kind}").read_bytes() == path.read_bytes()


def test_only_executors_have_a_cache_to_fill(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "m.dbdf"
    fs.write(np.ones((10, 2)), path)
    dataset = open_dataset(path)
    assert isinstance(dataset.read_block(2, 5), np.ndarray)

    def in_a_call(start: int, stop: int) -> str:
        return type(dataset.read_block(start, stop)).__name__

    assert two_workers.submit(in_a_call, 2, 5).result() == "Filled"
    assert two_workers.submit(in_a_call, 5, 5).result() == "ndarray"
    np.testing.assert_array_equal(two_workers.submit(dataset.read_block, 2, 5).result(), 1.0)
    os.truncate(path, 100)
    short = replace(dataset, stamp=dataset.location.stamp())
    with pytest.raises(FormatError, match="truncated"):
        two_workers.submit(short.read_block, 0, 10).result()


class Packets:
    """A file whose bytes come in packets; some are there, then something happens."""

    def __init__(self, content: bytes, happens: Exception | None = None) -> None:
        self.content, self.happens = content, happens

    def packets(self, offset: int, nbytes: int) -> Iterator[bytes]:
        content = self.content[offset:][:nbytes]
        yield from (content[at : at + 1000] for at in range(0, len(content), 1000))
        if self.happens is not None:
            raise self.happens


def test_caches_are_filled_packet_by_packet(two_workers: fs.Cluster) -> None:
    x = np.random.default_rng(1).normal(size=(70_000, 5))
    source = Packets(b"head" + x.tobytes())
    found = two_workers.submit(fill_block, source, 4, x.shape, "f8")
    np.testing.assert_array_equal(found.result(), x)
    assert fill_block(source, 4, x.shape, "f8") is None
    with pytest.raises(FormatError, match="truncated"):
        two_workers.submit(fill_block, source, 5, x.shape, "f8").result()
    broken = Packets(x.tobytes()[:5000], PermissionError("not yours"))
    with pytest.raises(PermissionError, match="not yours"):
        two_workers.submit(fill_block, broken, 0, x.shape, "f8").result()


def test_an_empty_block_is_zeros(tmp_path: Path) -> None:
    path = tmp_path / "m.dbdf"
    for kind, nbytes in [(1, 45), (1, 44), (2, 45), (2, 44)]:
        head = struct.pack("<BBQQ", 1, kind, 5, 3) + struct.pack("<BQQIIBB", 7, 0, 0, 5, 3, 0, 7)
        path.write_bytes(head[:nbytes])
        found = fs.read(path).compute()
        assert (found.shape, found.dtype) == ((5, 3), np.float64)
        assert not (found.toarray() if kind == 2 else found).any()


def changed(content: bytes, at: int, *values: int) -> bytes:
    return content[:at] + bytes(values) + content[at + len(values) :]


WHOLE = dense(np.arange(6, dtype="<f8").reshape(3, 2), 7)
CSR = sparse(scipy.sparse.csr_array(np.array([[0, 1.5], [0, 0], [2, 3]])), 7, "<u8")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (WHOLE[:10], "byte 10: it ends in its header"),
        (WHOLE[:30], "byte 30: it ends in its header"),
        (WHOLE[:-1], "byte 92: 93 bytes are wanted for 3 x 2 of f8, and it has 92"),
        (WHOLE + b"x", "and it has 94 (truncated, or foreign)"),
        (b"PK" + WHOLE[2:], "byte 0: version 80, and only 1 is known"),
        (changed(WHOLE, 0, 2), "byte 0: version 2, and only 1 is known"),
        (changed(WHOLE, 1, 9), "byte 1: data type 9; there are 1 dense, 2 CSR and 3 frame"),
        (changed(WHOLE, 9, 255), "rows of 2 columns can't be"),
        (changed(changed(WHOLE, 18, 99), 44, 99), "byte 18: value type 99; there are 0 to 7"),
        (changed(WHOLE, 18, 5), "byte 44: value type 7 of the block, 5 of the matrix"),
        (changed(WHOLE, 19, 1), "byte 19: the matrix is of several blocks"),
        (changed(WHOLE, 35, 4), "byte 35: a block of 4 x 2, the matrix has 3 x 2"),
        (changed(WHOLE, 43, 2), "byte 43: a block of type 2, and data type 1 has 1"),
        (changed(WHOLE, 43, 0), "byte 45: values follow a block that says it is empty"),
        (changed(CSR, 45, 9), "do not hold 3 rows with 9 values"),
        (changed(CSR, 61, 9), "byte 53: where rows begin does not rise"),
        (changed(CSR, 85, 7), "byte 85: column 7 of 2 (from 0)"),
    ],
)
def test_headers_that_lie_are_reported_with_their_place(
    tmp_path: Path, content: bytes, place: str
) -> None:
    check_content(tmp_path / "bad.dbdf", content, place)


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
