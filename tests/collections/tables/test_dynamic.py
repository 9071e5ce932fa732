"""Groups by windows on random tables, cut into random blocks, against polars."""

from __future__ import annotations

import datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.tables.lowering import lower
from freestone.errors import ColumnTypeError, MissingColumnError
from tests.collections.tables.drawing import CUT, examples, framed, limits, same, tables

AGGREGATES = [
    pl.len(),
    pl.col("x").sum().alias("sum"),
    pl.col("key").median().alias("median"),
    pl.col("word").last(),
]
OPTIONS = {
    "closed": st.sampled_from(["left", "right", "both", "none"]),
    "label": st.sampled_from(["left", "right", "datapoint"]),
    "start_by": st.sampled_from(["window", "datapoint"]),
    "include_boundaries": st.just(True),
}


@pytest.mark.parametrize("sizes", [{}, CUT])
@pytest.mark.parametrize("keys", [None, "flag", ["class", "n"]])
@examples(60)
@given(
    drawn=tables(),
    every=st.sampled_from(["1d", "2d", "1w", "36h", "1mo", "1h30m", datetime.timedelta(3)]),
    options=st.fixed_dictionaries(
        {},
        optional={
            **OPTIONS,
            "period": st.sampled_from(["3d", "12h", datetime.timedelta(1)]),
            "offset": st.sampled_from(["1d", "-7h", "-9d", "1w"]),
            "start_by": st.sampled_from(["window", "datapoint", "monday", "friday"]),
        },
    ),
    kind=st.sampled_from(
        [
            pl.Date,
            pl.Datetime("ms"),
            pl.Datetime("us", "UTC"),
            pl.Datetime("ns", "Europe/Berlin"),
        ]
    ),
    start=st.sampled_from([0, -18302 * 24, 80 * 24]),
)
def test_windows_of_time(
    sizes: dict[str, int], drawn: Any, every: Any, options: Any, keys: Any, kind: Any, start: int
) -> None:
    drawn = (_timed(drawn[0], kind, start), drawn[1])
    _check(sizes, drawn, "group_by_dynamic", "day", {"every": every, "group_by": keys, **options})


def _timed(table: pl.DataFrame, kind: Any, start: int) -> pl.DataFrame:
    """Have a table's days be times at all hours, from a day on: where summer time begins, say."""
    days = pl.col("day").cast(pl.Datetime("ms")) + pl.duration(hours=start + 5 * pl.col("key"))
    zone = getattr(kind, "time_zone", None)
    if zone:
        days = days.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return table.with_columns(days.cast(kind).alias("day"))


@pytest.mark.parametrize("sizes", [{}, CUT])
@pytest.mark.parametrize("keys", [None, "flag", ["class", "n"]])
@examples(40)
@given(
    drawn=tables(),
    period=st.sampled_from(["1d", "3d", "12h", "1w", "1mo", "25h30m", datetime.timedelta(2)]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "closed": st.sampled_from(["left", "right", "both", "none"]),
            "offset": st.sampled_from(
                ["1d", "-7h", "-9d", "-1w", "0d", "2h", "-1mo", datetime.timedelta(-1)]
            ),
        },
    ),
    kind=st.sampled_from(
        [
            pl.Date,
            pl.Datetime("ms"),
            pl.Datetime("us", "UTC"),
            pl.Datetime("ns", "Europe/Berlin"),
        ]
    ),
    start=st.sampled_from([0, -18302 * 24, 80 * 24, 300 * 24 - 30]),
)
def test_windows_of_time_around_rows(
    sizes: dict[str, int], drawn: Any, period: Any, options: Any, keys: Any, kind: Any, start: int
) -> None:
    drawn = (_timed(drawn[0], kind, start), drawn[1])
    _check(sizes, drawn, "rolling", "day", {"period": period, "group_by": keys, **options})


@pytest.mark.parametrize("sizes", [{}, CUT])
@examples(40)
@given(
    drawn=tables(),
    period=st.sampled_from(["1i", "2i", "5i"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "closed": st.sampled_from(["left", "right", "both", "none"]),
            "offset": st.sampled_from(["1i", "-4i", "0i", "-1i", "+2i"]),
        },
    ),
    index=st.sampled_from(["n", "key"]),
    keys=st.sampled_from([None, "flag"]),
)
def test_windows_of_numbers_around_rows(
    sizes: dict[str, int], drawn: Any, period: str, options: Any, index: str, keys: Any
) -> None:
    _check(sizes, drawn, "rolling", index, {"period": period, "group_by": keys, **options})


@pytest.mark.parametrize("sizes", [{}, CUT])
@examples(60)
@given(
    drawn=tables(),
    every=st.sampled_from(["1i", "2i", "5i"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            **OPTIONS,
            "period": st.sampled_from(["3i", "1i"]),
            "offset": st.sampled_from(["1i", "-4i"]),
        },
    ),
    index=st.sampled_from(["n", "key"]),
    keys=st.sampled_from([None, "flag"]),
)
def test_windows_of_numbers(
    sizes: dict[str, int], drawn: Any, every: str, options: Any, index: str, keys: Any
) -> None:
    _check(sizes, drawn, "group_by_dynamic", index, {"every": every, "group_by": keys, **options})


def _check(sizes: dict[str, int], drawn: Any, method: str, index: str, options: Any) -> None:
    table, cuts = drawn
    table = table.with_columns(pl.col(index).fill_null(strategy="max"))
    table = table.with_columns(pl.col(index).fill_null(pl.lit(0).cast(table.schema[index])))
    rows = table.sort(index, maintain_order=True)
    expected = getattr(rows, method)(index, **options).agg(AGGREGATES)
    with limits(**sizes):
        windows = getattr(framed(table, cuts), method)(index, **options)
        found = windows.agg(AGGREGATES).to_polars()
    same(found, expected, ordered=options["group_by"] is None)


@pytest.mark.parametrize("options", [{}, {"period": "25i"}, {"offset": "-1000i"}])
def test_windows_are_made_by_parts(options: dict[str, Any]) -> None:
    table = pl.DataFrame({"t": range(999, -1, -1), "x": range(1000)})
    with limits(**CUT):
        frame = fs.Frame.from_polars(table, 100).group_by_dynamic("t", every="10i", **options)
        made = frame.agg(pl.col("x").sum(), pl.col("x").last().alias("last"))
        parts = lower(made._as_node(), None).parts
        assert len(parts) > 4
        found = made.to_polars()
    expected = table.sort("t").group_by_dynamic("t", every="10i", **options)
    same(found, expected.agg(pl.col("x").sum(), pl.col("x").last().alias("last")), ordered=True)


@pytest.mark.parametrize("options", [{}, {"offset": "-5i"}, {"offset": "20i", "closed": "both"}])
def test_windows_around_rows_are_made_by_parts(options: dict[str, Any]) -> None:
    table = pl.DataFrame({"t": range(999, -1, -1), "x": range(1000)})
    aggregates = [pl.col("x").sum(), pl.col("x").last().alias("last")]
    with limits(**CUT):
        made = (
            fs.Frame.from_polars(table, 100).rolling("t", period="10i", **options).agg(aggregates)
        )
        assert len(lower(made._as_node(), None).parts) > 4
        found = made.to_polars()
    expected = table.sort("t").rolling("t", period="10i", **options).agg(aggregates)
    same(found, expected, ordered=True)


def test_windows_at_the_ends_of_64_bits() -> None:
    # What is before the least number, polars itself makes wrong.
    least, most = -(2**63) + 1, 2**63 - 1
    table = pl.DataFrame({"t": [least, least + 1, -1, 0, most - 1, most] * 20, "x": range(120)})
    table = table.sort("t", maintain_order=True)
    with limits(**CUT):
        frame = fs.Frame.from_polars(table, 10).rolling("t", period="1i", closed="both")
        found = frame.agg(pl.col("x").sum()).to_polars()
    same(found, table.rolling("t", period="1i", closed="both").agg(pl.col("x").sum()), ordered=True)


def test_columns_of_windows_are_looked_at_at_once() -> None:
    frame = fs.Frame.from_table({"at": [1, 5], "mm": [1.0, 2.0]}, 1)
    with pytest.raises(MissingColumnError, match="nowhere"):
        frame.group_by_dynamic("nowhere", every="2i").agg(pl.len())
    with pytest.raises(MissingColumnError, match="nowhere"):
        frame.group_by_dynamic("at", every="2i", group_by="nowhere").agg(pl.len())
    with pytest.raises(MissingColumnError, match="nowhere"):
        frame.group_by_dynamic("at", every="2i").agg(pl.col("nowhere").sum())
    with pytest.raises(ColumnTypeError, match="integer"):
        frame.group_by_dynamic("at", every="2h").agg(pl.len())
    with pytest.raises(ColumnTypeError, match="f64"):
        frame.group_by_dynamic("mm", every="2i").agg(pl.len())
    with pytest.raises(TypeError, match=r"group_by_dynamic\(every=2\): it is a duration"):
        frame.group_by_dynamic("at", every=2)
    with pytest.raises(TypeError, match=r"group_by_dynamic\(period=3\)"):
        frame.group_by_dynamic("at", every="2i", period=3)
    with pytest.raises(MissingColumnError, match="nowhere"):
        frame.rolling("at", period="2i", group_by="nowhere").agg(pl.len())
    with pytest.raises(ColumnTypeError, match="f64"):
        frame.rolling("mm", period="2i").agg(pl.len())
    with pytest.raises(TypeError, match=r"rolling\(period=2\): it is a duration"):
        frame.rolling("at", period=2)
    with pytest.raises(TypeError, match=r"rolling\(offset=3\): it is a duration"):
        frame.rolling("at", period="2i", offset=3)
    with pytest.raises(pl.exceptions.ComputeError, match="strictly positive"):
        frame.rolling("at", period="0i").agg(pl.len()).to_polars()
    with pytest.raises(pl.exceptions.ComputeError, match="zero"):
        frame.group_by_dynamic("at", every="0i").agg(pl.len()).to_polars()


@pytest.mark.parametrize("sizes", [{}, CUT])
def test_an_index_with_nulls_is_refused_as_polars_does(sizes: dict[str, int]) -> None:
    with limits(**sizes):
        frame = fs.Frame.from_table({"at": [1, 5, None, 7, 8, 20]}, 1)
        with pytest.raises(pl.exceptions.ComputeError, match="null values"):
            frame.group_by_dynamic("at", every="2i").agg(pl.len()).to_polars()
        with pytest.raises(pl.exceptions.ComputeError, match="null values"):
            frame.rolling("at", period="2i").agg(pl.len()).to_polars()


@pytest.mark.parametrize("keys", [None, "flag"])
@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("all", ()),
        ("first", ()),
        ("last", ()),
        ("len", ()),
        ("max", ()),
        ("mean", ()),
        ("median", ()),
        ("min", ()),
        ("n_unique", ()),
        ("quantile", (0.3,)),
        ("sum", ()),
    ],
)
@examples(10)
@given(drawn=tables())
def test_aggregates_of_each_column_in_windows(
    drawn: Any, keys: Any, method: str, args: tuple[Any, ...]
) -> None:
    table, cuts = drawn
    # Polars gives quantiles of booleans and decimals other types than it says.
    names = ["n", "key", "x"] + ([] if keys is None else [keys])
    table = table.select(names).with_columns(pl.col("n").fill_null(0))
    rows = table.lazy().sort("n", maintain_order=True)
    windows = rows.group_by_dynamic("n", every="3i", group_by=keys)
    expected = getattr(windows, method)(*args).collect()
    with limits(**CUT):
        found = framed(table, cuts).group_by_dynamic("n", every="3i", group_by=keys)
        same(getattr(found, method)(*args).to_polars(), expected, ordered=keys is None)


def test_columns_that_have_no_such_aggregate_are_named() -> None:
    frame = fs.Frame.from_table({"at": [1, 5], "word": ["a", "b"], "mm": [1.0, 2.0]}, 1)
    for groups in (frame.group_by("at"), frame.group_by_dynamic("at", every="2i")):
        with pytest.raises(ColumnTypeError, match=r"`sum` .* dtype `str`, that of column 'word';"):
            groups.sum()
        with pytest.raises(ColumnTypeError, match="that of column 'word';"):
            groups.agg(pl.col("word").mean())
    with pytest.raises(ColumnTypeError, match="that of columns 'word', 'other';"):
        frame.with_columns(other=pl.col("word")).select(pl.all().sum())
    windows: Any = frame.group_by_dynamic("at", every="2i")
    for name, hint in {
        "std": r"write agg\(pl.col\('b'\).std\(\)\)",
        "head": r"write agg\(pl.col\('b'\).head\(5\)\)",
        "having": r"filter what agg\(\) makes",
    }.items():
        with pytest.raises(AttributeError, match=rf"group_by_dynamic\(\) has no '{name}'; {hint}"):
            getattr(windows, name)
