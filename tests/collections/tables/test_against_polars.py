"""Each step on random tables, cut into random blocks, against polars on the whole table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freestone.collections.tables.expressions import as_expr
from tests.collections.tables.drawing import (
    CUT,
    MOVED,
    check,
    examples,
    framed,
    limits,
    same,
    tables,
)

ROW_WISE = [
    lambda t: t.filter(pl.col("x") > 0),
    lambda t: t.filter(pl.col("key").is_null() | pl.col("flag"), pl.col("n") != 0),
    lambda t: t.filter(key=1),
    lambda t: t.select("word", y=pl.col("x") * 2, z=pl.col("key") + pl.col("n")),
    lambda t: t.select(pl.col("day").dt.day(), pl.col("money") * 2),
    lambda t: t.with_columns(pl.lit(1).alias("one"), long=pl.col("word").str.len_chars()),
    lambda t: t.with_columns(pl.when(pl.col("flag")).then("n").otherwise("key").alias("n")),
    lambda t: t.with_columns(pl.col("class").cast(pl.String).str.to_uppercase()),
    lambda t: t.drop("x", "word").rename({"n": "m"}),
    lambda t: t.fill_null(7).fill_nan(0.0),
    lambda t: t.drop_nulls("key"),
    lambda t: t.drop_nans("x"),
    lambda t: t.cast({"n": pl.Int64}),
    lambda t: t.with_columns(pl.concat_list("key", "n").alias("both")).explode("both"),
    lambda t: t.with_columns(pl.col("x").is_nan().any().alias("any")),
    lambda t: t.with_columns(pl.col("key").sum().over("word").alias("of word")),
    lambda t: t.with_columns(pl.col("n").cum_sum().alias("so far"), last=pl.col("n").shift(1)),
    lambda t: t.filter(pl.col("n") > pl.col("n").mean()),
    lambda t: t.select(pl.col("n").sort()),
    lambda t: t.select(pl.col("key").head(3)),
    lambda t: t.with_row_index("row"),
    lambda t: t.reverse(),
    lambda t: t.remove(pl.col("x") > 0).remove(pl.col("key") == 1, pl.col("flag")),
    lambda t: t.remove(pl.col("n") > pl.col("n").mean()),
    lambda t: t.shift(2).shift(-1),
    lambda t: t.gather_every(3, 1),
    lambda t: t.select("n", "word").interpolate(),
    lambda t: t.head(7),
    lambda t: t.tail(4),
    lambda t: t.slice(3, 9),
    lambda t: t.slice(-5, 3),
    lambda t: t.head(0),
]


@pytest.mark.parametrize("step", ROW_WISE)
@examples(4)
@given(drawn=tables())
def test_rows_keep_their_order(step: Any, drawn: Any) -> None:
    check(step, *drawn, ordered=True)


AGGREGATES = {
    "sums": [pl.col("n").sum(), pl.col("money").sum(), pl.col("flag").sum()],
    "means": [pl.col("n").mean(), pl.col("flag").mean().alias("share"), pl.col("x").mean()],
    "extremes": [pl.col("x").min(), pl.col("word").max(), pl.col("day").min(), pl.col("n").max()],
    "counts": [pl.len(), pl.col("n").count().alias("c"), pl.col("x").null_count().alias("nulls")],
    "distinct": [pl.col("word").n_unique(), pl.col("n").n_unique()],
    "any": [pl.col("flag").any(), pl.col("flag").all().alias("all")],
    "expressions": [
        (pl.col("n").sum() / pl.len()).alias("a"),
        pl.col("n").filter(pl.col("flag")).sum().alias("b"),
        (pl.col("n") * pl.col("key")).sum().cast(pl.Float64).alias("c"),
        pl.when(pl.col("n").max() > 2).then(pl.lit("large")).otherwise(pl.lit("small")).alias("d"),
        pl.col("day").filter(pl.col("flag")).n_unique().alias("e"),
    ],
    "all rows": [pl.col("n").skew(), pl.col("n").median().alias("median"), pl.len()],
    "variances": [
        pl.col("n").std(),
        pl.col("key").var(0).alias("var"),
        pl.col("n").cast(pl.Float32).std(2).alias("std 2"),
        pl.col("x").filter(pl.col("x").is_finite()).var().alias("finite"),
    ],
    "not finite": [pl.col("x").var(), pl.col("x").std(0).alias("std")],
    "deviation": [(pl.col("n") - pl.col("n").mean()).sum().round(6) + 0.0],
    "over": [pl.col("n").sum().over("word").sum()],
}
KEYS: list[Any] = [
    ["key"],
    ["word", "flag"],
    ["x"],
    ["class"],
    ["money"],
    [pl.col("key") % 2],
    [pl.col("day").dt.day().alias("d")],
]


@pytest.mark.parametrize("how", AGGREGATES)
@examples(7)
@given(drawn=tables(), keys=st.sampled_from(KEYS))
def test_groups(how: str, drawn: Any, keys: Any) -> None:
    # An aggregate may have the name of a column that is a key.
    keys = [as_expr(key).alias(f"key {place}") for place, key in enumerate(keys)]
    check(lambda t: t.group_by(*keys).agg(*AGGREGATES[how]), *drawn)


@pytest.mark.parametrize("how", AGGREGATES)
@examples(4)
@given(drawn=tables())
def test_aggregates_of_all_rows(how: str, drawn: Any) -> None:
    check(lambda t: t.select(*AGGREGATES[how]), *drawn)


@examples(7)
@given(drawn=tables(), keys=st.sampled_from(KEYS))
def test_groups_in_order(drawn: Any, keys: Any) -> None:
    aggregates = [pl.col("n").first(), pl.col("word").last().alias("w"), pl.col("x").alias("all")]

    def in_two_steps(t: Any) -> Any:
        return t.group_by(*keys, maintain_order=True).agg(aggregates[:2])

    def at_once(t: Any) -> Any:
        return t.group_by(*keys, maintain_order=True).agg(aggregates)

    if not any("n" in str(key) or "x" in str(key) for key in keys):
        check(at_once, *drawn, ordered=True)
    check(in_two_steps, *drawn, ordered=True)
    check(lambda t: t.group_by(*keys).agg(aggregates[:2]), *drawn)


JOINS: list[dict[str, Any]] = [
    {"on": "key"},
    {"on": ["key", "word"]},
    {"on": "x"},
    {"on": "word", "suffix": "_2"},
    {"on": "class"},
    {"on": "money"},
    {"left_on": "key", "right_on": "n"},
    {"left_on": pl.col("key") + 1, "right_on": "key"},
    {"on": "key", "nulls_equal": True},
    {"on": "day", "coalesce": False},
]


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@examples(8)
@given(one=tables(15), two=tables(15), options=st.sampled_from(JOINS), is_moved=st.booleans())
def test_joins(how: str, one: Any, two: Any, options: Any, is_moved: bool) -> None:
    if how == "right":
        options = {**options, "coalesce": None}
    try:
        expected = one[0].lazy().join(two[0].lazy(), how=how, **options).collect()
    except pl.exceptions.PolarsError:
        return
    with limits(**(MOVED if is_moved else CUT)):
        found = framed(*one).join(framed(*two), how=how, **options).to_polars()
    same(found, expected, ordered=False)


@examples(7)
@given(one=tables(12), two=tables(12))
def test_other_joins(one: Any, two: Any) -> None:
    left, right = one[0].lazy(), two[0].lazy()
    for options in (
        {"how": "cross"},
        {"on": "key", "how": "left", "maintain_order": "left"},
        {"on": "key", "maintain_order": "right_left"},
        {"on": "key", "how": "full", "maintain_order": "left_right"},
    ):
        expected = left.join(right, **options).collect()
        with limits(**MOVED):
            found = framed(*one).join(framed(*two), **options).to_polars()
        has_order = options.get("maintain_order") in ("left_right", "right_left")
        same(found, expected, ordered=has_order)


@examples(7)
@given(one=tables(12), two=tables(12))
def test_joins_by_comparisons(one: Any, two: Any) -> None:
    for predicates in (
        [pl.col("n") < pl.col("n_right")],
        [pl.col("key") == pl.col("key_right"), pl.col("day") >= pl.col("day_right")],
    ):
        expected = one[0].lazy().join_where(two[0].lazy(), *predicates).collect()
        with limits(**CUT):
            found = framed(*one).join_where(framed(*two), *predicates).to_polars()
        same(found, expected, ordered=False)


@examples(7)
@given(one=tables(12), two=tables(12))
def test_sorted_rows_come_together(one: Any, two: Any) -> None:
    # Of equal keys those of the left frame come first; polars has those of null in any order.
    one, two = ((drawn[0].with_columns(pl.col("n").fill_null(9)), drawn[1]) for drawn in (one, two))
    left, right = (drawn[0].sort("n", maintain_order=True) for drawn in (one, two))
    expected = left.lazy().merge_sorted(right.lazy(), "n", maintain_order=True).collect()
    with limits(**CUT):
        found = framed(*one).merge_sorted(framed(*two), "n").to_polars()
    same(found, expected, ordered=True)


SUMMARIES: list[Any] = [
    *(
        lambda t, method=method: getattr(t, method)()
        for method in ("count", "first", "last", "max", "mean", "min", "null_count", "sum")
    ),
    lambda t: t.drop("money", "flag").median(),
    lambda t: t.drop("money", "flag", "day").quantile(0.3, "linear"),
    lambda t: t.std(),
    lambda t: t.var(0),
    lambda t: t.select("word").mean(),
]


@pytest.mark.parametrize("step", SUMMARIES)
@examples(7)
@given(drawn=tables())
def test_summaries(step: Any, drawn: Any) -> None:
    check(step, *drawn, ordered=True)


@examples(10)
@given(drawn=tables(), percentiles=st.sampled_from([None, 0.5, [0.9, 0.1]]))
def test_descriptions(drawn: Any, percentiles: Any) -> None:
    table, cuts = drawn
    expected = table.lazy().describe(percentiles)
    with limits(**CUT):
        same(framed(table, cuts).describe(percentiles), expected, ordered=True)


SORTS: list[Any] = [
    lambda t: t.sort("key", "n", maintain_order=True),
    lambda t: t.sort("x", descending=True, maintain_order=True),
    lambda t: t.sort("x", nulls_last=True, maintain_order=True),
    lambda t: t.sort("word", "x", descending=[True, False], nulls_last=True, maintain_order=True),
    lambda t: t.sort("class", maintain_order=True),
    lambda t: t.sort("day", pl.col("n") * -1, maintain_order=True),
    lambda t: t.sort("money", maintain_order=True),
    lambda t: t.sort("flag", maintain_order=True),
    lambda t: t.sort("key", "n", descending=True, maintain_order=True).head(5),
    lambda t: t.sort("x", maintain_order=True).select("x").tail(3),
]


@pytest.mark.parametrize("step", SORTS)
@examples(7)
@given(drawn=tables())
def test_sorts(step: Any, drawn: Any) -> None:
    check(step, *drawn, ordered=True)


UNIQUES: list[Any] = [
    lambda t: t.select("key", "word").unique(),
    lambda t: t.unique("key", keep="first"),
    lambda t: t.unique(["word", "flag"], keep="last"),
    lambda t: t.unique("key", keep="none"),
    lambda t: t.unique("class", keep="any").select("class"),
    lambda t: t.unique("x", keep="first", maintain_order=True),
    lambda t: t.unique(),
]


@pytest.mark.parametrize("step", UNIQUES)
@examples(7)
@given(drawn=tables())
def test_unique_rows(step: Any, drawn: Any) -> None:
    check(step, *drawn)


CHAIN: list[Any] = [
    lambda t: t.filter(pl.col("n") > -3),
    lambda t: t.with_columns(n=pl.col("n") + 1),
    lambda t: t.with_columns(word=pl.col("word").str.to_uppercase()),
    lambda t: t.join(t.select("key", m=pl.col("n")).unique("key", keep="min"), on="key"),
    lambda t: t.group_by("key", "word").agg(pl.col("n").sum(), pl.col("x").max()),
    lambda t: t.select("key", "word", "n", "x"),
    lambda t: t.unique(),
    lambda t: t.sort("key", "word", "n", "x"),
    lambda t: t.join(t.group_by("key").agg(size=pl.len().cast(pl.Int32)), on="key").drop("size"),
]
del CHAIN[3]


@examples(20)
@given(drawn=tables(), steps=st.lists(st.sampled_from(CHAIN), min_size=2, max_size=6))
def test_chains(drawn: Any, steps: Any) -> None:
    def chain(t: Any) -> Any:
        t = t.select("key", "word", pl.col("n").cast(pl.Int64), "x")
        for step in steps:
            t = step(t)
        return t

    check(chain, *drawn)
    check(chain, *drawn, **MOVED)
