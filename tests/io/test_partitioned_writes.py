"""Tables as folders of files, one folder for each value of some columns."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import freestone as fs
from freestone.errors import EmptyCollectionError, FileError, UsageError

TABLE = pl.DataFrame(
    {
        "year": [2023, 2024, 2024, None, 2023],
        "s": ["a/b", "é x", "", "q%", "a/b"],
        "x": [1.0, 2.0, 3.0, 4.0, 5.0],
        "day": [datetime.date(2024, 1, day) for day in (1, 1, 2, 2, 3)],
        "kind": pl.Series(["u", "v", "u", "u", "v"], dtype=pl.Categorical),
    }
)


def back(path: Path) -> pl.DataFrame:
    return fs.read(str(path)).to_polars().sort("x").select(TABLE.columns)


@pytest.mark.parametrize("by", ["year", ["year", "s"], ["s", "year"], "day", "kind"])
def test_what_is_written_is_read_again(by: Any, tmp_path: Path) -> None:
    fs.write(fs.Frame.from_polars(TABLE, 2), tmp_path / "t", partition_by=by)
    assert back(tmp_path / "t").equals(TABLE.with_columns(pl.col("kind").cast(str)))


def test_integers_of_64_bits_are_keys(tmp_path: Path) -> None:
    values = [-(2**63), 10**18, 0, 2**63 - 1, None]
    table = TABLE.with_columns(year=pl.Series(values, dtype=pl.Int64))
    fs.write(table, tmp_path / "t", partition_by="year")
    assert back(tmp_path / "t").get_column("year").to_list() == values
    found = fs.read(tmp_path / "t", where=[("year", ">=", 10**18)])
    assert sorted(found.to_polars().get_column("x")) == [2.0, 4.0]


def test_workers_write_the_files_of_their_blocks(two_workers: fs.Cluster, tmp_path: Path) -> None:
    frame = fs.Frame.from_polars(TABLE.head(4), 2)
    fs.write(frame, tmp_path / "t", partition_by=["year"], compression="snappy")
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert names == [
        "t/year=2023/000000.parquet",
        "t/year=2024/000000.parquet",
        "t/year=2024/000001.parquet",
        "t/year=__HIVE_DEFAULT_PARTITION__/000001.parquet",
    ]
    assert back(tmp_path / "t").equals(TABLE.head(4).with_columns(pl.col("kind").cast(str)))
    assert os.listdir(tmp_path) == ["t"]


def test_other_formats(tmp_path: Path) -> None:
    table = TABLE.select("year", "s", "x")
    for format in ("csv", "jsonl", "arrow"):
        fs.write(table, tmp_path / format, partition_by="s", format=format)
        found = fs.read(str(tmp_path / format)).to_polars().sort("x").select(table.columns)
        assert found.equals(table), format


REFUSED: list[tuple[Any, Any, str]] = [
    (TABLE, "x", "column 'x' is of double"),
    (TABLE, ["z"], "there are 'year', 's'"),
    (TABLE, [], "give names of columns"),
    (TABLE, ["s", "s"], "each once"),
    (TABLE.select("s"), "s", "none is left for the files"),
    (TABLE.rename({"s": ""}), "", "column without a name"),
    (TABLE.rename({"s": "_s"}), "_s", "rename column '_s'"),
    (TABLE.with_columns(s=pl.lit("007")), "s", "such as '007', would be read as int64"),
    (TABLE.with_columns(year=pl.Series([1, 2**63, 3, 4, 5], dtype=pl.UInt64)), "year", str(2**63)),
    (TABLE.with_columns(s=pl.lit("2024-01-01")), "s", "would be read as date32"),
    (TABLE.with_columns(s=pl.lit("__HIVE_DEFAULT_PARTITION__")), "s", "read as a null"),
    (np.ones(3), "x", "takes a frame or a table"),
]


@pytest.mark.parametrize(("table", "by", "reason"), REFUSED)
def test_what_would_be_read_as_something_else_is_refused(
    table: Any, by: Any, reason: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=reason):
        fs.write(table, tmp_path / "t", partition_by=by)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    fs.write(TABLE, tmp_path / "t", partition_by="s")
    with pytest.raises(FileError, match=r"already, with 's=.*another name, or remove it"):
        fs.write(TABLE.head(1), tmp_path / "t", partition_by="s")
    assert len(back(tmp_path / "t")) == 5
    with pytest.raises(EmptyCollectionError, match="no rows"):
        fs.write(TABLE.head(0), tmp_path / "u", partition_by="s")
    with pytest.raises(UsageError, match="is no path"):
        fs.write(TABLE, "memory://u", partition_by="s")
