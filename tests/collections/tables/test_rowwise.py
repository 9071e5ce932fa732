"""Which expressions look at one row alone, and joins that find the keys of a small table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars import col

import freestone as fs
from freestone.collections.tables.expressions import is_row_wise
from tests.collections.tables.drawing import limits, same

EMPTY = pl.DataFrame(
    schema={"text": pl.String, "list": pl.List(pl.Int64), "bytes": pl.Binary, "n": pl.Int64}
)


@pytest.mark.parametrize(
    "expr",
    [
        col("text").str.slice(0, 2),
        col("text").str.slice(col("n"), 2).str.len_bytes(),
        col("list").list.slice(1, 2),
        col("bytes").bin.slice(1),
        col("list").list.head(2),
    ],
)
def test_slices_of_values_are_of_one_row(expr: pl.Expr) -> None:
    assert is_row_wise(EMPTY, [expr])


@pytest.mark.parametrize(
    "expr",
    [
        col("n").slice(0, 2),
        col("list").list.slice(1, 2).slice(0, 2),
        col("text").str.slice(col("n").max(), 2),
        col("list").list.head(col("n").sum()),
        col("n").head(2),
    ],
)
def test_slices_of_rows_are_not(expr: pl.Expr) -> None:
    assert not is_row_wise(EMPTY, [expr])


ROWS = 30_000
LARGE = pl.DataFrame({"k": [row * 7 % 20_001 for row in range(ROWS)], "n": range(ROWS)})
SMALL = pl.DataFrame({"k": range(0, 20_000, 3), "text": [f"{row:06}" for row in range(6667)]})


@pytest.mark.parametrize("how", ["anti", "semi"])
@pytest.mark.parametrize("nulls_equal", [False, True])
def test_a_left_table_that_a_filter_makes_small(
    cluster: fs.Cluster, how: Any, nulls_equal: bool
) -> None:
    def asked(small: Any, large: Any) -> Any:
        some = small.filter(col("text").str.slice(4, 2).is_in(["17", "33"]))
        some = some.with_columns(pl.when(col("k") % 2 == 0).then("k"))
        other = large.with_columns(pl.when(col("n") > 5).then("k").alias("k"))
        return some.join(other, on="k", how=how, nulls_equal=nulls_equal)

    with limits(small_nbytes=20_000, part_nbytes=1 << 18, repeated_nbytes=0):
        small = fs.Frame.from_polars(SMALL, 2_000)
        found = asked(small, fs.Frame.from_polars(LARGE, 10_000)).to_polars()
    same(found, asked(SMALL.lazy(), LARGE.lazy()).collect(), ordered=False)
