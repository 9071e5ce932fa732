"""Medians and other quantiles of all rows, by the ranks of their values, against polars."""

from __future__ import annotations

import datetime
import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.tables import lower, ranks
from tests.collections.tables.drawing import CUT, check, examples, limits, same, tables

HOW = ["nearest", "lower", "higher", "midpoint", "linear", "equiprobable"]


@examples(80)
@given(
    drawn=tables(),
    name=st.sampled_from(["key", "x", "n", "day", "money"]),
    fraction=st.sampled_from([0, 1, 0.5, 0.3, 1 / 3, 0.9]) | st.floats(0, 1),
    how=st.sampled_from(HOW),
)
def test_quantiles(drawn: Any, name: str, fraction: float, how: str) -> None:
    if name == "day" and not drawn[0][name].count():
        # Of no dates polars panics.
        return
    check(lambda t: t.select(pl.col(name).quantile(fraction, how)), *drawn, ordered=True)


EXPRESSIONS = [
    [pl.col("key").median(), pl.col("n").sum(), pl.col("x").max()],
    [(pl.col("n") - pl.col("key")).median().alias("a"), pl.col("n").quantile(0.9)],
    [pl.col("n").filter(pl.col("flag")).median() - pl.col("key").min()],
    [pl.col("day").median(), pl.col("day").cast(pl.Datetime).quantile(0.2).alias("a"), pl.len()],
    [pl.col("n").median(), (pl.col("n") * 1).median().alias("again"), pl.col("n").std().alias("s")],
    [pl.col("flag").median(), pl.col("n").median()],
    [pl.col("n").quantile(0.25) * pl.lit(2)],
]


@pytest.mark.parametrize("exprs", EXPRESSIONS)
@examples(8)
@given(drawn=tables())
def test_expressions_of_quantiles(exprs: list[pl.Expr], drawn: Any) -> None:
    check(lambda t: t.select(exprs), *drawn, ordered=True)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([2**63 + 5, 2**63 + 1, 2**64 - 1] * 40, dtype=pl.UInt64),
        pl.Series([7] * 120),
        pl.Series([1.5] * 60 + [float("nan")] * 60),
        pl.Series([0.0, -0.0, None] * 40),
        pl.Series([float("inf"), float("-inf")] * 60),
        pl.Series([None] * 120, dtype=pl.Int64),
        pl.Series([datetime.timedelta(n) for n in range(120)]),
        pl.Series(range(120)).cast(pl.Datetime("ns", "Europe/Berlin")),
    ],
)
def test_values_of_other_types(values: pl.Series) -> None:
    table = values.sample(fraction=1, shuffle=True, seed=2).to_frame("v")
    exprs = [
        pl.col("v").quantile(fraction, how).alias(f"{how} {fraction}")
        for fraction in (0, 0.31, 0.5, 1)
        for how in HOW
    ]
    with limits(**CUT):
        found = fs.Frame.from_polars(table, 11).select(exprs).to_polars()
    same(found, table.select(exprs), ordered=True)


def test_of_no_dates_there_is_no_quantile() -> None:
    with limits(**CUT):
        table = pl.DataFrame({"n": range(200)}).with_columns(day=pl.lit(None, pl.Date))
        frame = fs.Frame.from_polars(table, 20)
        found = frame.select(pl.col("day").quantile(0.5)).to_polars()
    assert found.schema == {"day": pl.Datetime("us")}
    assert found.item() is None


def test_one_call_gets_few_of_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(4)
    table = pl.DataFrame({"v": [dice.gauss(0, 1) for _ in range(40_000)]})
    taken = []

    def counted(stage: Any, *args: Any) -> pl.Series:
        taken.append(sum(len(block.to_polars()) for block in blocks_of(stage)))
        return given_values(stage, *args)

    def blocks_of(stage: Any) -> list[fs.Frame]:
        return [fs.Frame.from_blocks([block]) for (block,) in stage.blocks()]

    given_values = ranks._taken
    monkeypatch.setattr(ranks, "_taken", counted)
    with limits(**CUT):
        found = fs.Frame.from_polars(table, 4_000).select(pl.col("v").median()).to_polars()
    assert found.item() == table["v"].median()
    assert len(taken) == 1
    assert taken[0] <= 400


def test_medians_of_groups_are_of_their_rows() -> None:
    table = pl.DataFrame({"g": [1, 2] * 50, "v": range(100)})
    with limits(**CUT):
        made = fs.Frame.from_polars(table, 9).group_by("g").agg(pl.col("v").median())
        assert len(lower(made._as_node(), None).parts) > 1
        same(made.to_polars(), table.group_by("g").agg(pl.col("v").median()), ordered=False)
