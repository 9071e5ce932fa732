"""Filters and columns of frames of files that are not read yet: only what is needed is read."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.tables.pushing import as_where
from freestone.errors import FileChangedError, FormatError

ROWS, GROUP = 400, 100
TABLE = pa.table(
    {
        "n": np.arange(ROWS),
        "x": np.arange(ROWS) / 4,
        "s": [f"k{number // GROUP}" for number in range(ROWS)],
        "junk": np.random.default_rng(3).normal(size=ROWS),
    }
)


def damage(path: Path, groups: set[int], columns: set[str]) -> None:
    """Overwrite the values of some row groups, and of some columns in the others."""
    raw, metadata = bytearray(path.read_bytes()), pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            if group in groups or chunk.path_in_schema in columns:
                begin = chunk.dictionary_page_offset or chunk.data_page_offset
                end = begin + chunk.total_compressed_size
                raw[begin:end] = b"\xff" * (end - begin)
    path.write_bytes(raw)


@pytest.fixture
def path(two_workers: fs.Cluster, tmp_path: Path) -> Path:
    """A file of which only two columns of the last row group can be read."""
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path, row_group_size=GROUP)
    damage(path, {0, 1, 2}, {"junk"})
    return path


def test_only_what_a_query_needs_is_read(path: Path) -> None:
    frame = fs.read(path)
    with pytest.raises(FormatError):
        fs.read(path).compute()
    found = frame.filter(pl.col("n") >= 350).select("n", "x").to_polars()
    assert found["n"].to_list() == list(range(350, 400))
    found = frame.select("s", "n").filter(s="k3").filter(pl.col("n") % 2 == 0).to_polars()
    assert found["n"].to_list() == list(range(300, 400, 2))
    grouped = frame.filter(pl.col("s").is_in(["k3", "k7"])).group_by("s").agg(pl.col("x").sum())
    assert grouped.to_polars().rows() == [("k3", sum(range(300, 400)) / 4)]
    assert frame.filter(pl.col("n") > 1000).select("n").to_polars().height == 0


def test_a_filter_that_needs_all_rows_is_not_moved(path: Path) -> None:
    frame = fs.read(path)
    with pytest.raises(FormatError):
        frame.filter(pl.col("n") >= pl.col("n").mean()).filter(pl.col("n") >= 300).to_polars()
    with pytest.raises(FormatError):
        frame.with_columns(n=pl.col("n") + 300).filter(pl.col("n") >= 300).to_polars()


def test_many_files_and_what_their_folders_say(two_workers: fs.Cluster, tmp_path: Path) -> None:
    for year in (2023, 2024):
        folder = tmp_path / "data" / f"year={year}"
        folder.mkdir(parents=True)
        pq.write_table(TABLE, folder / "t.parquet", row_group_size=GROUP)
    damage(tmp_path / "data" / "year=2023" / "t.parquet", {0, 1, 2, 3}, set())
    frame = fs.read(tmp_path / "data", where=[("n", "<", 200)])
    found = frame.filter((pl.col("year") == 2024) & (pl.col("n") >= 100)).select("year", "n")
    assert found.to_polars().rows() == [(2024, number) for number in range(100, 200)]
    assert frame.filter(pl.col("year") > 2024).select("n").to_polars().height == 0


@pytest.mark.parametrize("suffix", ["arrow", "orc"])
def test_other_columnar_formats(two_workers: fs.Cluster, tmp_path: Path, suffix: str) -> None:
    fs.write(fs.Frame.from_table(TABLE, GROUP), tmp_path / f"t.{suffix}")
    frame = fs.read(tmp_path / f"t.{suffix}")
    assert "not read yet, 4 columns" in repr(frame)
    found = frame.filter(pl.col("n") < 5).select("s", n=pl.col("n") * 2).to_polars()
    assert found.rows() == [("k0", 2 * number) for number in range(5)]
    assert "not read yet" in repr(frame)
    assert len(frame) == ROWS
    # What was read as a whole is not read again.
    assert frame.persist().compute().equals(TABLE)
    (tmp_path / f"t.{suffix}").unlink()
    assert frame.filter(pl.col("n") < 5).to_polars().height == 5


@pytest.mark.parametrize("suffix", [".arrow", ".arrows", ".parquet"])
def test_texts_as_polars_writes_them(two_workers: fs.Cluster, tmp_path: Path, suffix: str) -> None:
    """Views, also in lists and structs, which Arrow's functions do not take."""
    frame = pl.DataFrame(
        {
            "n": [1, 2, 3],
            "s": ["a", None, "a text that is longer than a view holds"],
            "b": [b"a", None, b"c"],
            "lists": [["x"], [], None],
            "pairs": pl.Series([["a", "b"]] * 3, dtype=pl.Array(pl.String, 2)),
            "structs": [{"u": "1", "v": [{"w": "2"}]}] * 3,
            "kinds": pl.Series(["k", "l", "k"], dtype=pl.Categorical),
        }
    )
    path = tmp_path / f"polars{suffix}"
    if suffix == ".arrows":
        frame.write_ipc_stream(path)
    else:
        (frame.write_ipc if suffix == ".arrow" else frame.write_parquet)(path)
    for test in (pl.col("n") > 1, pl.col("s") == "a"):
        assert fs.read(path).filter(test).to_polars().equals(frame.filter(test))
    for where in [("s", "==", "a"), ("kinds", "in", ["l"])]:
        found = fs.read(path, where=where, columns=["lists", "kinds", "structs"]).to_polars()
        wanted = frame.filter(pl.col("s") == "a" if where[0] == "s" else pl.col("kinds") == "l")
        assert found.equals(wanted.select("lists", "kinds", "structs"))


def test_a_file_that_changes_is_noticed(two_workers: fs.Cluster, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(TABLE, path)
    frame = fs.read(path)
    pq.write_table(TABLE.slice(1), path)
    for query in (frame.filter(pl.col("n") > 3), frame.select("n")):
        with pytest.raises(FileChangedError):
            query.to_polars()


MIXED = pl.DataFrame(
    {
        "i": pl.Series([None, -5, 0, 1, 2, 100], dtype=pl.Int8),
        "f": [0.0, -0.0, float("nan"), None, 2.5, float("inf")],
        "g": pl.Series([0.1, 0.5, float("nan"), None, -2.5, 1e30], dtype=pl.Float32),
        "s": ["", "a", "b", None, "é", "zz"],
        "d": [dt.date(2024, 1, n) if n != 3 else None for n in range(1, 7)],
        "t": [dt.datetime(2024, 1, n) if n != 4 else None for n in range(1, 7)],
        "b": [True, False, None, True, False, True],
    }
)
LITERALS = st.one_of(
    st.sampled_from([-200, -5, 0, 1, 2, 2.5, 0.1, 0.5, 1e30, float("nan"), float("inf")]),
    st.sampled_from(["", "a", "é", dt.date(2024, 1, 2), dt.datetime(2024, 1, 2), True]),
)
COLUMNS = st.sampled_from(MIXED.columns).map(lambda name: pl.col(name))
SIGNS = st.sampled_from(["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
TESTS = st.one_of(
    st.builds(lambda one, sign, value: getattr(one, sign)(value), COLUMNS, SIGNS, LITERALS),
    st.builds(lambda one, sign, value: getattr(pl.lit(value), sign)(one), COLUMNS, SIGNS, LITERALS),
    st.builds(lambda one: one.is_null(), COLUMNS),
    st.builds(lambda one: one.is_not_null(), COLUMNS),
    st.builds(
        lambda one, low, high, closed: one.is_between(pl.lit(low), pl.lit(high), closed),
        COLUMNS,
        LITERALS,
        LITERALS,
        st.sampled_from(["both", "left", "right", "none"]),
    ),
    st.builds(
        lambda one, values: one.is_in(values),
        COLUMNS,
        st.one_of(
            st.lists(st.integers(-10, 300), max_size=3),
            st.lists(st.text(max_size=1)),
            # Lists that are integers of 64 bits without a sign, and of 128.
            st.sampled_from([[2**64 - 1], [2**63, -1], [2**64 - 1, None], [2**70, 1]]),
        ),
    ),
)
PREDICATES = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.builds(lambda one, other: one & other, inner, inner),
        st.builds(lambda one, other: one | other, inner, inner),
        st.builds(lambda one: ~one, inner),
    ),
    max_leaves=4,
)


@settings(deadline=None, max_examples=300)
@given(st.lists(PREDICATES, min_size=1, max_size=2))
def test_no_row_is_left_out_that_polars_keeps(tests: list[Any]) -> None:
    rows = MIXED.with_row_index("row")
    try:
        kept = rows.filter(*tests)["row"].to_list()
    except pl.exceptions.PolarsError:
        return
    table = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
    where = as_where(tests, table.schema)
    if where is not None:
        assert {*kept} <= {*table.filter(where)["row"].to_pylist()}


PUSHED = [
    ("i", pl.col("i") > 1, [4, 5]),
    ("f", pl.col("f") > 2, [2, 4, 5]),
    ("s", pl.col("s").is_between(pl.lit("a"), pl.lit("b")), [1, 2]),
    ("d", dt.date(2024, 1, 2) >= pl.col("d"), [0, 1]),
    ("t", pl.col("t").is_null() | (pl.col("t") < dt.datetime(2024, 1, 2)), [0, 3]),
    ("i", pl.col("i").is_in([1, 2]) & pl.col("b").not_(), [3, 4]),
]


@pytest.mark.parametrize(("column", "test", "rows"), PUSHED)
def test_what_has_a_counterpart_is_pushed_down(column: str, test: Any, rows: list[int]) -> None:
    table = MIXED.with_row_index("row").to_arrow(compat_level=pl.CompatLevel.oldest())
    where = as_where([test], table.schema)
    assert table.filter(where)["row"].to_pylist() == rows
