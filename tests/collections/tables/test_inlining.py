"""Small tables of joins, which the calls of the larger one make themselves."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given

import freestone as fs
from freestone.collections.tables.inlining import inlined
from freestone.collections.tables.lowering import lower
from freestone.errors import ExplodingJoinError
from tests.collections.tables.drawing import check, examples, limits, same, tables

ROWS = 4_000
LARGE = pl.DataFrame({"k": [n % 97 for n in range(ROWS)], "x": range(ROWS)})
SMALL = pl.DataFrame({"k": range(97), "g": [n % 5 for n in range(97)], "name": ["a name"] * 97})
GROUPS = pl.DataFrame({"g": range(5), "title": list("abcde")})
SIZES = {"small_nbytes": 8_000, "part_nbytes": 1 << 20}


def a_star(t: Any) -> Any:
    words = t.filter(pl.col("n") > 0).select("key", "word")
    days = t.filter(pl.col("flag")).select("key", "day").join(words, on="key", how="semi")
    return t.join(words, on="key").join(days, on="key", how="anti").select("key", "word", "n")


# Without a cluster, which the tests after it open.
@examples(25)
@given(drawn=tables())
def test_against_polars(drawn: Any) -> None:
    check(a_star, *drawn)
    with limits(small_nbytes=200, part_nbytes=1 << 16):
        check(a_star, *drawn)


def filtered(large: Any, small: Any, groups: Any) -> Any:
    return large.join(small.filter(pl.col("g") > 1).select("k", "g"), on="k")


def joined(large: Any, small: Any, groups: Any) -> Any:
    some = small.join(groups.filter(pl.col("title") != "b"), on="g").select("k", "title")
    return large.join(some, on="k", how="left").filter(pl.col("title").is_not_null())


def selected(large: Any, small: Any, groups: Any) -> Any:
    return large.join(small.select("name", k="k"), on="k", how="semi")


@pytest.mark.parametrize("asked", [filtered, joined, selected])
def test_no_call_makes_what_is_sent_to_all_parts(cluster: fs.Cluster, asked: Any) -> None:
    with limits(**SIZES):
        frames = [fs.Frame.from_polars(each, len(each) // 2) for each in (LARGE, SMALL, GROUPS)]
        before = cluster.statistics().done
        found = asked(*frames).to_polars()
        # One for each part of the large table; what was asked of its blocks is not counted.
        assert cluster.statistics().done - before == 2
    same(found, asked(LARGE.lazy(), SMALL.lazy(), GROUPS.lazy()).collect(), ordered=False)


def a_sample(small: Any) -> Any:
    return small.select(pl.all().sample(fraction=0.5, with_replacement=True))


def a_function(small: Any) -> Any:
    return small.filter(pl.col("k").map_batches(lambda k: k > 3, return_dtype=pl.Boolean))


def an_aggregate(small: Any) -> Any:
    return small.group_by("g").agg(pl.col("k").mean())


def first_rows(small: Any) -> Any:
    return small.head(3)


def more_rows(small: Any) -> Any:
    return small.join(small.select("g"), on="g")


@pytest.mark.parametrize("made", [a_sample, a_function, an_aggregate, first_rows, more_rows])
def test_what_may_be_other_rows_each_time_or_many_is_made_once(made: Any) -> None:
    with limits(small_nbytes=1 << 20, part_nbytes=1 << 12):
        small = fs.Frame.from_polars(SMALL, 97)
        side = lower(made(small)._as_node(), None)
        other = lower(fs.Frame.from_polars(LARGE, ROWS)._as_node(), None)
        assert inlined(side, other) is None
        filtered_side = lower(small.filter(pl.col("k") > 3)._as_node(), None)
        assert inlined(filtered_side, other) is not None


def test_a_join_with_it_that_makes_too_many_rows_is_refused(cluster: fs.Cluster) -> None:
    many = 4_000_000
    large = pl.DataFrame({"k": pl.zeros(many, pl.Int8, eager=True)})
    small = pl.DataFrame({"k": pl.zeros(400_000, pl.Int8, eager=True), "g": 1})
    frames = [fs.Frame.from_polars(each, len(each) // 2) for each in (large, small)]
    some = frames[1].filter(pl.col("g") > 0).join(fs.Frame.from_polars(GROUPS), on="g")
    with pytest.raises(ExplodingJoinError):
        frames[0].join(some, on="k").to_polars()
