"""What separates cells, beside marks inside of numbers: read as it was written, or refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError

SUMS = [17361532, 35379509]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, text: str, **options: Any) -> Any:
    path.write_bytes(text.encode(options.get("encoding", "utf-8")))
    return fs.read(path, kind="frame", **options)


def rows_of(path: Path, text: str, **options: Any) -> list[Any]:
    return list(read(path, text, **options).compute().to_pydict().values())


@pytest.mark.parametrize("separator", [";", "\t", "|", " "])
@pytest.mark.parametrize("options", [{}, {"dates": True}, {"encoding": "utf-16"}])
def test_commas_between_thousands_separate_no_cells(
    path: Path, separator: str, options: dict[str, Any]
) -> None:
    text = "5;17,361,532\n6;35,379,509\n".replace(";", separator)
    found = read(path, text, thousands=",", header=False, **options)
    assert list(found.compute().to_pydict().values()) == [[5, 6], SUMS]
    assert found.found == {"separator": separator}


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_nor_without_an_option_where_another_sign_cuts_all_rows_alike(
    path: Path, separator: str
) -> None:
    text = "a;17,361,532\nb;35,379,509\n".replace(";", separator)
    texts = ["17,361,532", "35,379,509"]
    assert rows_of(path, text, header=False) == [["a", "b"], texts]
    assert rows_of(path, text, header=False, thousands=",") == [["a", "b"], SUMS]
    text = "a;hello, world\nb;x\n".replace(";", separator)
    assert rows_of(path, text, header=False) == [["a", "b"], ["hello, world", "x"]]


@pytest.mark.parametrize(
    ("text", "options", "values"),
    [
        ("17,361,532\n35,379,509\n", {"thousands": ",", "header": False}, SUMS),
        ("17,361,532\n35,379,509\n", {"thousands": ","}, SUMS),
        ("17,361,532\n\n35,379,509\n", {"thousands": ",", "dates": True}, [SUMS[0], None, SUMS[1]]),
        ("x\n17,361,532\n35,379,509\n", {"thousands": ",", "encoding": "utf-16"}, SUMS),
        ("x\n1,5\n2,25\n", {"decimal": ","}, [1.5, 2.25]),
        ("x\n1,5\nNA\n", {"decimal": ",", "missing": "NA"}, [1.5, None]),
        ("1.234,5\n-7\n", {"decimal": ",", "thousands": "."}, [1234.5, -7.0]),
        ('x\n"q, r"\n"s"\n', {"thousands": ",", "header": True}, ["q, r", "s"]),
    ],
)
def test_one_column_of_numbers_with_commas(
    path: Path, text: str, options: dict[str, Any], values: list[Any]
) -> None:
    assert rows_of(path, text, **options) == [values]
    assert "separator" not in read(path, text, **options).found
    assert rows_of(path, text, separator=";", **options) == [values]


def test_blanks_between_thousands_separate_no_cells(path: Path) -> None:
    assert rows_of(path, "17 361 532\n35 379 509\n", thousands=" ", header=False) == [SUMS]


def test_commas_separate_where_numbers_that_have_them_are_in_quotes(path: Path) -> None:
    text = 'name,sum\nfoo,"17,361,532"\n"b, c","35,379,509"\n'
    found = read(path, text, thousands=",")
    assert list(found.compute().to_pydict().values()) == [["foo", "b, c"], SUMS]
    assert found.found == {"separator": ",", "header": True}
    assert rows_of(path, text, thousands=",", separator=",") == [["foo", "b, c"], SUMS]
    assert rows_of(path, 'x,n\n"1,5",2\n"2,5",3\n', decimal=",") == [[1.5, 2.5], [2, 3]]


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("x,y\n1,5\n3,5\n", {"decimal": ","}),
        ("name,sum\nfoo,12\n", {"thousands": ","}),
        ("x\n5 apples, red\n", {"thousands": ","}),
        ("a;1,234\nb;1,5;2\n", {"thousands": ",", "header": False}),
    ],
)
def test_nothing_that_separates_is_refused_with_what_to_pass(
    path: Path, text: str, option: dict[str, Any]
) -> None:
    name = next(iter(option))
    with pytest.raises(FormatError, match=rf"{name}=',' is for .*pass separator= .*{name}= out"):
        read(path, text, **option)


def test_two_signs_that_could_separate_are_refused(path: Path) -> None:
    with pytest.raises(FormatError, match=r"both ';' and ',' could be .* pass separator="):
        read(path, "a;hello, world\nb;x, y\n", header=False)
    # Numbers and dates show which of them does.
    assert rows_of(path, "5;hello, world\n6;x, y\n", header=False)[0] == [5, 6]
    assert rows_of(path, "1,a;b\n2,c;d\n", header=False) == [[1, 2], ["a;b", "c;d"]]


def test_of_two_separators_in_a_single_line_none_is_sure(path: Path) -> None:
    for text in ("1,2,3;5\n", "-1,805;1,2,3;Ann\n"):
        with pytest.raises(FormatError, match="could be between its cells"):
            read(path, text, header=False)
    # A comma that is named as a mark is none.
    assert rows_of(path, "p,q;-824,7\n", header=False, decimal=",") == [["p,q"], [-824.7]]


def test_the_separator_of_a_meta_is_no_decimal_comma(path: Path) -> None:
    fs.write(np.ones((2, 2)), path)
    with pytest.raises(UsageError, match=r"decimal=',' and separator=',' are the same"):
        fs.read(path, decimal=",")


# -- tables of random cells -----------------------------------------------------------------------


def _number(rng: random.Random, decimal: str, thousands: str) -> tuple[str, float]:
    """Return a number as text, and what it is."""
    whole = rng.choice([rng.randint(0, 999), rng.randint(1000, 10**8)])
    shown = f"{whole:,}".replace(",", thousands)
    if rng.random() < 0.5:
        return shown, whole
    part = rng.randint(1, 9999)
    return f"{shown}{decimal}{part:04d}", float(f"{whole}.{part:04d}")


def _cell(text: str, separator: str, rng: random.Random, quotes: bool) -> str:
    has_sign = any(sign in text for sign in (separator, "\n", '"'))
    if has_sign or (quotes and rng.random() < 0.3):
        return '"' + text.replace('"', '""') + '"'
    return text


def check_random_table(path: Path, seed: int) -> bool:
    """Compare a random table with what is read of its text; False if that is refused."""
    rng = random.Random(seed)
    decimal, thousands = rng.choice([(".", ","), (",", "."), (".", ""), (",", ""), (",", " ")])
    separator, quotes = rng.choice([";", "\t", "|", ","]), rng.random() < 0.5
    kinds = [rng.choice(["number", "text", "date"]) for _ in range(rng.randint(1, 4))]
    columns, texts = [], []
    for kind in kinds:
        count = rng.randint(1, 6) if not columns else len(columns[0])
        if kind == "number":
            both = [_number(rng, decimal, thousands) for _ in range(count)]
            texts.append([text for text, _ in both])
            columns.append([value for _, value in both])
        else:
            words = ["ab", "q, r", "s;t", "1.2.3", 'say "x"', "two\nlines", "x y"]
            days = [f"2024-0{n}-17" for n in range(1, 10)]
            texts.append([rng.choice(words if kind == "text" else days) for _ in range(count)])
            columns.append(texts[-1])
    has_header = rng.random() < 0.6
    lines = [[f"c{n}" for n in range(len(kinds))]] * has_header + [
        list(row) for row in zip(*texts, strict=True)
    ]
    end = rng.choice(["\n", "\r\n"])
    text = "".join(
        separator.join(_cell(cell, separator, rng, quotes) for cell in line) + end for line in lines
    )
    options: dict[str, Any] = {"header": has_header} if rng.random() < 0.8 else {}
    options |= {"decimal": decimal} if decimal == "," or rng.random() < 0.3 else {}
    options |= {"thousands": thousands} if thousands else {}
    try:
        found = [column.to_pylist() for column in read(path, text, **options).compute().columns]
    except FormatError as error:
        if any(
            advice in str(error) for advice in ("pass separator=", "pass header=", " cells, and ")
        ):
            return False
        raise
    assert found == columns, (text, options)
    return True


def test_random_tables_are_read_as_they_were_written_or_refused(path: Path) -> None:
    assert sum(check_random_table(path, seed) for seed in range(150)) > 100
