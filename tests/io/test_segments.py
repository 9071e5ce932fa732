"""Segments in a stand-in for HDFS: how many are written at once, and what is read of them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

import freestone as fs
from freestone import _native
from freestone.errors import FileChangedError, FormatError
from freestone.io import open_dataset, raw, segment_writer
from freestone.io.stores import hdfs_source
from freestone.storage.segmenting import _shares
from tests.io.hdfs import Reader, Store, store
from tests.lang.scripts import printed

__all__ = ["store"]

X = np.random.default_rng(1).normal(size=(80, 3))
URL = "hdfs://h:1/folder/x.{}.hdfs"


def blocks(rows: int = 20) -> fs.Array:
    return fs.Array([X[at : at + rows] for at in range(0, len(X), rows)], None, name="x")


VALUES: dict[str, Any] = {
    "dense": blocks(),
    "csr": fs.Array([scipy.sparse.csr_array(np.where(X > 0, X, 0))], None, name="x"),
    "frame": fs.Frame.from_blocks([pa.table({"n": range(9), "t": list("abc,\n\"'é ")})]),
}


HOLDS = {"dense": ("csv", "dbdf", "mtx", "npy"), "csr": ("csv", "dbdf", "mtx"), "frame": ("csv",)}


@pytest.mark.parametrize(
    ("kind", "format"), [(kind, format) for kind in VALUES for format in HOLDS[kind]]
)
def test_what_is_written_is_read(store: Store, kind: str, format: str) -> None:
    url = URL.format(format)
    for _ in range(2):
        fs.write(VALUES[kind], url)
        found, wanted = fs.read(url).compute(), VALUES[kind].compute()
        if kind == "frame":
            assert found.to_pydict() == wanted.to_pydict()
        elif kind == "csr":
            assert found.toarray().tobytes() == wanted.toarray().tobytes()
        else:
            assert found.tobytes() == wanted.tobytes()
        assert store.folders == {"", "/folder", f"/folder/x.{format}.hdfs"}


def test_a_file_is_looked_up_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fs.write(X, "hdfs://h:1/folder/m.dbdf", meta=False)
    asked: list[str] = []
    reported = store.get_file_info
    monkeypatch.setattr(
        store, "get_file_info", lambda path: [asked.append(path), reported(path)][1]
    )
    np.testing.assert_array_equal(fs.read("hdfs://h:1/folder/m.dbdf").compute(), X)
    assert store.reads == ["/folder/m.dbdf"]
    # When it is opened, and whether it is still the same when it was read.
    assert asked == ["/folder/m.dbdf"] * 2
    fs.write(-X, "hdfs://h:1/folder/m.dbdf", meta=False)
    np.testing.assert_array_equal(fs.read("hdfs://h:1/folder/m.dbdf").compute(), -X)


def test_where_blocks_are_is_asked_again_when_they_are_gone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.write(X, "hdfs://h:1/folder/m.dbdf", meta=False)
    dataset = open_dataset("hdfs://h:1/folder/m.dbdf")
    read = Reader.read_range_stream
    failures = iter(["All DataNodes failed: []"])

    def once_failing(reader: Reader, offset: int, count: int) -> Iterator[bytes]:
        for reason in failures:
            raise RuntimeError(reason)
        return read(reader, offset, count)

    monkeypatch.setattr(Reader, "read_range_stream", once_failing)
    np.testing.assert_array_equal(dataset.read(0, 80), X)
    assert store.reads == ["/folder/m.dbdf"] * 2


def test_bytes_of_segments_are_counted(store: Store) -> None:
    before = _native.io.io_moved()[1]
    fs.write(blocks(), URL.format("csv"))
    nbytes = sum(len(content) for content in store.files.values())
    assert _native.io.io_moved()[1] - before == nbytes


def test_files_wait_together_until_they_are_complete(store: Store) -> None:
    """Four segments and their `.meta`; one after the other they would wait in vain."""
    all_of_them = threading.Barrier(8, timeout=30)
    store.closing = lambda path: [all_of_them.wait(), None][-1]
    fs.write(blocks(), URL.format("csv"))
    store.closing = lambda path: None
    np.testing.assert_array_equal(fs.read(URL.format("csv")).compute(), X)


def test_as_many_are_open_as_their_bytes_allow(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_writer, "MAX_OPEN", 10)
    fs.write(blocks(), URL.format("dbdf"))
    assert store.most_open == 1
    # Two segments and their `.meta`, of which two at a time come to their end.
    monkeypatch.setattr(segment_writer, "MAX_OPEN", 1200)
    pairs = threading.Barrier(2, timeout=30)
    store.closing = lambda path: [pairs.wait(), None][-1]
    fs.write(blocks(), URL.format("dbdf"))
    assert 2 <= store.most_open <= 4
    np.testing.assert_array_equal(fs.read(URL.format("dbdf")).compute(), X)


def test_a_file_that_is_not_complete_in_time_is_written_again(store: Store) -> None:
    failed: set[str] = set()

    def once(path: str) -> None:
        if path not in failed:
            failed.add(path)
            raise RuntimeError("Failed to complete file in time")

    store.closing = once
    fs.write(blocks(), URL.format("csv"))
    assert len(failed) == 8
    np.testing.assert_array_equal(fs.read(URL.format("csv")).compute(), X)


def test_a_segment_that_cant_be_written_leaves_the_old_ones(store: Store) -> None:
    fs.write(blocks(), URL.format("csv"))
    before = dict(store.files)

    def refuse(path: str) -> None:
        if "segment_3" in path:
            raise RuntimeError("quota")

    store.closing = refuse
    with pytest.raises(fs.FreestoneError, match="quota"):
        fs.write(blocks(10), URL.format("csv"))
    assert store.files == before
    assert store.folders == {"", "/folder", "/folder/x.csv.hdfs"}


def test_only_metas_are_read_before_the_rows(store: Store) -> None:
    url = URL.format("csv")
    fs.write(blocks(), url)
    store.reads.clear()
    dataset = open_dataset(url)
    assert (dataset.rows, dataset.columns, dataset.dtype) == (80, (3,), "f8")
    assert len(store.reads) == 4
    assert all(path.endswith(".meta") for path in store.reads)
    store.reads.clear()
    np.testing.assert_array_equal(dataset.read(25, 61), X[25:61])
    texts = [path for path in store.reads if not path.endswith((".meta", ".index"))]
    assert {path[-1] for path in texts} == {"2", "3", "4"}


def test_segments_that_are_not_what_their_metas_say(store: Store) -> None:
    url = URL.format("csv")
    fs.write(blocks(), url)
    second = "/folder/x.csv.hdfs/x.csv.hdfs_segment_2"
    dataset = open_dataset(url)
    content = store.files[second]
    store.files[second] = content + b"1,2,3\n"
    with pytest.raises(FileChangedError, match="segment_2"):
        dataset.read(0, 80)
    with pytest.raises(FormatError, match=r"its \.meta says 20 rows of 3 columns, and it has 21"):
        open_dataset(url).read(0, 80)
    store.files[second] = content.replace(b",", b";")
    with pytest.raises(FormatError, match="segment_2"):
        open_dataset(url).read(0, 80)
    del store.files[second]
    with pytest.raises(FormatError, match="its segments are"):
        open_dataset(url)
    for path in list(store.files):
        store.files[path] = b"{}"
    with pytest.raises(FormatError):
        open_dataset(url)


@pytest.mark.parametrize("format", ["csv", "dbdf", "npy"])
def test_segments_are_read_at_once_into_one_array(
    store: Store, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    """One after the other, the four of them would wait in vain for one another."""
    fs.write(blocks(), URL.format(format))
    dataset = open_dataset(URL.format(format))
    all_of_them = threading.Barrier(4, timeout=30)
    read = Reader.read_range_stream

    def waiting(reader: Reader, offset: int, count: int) -> Iterator[bytes]:
        all_of_them.wait()
        return read(reader, offset, count)

    monkeypatch.setattr(Reader, "read_range_stream", waiting)
    monkeypatch.setattr(np, "concatenate", None)
    np.testing.assert_array_equal(dataset.read(0, 80), X)


def test_ranges_of_a_file_are_read_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fs.write(X, "hdfs://h:1/folder/m.dbdf", meta=False)
    dataset = open_dataset("hdfs://h:1/folder/m.dbdf")
    at_once = threading.Barrier(hdfs_source.AT_ONCE, timeout=30)
    read = Reader.read_range_stream

    def waiting(reader: Reader, offset: int, count: int) -> Iterator[bytes]:
        at_once.wait()
        return read(reader, offset, count)

    monkeypatch.setattr(Reader, "read_range_stream", waiting)
    nbytes = len(store.files["/folder/m.dbdf"])
    monkeypatch.setattr(raw, "STEP", -(-nbytes // hdfs_source.AT_ONCE))
    np.testing.assert_array_equal(dataset.read(0, 80), X)


def test_text_is_fetched_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fs.write(X, "hdfs://h:1/folder/m.csv", meta=False)
    read: list[int] = []
    given = Reader.read_range_stream
    monkeypatch.setattr(
        Reader,
        "read_range_stream",
        lambda reader, offset, count: [read.append(count), given(reader, offset, count)][1],
    )
    np.testing.assert_array_equal(fs.read("hdfs://h:1/folder/m.csv").compute(), X)
    assert read == [len(store.files["/folder/m.csv"])]
    # No index is left for it, however large it is.
    assert not [path for path in store.files if path.endswith(".index")]


def test_a_segment_of_text_is_fetched_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fs.write(blocks(), URL.format("csv"))
    dataset, before = open_dataset(URL.format("csv")), _native.io.io_moved()[0]
    np.testing.assert_array_equal(dataset.read(0, 80), X)
    texts = [text for path, text in store.files.items() if not path.endswith(".meta")]
    metas = [text for path, text in store.files.items() if path.endswith(".meta")]
    # What each is said to be is looked at once more.
    assert _native.io.io_moved()[0] - before == sum(map(len, texts)) + sum(map(len, metas))


def test_a_file_that_changes_while_it_is_fetched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.write(X, "hdfs://h:1/folder/m.csv", meta=False)
    given = Reader.read_range_stream

    def changing(reader: Reader, offset: int, count: int) -> Iterator[bytes]:
        store.files["/folder/m.csv"] = store.files["/folder/m.csv"][::-1]
        return given(reader, offset, count)

    monkeypatch.setattr(Reader, "read_range_stream", changing)
    with pytest.raises(FileChangedError, match=r"m\.csv"):
        fs.read("hdfs://h:1/folder/m.csv")


def test_names_may_have_any_characters(store: Store) -> None:
    for name in ("a#b.csv", "a?b=c.csv", "a %41.csv", "é;@.csv"):
        fs.write(X, f"hdfs://h:1/folder/{name}")
        assert f"/folder/{name}" in store.files
        np.testing.assert_array_equal(fs.read(f"hdfs://h:1/folder/{name}").compute(), X)


@pytest.mark.parametrize(
    "where", ["/folder/x.csv.hdfs", "folder/x.csv.hdfs", "hdfs://h:1/folder/x.csv.hdfs"]
)
def test_a_local_meta_says_where_and_how_many(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    fs.write(blocks(), URL.format("csv"))
    path, meta = tmp_path / "x.csv.hdfs", tmp_path / "x.csv.hdfs.meta"
    printed = {"numRows": 80, "numCols": 3, "valueType": "f64"}
    there = {"isHDFS": True, "HDFSFilename": where}
    meta.write_text(json.dumps({**printed, "hdfs": there}))
    monkeypatch.setenv("HDFS_ADDRESS", "hdfs://h:1/")
    np.testing.assert_array_equal(fs.read(path).compute(), X)
    meta.write_text(json.dumps({**printed, "numRows": 79, "hdfs": there}))
    with pytest.raises(FormatError, match=r"x\.csv\.hdfs\.meta.* it says 79 x 3, .* 80 x 3"):
        fs.read(path)


def test_a_local_meta_leads_to_segments(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "x.csv.hdfs"
    (tmp_path / "x.csv.hdfs.meta").write_text(
        '{"numRows": 80, "numCols": 3, "valueType": "f64", '
        '"hdfs": {"isHDFS": true, "HDFSFilename": "/folder/x.csv.hdfs"}}'
    )
    fs.write(blocks(), path)
    np.testing.assert_array_equal(fs.read(path).compute(), X)
    assert store.folders == {"", "/folder", "/folder/x.csv.hdfs"}


def test_scripts_follow_a_local_meta(store: Store, tmp_path: Path) -> None:
    for kind, name in (("frame", "Frame"), ("dense", "Matrix"), ("csr", "Matrix")):
        path, copy = tmp_path / f"{kind}.csv.hdfs", tmp_path / f"{kind}.csv"
        fs.write(VALUES[kind], path)
        printed(f'write{name}(read{name}("{path}"), "{copy}");')
        found, wanted = fs.read(copy).compute(), VALUES[kind].compute()
        if kind == "frame":
            assert found.to_pydict() == wanted.to_pydict()
        else:
            dense = wanted.toarray() if kind == "csr" else wanted
            np.testing.assert_array_equal(found, dense)


def test_blocks_are_dealt_to_the_executors_of_their_workers() -> None:
    where = [["worker-1"], ["worker-2", "worker-1"], [], ["worker-1"], ["worker-1"], ["worker-9"]]
    found = _shares(where, {1: 2, 2: 1, 0: 0})
    assert found == [(1, [1, 5]), (1, [4]), (2, [2]), (None, [3]), (None, [6])]
    assert _shares([["worker-0"]] * 4, {0: 0, 1: 2}) == [(None, [1, 3]), (None, [2, 4])]
