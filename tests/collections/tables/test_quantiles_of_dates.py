"""Quantiles of dates, of none of which polars panics."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from tests.collections.tables.drawing import CUT, limits

DATES = [datetime.date(1969, 1, 1), datetime.date(2024, 2, 29), None, datetime.date(2031, 7, 1)]
NONE = pl.DataFrame({"day": [None, None], "n": [1, 2]}, schema={"day": pl.Date, "n": pl.Int64})


@pytest.mark.parametrize("table", [NONE, NONE.clear()])
@pytest.mark.parametrize("block_rows", [1, 2])
def test_of_no_dates_there_is_none(
    table: pl.DataFrame, block_rows: int, capfd: pytest.CaptureFixture[str]
) -> None:
    frame = fs.Frame.from_polars(table, block_rows)
    whole = [
        frame.quantile(0.3),
        frame.select(pl.col("day").quantile(0.3)),
        frame.select(pl.all().quantile(0.3)),
        frame.select(pl.col("day").quantile(0.3) + pl.duration(days=1)),
        fs.Frame.from_polars(table.with_columns(day=pl.date(2024, 1, 1)), block_rows)
        .filter(pl.col("n") > 5)
        .quantile(0.3),
    ]
    for made in whole:
        found = made.to_polars()
        assert found["day"].to_list() == [None]
        assert found.schema["day"] == pl.Datetime("us")
    assert "panicked" not in capfd.readouterr().err


@pytest.mark.parametrize("interpolation", ["nearest", "lower", "higher", "midpoint", "linear"])
def test_of_some_they_are_those_of_polars(interpolation: str) -> None:
    table = pl.DataFrame({"day": DATES, "n": [1, 2, 3, 4]})
    exprs = [pl.col("day").quantile(0.37, interpolation), pl.col("n").sum()]
    for block_rows, sizes in ((4, {}), (1, CUT)):
        with limits(**sizes):
            found = fs.Frame.from_polars(table, block_rows).select(exprs).to_polars()
        assert_frame_equal(found, table.select(exprs))
