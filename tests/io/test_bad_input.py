"""What is wrong with a file is told with its name and place, by this process and of any store."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from freestone.cli.main import main
from freestone.errors import FileMissingError, FormatError, UsageError
from tests.io.bad import BAD, check, described, put
from tests.io.hdfs import Store, store

__all__ = ["store"]


@pytest.mark.parametrize("name", BAD)
def test_it_is_reported_here(tmp_path: Path, name: str) -> None:
    check(BAD[name], str(put(tmp_path, BAD[name])))


@pytest.mark.parametrize("name", BAD)
def test_it_is_reported_of_a_store_by_fsspec(tmp_path: Path, name: str) -> None:
    pytest.importorskip("fsspec")
    check(BAD[name], f"local://{put(tmp_path, BAD[name])}")


@pytest.mark.parametrize("name", BAD)
def test_it_is_reported_of_hdfs(store: Store, tmp_path: Path, name: str) -> None:
    path = put(tmp_path, BAD[name])
    store.files |= {f"/folder/{one.name}": one.read_bytes() for one in tmp_path.iterdir()}
    check(BAD[name], f"hdfs://h:1/folder/{path.name}")


@pytest.mark.parametrize("name", ["no number", "a short row of a frame", "DBDF cut off"])
def test_it_is_reported_of_a_segment(store: Store, tmp_path: Path, name: str) -> None:
    bad = BAD[name]
    segment = f"/folder/x.{bad.format}.hdfs/x.{bad.format}.hdfs_segment_1"
    store.folders.add(f"/folder/x.{bad.format}.hdfs")
    store.files[segment] = bad.content()
    meta = described(bad)
    if meta is not None:
        store.files[f"{segment}.meta"] = meta
    with pytest.raises(FormatError) as caught:
        fs.read(f"hdfs://h:1/folder/x.{bad.format}.hdfs", **bad.options).compute()
    assert bad.place in str(caught.value)
    assert segment in str(caught.value)


def test_what_a_library_does_not_write_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with pytest.raises(UsageError, match=r"x\.parquet can't be written: .*foo"):
        fs.write(np.ones((2, 2)), path, compression="foo")
    pytest.importorskip("nptdms")
    for column, printed in [
        ([b"a", b"\xff"], r"column 'a' of type binary can't be written as TDMS"),
        (pa.array([1_001], pa.timestamp("ns")), "has nanoseconds, which nptdms cuts off"),
        (pa.array([1], pa.timestamp("us", "Europe/Berlin")), "has the time zone Europe/Berlin"),
        ([Decimal("1.5")], r"x\.tdms can't be written: "),
        ([[1.5]], "column 'a' of type list<.*> can't be written as TDMS"),
    ]:
        with pytest.raises(UsageError, match=printed):
            fs.write(pa.table({"a": column}), tmp_path / "x.tdms")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "printed"),
    [
        ({"kind": "matrix"}, "kind='matrix': a file is read as 'array' or as 'frame'"),
        ({"dtype": "f5"}, "dtype='f5': cells are numbers of"),
        ({"block_rows": 0}, "block_rows=0: .*; a block has at least one row"),
    ],
)
def test_options_that_make_no_sense(tmp_path: Path, options: dict[str, Any], printed: str) -> None:
    (tmp_path / "x.csv").write_text("1,2\n")
    with pytest.raises(UsageError, match=printed):
        fs.read(tmp_path / "x.csv", **options)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    for format in ("csv", "parquet"):
        with pytest.raises(FileMissingError, match="none does not exist"):
            fs.write(np.ones((2, 2)), tmp_path / "none" / f"x.{format}")


def test_a_header_counts_where_a_meta_disagrees(tmp_path: Path) -> None:
    x = np.arange(6.0).reshape(3, 2)
    for format in ("dbdf", "npy", "mtx", "parquet"):
        path = tmp_path / f"x.{format}"
        fs.write(x, path)
        (tmp_path / f"x.{format}.meta").write_text(
            '{"numRows": 9, "numCols": 9, "valueType": "si8"}'
        )
        np.testing.assert_array_equal(fs.read(path).compute(), x)


NANS = ("nan", "NaN", "NAN", "-nan", "+nan", "Nan", "nAN", "-NaN")


@pytest.mark.parametrize("spelling", NANS)
def test_nan_in_every_form_of_text(tmp_path: Path, spelling: str) -> None:
    texts = {
        "a.csv": (f"1,{spelling}\n", {}),
        "f.csv": (f"a,b\nx,{spelling}\n", {}),
        "t.csv": (f"0,1,{spelling}\n", {"sparse": True, "shape": (1, 2)}),
        "m.mtx": (f"%%MatrixMarket matrix array real general\n1 1\n{spelling}\n", {}),
        "s.mtx": (f"%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 {spelling}\n", {}),
    }
    for name, (text, options) in texts.items():
        (tmp_path / name).write_text(text)
        found = fs.read(tmp_path / name, **options).compute()
        if isinstance(found, np.ndarray):
            assert np.isnan(found[0, -1]), name
        else:
            last = found["b"][0].as_py() if name == "f.csv" else found.data[0]
            assert np.isnan(last), name


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_of_other_systems(tmp_path: Path, end: bytes, last: bool) -> None:
    def written(name: str, *parts: bytes) -> Path:
        (tmp_path / name).write_bytes(end.join(parts) + (end if last else b""))
        return tmp_path / name

    dense = written(
        "x.mtx", b"%%MatrixMarket matrix array real general", b"% is it", b"2 1", b"1", b"2.5"
    )
    np.testing.assert_array_equal(fs.read(dense).compute(), [[1], [2.5]])
    entries = written(
        "s.mtx", b"%%MatrixMarket matrix coordinate integer general", b"2 2 1", b"2 1 -3"
    )
    np.testing.assert_array_equal(fs.read(entries).compute().toarray(), [[0, 0], [-3, 0]])
    listed = written("t.csv", b"0,1,2.5", b"2,0,1")
    found = fs.read(listed, sparse=True, shape=(3, 2)).compute().toarray()
    np.testing.assert_array_equal(found, [[0, 2.5], [0, 0], [1, 0]])


def test_marks_of_unicode_are_read_or_named(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    (tmp_path / "t.csv").write_bytes(mark + b"0,1,2.5\n")
    assert fs.read(tmp_path / "t.csv", sparse=True, shape=(1, 2)).compute()[0, 1] == 2.5
    (tmp_path / "m.csv").write_bytes(b"1,2\n")
    (tmp_path / "m.csv.meta").write_bytes(
        mark + b'{"numRows": 1, "numCols": 2, "valueType": "f64"}'
    )
    assert fs.read(tmp_path / "m.csv").compute().tolist() == [[1, 2]]
    (tmp_path / "m.csv.meta").write_bytes(b'{"numRows": 1, "numCols": 2, "valueType": "\xff"}')
    with pytest.raises(FormatError, match=r"m\.csv\.meta.*no JSON"):
        fs.read(tmp_path / "m.csv")
    (tmp_path / "m.mtx").write_bytes(mark + b"%%MatrixMarket matrix array real general\n1 1\n1\n")
    with pytest.raises(FormatError, match="does not begin with %%MatrixMarket"):
        fs.read(tmp_path / "m.mtx")


def test_memory_that_is_not_there_is_reported_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.mtx"
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{2**60} 1 1\n1 1 1\n")
    with pytest.raises(MemoryError) as caught:
        fs.read(path)
    assert f"in the work on {path}" in caught.value.__notes__[0]
    assert main(["convert", str(path), str(tmp_path / "m.npy")]) == 2
    assert f"in the work on {path}" in capsys.readouterr().err
