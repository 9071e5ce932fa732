"""Lazy frames on a cluster: what they send, what they know before, and what they refuse."""

from __future__ import annotations

import datetime
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from freestone.collections.tables import LIMITS
from freestone.errors import (
    ColumnClashError,
    ColumnTypeError,
    DroppedError,
    EmptyCollectionError,
    MissingColumnError,
    UsageError,
)
from tests.collections.tables.drawing import CUT, MOVED, limits

ROWS = 4_000
TABLE = pl.DataFrame(
    {
        "station": np.arange(ROWS) % 37,
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(n % 300) for n in range(ROWS)],
        "rain": np.random.default_rng(0).gamma(2.0, 3.0, ROWS),
        "note": [None if n % 5 else f"note {n}" for n in range(ROWS)],
    }
)
STATIONS = pl.DataFrame({"station": range(30), "name": [f"S{n}" for n in range(30)]})


def monthly(rain: object, stations: object) -> object:
    """Ask something that filters, joins, groups and sorts."""
    return (
        rain.filter(pl.col("rain") > 1.0)  # type: ignore[attr-defined]
        .join(stations, on="station")
        .group_by("name", pl.col("day").dt.month().alias("month"))
        .agg(
            pl.col("rain").sum(),
            pl.col("rain").median().alias("median"),
            notes=pl.col("note").count(),
        )
        .sort("name", "month")
    )


@pytest.mark.parametrize(
    "sizes", [{}, CUT | {"part_nbytes": 40_000}, MOVED | {"part_nbytes": 40_000}]
)
def test_a_query_on_two_workers(two_workers: fs.Cluster, sizes: dict[str, int]) -> None:
    expected = monthly(TABLE.lazy(), STATIONS.lazy()).collect()  # type: ignore[attr-defined]
    with limits(**sizes):
        rain = fs.Frame.from_polars(TABLE, 500)
        found = monthly(rain, fs.Frame.from_polars(STATIONS, 7))
        assert found.is_lazy
        assert_frame_equal(found.to_polars(), expected)
        assert not found.is_lazy
        assert len(found) == len(expected)
        assert all(isinstance(block, fs.Future) for block in found.blocks)


def test_the_schema_is_known_before_anything_is_computed(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_function(
        10, 5, lambda a, b: {"n": list(range(a, b)), "s": ["x"] * (b - a)}
    )
    assert frame.schema == pa.schema({"n": pa.int64(), "s": pa.string()})
    lazy = frame.filter(pl.col("n") > 2).select("s", m=pl.col("n") / 2)
    assert (lazy.columns, lazy.schema.types) == (("s", "m"), [pa.large_string(), pa.float64()])
    assert lazy.is_lazy
    assert repr(lazy) == f"<freestone.Frame {lazy.name!r}: lazy, 2 columns>"
    assert "lazy" in lazy._repr_html_()
    assert (len(lazy), lazy.is_lazy) == (7, True)


def test_a_frame_that_was_computed_is_not_computed_again(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 500).filter(pl.col("rain") > 3).persist()
    blocks = frame.blocks
    assert frame.select(pl.len()).to_polars().item() == len(frame)
    assert frame.blocks == blocks
    assert sum(len(block) for block in frame.iter_blocks()) == len(frame)


def test_the_blocks_of_a_lazy_frame_are_those_of_a_collection(cluster: fs.Cluster) -> None:
    lazy = fs.Frame.from_polars(TABLE, 500).filter(pl.col("station") == 3)
    rows = sum(
        cluster.submit(lambda part: sum(table.num_rows for table in part), part).result()
        for part in fs.split(lazy)
    )
    assert rows == len(TABLE.filter(pl.col("station") == 3))
    assert lazy[1:3].compute().num_rows == 2
    assert lazy.map_blocks(lambda table: table.select(["rain"])).columns == ("rain",)


def test_frames_go_to_and_come_from_others(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE.lazy())
    assert len(frame.blocks) == 2
    assert_frame_equal(frame.to_polars(), TABLE)
    assert_frame_equal(frame.collect(), TABLE)
    assert_frame_equal(pl.DataFrame(frame), TABLE)
    assert pa.table(frame).equals(frame.to_arrow())
    assert_frame_equal(fs.Frame.from_arrow(pa.table(frame), 999).to_polars(), TABLE)
    lazy = frame.head(3)
    assert pl.DataFrame(lazy).equals(TABLE.head(3))


def test_an_index_of_pandas_is_kept_as_a_column(cluster: fs.Cluster) -> None:
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=pd.Index(["a", "b", "c"], name="letter"))
    frame = fs.Frame.from_pandas(table, 2)
    assert frame.columns == ("x", "letter")
    pd.testing.assert_frame_equal(frame.to_pandas(), table)
    assert frame.filter(pl.col("letter") > "a").select("letter").to_pandas()["letter"].tolist() == [
        "b",
        "c",
    ]


def test_blocks_of_types_that_go_together_have_one(cluster: fs.Cluster) -> None:
    blocks = [pa.table({"a": pa.nulls(2), "b": [1, 2]}), pa.table({"b": [3], "a": ["x"]})]
    frame = fs.Frame.from_blocks(blocks)
    assert frame.schema == pa.schema({"a": pa.string(), "b": pa.int64()})
    found = frame.filter(pl.col("b") > 1).to_polars()
    assert found.rows() == [(None, 2), ("x", 3)]


def test_what_can_not_be_is_refused_before_anything_runs(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 500)
    other = fs.Frame.from_polars(STATIONS)
    with pytest.raises(
        MissingColumnError, match=r"rian.*did you mean 'rain'.*'station', 'day'"
    ) as e:
        frame.filter(pl.col("rian") > 1)
    assert (e.value.step, e.value.columns[0]) == ("filter", "station")
    assert str(pickle.loads(pickle.dumps(e.value))) == str(e.value)
    for step in (
        lambda: frame.filter(pl.col("rain") > "much"),
        lambda: frame.select(pl.col("rain") + pl.col("note")),
        lambda: frame.with_columns(pl.col("rain").str.len_chars()),
        lambda: frame.join(other, left_on="station", right_on="name"),
        lambda: frame.filter("rain"),
    ):
        with pytest.raises(ColumnTypeError, match=r"can't .*; cast the column first"):
            step()
    with pytest.raises(ColumnClashError, match=r"rain.*give one another name"):
        frame.select("rain", pl.col("day").alias("rain"))
    with pytest.raises(MissingColumnError, match="can't join"):
        frame.join(other, on="day")
    with pytest.raises(MissingColumnError) as missing:
        frame.join(frame, on="nowhere")
    assert str(missing.value).count("'station'") == 1
    with pytest.raises(
        TypeError, match=r"join\(\) takes a freestone.Frame, not what is of type Data"
    ):
        frame.join(STATIONS, on="station")  # type: ignore[arg-type]
    with pytest.raises(EmptyCollectionError):
        fs.Frame.from_blocks([]).filter(pl.col("x") > 1)


@pytest.mark.parametrize("method", ["head", "tail", "limit", "slice"])
@pytest.mark.parametrize("rows", ["a", 1.5, None])
def test_a_number_of_rows_that_is_none_is_refused(method: str, rows: Any) -> None:
    frame = fs.Frame.from_table({"a": [1, 2, 3]}, 2)
    with pytest.raises(TypeError, match=r"\(.*\): it is a whole number of rows, as in .*\(5\)"):
        getattr(frame, method)(rows)
    assert len(frame.head(np.int64(2))) == 2


def test_a_negative_number_of_rows_is_refused() -> None:
    frame = fs.Frame.from_table({"a": [1, 2, 3]}, 2)
    for ask in (
        lambda: frame.head(-1),
        lambda: frame.tail(-1),
        lambda: frame.slice(0, -1),
        lambda: frame.top_k(-1, by="a"),
        lambda: frame.group_by("a").head(-1),
    ):
        with pytest.raises(ValueError, match=r"\(-1\): it is a number of rows, 0 or more"):
            ask()
    assert frame.slice(-2).to_polars()["a"].to_list() == [2, 3]


def test_names_that_arrow_can_not_have_are_refused() -> None:
    rows = {"day": [1, 1], "kind": ["a\0", "b"], "mm": [1.0, 2.0]}
    frame = fs.Frame.from_table(rows, 1)
    with pytest.raises(UsageError, match=r"a column can't be called 'a\\x00'"):
        frame.pivot("kind", index="day", values="mm")
    with pytest.raises(UsageError, match="no NUL bytes; replace them"):
        frame.rename({"mm": "m\0m"})
    with pytest.raises(UsageError, match="no NUL bytes; replace them"):
        fs.Frame.from_polars(pl.DataFrame({"m\0m": [1]}))
    assert frame.to_polars()["kind"].to_list() == ["a\0", "b"]


def test_a_block_may_be_a_frame_of_polars(cluster: fs.Cluster) -> None:
    made = fs.Frame.from_function(4, 2, lambda start, stop: TABLE.lazy().slice(start, stop - start))
    assert_frame_equal(made.to_polars(), TABLE.head(4))


def test_a_value_that_can_not_be_cast_is_found_where_it_is(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 500).with_columns(pl.col("note").cast(pl.Int64))
    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion from `str` to `i64`"):
        frame.to_polars()


def test_types_that_arrow_does_not_have_are_named() -> None:
    wide = pl.DataFrame({"a": [1], "b": [2]}, schema={"a": pl.Int64, "b": pl.Int128})
    with pytest.raises(TypeError, match=r"column 'b' is of polars' type Int128.*cast it"):
        fs.Frame.from_polars(wide)
    frame = fs.Frame.from_polars(wide.select("a"))
    with pytest.raises(TypeError, match="column 'a' is of polars' type Int128"):
        frame.cast({"a": pl.Int128}).to_arrow()


def test_objects_of_python_are_refused() -> None:
    """Arrow would get their addresses."""
    objects = pl.DataFrame({"a": [1], "b": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(TypeError, match="column 'b' is of polars' type Object"):
        fs.Frame.from_polars(objects)


def test_a_dict_is_no_list_of_columns() -> None:
    """Its values would be left out in silence."""
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [1, 2], "s": ["a", "b"]}))
    for step in (
        lambda: frame.group_by("s").agg({"k": "sum"}),
        lambda: frame.group_by({"s": "k"}).len(),
        lambda: frame.sort({"k": True}),
        lambda: frame.unique({"k": True}),
        lambda: frame.join(frame, on={"k": "k"}),
    ):
        with pytest.raises(TypeError, match="not a dict"):
            step()


def test_a_step_without_what_it_needs_is_refused() -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [1, 2]}))
    with pytest.raises(ValueError, match="nothing to sort by"):
        frame.sort([])
    with pytest.raises(ValueError, match=r"join.. by no columns: .*how='cross'"):
        frame.join(frame, on=[])
    with pytest.raises(TypeError, match=r"rename.. takes a dict of old names"):
        frame.rename(str.upper)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="has no 'filterr'; did you mean 'filter'"):
        frame.filterr  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"write agg\(pl.col\('b'\).std\(\)\)"):
        frame.group_by("k").std()  # type: ignore[attr-defined]


def test_a_dropped_frame_says_so(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 500)
    lazy = frame.filter(pl.col("rain") > 3)
    frame.drop()
    with pytest.raises(DroppedError, match="was dropped"):
        lazy.to_polars()
    lazy.drop()
    with pytest.raises(DroppedError):
        lazy.to_polars()
    assert LIMITS.small_nbytes > 0


def test_functions_of_python_are_called_on_workers(cluster: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(TABLE, 500)
    digits = pl.col("station").map_elements(lambda n: len(f"{n:b}"), return_dtype=pl.Int64)
    expected = sum(len(f"{n:b}") for n in TABLE["station"])
    assert frame.select(digits.sum()).to_polars().item() == expected


@pytest.mark.parametrize("how", [{"strategy": "forward"}, {"strategy": "mean"}, {"value": 0}])
def test_nulls_are_filled_by_a_strategy(how: dict[str, Any]) -> None:
    table = pl.DataFrame({"a": [1, None, None, 4, None], "b": [None, 2.5, None, None, 7.0]})
    frame = fs.Frame.from_polars(table, 2)
    assert_frame_equal(frame.fill_null(**how).to_polars(), table.fill_null(**how))
    for wrong in ({}, how | {"value": 1, "strategy": "forward"}, {"strategy": "none"}):
        with pytest.raises(ValueError, match=r"value|strategy"):
            frame.fill_null(**wrong)


def test_values_for_each_row_go_with_all_rows(cluster: fs.Cluster) -> None:
    with limits(**CUT | {"part_nbytes": 16}):
        frame = fs.Frame.from_polars(pl.DataFrame({"x": [1, 2, 3, 4]}), 2)
        assert frame.filter([True, False, False, True]).to_polars().rows() == [(1,), (4,)]
        assert frame.with_columns(pl.Series("y", [5, 6, 7, 8])).to_polars()["y"].to_list() == [
            5,
            6,
            7,
            8,
        ]
        # As many as a part has rows are too few.
        with pytest.raises(pl.exceptions.ShapeError):
            frame.filter([True, False]).to_polars()
