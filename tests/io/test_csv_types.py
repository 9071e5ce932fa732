"""CSV with lines in front, texts for missing values, dates, and types of columns."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import freestone as fs
from freestone.cli import main
from freestone.errors import FormatError, UsageError

TEXT = (
    "# of station 7; by hand\n"
    "# units: , km\n"
    "id;km;day;ok\n"
    "007;1.5;2024-02-29;true\n"
    "008;NA;-;false\n"
    "-;-3;2024-03-01;NA\n"
)
ROWS = {
    "id": ["007", "008", None],
    "km": [1.5, None, -3.0],
    "day": [dt.date(2024, 2, 29), None, dt.date(2024, 3, 1)],
    "ok": [True, False, None],
}
OPTIONS: dict[str, Any] = {
    "skip": 2,
    "missing": ["NA", "-"],
    "types": {"id": "str"},
    "dates": True,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, text: str, **options: Any) -> Any:
    path.write_bytes(text.encode())
    return fs.read(path, **options).compute()


def test_what_the_user_says_of_a_file_and_what_it_shows(path: Path) -> None:
    path.write_text(TEXT)
    found = fs.read(path, **OPTIONS)
    assert found.compute().to_pydict() == ROWS
    assert found.found == {"separator": ";", "header": True}
    assert found.compute().schema.types == [
        pa.large_string(),
        pa.float64(),
        pa.date32(),
        pa.bool_(),
    ]
    packed = path.with_suffix(".csv.gz")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert fs.read(packed, **OPTIONS).compute().to_pydict() == ROWS


def test_workers_read_parts_of_one_file_and_of_many(path: Path) -> None:
    numbers = [f"{n},{'NA' if n % 7 == 0 else n / 2},2024-01-{n % 28 + 1:02}" for n in range(5000)]
    path.write_text("a comment\nn,x,day\n" + "\n".join(numbers) + "\n")
    other = path.with_name("u.csv")
    other.write_text("a comment\nn;x;day\n5000;1;2024-02-03\n")
    options = {"skip": 1, "missing": "NA", "dates": ["day"]}
    with fs.Cluster(workers=2, executors=1, memory="256MiB", disk="1GiB"):
        one = fs.read(path, block_rows=900, **options)
        assert len(one.blocks) == 6
        many = fs.read(f"{path.parent}/*.csv", **options)
        assert many.found == {"separator": (",", ";"), "header": True}
        table = many.compute()
        assert one.compute() == table.slice(0, 5000)
    assert table["n"].to_pylist() == list(range(5001))
    assert table["x"].to_pylist() == [n / 2 if n % 7 else None for n in range(5000)] + [1.0]
    days = [dt.date(2024, 1, n % 28 + 1) for n in range(5000)]
    assert table["day"].to_pylist() == [*days, dt.date(2024, 2, 3)]


def test_the_wrong_cell_of_a_part_is_named(path: Path) -> None:
    rows = [f"{n},2024-01-01" for n in range(1000)]
    rows[700] = "x,2024-02-30"
    path.write_text("a comment\nn,day\n" + "\n".join(rows) + "\n")
    for options, wrong in (
        ({"dates": ["day"]}, r'row 703, column 2: "2024-02-30" is not date32'),
        ({"types": {"n": "int64"}}, r'row 703, column 1: "x" is not an integer'),
        ({"types": {"day": "timestamp[us]"}}, r'row 703, column 2: "2024-02-30" is not timestamp'),
        ({"dates": {"day": "%Y-%m-%d"}}, r"row 703, column 2: .* of the form '%Y-%m-%d'"),
    ):
        with pytest.raises(FormatError, match=wrong) as caught:
            fs.read(path, skip=1, header=True, **options)
        assert caught.value.row == 703
    with pytest.raises(FormatError, match=r'row 703, column 1: "x" is not int64'):
        fs.read(path, skip=1, header=True, types={"n": "int64"}, missing=["12"])


DATES: list[tuple[str, dict[str, Any], list[Any], Any]] = [
    (
        "2024-01-02\n2024-12-31",
        {"dates": True},
        [dt.date(2024, 1, 2), dt.date(2024, 12, 31)],
        pa.date32(),
    ),
    (
        "2024-01-02 12:30\n2024-01-02",
        {"dates": True},
        [dt.datetime(2024, 1, 2, 12, 30), dt.datetime(2024, 1, 2)],
        pa.timestamp("us"),
    ),
    (
        "2024-01-02T12:30+02:00\n2024-01-02 12:30:01.5Z",
        {"dates": True},
        [
            dt.datetime(2024, 1, 2, 10, 30, tzinfo=dt.UTC),
            dt.datetime(2024, 1, 2, 12, 30, 1, 500000, tzinfo=dt.UTC),
        ],
        pa.timestamp("us", "UTC"),
    ),
    # Days that no month has, and times with and without a zone, stay what they are.
    ("2024-02-30\n2024-01-02", {"dates": True}, ["2024-02-30", "2024-01-02"], pa.large_string()),
    (
        "2024-01-02T12:30Z\n2024-01-02T12:30",
        {"dates": True},
        ["2024-01-02T12:30Z", "2024-01-02T12:30"],
        pa.large_string(),
    ),
    (
        "2.1.2024\n31.12.2024",
        {"dates": {"d": "%d.%m.%Y"}},
        [dt.date(2024, 1, 2), dt.date(2024, 12, 31)],
        pa.date32(),
    ),
    (
        "01/02/24 1:05 PM\n-",
        {"dates": {"d": "%m/%d/%y %I:%M %p"}, "missing": "-"},
        [dt.datetime(2024, 1, 2, 13, 5), None],
        pa.timestamp("us"),
    ),
    (
        "2024-01-02 12:30 +0100\n",
        {"dates": {"d": "%Y-%m-%d %H:%M %z"}},
        [dt.datetime(2024, 1, 2, 11, 30, tzinfo=dt.UTC)],
        pa.timestamp("us", "UTC"),
    ),
    ("2024-01-02\n2024-12-31", {}, ["2024-01-02", "2024-12-31"], pa.large_string()),
]


@pytest.mark.parametrize(("text", "options", "values", "kind"), DATES)
def test_dates(path: Path, text: str, options: Any, values: list[Any], kind: Any) -> None:
    lines = [f"{line},1" for line in text.split("\n") if line]
    column = read(path, "d,n\n" + "\n".join(lines) + "\n", **options)["d"]
    assert column.to_pylist() == values
    assert column.type == kind


def test_types_of_columns(path: Path) -> None:
    text = "a,b,c,d,e\n1,2,1.25,0,2024-01-01\n-1,,2.5,1,\n"
    types = {"a": np.int8, "b": "float32", "c": pa.decimal128(6, 3), "d": "bool", "e": "M8[s]"}
    table = read(path, text, types=types)
    assert table.schema.types == [
        pa.int8(),
        pa.float32(),
        pa.decimal128(6, 3),
        pa.bool_(),
        pa.timestamp("s"),
    ]
    assert table.to_pydict() == {
        "a": [1, -1],
        "b": [2.0, None],
        "c": [Decimal("1.250"), Decimal("2.500")],
        "d": [False, True],
        "e": [dt.datetime(2024, 1, 1), None],
    }
    with pytest.raises(FormatError, match=r'row 2, column 1: "300" is not an integer'):
        read(path, "a\n300\n", types={"a": "int8"})
    with pytest.raises(FormatError, match=r'row 2, column 1: "1.25" is not decimal128'):
        read(path, "a\n1.25\n", types={"a": pa.decimal128(3, 1)})


def test_the_first_line_is_the_header_if_it_has_the_names(path: Path) -> None:
    text = "who,city\nanna,berlin\n"
    with pytest.raises(FormatError, match="pass header=True"):
        read(path, text)
    assert read(path, text, types={"who": "str"}).to_pydict() == {
        "who": ["anna"],
        "city": ["berlin"],
    }
    # Numbers that go up by one may be names; a missing value below them is no text.
    assert read(path, "a,b\n1,NA\n2,NA\n", missing="NA").to_pydict() == {
        "a": [1, 2],
        "b": [None, None],
    }
    # Without the option it is a text, and no header is taken for a row.
    assert read(path, "a\n1\nNA\n", header=True).to_pydict() == {"a": ["1", "NA"]}


def test_missing_values_are_texts_as_they_stand(path: Path) -> None:
    table = read(path, 'a,b\n-999, NA \n-999.0,x\n1,"NA"\n', missing=[-999, "NA"], header=True)
    assert table.to_pydict() == {"a": [None, -999.0, 1.0], "b": [None, "x", None]}
    with pytest.raises(UsageError, match="are for frames"):
        read(path, "1,NA\n", missing="NA", kind="array")


def test_a_meta_says_the_types_and_options_the_rest(path: Path) -> None:
    fs.write(fs.Frame.from_table({"n": [1, 2, 3], "day": ["2024-01-01"] * 3}, 3), path)
    table = fs.read(path, missing=["2"], dates=["day"]).compute()
    assert table.to_pydict() == {"n": [1, None, 3], "day": [dt.date(2024, 1, 1)] * 3}


def test_lines_in_front(path: Path) -> None:
    assert read(path, "some text, of any form\n\n1,2\n3,4\n", skip=2).tolist() == [[1, 2], [3, 4]]
    for text in ('a 5" disk\n\na,b\n1,"x"\n', 'an inch is 1"\nor 2"\na,b\n1,"x"\n'):
        assert read(path, text, skip=2).to_pydict() == {"a": [1], "b": ["x"]}
        spaced = text.replace(",", "  ").replace("disk\n", "disk\n# c")
        options = {"skip": 2, "separator": r"\s+", "comment": "#", "header": True}
        assert read(path, spaced, **options).to_pydict() == {"a": [1], "b": ["x"]}
    with pytest.raises(FormatError, match="ends inside of quotes"):
        read(path, 'an inch is 1"\na,"b\n1,2\n', skip=1)
    with pytest.raises(FormatError, match=r"skip=4: it has 2 lines"):
        read(path, "1,2\n3,4\n", skip=4)
    with pytest.raises(FormatError, match="it is empty"):
        read(path, "1,2\n3,4\n", skip=2)
    with pytest.raises(FormatError, match="row 3 has 1 cells"):
        read(path, "x\n1,2\n3\n", skip=1)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"skip": -1}, "skip=-1: it is how many lines"),
    ({"skip": True}, "skip=True: it is"),
    ({"missing": {"a": 1}}, "missing=.* is a text or a list of texts"),
    ({"types": ["a"]}, "types=.* gives columns types"),
    ({"types": {"a": "float16"}}, "a column of text becomes"),
    ({"types": {"a": pa.list_(pa.int8())}}, "a column of text becomes"),
    ({"types": {"b": "i4"}}, "has no column 'b', of which types= or dates= speaks.*it has 'a'"),
    ({"dates": ["b"]}, "has no column 'b'"),
    ({"dates": [1]}, "dates=.* is True, names of columns"),
    ({"dates": "a", "types": {"a": "str"}}, "both speak of column 'a'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_options_that_make_no_sense(path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(path, "a\n1\n", header=True, **options)


def test_the_index_of_an_earlier_read_serves_any_separator(path: Path) -> None:
    rows = 150_000
    path.write_text("a;b\n" + "".join(f"{n};{n % 10}\n" for n in range(rows)))
    first = fs.read(path)
    kept = path.with_name("t.csv.index").read_bytes()
    assert kept.startswith(b"59 ")
    again = fs.read(path)
    assert again.found == first.found == {"separator": ";", "header": True}
    assert again.compute() == first.compute()
    assert path.with_name("t.csv.index").read_bytes() == kept
    # As commas, it has one column; the other index is not used.
    assert fs.read(path, separator=",", header=True).compute().column_names == ["a;b"]


def test_convert_takes_them_and_reports_what_was_found(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path.write_text(TEXT)
    out = path.with_name("out.parquet")
    words = ["skip=2", "missing=NA", "missing=-", "types.id=str", "dates=true"]
    command = ["convert", str(path), str(out), *[f"--read={word}" for word in words]]
    assert main(command) == 0
    assert "; found separator=';'; found header=True" in capsys.readouterr().out
    assert fs.read(out).compute().to_pydict() == ROWS
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == {"separator": ";", "header": True}
    assert main([*command, "--read=types=1"]) == 2
    assert "given as a whole, and by keys" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.decimal128(38, 10), ["1.20", "-0.0000000001", "12345678901234567890.123456789", None]),
        (pa.decimal128(9, -2), ["100", "-99999999900"]),
        (pa.decimal256(60, 3), ["123456789012345678901234567890123456789.5"]),
    ],
)
def test_decimals_are_written_with_all_digits(
    tmp_path: Path, kind: pa.DataType, values: list[str | None]
) -> None:
    url = tmp_path / "prices.csv"
    money = [None if each is None else Decimal(each) for each in values]
    table = pa.table({"n": range(len(values)), "money": pa.array(money, kind)})
    fs.write(table, url)
    digits = fs.read(url).compute()["money"].to_pylist()
    assert [None if each is None else Decimal(each) for each in digits] == money
    if kind.scale > 0:
        read = fs.read(url, types={"money": kind}).compute()
        assert read.equals(table)


@pytest.mark.parametrize("header", ["yes", 1, 0])
def test_a_header_is_true_or_false(tmp_path: Path, header: Any) -> None:
    url = tmp_path / "t.csv"
    fs.write(pa.table({"a": [1]}), url)
    for ask in (
        lambda: fs.read(url, header=header),
        lambda: fs.write(fs.read(url), url, header=header),
    ):
        with pytest.raises(UsageError, match=f"header={header!r}: it is True or False"):
            ask()


def test_a_frame_without_rows_takes_types(tmp_path: Path) -> None:
    fs.write(
        pa.table({"a": pa.array([], pa.int64()), "s": pa.array([], pa.string())}),
        tmp_path / "x.csv",
    )
    for types in {}, {"a": "int64"}, {"a": "float64"}:
        found = fs.read(tmp_path / "x.csv", types=types).compute()
        assert (found.num_rows, found.column_names) == (0, ["a", "s"])
