"""Views of texts that executors keep fit the same block wherever it is mapped next."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from polars import col

import freestone as fs
from freestone.collections.tables import views
from freestone.collections.tables.views import Kept, viewed
from tests.collections.tables.drawing import limits, same

TEXTS = ["short", None, "a text that is longer than a view", "", "ü" * 9, "of twelve by"] * 50
TABLE = pa.table({"text": pa.array(TEXTS, pa.large_string()), "n": range(len(TEXTS))})
TABLES = {
    "whole": TABLE,
    "slice": TABLE.slice(7, 100),
    "chunks": pa.concat_tables([TABLE.slice(3, 10), TABLE.slice(1, 0), TABLE]),
    "short": TABLE.slice(0, 1),
    "nulls": pa.table({"text": pa.nulls(5, pa.large_string())}),
    "32 bits": TABLE.set_column(0, "text", TABLE["text"].cast(pa.string())),
}


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    """Have nothing kept of tests before."""
    found = Kept(1 << 20)
    monkeypatch.setattr(views, "_kept", lambda: found)
    return found


def again(table: pa.Table) -> pa.Table:
    """Return the same table at other addresses."""
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(buffer.getvalue()).read_all()


@pytest.mark.parametrize("name", TABLES)
def test_what_is_kept_fits_where_the_table_is_mapped_next(name: str, kept: Kept) -> None:
    table = again(TABLES[name])
    for copy in (table, again(table), again(table)):
        found = viewed(copy, name)
        assert found.schema.field("text").type == pa.string_view()
        found.validate(full=True)
        assert found["text"].to_pylist() == table["text"].to_pylist()
        assert pl.Series(found["text"]).to_list() == table["text"].to_pylist()
    assert kept.nbytes <= 16 * 3 * len(TEXTS)


def test_slices_are_kept_by_where_they_begin(kept: Kept) -> None:
    for start in (0, 5, 0, 5):
        table = TABLE.slice(start, 50)
        assert viewed(table, f"b[{start}:]")["text"].to_pylist() == table["text"].to_pylist()
    assert len(kept._views) == 2


def test_nothing_is_kept_without_a_name(kept: Kept) -> None:
    viewed(TABLE)
    assert not kept.nbytes


def test_what_was_used_last_is_kept() -> None:
    def column(name: str) -> tuple[tuple[str, str], pa.ChunkedArray, pa.ChunkedArray]:
        texts = pa.chunked_array([pa.array([name] * 100, pa.large_string())])
        return (name, "text"), texts, texts.cast(pa.string_view())

    kept = Kept(3 * 1600)
    columns = {name: column(name) for name in "abcd"}
    for name in "abc":
        kept.add(*columns[name])
    assert kept.get(*columns["a"][:2]) == columns["a"][2]
    kept.add(*columns["d"])
    assert kept.nbytes == 3 * 1600
    assert [name for name in "abcd" if kept.get(*columns[name][:2]) is not None] == ["a", "c", "d"]


def test_queries_are_the_same_when_asked_again(cluster: fs.Cluster) -> None:
    table = pl.DataFrame({"text": TEXTS * 40, "n": range(len(TEXTS) * 40)})
    with limits(small_nbytes=10_000, part_nbytes=1 << 18):
        frame = fs.Frame.from_polars(table, 1 + len(table) // 3)
        for least in range(6):
            made = frame.filter(col("n") >= least, col("text") > "a").group_by("text").agg(pl.len())
            lazy = table.lazy().filter(col("n") >= least, col("text") > "a")
            expected = lazy.group_by("text").agg(pl.len()).collect()
            same(made.to_polars(), expected, ordered=False)
