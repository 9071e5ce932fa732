"""Forms of CSV that people have: comments, blank lines, decimal commas, blanks between cells."""

from __future__ import annotations

import gzip
import io
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import FormatError, UsageError

ROWS = {"a": [1, 3], "b": [2, 4]}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, text: str, **options: Any) -> Any:
    path.write_bytes(text.encode())
    return fs.read(path, **options)


def columns(path: Path, text: str, **options: Any) -> Any:
    return read(path, text, **options).compute().to_pydict()


# -- lines that are no rows -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("a,b\n1,2\n\n3,4\n", 1),
        ("\n\na,b\n1,2\n3,4\n", 2),
        ("a,b\r\n\r\n1,2\r\n\r\n\r\n3,4\r\n\r\n", 4),
        ("a,b\n1,2\n3,4\n\n\n", None),
        ("a,b\n1,2\n3,4\n\r\n\r\n", None),
    ],
)
def test_blank_lines_are_no_rows(path: Path, text: str, left_out: int | None) -> None:
    found = read(path, text)
    assert found.compute().to_pydict() == ROWS
    assert dict(found.found).get("blank_lines") == left_out


def test_blank_lines_among_numbers_and_not_in_quotes(path: Path) -> None:
    found = read(path, "1,2\n\n3,4\n\n")
    np.testing.assert_array_equal(found.compute(), [[1, 2], [3, 4]])
    quoted = 'a,b\n"x\n\ny",2\n\n"z",4\n'
    assert columns(path, quoted) == {"a": ["x\n\ny", "z"], "b": [2, 4]}
    assert "blank_lines" not in read(path, 'a,b\n"x\n\ny",2\n').found


def test_a_blank_line_of_a_single_column_is_a_missing_value(path: Path) -> None:
    assert columns(path, "a\n1\n\n3\n") == {"a": [1, None, 3]}
    text = "# c\na\n1\n\n# c\n3\n"
    assert columns(path, text, comment="#") == {"a": [1, None, 3]}


def test_skipped_lines_are_counted_with_blank_ones(path: Path) -> None:
    assert columns(path, "A title\n\na,b\n1,2\n\n3,4\n", skip=2) == ROWS
    assert columns(path, "A title\n\n# c\na,b\n1,2\n\n3,4\n", skip=2, comment="#") == ROWS


@pytest.mark.parametrize("comment", ["#", "%", "//"])
def test_lines_that_begin_like_a_comment_are_left_out(path: Path, comment: str) -> None:
    text = '# by "hand\na,b\n  # c\n"x\n# y",2\n# z\n"# w",4\n# end'.replace("#", comment)
    rows = {"a": [f"x\n{comment} y", f"{comment} w"], "b": [2, 4]}
    assert columns(path, text, comment=comment) == rows
    numbers = read(path, "# c\n1,2\n# c\n3,4\n".replace("#", comment), comment=comment)
    np.testing.assert_array_equal(numbers.compute(), [[1, 2], [3, 4]])


def test_comments_in_other_encodings_and_compressed_files(tmp_path: Path) -> None:
    text = "# für alle\na,b\n1,ä\n# noch\n3,ö\n"
    (tmp_path / "l.csv").write_bytes(text.encode("latin-1"))
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = {"a": [1, 3], "b": ["ä", "ö"]}
    found = fs.read(tmp_path / "l.csv", comment="#", encoding="latin-1", header=True)
    assert found.compute().to_pydict() == rows
    assert fs.read(tmp_path / "c.csv.gz", comment="#").compute().to_pydict() == rows
    both = fs.read([tmp_path / "c.csv.gz"] * 2, comment="#", columns=["a"])
    assert both.compute().to_pydict() == {"a": [1, 3, 1, 3]}


# -- numbers --------------------------------------------------------------------------------------


def test_decimal_commas_are_found_where_they_surely_are(path: Path) -> None:
    found = read(path, "a;b\n3,14;x\n-2,5e3;y\n7;z\n")
    assert found.compute().to_pydict() == {"a": [3.14, -2500.0, 7.0], "b": ["x", "y", "z"]}
    assert found.found == {"separator": ";", "decimal": ",", "header": True}
    assert columns(path, "3,14;2\n2,5;3\n") == {"col_0": [3.14, 2.5], "col_1": [2, 3]}
    found = read(path, "a;b\n1.234,5;x\n7,25;y\n")
    assert found.compute().to_pydict() == {"a": [1234.5, 7.25], "b": ["x", "y"]}
    assert found.found == {"separator": ";", "decimal": ",", "thousands": ".", "header": True}
    assert columns(path, "a;b\n0,1;x\n-5;y\n1e-05;z\n") == {
        "a": [0.1, -5.0, 1e-05],
        "b": ["x", "y", "z"],
    }
    found = read(path, "0,1;x;-47\n2,2;y;3\n", header=False)
    assert found.compute().to_pydict() == {
        "col_0": [0.1, 2.2],
        "col_1": ["x", "y"],
        "col_2": [-47, 3],
    }
    day = {"a": [1.5], "d": [pd.Timestamp(2024, 2, 29).date()]}
    assert columns(path, "a;d\n1,5;29.02.2024\n", dates={"d": "%d.%m.%Y"}) == day


@pytest.mark.parametrize("mark", [" ", "'", "\u00a0"])
@pytest.mark.parametrize("end", [";", ";x", ";2024-01-02"])
def test_decimal_commas_are_found_beside_thousands_that_are_given(
    path: Path, mark: str, end: str
) -> None:
    for cells in (["1,5", "2,25"], ["1,5", f"1{mark}000,25"], [f"1{mark}234,567", "1,234"]):
        text = "a;b;c\n" + "".join(f"{cell};7{end}\n" for cell in cells)
        found = read(path, text, thousands=mark)
        numbers = [float(cell.replace(mark, "").replace(",", ".")) for cell in cells]
        assert found.compute()["a"].to_pylist() == numbers
        assert found.found["decimal"] == ","
        assert "thousands" not in found.found
        # A single line is a row, and separators are found in front of it, too.
        [number] = columns(path, f"{cells[0]}{end}\n", thousands=mark, header=False)["col_0"]
        assert number == numbers[0]
    for text in ("a;b\n1,234;2\n", "a;b\n1,5;2.5\n"):
        assert isinstance(columns(path, text, thousands=mark)["a"][0], str)


@pytest.mark.parametrize("options", [{}, {"header": False}])
def test_decimal_commas_are_found_in_the_first_line_if_it_is_a_row(
    path: Path, options: dict[str, Any]
) -> None:
    for text in ("1,5;2024-01-01\n", "1,5;x\n", "1,5;x\n1,234;y\n", "1.234,5;x\n1,5;y\n"):
        found = read(path, text, **options)
        cells = [line.split(";")[0] for line in text.splitlines()]
        numbers = [float(cell.replace(".", "").replace(",", ".")) for cell in cells]
        assert found.compute()["col_0"].to_pylist() == numbers
    assert columns(path, "1,5;2.5\n", header=False) == {"col_0": ["1,5"], "col_1": [2.5]}


def test_numbers_without_a_point_are_no_others_beside_decimal_commas(path: Path) -> None:
    for cell in ("1e-05", "inf"):
        found = columns(path, f"a;b\n1,5;{cell}\n2,5;{cell}\n")
        assert found == {"a": [1.5, 2.5], "b": [float(cell)] * 2}
    # Nor are points thousands where they were decimal ones.
    found = columns(path, "a;b\n1.234,5;1.234\n2,5;5.678\n")
    assert found == {"a": ["1.234,5", "2,5"], "b": [1.234, 5.678]}


def test_points_between_thousands_are_found_beside_decimal_commas(path: Path) -> None:
    found = read(path, "a;b;c\n6.005.800;63,146;1.2.3\n583.221;43,91;1.234\n")
    rows = {"a": [6005800, 583221], "b": [63.146, 43.91], "c": ["1.2.3", "1.234"]}
    assert found.compute().to_pydict() == rows
    assert found.found == {"separator": ";", "decimal": ",", "thousands": ".", "header": True}
    # Versions, dates, and points without a decimal comma anywhere are none.
    for text in ("a;b\n1.2.3;1,5\n", "a;b\n01.02.2024;1,5\n", "a;b\n6.005.800;1\n"):
        found = read(path, text)
        assert "thousands" not in found.found
        assert isinstance(found.compute()["a"][0].as_py(), str)


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n1,234;2\n2,555;3\n",  # thousands, perhaps
        "a;b;c\n1,23;2;1.5\n2,55;3;2.5\n",  # a point is there, too
        "a;b\n1,23;2\nx,y;3\n",
    ],
)
def test_other_commas_stay_text(path: Path, text: str) -> None:
    found = read(path, text)
    assert "decimal" not in found.found
    assert found.compute().schema.field("a").type == pa.large_string()


def test_marks_that_are_given(path: Path) -> None:
    text = "a;b;c\n1.234,5;1.5.4;x,y\n-2.000.000,25;2.5;3,4\n7;;\n"
    rows = {"a": [1234.5, -2000000.25, 7.0], "b": ["1.5.4", "2.5", None], "c": ["x,y", "3,4", None]}
    assert columns(path, text, decimal=",", thousands=".") == rows
    assert columns(path, "a;b\n1,234;2\n", decimal=",") == {"a": [1.234], "b": [2]}
    assert columns(path, "a;b\n1,234;2\n", thousands=",") == {"a": [1234], "b": [2]}
    assert columns(path, "a,b\n1'000,2\n", thousands="'") == {"a": [1000], "b": [2]}
    options: dict[str, Any] = {"decimal": ",", "types": {"a": pa.decimal128(9, 2)}}
    assert str(columns(path, "a;b\n3,14;2\n", **options)["a"][0]) == "3.14"
    with pytest.raises(FormatError, match=r'row 2, column 1: "3.14" is not float64'):
        read(path, "a;b\n3.14;2\n", decimal=",", types={"a": "f8"}).compute()


@given(
    values=st.lists(
        st.one_of(st.none(), st.floats(-1e7, 1e7).map(lambda value: round(value, 3))),
        min_size=1,
        max_size=20,
    )
)
def test_numbers_are_those_that_pandas_reads(values: list[float | None]) -> None:
    texts = ["" if v is None else f"{v:,.3f}".translate(str.maketrans(",.", ".,")) for v in values]
    text = "a;b\n" + "".join(f"{each};x\n" for each in texts)
    fs.write(np.zeros((1, 1)), "memory://forms.csv", meta=False)
    fs.io.stores.locate("memory://forms.csv").write_bytes(text.encode())
    found = fs.read("memory://forms.csv", decimal=",", thousands=".", types={"a": "f8"})
    theirs = pd.read_csv(io.StringIO(text), sep=";", decimal=",", thousands=".")
    np.testing.assert_allclose(found.to_pandas()["a"], theirs["a"].astype(float), rtol=1e-15)


# -- blanks ---------------------------------------------------------------------------------------


def test_any_number_of_blanks_between_cells(path: Path) -> None:
    text = '# c\n  a\tb   c \n 1.5   2  "x  y"\n33  4 z\n\n'
    rows = {"a": [1.5, 33.0], "b": [2, 4], "c": ["x  y", "z"]}
    assert columns(path, text, separator=r"\s+", comment="#") == rows
    numbers = read(path, "  1.0    2\n 33   4.5  \n", separator=r"\s+").compute()
    np.testing.assert_array_equal(numbers, [[1, 2], [33, 4.5]])
    # Words above numbers are their names.
    found = read(path, "a b\n1 2\n3 4\n")
    assert (found.compute().to_pydict(), found.found["separator"]) == (ROWS, " ")


# -- separators at the ends of rows ---------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"header": True}, {"missing": "NA"}, {"kind": "frame"}])
def test_rows_may_end_in_a_separator_that_the_header_lacks(
    path: Path, options: dict[str, Any]
) -> None:
    found = read(path, "a,b\n1,2,\n3,4,\n", **options)
    assert found.found["trailing_separator"] is True
    assert found.compute().to_pydict() == ROWS


def test_separators_at_the_ends_go_with_other_options(path: Path) -> None:
    text = "x;day\n1,5;2024-01-02;\n2,5;;\n"
    found = read(path, text, dates=["day"])
    assert found.compute().to_pydict() == {"x": [1.5, 2.5], "day": [date(2024, 1, 2), None]}
    assert read(path, text, columns=["x"]).compute().to_pydict() == {"x": [1.5, 2.5]}


def test_a_first_row_without_one_is_no_header(path: Path) -> None:
    with pytest.raises(FormatError, match="it ends in a separator"):
        read(path, "1,2\n1,2,\n3,4,\n", header=False, kind="frame")


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# by hand\na,b\n1,2\n", "comment='#' leaves lines out"),
        ("a,b\n1,2\n# c\n3,4\n", "comment='#' leaves lines out"),
        ("# a b\n1 2\n", "comment='#' leaves lines out"),
        ("sep=;\na;b\n1;x\n", "skip=1 leaves it out"),
        ("My title\na,b\n1,2\n", "skip=1 leaves out what stands above the header"),
        ("a,b\n1,2,\n3,4\n", "it ends in a separator, and the first line does not"),
        ("a,b\n" + "1,2,\n" * 30 + "3,4\n", "row 32 .* does not end in a separator, as rows"),
        ("a,b\n" + "1,2,\n" * 30 + "3,4,5\n", "the last cell is not empty in all rows"),
        ("a,b\nx,1,2\ny,3,4\n", "add a name to the header, or read them by skip=1"),
        ("\n\r\n\n", "blank lines alone"),
        (" \n\n", "blank lines alone"),
        ("a,b\n1,2\n  \n3,4\n", "it has blanks alone"),
        ("a   b\n1   2\n33  4\n", r'separator=r"\\s\+" takes any number of blanks'),
    ],
)
def test_errors_say_what_the_matter_may_be(path: Path, text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        read(path, text)


@pytest.mark.parametrize(
    "options",
    [
        {"comment": ""},
        {"comment": '"'},
        {"comment": 3},
        {"decimal": ";"},
        {"decimal": ",", "separator": ","},
        {"thousands": "."},
        {"thousands": "x"},
        {"decimal": ",", "kind": "array"},
    ],
)
def test_options_that_make_no_sense_are_refused(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="|".join(options)):
        read(path, "a;b\n1;2\n", **options)


def test_workers_read_blocks_of_such_files(two_workers: fs.Cluster, path: Path) -> None:
    lines = [f"{n},{n % 10};{n}" for n in range(1000)]
    lines[300:300] = ["", "# c"]
    found = read(path, "\n".join(["# c", "x;n", *lines]), comment="#", block_rows=300)
    assert found.compute()["n"].to_pylist() == list(range(1000))
    assert found.compute()["x"].to_pylist() == [n + n % 10 / 10 for n in range(1000)]
