"""What CSV files show of themselves: read as pandas reads them, or refused with what to pass."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import freestone as fs
from freestone.cli import main
from freestone.errors import FormatError, UsageError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, text: str, **options: Any) -> Any:
    path.write_bytes(text.encode())
    found = fs.read(path, **options).compute()
    return found.tolist() if isinstance(found, np.ndarray) else found.to_pydict()


TABLES = [
    (",a,b\n0,1,x\n1,2,y\n", {"": [0, 1], "a": [1, 2], "b": ["x", "y"]}),
    (",a\n0,x\n1,y\n", {"": [0, 1], "a": ["x", "y"]}),
    (",0,1\n0,0.5,2\n1,1.5,3\n", {"": [0, 1], "0": [0.5, 1.5], "1": [2, 3]}),
    ("a,,c\n1,2,3\n", {"a": [1], "": [2], "c": [3]}),
    ("who,day\nanna,2024-01-01\n", {"who": ["anna"], "day": ["2024-01-01"]}),
    ("at,who\n12:30,anna\n", {"at": ["12:30"], "who": ["anna"]}),
    ("2024-01-01,5\n2024-01-02,6\n", {"col_0": ["2024-01-01", "2024-01-02"], "col_1": [5, 6]}),
    ("anna,1\nbob,2\n", {"col_0": ["anna", "bob"], "col_1": [1, 2]}),
    ("1,2\n2,3.5\n", [[1, 2], [2, 3.5]]),
]


@pytest.mark.parametrize(("text", "expected"), TABLES)
def test_what_the_cells_show(path: Path, text: str, expected: Any) -> None:
    assert read(path, text) == expected


UNDECIDED = [
    "anna,berlin\nbob,paris\n",
    "a,b,c\n",
    "a\nb\nc\n",
    ",x\n1,y\n",
    "0,1,2\n0.5,1.5,2.5\n",
    "2019,2020\n0.5,1.5\n",
    "who,2019,2020\nanna,1.5,2.5\n",
    "unknown,5\n3,4\n",
]


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_they_do_not_show_is_refused_with_what_to_pass(path: Path, text: str) -> None:
    with pytest.raises(FormatError, match=r"names the columns; pass header=True .* header=False"):
        read(path, text)
    rows = text.splitlines()
    named = read(path, text, header=True, kind="frame")
    assert list(named) == rows[0].split(",")
    assert all(len(column) == len(rows) - 1 for column in named.values())
    plain = read(path, text, header=False, kind="frame")
    assert all(len(column) == len(rows) for column in plain.values())


SEPARATED = [
    ("a;b\n1;2\n", ";"),
    ("a\tb\n1\t2\n", "\t"),
    ("a|b\n1|2\n", "|"),
    ("a;b\n1,555;2\n", ";"),
]


@pytest.mark.parametrize(("text", "separator"), SEPARATED)
def test_other_separators(path: Path, text: str, separator: str) -> None:
    path.write_text(text)
    found = fs.read(path)
    assert found.found == {"separator": separator, "header": True}
    pandas = pd.read_csv(path, sep=separator)
    pd.testing.assert_frame_equal(found.to_pandas(), pandas, check_dtype=False)
    given = fs.read(path, separator=separator, header=True)
    assert given.found == {}
    assert given.compute() == found.compute()


def test_numbers_with_other_separators(path: Path) -> None:
    for text, separator in [("1;2\n3;4\n", ";"), ("1 2\n3 4\n", " "), ("1\t2\n3\t4\n", "tab")]:
        assert read(path, text) == read(path, text, separator=separator) == [[1, 2], [3, 4]]
    rows = {"col_0": [1.5, 3.5], "col_1": [2.5, 4.5]}
    assert read(path, "1,5;2,5\n3,5;4,5\n") == rows
    # Commas that may stand between thousands are texts above texts.
    with pytest.raises(FormatError, match="pass header=True"):
        read(path, "1,555;2,555\n3,555;4,555\n")
    assert read(path, " 1  2\n11 12\n", header=False) == {"col_0": [" 1  2", "11 12"]}
    # Texts may have any characters, if the reader is told so.
    assert read(path, "a;b\nc;d\n", separator=",", header=True) == {"a;b": ["c;d"]}
    with pytest.raises(UsageError, match="give one of them"):
        read(path, "1,2\n", separator=";", delimiter=";")
    with pytest.raises(UsageError, match="separator='ab'"):
        read(path, "1,2\n", separator="ab")
    with pytest.raises(FormatError, match="CR alone"):
        read(path, "x\r1\r2\r")
    for separator in (",", ";"):
        for text in ("a,b\r1,2\r", "1,2\r3,4\r", '"a\rb",1\r2,3\r'):
            with pytest.raises(FormatError, match="CR alone"):
                read(path, text.replace(",", separator), separator=separator, header=False)


def test_fractions_below_which_rows_are_numbered_are_no_sure_names(path: Path) -> None:
    with pytest.raises(FormatError, match="pass header=True"):
        read(path, ";1.5;595.25\n0;2.5;0.5\n")
    rows = {"": [0, 1, 2], "1.5": [1, 2, 3]}
    assert read(path, ";1.5\n0;1\n1;2\n2;3\n") == rows
    assert read(path, ";2020\n0;1.5\n") == {"": [0], "2020": [1.5]}


@pytest.mark.parametrize("options", [{}, {"header": False}, {"header": False, "separator": ","}])
def test_returns_in_quotes_end_no_line(path: Path, options: dict[str, Any]) -> None:
    rows = {"col_0": [7], "col_1": ["x|\r\r y"], "col_2": ["1989-12-25"]}
    assert read(path, '7,"x|\r\r y",1989-12-25\n', **options) == rows


def test_tables_are_written_with_other_separators(path: Path) -> None:
    table = pd.DataFrame({"a": [1, 2], "b": ["x;y", "z"]})
    fs.write(table, path, separator=";", header=True, meta=False)
    pd.testing.assert_frame_equal(pd.read_csv(path, sep=";"), table)
    assert fs.read(path, separator=";").to_pandas().to_dict("list") == table.to_dict("list")


def test_a_file_is_converted_from_another_separator(path: Path, tmp_path: Path) -> None:
    path.write_text("a\tb\nx\ty\n")
    options = ["--read", "separator=tab", "--read", "header=true", "--write", "header=true"]
    out = tmp_path / "out.csv"
    assert main(["convert", str(path), str(out), *options, "--write", "separator=;"]) == 0
    assert out.read_text() == "a;b\nx;y\n"


CELLS: list[list[Any]] = [
    ["1", "2", "-3"],
    ["1.5", "-0.25", "1e3"],
    ["1", "", "3"],
    ["1.5", "", "nan"],
    ["x", "y z", "w"],
    ["x", '"a,b"', '"say ""hi"""'],
    ["2024-01-01", "2024-05-06", "2023-12-31"],
    ["True", "False", "True"],
    ['"q"', "w", '"r"'],
]


@pytest.mark.parametrize("seed", range(150))
def test_small_files_are_read_as_pandas_reads_them(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    separator = rng.choice([",", ",", ";", "\t", "|"])
    kinds = [rng.choice(CELLS) for _ in range(rng.randint(1, 4))]
    rows = [[rng.choice(kind) for kind in kinds] for _ in range(rng.randint(0, 5))]
    names = [rng.choice(["a{}", "b b{}", '"c{}"', "D{}"]).format(n) for n in range(len(kinds))]
    names[0] = rng.choice([names[0], ""]) if len(kinds) > 1 else names[0]
    header = rng.random() < 0.7
    lines = ([names] if header else []) + rows
    end = rng.choice(["\n", "\r\n"])
    text = end.join(separator.join(cells) for cells in lines) + (end if lines else "")
    path.write_bytes(text.encode())
    options = {"separator": separator, "header": header, "kind": "frame"}
    if not any(map(any, lines)):
        return
    expected = pd.read_csv(
        path, sep=separator, header=0 if header else None, skip_blank_lines=False
    )
    stated = fs.read(path, **options).to_pandas()
    _check_same(stated, expected, header)
    found = _guessed(path)
    if found is not None:
        _check_same(found, expected, header)


def _guessed(path: Path) -> pd.DataFrame | None:
    """Return what is read without options; None if it is refused for want of `header`."""
    try:
        return fs.read(path, kind="frame").to_pandas()
    except FormatError as error:
        if "pass header=" in str(error):
            return None
        raise


def _check_same(found: pd.DataFrame, expected: pd.DataFrame, header: bool) -> None:
    assert found.shape == expected.shape
    if header:
        blank = ["" if str(name).startswith("Unnamed") else name for name in expected.columns]
        assert list(found.columns) == blank
    for at in range(expected.shape[1]):
        ours, theirs = found.iloc[:, at].tolist(), expected.iloc[:, at].tolist()
        for one, other in zip(ours, theirs, strict=True):
            missing = one is None or one != one or one in ("nan", "")
            assert (missing and other != other) or str(one) == str(other) or one == other


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ({"sep": ";"}, "write separator="),
        ({"usecols": ["a"]}, r"write columns=\['name'\]"),
        ({"na_values": ["x"]}, "write missing="),
        ({"names": ["a"]}, "frame.rename"),
        ({"dtype": {"a": "f8"}}, "types= has those of a frame's columns"),
    ],
)
def test_the_words_of_other_libraries_get_what_to_write(
    tmp_path: Path, option: dict[str, Any], advice: str
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UsageError, match=advice):
        fs.read(path, **option)


def test_no_format_gets_the_advice_of_another(tmp_path: Path) -> None:
    fs.write(np.ones(3), tmp_path / "x.npy")
    with pytest.raises(UsageError, match=r"no option 'sep' to read .*x\.npy; there are: "):
        fs.read(tmp_path / "x.npy", sep=";")
