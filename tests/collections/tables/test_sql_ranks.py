"""Medians and other quantiles of all rows in SQL: by ranks, and as DuckDB makes them."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import freestone as fs
from tests.collections.tables.drawing import CUT, limits

pytest.importorskip("duckdb")
sql = pytest.importorskip("freestone.collections.tables.sql")
from tests.collections.tables.test_sql_parts import expected_of, tables  # noqa: E402

BY_RANKS = [
    "select median(x) from t",
    "select median(a) m from t where b",
    "select quantile_cont(x, 0.3) from t",
    "select quantile_disc(a, 0.3) from t",
    "select quantile_disc(d, 0.9), quantile_disc(d, 1), quantile_disc(d, 0) from t",
    "select median(d) from t",
    "select median(a) filter (where b) from t",
    "select median(x) from t where a > 100",
    "select median(x), count(*) from t",
    "select median(x) - median(a) d, quantile_cont(f, 0.75) from t where x > 0",
    "select max(x) - median(x), sum(a), 'k' k from t",
    "select a from t where x > (select median(x) from t) order by a",
    "with k as (select a, x from t where b) select median(x), max(a) from k",
    "select x - median(x) over () m from t order by m",
    "select median(a::decimal(18, 2)) from t",
    "select quantile_cont(x, [0.1, 0.2]) from t",
    "select quantile_disc(a, [0.9, 0.1, 0.5, 0.5]) q, count(*) n from t",
    "select quantile_cont(d, [0, 1]) from t where b",
    "select quantile_cont(a, [0.25]) filter (where b), median(a) from t",
    "select quantile_cont(x, [0.5])[1] - median(x) from t",
]
OTHERS = [
    "select median(s) from t",
    "select median(b) from t",
    "select quantile_cont(x, 3e-1) from t",
    "select quantile_cont(x, [0.5, 3e-1]) from t",
    "select median(distinct x) from t",
    "select median(x) from t having count(*) > 3",
    "select median(x) from t limit 0",
    "select percentile_cont(0.4) within group (order by x) from t",
]


@pytest.mark.parametrize("query", BY_RANKS + OTHERS)
def test_the_same_as_of_all_rows(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[Any] = []
    given_values = sql.values_at

    def noted(*args: Any) -> pl.Series:
        ranked.append(args)
        return given_values(*args)

    monkeypatch.setattr(sql, "values_at", noted)
    for seed in range(3):
        given = {"t": tables(seed)["t"]}
        ranked.clear()
        with limits(**CUT):
            found = fs.sql(query, t=fs.Frame.from_polars(given["t"], 13)).to_polars()
        assert_frame_equal(found, expected_of(query, given))
        # A table of no row, or of one, is one part.
        assert bool(ranked) == (query in BY_RANKS and len(given["t"]) > 1)
