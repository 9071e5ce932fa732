"""Columns of JSON lines have the types that `types=` says, of the texts that are in the file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError

LINES = """{"id": 7, "n": 1, "p": 0.10, "b": true, "t": "2024-01-31", "x": [1, 2]}
{"id": "007", "n": "2", "p": 12345678901234.55, "t": null,
 "x": [], "late": 1.5}

{"x": null, "id": 123456789012345678901234567890, "n": null, "b": "false"}
"""
TYPES = {"id": "str", "n": "int16", "p": pa.decimal128(20, 2), "b": "bool", "t": "date32"}


@pytest.mark.parametrize("part_nbytes", [8 << 20, 20])
def test_values_are_of_their_texts(
    two_workers: fs.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part_nbytes: int
) -> None:
    monkeypatch.setattr("freestone.io.formats.jsonl.PART_NBYTES", part_nbytes)
    path = tmp_path / "a.jsonl"
    path.write_text(LINES)
    found = fs.read(path, types=TYPES, block_rows=2).compute()
    assert found.to_pydict() == {
        "id": ["7", "007", "123456789012345678901234567890"],
        "n": [1, 2, None],
        "p": [Decimal("0.10"), Decimal("12345678901234.55"), None],
        "b": [True, None, False],
        "t": [dt.date(2024, 1, 31), None, None],
        "x": [[1, 2], [], None],
        "late": [None, 1.5, None],
    }
    assert found.schema.field("n").type == pa.int16()
    some = fs.read(path, types=TYPES, columns=["id"], where=[("n", ">", 1)])
    assert some.compute().to_pydict() == {"id": ["007"]}


def test_csv_and_json_lines_read_the_same(tmp_path: Path) -> None:
    table = pa.table({"i": ["01", "2", None], "f": ["1e3", "0.5", None], "d": ["2024-01-31"] * 3})
    types = {"i": "u2", "f": "f4", "d": "timestamp[us]"}
    for form in ("csv", "jsonl"):
        fs.write(table, tmp_path / f"a.{form}")
    found = [fs.read(tmp_path / f"a.{form}", types=types).compute() for form in ("csv", "jsonl")]
    assert found[0] == found[1]


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ('{"n": 1}\n{"n": "x"}\n', {"n": "i4"}, r'row 2, column 1: "x" is not int32; change types='),
    ('{"n": 1}\n{"n": 1.5}\n', {"n": "i4"}, r'row 2, column 1: "1.5" is not int32'),
    ('{"n": 1}\n{"n": 300}\n', {"n": "i1"}, r'row 2, column 1: "300" is not int8'),
    ('{"n": 1}\n{"n": [3]}\n', {"n": "i1"}, r"row 2: column 'n' has \[3\], and types= is for"),
    ('{"n": 1}\n{"n": 3\n', {"n": "i1"}, r"a\.jsonl .*row 2"),
    ('{"n": 1, "n": 2}\n', {"n": "i1"}, "specified twice in row 1"),
    ('[{"n": 1}]\n', {"n": "i1"}, r"row 1 begins with '\['"),
]


@pytest.mark.parametrize(("text", "types", "reason"), MISTAKES)
def test_values_of_other_types_are_refused_with_their_row(
    tmp_path: Path, text: str, types: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(FormatError, match=reason):
        fs.read(path, types=types).compute()


def test_columns_that_are_not_there_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"mass": 1}\n')
    with pytest.raises(UsageError, match=r"no column 'mas', of which types=.*did you mean"):
        fs.read(path, types={"mas": "i8"})
    with pytest.raises(UsageError, match="types= and dates= both speak"):
        fs.read(path, types={"mass": "i8"}, dates=["mass"])


def test_a_file_without_values_has_the_types_that_types_names(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"n": null}\n')
    (tmp_path / "2.jsonl").write_text('{"n": "5"}\n')
    (tmp_path / "3.jsonl").write_text("")
    found = fs.read(tmp_path, types={"n": "i2"}).compute()
    assert found.to_pydict() == {"n": [None, 5]}
    assert fs.read(tmp_path / "1.jsonl", types={"n": "i2"}).compute().schema == found.schema
