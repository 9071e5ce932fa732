"""CSV: what is written is read, by us and by others; what is wrong is refused with its place."""

from __future__ import annotations

import csv
import datetime
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import freestone as fs
from freestone import _native
from freestone.errors import (
    FileChangedError,
    FileError,
    FileMissingError,
    FormatError,
    UsageError,
)
from tests.io.bad import check_content
from tests.io.table import FORMATS, need

QUICK = settings(max_examples=60, deadline=None)
CODES = ["f8", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("csv")


def matrices(codes: list[str]) -> st.SearchStrategy[Any]:
    shapes = st.tuples(st.integers(1, 30), st.integers(1, 6))
    return st.sampled_from(codes).flatmap(lambda code: hnp.arrays(code, shapes))


def same_bits(x: Any, y: Any) -> bool:
    """Tell whether arrays are equal bit by bit, where any NaN is NaN."""
    if x.dtype.kind != "f":
        return bool((x == y).all())
    bits = f"u{x.dtype.itemsize}"
    return bool(((x.view(bits) == y.view(bits)) | (np.isnan(x) & np.isnan(y))).all())


@QUICK
@given(x=matrices(CODES))
def test_a_matrix_comes_back_bit_by_bit(folder: Path, x: Any) -> None:
    path = folder / "m.csv"
    fs.write(x, path)
    back = fs.read(path).compute()
    assert (back.shape, back.dtype) == (x.shape, x.dtype)
    assert same_bits(back, x)


@QUICK
@given(x=matrices(["f8", "i8"]))
def test_without_meta_types_are_found(folder: Path, x: Any) -> None:
    path = folder / "plain.csv"
    fs.write(x, path, meta=False)
    back = fs.read(path).compute()
    assert back.dtype == x.dtype
    assert same_bits(back, x)
    with open(path, newline="") as file:
        theirs = np.array([[x.dtype.type(cell) for cell in row] for row in csv.reader(file)])
    assert same_bits(theirs, x)


def cells() -> st.SearchStrategy[str]:
    return st.text(st.characters(blacklist_categories=["Cs"]), max_size=8) | st.sampled_from(
        ['"', '""', "a,b", "a\nb", "\r\n", "", " ", "1.5", "true"]
    )


@QUICK
@given(data=st.data(), rows=st.integers(1, 20))
def test_a_frame_comes_back(folder: Path, data: st.DataObject, rows: int) -> None:
    def column(strategy: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(st.none() | strategy, min_size=rows, max_size=rows))

    table = pa.table(
        {
            "text": pa.array(column(cells()), pa.large_string()),
            "float": pa.array(column(st.floats(allow_nan=False)), pa.float64()),
            "whole": pa.array(column(st.integers(-(2**63), 2**63 - 1)), pa.int64()),
            "truth": pa.array(column(st.booleans()), pa.bool_()),
        }
    )
    path = folder / "t.csv"
    fs.write(table, path, header=data.draw(st.booleans()))
    assert fs.read(path).compute().equals(table)


def test_frames_of_pandas_are_read_and_ours_are_read_by_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"name": ["a", 'b "c", d', "e\nf"], "x": [0.1, -2.5e300, 3.0], "n": [1, 2, 3]}
    )
    frame.to_csv(tmp_path / "theirs.csv", index=False)
    found = fs.read(tmp_path / "theirs.csv")
    assert isinstance(found, fs.Frame)
    assert found.columns == ("name", "x", "n")
    pd.testing.assert_frame_equal(found.compute().to_pandas(), frame, check_dtype=False)
    fs.write(frame, tmp_path / "ours.csv", header=True)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "ours.csv"), frame, check_dtype=False)


def test_a_meta_has_the_separator_where_the_name_does_not_say_it(tmp_path: Path) -> None:
    table = pa.table({"p": ["a,b", "c,d"], "q": ["e", "f\tg"]})
    for name, separator in (("x.csv", ";"), ("x.csv", "tab"), ("x.tsv", ","), ("x.tsv", "tab")):
        fs.write(table, tmp_path / name, separator=separator)
        assert fs.read(tmp_path / name).to_arrow().to_pydict() == table.to_pydict()
        says_it = "separator" in (tmp_path / f"{name}.meta").read_text()
        assert says_it == ((name, separator) != ("x.tsv", "tab"))
    (tmp_path / "x.tsv.meta").write_text(
        '{"numRows": 2, "numCols": 2, "valueType": "str", "separator": 5}'
    )
    with pytest.raises(FormatError, match="separator is 5"):
        fs.read(tmp_path / "x.tsv")


def test_texts_that_begin_with_a_mark_of_byte_order_keep_it(tmp_path: Path) -> None:
    table = pa.table({"s": ["\ufeffabc", "\ufeff", "x"]})
    fs.write(table, tmp_path / "x.csv")
    assert fs.read(tmp_path / "x.csv").to_arrow().to_pydict() == table.to_pydict()


def test_a_column_that_csv_has_no_form_for_is_named(tmp_path: Path) -> None:
    for kind, values in (("span", [np.timedelta64(5, "s")]), ("list", [[1]])):
        with pytest.raises(UsageError, match=f"column '{kind}' of type .* can't be written as CSV"):
            fs.write(pa.table({"n": [1], kind: values}), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("meta", [True, False])
def test_dates_and_times_are_written_as_iso_8601(tmp_path: Path, meta: bool) -> None:
    when = datetime.datetime(2024, 2, 29, 13, 5, 7, 250)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    table = pa.table(
        {
            "day": pa.array([when.date(), None]),
            "at": pa.array([when, None], pa.timestamp("us")),
            "there": pa.array([when.replace(tzinfo=zone), None], pa.timestamp("us", "+02:00")),
        }
    )
    fs.write(table, tmp_path / "t.csv", meta=meta)
    texts = fs.read(tmp_path / "t.csv", header=not meta).compute().to_pylist()
    assert texts[0] == {
        "day": "2024-02-29",
        "at": "2024-02-29T13:05:07.000250",
        "there": "2024-02-29T11:05:07.000250Z",
    }
    found = fs.read(tmp_path / "t.csv", header=not meta, dates=["day", "at", "there"]).compute()
    assert found.column("day").equals(table.column("day"))
    assert found.to_pylist() == table.to_pylist()


@QUICK
@given(rows=st.lists(st.lists(cells(), min_size=3, max_size=3), min_size=1, max_size=12))
def test_texts_of_the_csv_module_are_read(folder: Path, rows: list[list[str]]) -> None:
    path = folder / "quoted.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(rows)
    path.with_name("quoted.csv.meta").write_text(
        json.dumps({"numRows": len(rows), "numCols": 3, "valueType": "str"})
    )
    found = fs.read(path).compute()
    assert [list(row) for row in zip(*found.to_pydict().values(), strict=True)] == rows


@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_sparse_matrices_are_triples(tmp_path: Path, dtype: str) -> None:
    x = scipy.sparse.random(50, 20, 0.1, "csr", rng=np.random.default_rng(1))
    x.data = np.round(x.data * 100).astype(dtype)
    x = scipy.sparse.csr_array(x)
    fs.write(x, tmp_path / "s.csv")
    back = fs.read(tmp_path / "s.csv").compute()
    assert back.dtype == x.dtype
    assert (back != x).nnz == 0


@pytest.mark.parametrize("columns", [2, 3])
def test_sparse_matrices_as_long_and_wide_as_their_text(tmp_path: Path, columns: int) -> None:
    """As many lines as rows, and as many cells in each as columns: its `.meta` says what it is."""
    dense = np.zeros((3, columns))
    dense[[0, 1, 2], [0, 1, 0]] = 1.0, 2.0, 3.0
    x = scipy.sparse.csr_array(dense)
    fs.write(x, tmp_path / "s.csv")
    found = fs.read(tmp_path / "s.csv").compute()
    np.testing.assert_array_equal(found.toarray(), x.toarray())
    lines = (tmp_path / "s.csv").read_text().splitlines()
    (tmp_path / "s.csv").write_text("\n".join(lines[1:]) + "\n")
    with pytest.raises(FormatError, match="says 3 values, and it has 2 lines"):
        fs.read(tmp_path / "s.csv")


def test_pairs_of_daphne_are_a_matrix_of_ones(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("0,1\n0,3\n2,0\n")
    (tmp_path / "g.csv.meta").write_text(
        '{"numRows": 3, "numCols": 4, "valueType": "f64", "numNonZeros": 3}'
    )
    found = fs.read(tmp_path / "g.csv").compute().toarray()
    np.testing.assert_array_equal(found, [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]])


def test_six_decimals_and_a_fixed_width(tmp_path: Path) -> None:
    x = np.array([[0.1234567, -2.0], [1e9, 1e-9]])
    fs.write(x, tmp_path / "six.csv", decimals=6)
    assert (tmp_path / "six.csv").read_text() == "0.123457,-2.000000\n1000000000.000000,0.000000\n"
    fs.write(x, tmp_path / "wide.csv", width=17)
    lines = (tmp_path / "wide.csv").read_text().splitlines()
    assert [len(line) for line in lines] == [35, 35]
    np.testing.assert_array_equal(fs.read(tmp_path / "wide.csv").compute(), x)
    fs.write(x, tmp_path / "plain.csv", width=17, meta=False)
    found = fs.read(tmp_path / "plain.csv").compute()
    assert (found.dtype, found.tobytes()) == (x.dtype, x.tobytes())
    os.unlink(tmp_path / "plain.csv")
    with pytest.raises(FormatError, match=r"row 1, column 1: 0\.1234567 needs 9 characters"):
        fs.write(x, tmp_path / "wide.csv", width=8)
    np.testing.assert_array_equal(fs.read(tmp_path / "wide.csv").compute(), x)
    assert sorted(os.listdir(tmp_path)) == ["six.csv", "six.csv.meta", "wide.csv", "wide.csv.meta"]


def test_blanks_in_front_of_numbers_need_no_second_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "blanks.csv"
    path.write_text("  1,  2\n  3,  \n")
    assert fs.read(path).compute().to_pydict() == {"col_0": [1, 3], "col_1": [2, None]}
    path.write_text("1 ,2\n3 ,4\n")
    np.testing.assert_array_equal(fs.read(path).compute(), [[1, 2], [3, 4]])
    monkeypatch.delattr(_native.io, "csv_infer")
    for text in ("  1,  2\n  3, 40\n", "1, 2\r\n3, 40\r\n"):
        path.write_text(text)
        np.testing.assert_array_equal(fs.read(path).compute(), [[1, 2], [3, 40]])


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"1,2\n3\n", "row 2 has 1 cells, and 2 are wanted"),
        (b"1,2\n3,4,5\n", "row 2 has 3 cells, and 2 are wanted"),
        (b"1,2\n \n3,4\n", "row 2 has 1 cells, and 2 are wanted"),
        (b"1,2\n3,4x\n", "row 2, column 2: '4x' is not a number"),
        (b"1,2\n3,\n", "row 2, column 2: '' is not a number"),
        (b"1,2\n3,NA\n", "row 2, column 2: 'NA' is not a number"),
        (b'1,2\n3,"4\n', "inside of quotes"),
        (b'1,2\n3,4"5"\n', "row 2, column 2: a quote in the middle of a cell"),
        (b'1,2\n3,"4"5\n', "row 2, column 2: something stands behind the closing quote"),
        (b"1,2\n3,\xff\xfe\n", "row 2, column 2: '\ufffd\ufffd' is not a number"),
        (b"1,2\x00\n", "row 1, column 2: '2\\0' is not a number"),
    ],
)
def test_what_is_wrong_is_reported_with_the_place(
    tmp_path: Path, content: bytes, place: str
) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        fs.read(path, kind="array", dtype="f8").compute()
    printed = str(caught.value).replace('"', "'")
    assert place.replace('"', "'") in printed
    assert str(path) in printed


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a,b\nx,1\ny\n", "row 3 has 1 cells, and 2 are wanted"),
        (b"a,b\nx,1\ny,2,3\n", "row 3 has 3 cells, and 2 are wanted"),
        (b'a,b\nx,1\n"y,2\n', "inside of quotes"),
        (b"a,b\nx,1\n\xff\xfe,2\n", "row 3, column 1: "),
        (b"a\xff,b\nx,1\ny,2\n", "the names of its columns are no UTF-8"),
        (b"a,a\nx,1\ny,2\n", "two columns are called 'a'"),
    ],
)
def test_what_is_wrong_in_a_frame_is_reported_with_its_place(
    tmp_path: Path, content: bytes, place: str
) -> None:
    check_content(tmp_path / "bad.csv", content, place)


@pytest.mark.parametrize("options", [{"dtype": "f8"}, {"kind": "array"}])
@pytest.mark.parametrize(
    ("cell", "advice"),
    [("6x0.5", ""), ("", '; kind="frame" makes missing values of empty cells')],
)
def test_one_bad_cell_of_an_array_is_named(
    tmp_path: Path, options: dict[str, Any], cell: str, advice: str
) -> None:
    rows = [f"{row},{row}.5" for row in range(50)]
    rows[30] = f"30,{cell}"
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(rows) + "\n")
    with pytest.raises(FormatError) as caught:
        fs.read(path, **options).compute()
    assert str(caught.value) == (
        f'{path} can\'t be used: row 31, column 2: "{cell}" is not a number{advice}'
    )
    assert (caught.value.row, caught.value.column) == (31, 2)
    frame = fs.read(path, kind="frame").compute()
    assert frame["col_1"].null_count == (not cell)
    with pytest.raises(UsageError, match="dtype='f8' is of an array"):
        fs.read(path, kind="frame", dtype="f8")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_frames_of_other_systems(tmp_path: Path, start: bytes, end: bytes, last: bool) -> None:
    lines = [b"name,x", b'"a\nb",1.5', b'"c ""d"", e",-2', b"f,NaN"]
    path = tmp_path / "f.csv"
    path.write_bytes(start + end.join(lines) + (end if last else b""))
    found = fs.read(path).compute().to_pydict()
    assert found["name"] == ["a\nb", 'c "d", e', "f"]
    assert found["x"][:2] == [1.5, -2.0]
    assert np.isnan(found["x"][2])


@pytest.mark.parametrize(
    "content",
    [
        b"1,2\n3,4",
        b"1,2\r\n3,4\r\n",
        b"\xef\xbb\xbf1,2\n3,4\n",
        b'"1","2"\n3, 4 \n',
        b"+1,2\n3,4.0\n",
    ],
)
def test_other_spellings_of_the_same_matrix(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.csv"
    path.write_bytes(content)
    found = fs.read(path, dtype="f8").compute()
    np.testing.assert_array_equal(found, [[1, 2], [3, 4]])


def test_not_a_number_is_read_in_its_spellings(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("nan,NaN,NAN,-nan\n+nan,Nan,nAN,-NaN\n")
    found = fs.read(path)
    assert isinstance(found, fs.Array)
    assert np.isnan(found.compute()).all()
    assert found.shape == (2, 4)


@pytest.mark.parametrize("format", ["csv", "dbdf"])
def test_a_meta_of_the_file_that_was_there_is_removed(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"m.{format}"
    fs.write(np.ones((2, 2), "i4"), path)
    assert (tmp_path / f"m.{format}.meta").exists()
    fs.write(np.ones((3, 2)), path, meta=False)
    assert os.listdir(tmp_path) == [path.name]
    assert fs.read(path).shape == (3, 2)


def test_a_meta_that_disagrees_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("1,2\n3,4\n")
    beside = tmp_path / "m.csv.meta"
    for printed, match in [
        ('{"numRows": 3, "numCols": 2, "valueType": "f64"}', "3 rows of 2 columns, and it has 2"),
        ('{"numRows": 2, "numCols": 2, "valueType": "f65"}', "'f65' is no value type"),
        ('{"numRows": -2, "numCols": 2, "valueType": "f64"}', "numRows is -2"),
        ("[1, 2]", "no JSON with numRows"),
        ("{", "no JSON with numRows"),
        (
            '{"numRows": 2, "numCols": 2, "schema": [{"label": "a", "valueType": "f64"}]}',
            "schema has 1",
        ),
    ]:
        beside.write_text(printed)
        with pytest.raises(FormatError, match=match):
            fs.read(path)


def test_files_that_cant_be_opened(tmp_path: Path) -> None:
    with pytest.raises(FileMissingError):
        fs.read(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        fs.read(tmp_path / "folder.csv")
    with pytest.raises(FileError, match="is a folder"):
        fs.write(np.ones((1, 1)), tmp_path / "folder.csv")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(FormatError, match="it is empty"):
        fs.read(tmp_path / "empty.csv")
    with pytest.raises(UsageError, match="did you mean 'delimiter'"):
        fs.read(tmp_path / "empty.csv", delimeter=";")
    for wrong in ({"width": 0}, {"decimals": -1}, {"delimiter": "1"}, {"header": True}):
        with pytest.raises(UsageError):
            fs.write(np.ones((1, 1)), tmp_path / "m.csv", **wrong)
    assert not (tmp_path / "m.csv").exists()
    with pytest.raises(FileMissingError, match=r"m\.xyz does not exist"):
        fs.read(tmp_path / "m.xyz")
    (tmp_path / "m.xyz").touch()
    with pytest.raises(UsageError, match="does not say its format"):
        fs.read(tmp_path / "m.xyz")


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "zarr"])
def test_a_file_that_changes_is_noticed(cluster: fs.Cluster, tmp_path: Path, kind: str) -> None:
    need(kind)
    path = tmp_path / f"m.{kind}"
    x = np.arange(40.0).reshape(10, 4)
    fs.write(x, path)
    array = fs.read(path, block_rows=5)
    path.write_text("1,2,3,4\n")
    with pytest.raises(FileChangedError):
        fs.Array.from_futures(array.map_blocks(lambda block: block + 1).blocks).compute()
    del array


def test_the_index_beside_a_file_is_used_and_renewed(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    x = np.arange(400_000.0).reshape(-1, 4) / 7
    fs.write(x, path)
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    beside = tmp_path / "big.csv.index"
    first = beside.read_bytes()
    np.testing.assert_array_equal(fs.read(path).compute(), x)
    assert beside.read_bytes() == first
    fs.write(x[:90_000], path)
    np.testing.assert_array_equal(fs.read(path).compute(), x[:90_000])
    assert beside.read_bytes() != first
    beside.write_bytes(beside.read_bytes()[:-3])
    np.testing.assert_array_equal(fs.read(path).compute(), x[:90_000])


@settings(max_examples=12, deadline=None)
@given(rows=st.integers(1, 300), block_rows=st.integers(1, 100), header=st.booleans())
def test_blocks_of_a_cluster_are_the_rows_of_the_file(
    two_workers: fs.Cluster, folder: Path, rows: int, block_rows: int, header: bool
) -> None:
    x = np.random.default_rng(rows).normal(size=(rows, 3))
    path, copy = folder / f"c{rows}.csv", folder / "copy.csv"
    fs.write(x, path)
    array = fs.read(path, block_rows=block_rows)
    np.testing.assert_array_equal(array.compute(), x)
    fs.write(array, copy)
    assert copy.read_bytes() == path.read_bytes()
    table = pa.table({"text": [f"{n},\n" for n in range(rows)], "n": range(rows)})
    fs.write(fs.Frame.from_table(table, block_rows), copy, header=header)
    back = fs.read(copy, block_rows=7).compute()
    assert back.to_pydict() == table.to_pydict()


def test_parts_of_sparse_matrices(two_workers: fs.Cluster, tmp_path: Path) -> None:
    x = scipy.sparse.csr_array(scipy.sparse.random(97, 20, 0.1, rng=np.random.default_rng(1)))
    array = fs.Array.from_numpy(x, 10)
    fs.write(array, tmp_path / "s.csv")
    back = fs.read(tmp_path / "s.csv", block_rows=13)
    assert len(back.blocks) == 8
    assert (back.compute() != x).nnz == 0
    lines = (tmp_path / "s.csv").read_text().splitlines()
    (tmp_path / "s.csv").write_text("\n".join(lines[::-1]) + "\n")
    with pytest.raises(FormatError, match="sort the lines"):
        fs.read(tmp_path / "s.csv", block_rows=13).compute()


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({}, "1,a\n2,b\n"),
        ({"meta": False}, "x,s\n1,a\n2,b\n"),
        ({"header": True}, "x,s\n1,a\n2,b\n"),
        ({"meta": False, "header": False}, "1,a\n2,b\n"),
    ],
)
def test_names_of_columns_are_in_the_file_or_beside_it(
    options: dict[str, bool], lines: str, tmp_path: Path
) -> None:
    path = tmp_path / "h.csv"
    fs.write(pa.table({"x": [1, 2], "s": ["a", "b"]}), path, **options)
    assert path.read_text() == lines
    assert path.with_name("h.csv.meta").exists() == options.get("meta", True)


@pytest.mark.parametrize("option", ["decimals", "width"])
def test_digits_are_whole_numbers(option: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{option}='abc': give a whole number"):
        fs.write(np.ones((2, 2)), tmp_path / "x.csv", **{option: "abc"})


@pytest.mark.parametrize("header", [False, True])
def test_a_meta_of_a_file_with_its_columns_in_another_order_is_refused(
    tmp_path: Path, header: bool
) -> None:
    path = tmp_path / "t.csv"
    fs.write(fs.Frame.from_table(pa.table({"a": ["s", "t"], "b": ["x", "y"]}), 2), path)
    rows = "p,q\nr,s\n" if header else "p,q\n"
    if header:
        meta = path.with_name("t.csv.meta")
        meta.write_text(json.dumps({**json.loads(meta.read_text()), "header": True}))
    path.write_text("b,a\n" + rows)
    with pytest.raises(FormatError, match=r"its first line, b, a, has the names .*, a, b, "):
        fs.read(path)


@pytest.mark.parametrize(
    "rows", [[["a", "b"], ["c", "d"]], [["b", "a"]], [["x", "y"], ["a", "b"]], [["0", "1"]]]
)
def test_a_first_row_of_names_is_a_row_where_the_meta_says_so(
    two_workers: fs.Cluster, tmp_path: Path, rows: list[list[str]]
) -> None:
    path, names = tmp_path / "t.csv", sorted(rows[0])
    table = pa.table([list(column) for column in zip(*rows, strict=True)], names=names)
    table = table.cast(pa.schema([(name, "i8") for name in names])) if names[0] == "0" else table
    for written in (table, fs.Frame.from_table(table, len(rows)), table[:0]):
        for header in (False, True):
            fs.write(written, path, header=header)
            expected = table if len(written) else table[:0]
            assert fs.read(path).compute().cast(table.schema).equals(expected)


@pytest.mark.parametrize("options", [{"meta": False}, {"header": True}])
def test_names_that_begin_as_a_byte_order_mark_come_back(
    tmp_path: Path, options: dict[str, bool]
) -> None:
    for names in (
        ["\ufeffa", "b"],
        ["a", "\ufeffb"],
        ["\ufeff", '\ufeff"b'],
        ['\ufeff"a', "\ufeff,"],
    ):
        fs.write(pa.table([[1], [2]], names=names), tmp_path / "t.csv", **options)
        assert fs.read(tmp_path / "t.csv").columns == tuple(names)
