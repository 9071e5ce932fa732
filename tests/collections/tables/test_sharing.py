"""Steps of which several others need the rows, and joins that need only keys of a large table."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from tests.collections.tables.drawing import CUT, check, examples, framed, limits, same, tables


def of_a_group(t: Any) -> Any:
    counts = t.group_by("key").agg(pl.len().alias("rows"), pl.col("n").sum(), pl.col("x").max())
    return counts.select("key", "rows").join(
        counts.filter(pl.col("rows") > 1).select("key", m=pl.col("n")), on="key", how="left"
    )


def of_a_join(t: Any) -> Any:
    both = t.join(t.select("key", "word").unique(), on="key", how="semi")
    means = both.group_by("word").agg(pl.col("n").mean().alias("mean"))
    kept = both.join(means, on="word").filter(pl.col("n") > pl.col("mean"))
    return kept.select("key", "word", "n").join(both.select("n").unique(), on="n", how="semi")


@pytest.mark.parametrize("asked", [of_a_group, of_a_join])
@examples(25)
@given(drawn=tables())
def test_steps_with_several_users(asked: Any, drawn: Any) -> None:
    check(asked, *drawn)


def test_a_join_is_made_once(cluster: fs.Cluster) -> None:
    rows = 3_000
    table = pl.DataFrame({"k": [n % 97 for n in range(rows)], "x": range(rows)})
    with limits(small_nbytes=8_000, part_nbytes=16_000):
        frame = fs.Frame.from_polars(table, 1_500)
        some = fs.Frame.from_polars(pl.DataFrame({"k": range(40)}))

        calls = []
        for least in (1, 2):

            def asked(t: Any, some: Any, least: int = least) -> Any:
                kept = t.filter(pl.col("x") > least).join(some, on="k")
                return kept.join(kept.group_by("k").agg(pl.col("x").max().alias("most")), on="k")

            before = cluster.statistics().done
            found = asked(frame, some).to_polars()
            calls.append(cluster.statistics().done - before)
            same(found, asked(table.lazy(), some.to_polars().lazy()).collect(), ordered=False)
    # Two parts are joined, grouped and joined again, for which one call makes the groups of both.
    assert calls[1] == 2 + 2 + 1 + 2


@pytest.mark.parametrize("how", ["anti", "semi"])
@examples(20)
@given(
    one=tables(6),
    two=tables(),
    on=st.sampled_from([["key"], ["word", "flag"], ["x"], ["class"], [pl.col("n") % 3]]),
    nulls_equal=st.booleans(),
)
def test_keys_of_a_large_table(how: str, one: Any, two: Any, on: Any, nulls_equal: bool) -> None:
    def asked(t: Any, other: Any) -> Any:
        return t.head(5).join(other, on=on, how=how, nulls_equal=nulls_equal)

    expected = asked(one[0].lazy(), two[0].lazy()).collect()
    with limits(**(CUT | {"broadcast_nbytes": 1 << 20})):
        found = asked(framed(*one), framed(*two)).to_polars()
    same(found, expected, ordered=False)
