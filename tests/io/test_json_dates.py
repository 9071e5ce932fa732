"""Dates and times in JSON lines are texts in ISO 8601, which `dates=` reads as such."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import freestone as fs
from freestone.errors import FormatError, UsageError

MOMENT = datetime(2024, 1, 31, 10, 20, 30, 400_000)
TABLE = pa.table(
    {
        "n": [1, 2, 3],
        "day": pa.array([date(2024, 1, 31), None, date(1969, 12, 31)]),
        "at": pa.array([MOMENT, None, datetime(1, 1, 1)], pa.timestamp("us")),
        "utc": pa.array([MOMENT, None, MOMENT], pa.timestamp("us", "UTC")),
        "name": ["2024", "b", None],
    }
)


@pytest.mark.parametrize("blocks", [1, 2])
def test_dates_are_written_and_read(two_workers: fs.Cluster, tmp_path: Path, blocks: int) -> None:
    path = tmp_path / "a.jsonl"
    fs.write(fs.Frame.from_table(TABLE, -(-3 // blocks)), path)
    assert fs.read(path).compute()["day"].to_pylist() == ["2024-01-31", None, "1969-12-31"]
    assert fs.read(path, dates=True, block_rows=2).compute().equals(TABLE)
    some = fs.read(path, dates=["day", "utc"], columns=["utc", "day"], where=[("n", "!=", 2)])
    assert some.compute().to_pydict() == {
        "utc": [MOMENT.replace(tzinfo=UTC)] * 2,
        "day": [date(2024, 1, 31), date(1969, 12, 31)],
    }


def test_what_csv_and_json_lines_read_of_one_frame_is_the_same(tmp_path: Path) -> None:
    kinds = [
        pa.timestamp(unit, zone) for unit in ("s", "ms", "ns") for zone in (None, "Asia/Tokyo")
    ]
    table = pa.table(
        {str(kind): pa.array([MOMENT], pa.timestamp("us")).cast(kind, safe=False) for kind in kinds}
    )
    table = table.append_column("n", pa.array([1]))
    for name in ("a.csv", "a.jsonl"):
        fs.write(table, tmp_path / name)
    assert fs.read(tmp_path / "a.jsonl").compute() == fs.read(tmp_path / "a.csv").compute().cast(
        pa.schema([(n, pa.int64() if n == "n" else pa.string()) for n in table.schema.names])
    )


def test_parts_of_a_file_have_one_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freestone.io.formats.jsonl.PART_NBYTES", 30)
    path = tmp_path / "a.jsonl"
    path.write_text('{"d": null}\n{"d": "2024-01-31"}\n{"d": "2024-01-31T10:00:00"}\n')
    found = fs.read(path, dates=["d"]).compute()["d"]
    assert found.type == pa.timestamp("us")
    assert found.to_pylist() == [None, datetime(2024, 1, 31), datetime(2024, 1, 31, 10)]
    path.write_text('{"d": "2024-01-31"}\n{"d": "2024-01-31"}\n{"d": "soon"}\n')
    assert fs.read(path, dates=True).compute()["d"].to_pylist()[-1] == "soon"
    with pytest.raises(FormatError, match=r'row 3, column 1: "soon" is not date32.*change dates='):
        fs.read(path, dates="d").compute()


def test_times_that_have_no_common_unit_stay_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("freestone.io.formats.jsonl.PART_NBYTES", 30)
    texts = ["2024-01-31T10:00:00.123456789", "9999-01-31T10:00:00"]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f'{{"d": "{text}"}}\n' for text in texts))
    assert fs.read(path, dates=True).compute()["d"].to_pylist() == texts
    with pytest.raises(FormatError, match=r"row 2.*is not timestamp\[ns\]"):
        fs.read(path, dates=["d"]).compute()


def test_a_form_is_that_of_strptime(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"d": "31.01.2024", "year": 2024}\n{"d": "29.02.2024", "year": null}\n')
    found = fs.read(path, dates={"d": "%d.%m.%Y", "year": "%Y"}).compute().to_pydict()
    assert found == {"d": [date(2024, 1, 31), date(2024, 2, 29)], "year": [date(2024, 1, 1), None]}


@pytest.mark.parametrize("dates", [True, ["day"], ["day", "utc"]])
def test_files_without_rows_go_with_others(tmp_path: Path, dates: Any) -> None:
    fs.write(TABLE.slice(0, 0), tmp_path / "0.jsonl")
    fs.write(TABLE, tmp_path / "1.jsonl")
    found = fs.read(f"{tmp_path}/*.jsonl", dates=dates).compute()
    assert found.equals(fs.read(tmp_path / "1.jsonl", dates=dates).compute())


MISTAKES: list[tuple[Any, str]] = [
    (["dy"], "no column 'dy', .*did you mean 'day'"),
    (["tags"], "'tags' is list.*dates= is for texts"),
    (5, "dates=5"),
]


@pytest.mark.parametrize(("dates", "reason"), MISTAKES)
def test_mistakes_are_named(tmp_path: Path, dates: Any, reason: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"day": "2024-01-31", "tags": [1]}\n')
    with pytest.raises(UsageError, match=reason):
        fs.read(path, dates=dates)


ROWS = [
    ('{"a": 1}\n{"a": }\n', "in row 2"),
    ('{"a": 1}\n{"a": "x"}\n', r"changed from number to string in row 2"),
    ('[{"a": 1}]\n', r"row 1 begins with '\['"),
]


@pytest.mark.parametrize(("text", "reason"), ROWS)
def test_errors_count_rows_from_1(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(FormatError, match=reason):
        fs.read(tmp_path / "a.jsonl")


OPTIONS = [
    ("a.csv", {"variable": "t"}, "it is an option of netcdf; there are"),
    ("a.csv", {"variabel": "t"}, r"did you mean 'variable', an option of netcdf\?"),
    ("a.csv", {"seperator": ";"}, r"did you mean 'separator'\?"),
    ("a.nc", {"dataset": "t"}, "write variable=; there are"),
    ("a.h5", {"variable": "t"}, "write dataset=; there are"),
    ("a.jsonl", {"missing": "NA"}, r"it is an option of csv; there are: .*dates"),
    ("a.parquet", {"zzz": 1}, "to read .*a.parquet; there are: kind"),
]


@pytest.mark.parametrize(("name", "options", "reason"), OPTIONS)
def test_options_of_other_formats_are_named(
    tmp_path: Path, name: str, options: dict[str, Any], reason: str
) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(UsageError, match=reason):
        fs.read(tmp_path / name, **options)


def test_options_of_writing_are_named_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"'dimensions' to write .*it is an option of netcdf"):
        fs.write(TABLE, tmp_path / "a.parquet", dimensions="day")
