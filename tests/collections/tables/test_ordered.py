"""Frames sorted by a key: groups and joins part by part, against polars on the whole table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import freestone as fs
from freestone.collections.tables import LIMITS
from freestone.collections.tables.lowering import lower
from freestone.collections.tables.ordered import aligned, disjoint
from tests.collections.tables.drawing import MOVED, check, examples, framed, limits, same, tables

AGGREGATES = [pl.col("n").median(), pl.col("word").first(), pl.col("x").alias("all"), pl.len()]
BEFORE: list[Any] = [
    lambda t: t,
    lambda t: t.filter(pl.col("n") > -3),
    lambda t: t.select("n", "word", "x", "flag", k=pl.col("key")).rename({"k": "key"}),
    lambda t: t.with_columns(one=pl.lit(1), n=pl.col("n") + 1).drop("one"),
    lambda t: t.with_columns(key=-pl.col("key")),
    lambda t: t.group_by("key").agg(pl.col("n").max(), pl.col("word").min(), pl.col("x").max()),
]


def in_order(drawn: tuple[pl.DataFrame, list[int]]) -> tuple[pl.DataFrame, list[int]]:
    """Sort a drawn table by its key, which has no nulls then, and leave out blocks without rows."""
    table, cuts = drawn
    table = table.drop_nulls("key").sort("key")
    return table, [0, *sorted({cut for cut in cuts if 0 < cut < len(table)}), len(table)]


@examples(30)
@given(drawn=tables(), before=st.sampled_from(BEFORE[:5]), keys=st.sampled_from([1, 2]))
def test_groups(drawn: Any, before: Any, keys: int) -> None:
    by = ["key", "flag"][:keys]
    check(
        lambda t: before(t).group_by(*by, maintain_order=True).agg(AGGREGATES),
        *in_order(drawn),
        ordered=True,
        **MOVED,
    )


OPTIONS: list[dict[str, Any]] = [
    {"on": "key"},
    {"on": ["n", "key"]},
    {"left_on": "key", "right_on": pl.col("key")},
    {"on": "key", "nulls_equal": True, "coalesce": True},
]


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@examples(25)
@given(
    one=tables(20),
    two=tables(20),
    before=st.tuples(st.sampled_from(BEFORE), st.sampled_from(BEFORE)),
    options=st.sampled_from(OPTIONS),
)
def test_joins(how: str, one: Any, two: Any, before: Any, options: Any) -> None:
    (left, left_cuts), (right, right_cuts) = in_order(one), in_order(two)

    def asked(t: Any, other: Any) -> Any:
        found = before[0](t).join(before[1](other), how=how, **options)
        return found.group_by("key").agg(pl.len(), pl.col("n").sum().alias("total"))

    expected = asked(left.lazy(), right.lazy()).collect()
    with limits(**MOVED):
        found = asked(framed(left, left_cuts), framed(right, right_cuts)).to_polars()
    same(found, expected, ordered=False)


def test_only_what_is_in_order_stays_as_it_is() -> None:
    with limits(**(MOVED | {"part_nbytes": 1})):
        for table in (
            {"k": [1, 2, 3, 2]},
            {"k": [1, 2, None, 3]},
            {"k": [3, 4, 1, 2]},
            {"k": [1, 1, 1, 1]},
            {"k": ["a", "b", "c", "d"]},
        ):
            frame = fs.Frame.from_table(table, 2).filter(pl.col("k").is_not_null())
            assert disjoint(lower(frame._as_node(), None), [pl.col("k")]) is None


def test_rows_of_a_key_at_a_border_go_to_the_part_before() -> None:
    one = fs.Frame.from_table({"k": [1, 2, 2, 2, 3, 4]}, 3)
    two = fs.Frame.from_table({"k": [0, 1, 2, 3, 5]}, [0, 1, 4, 5])
    with limits(**(MOVED | {"part_nbytes": 1})):
        stages = [lower(frame._as_node(), None) for frame in (one, two)]
        alone = disjoint(stages[0], [pl.col("k")])
        assert alone is not None
        assert keys_of(alone) == [[1, 2, 2, 2], [3, 4]]
        pair = aligned(*stages, ([pl.col("k")], [pl.col("k")]))
        assert pair is not None
        assert [keys_of(stage) for stage in pair] == [[[1, 2, 2, 2], [3, 4]], [[0, 1, 2], [3, 5]]]


def keys_of(stage: Any) -> list[list[int]]:
    """Return the keys in each part of a stage of one slot."""
    return [
        [key for piece in pieces for key in piece["k"].to_pylist()] for (pieces,) in stage.parts
    ]


def test_nothing_is_moved_and_blocks_are_asked_once(two_workers: fs.Cluster) -> None:
    rows = 4_000
    lines = pl.DataFrame({"k": [n // 7 for n in range(rows)], "x": range(rows)})
    heads = pl.DataFrame({"k": range(rows // 7 + 1), "y": range(rows // 7 + 1)})
    with limits(small_nbytes=0, part_nbytes=LIMITS.part_nbytes, broadcast_nbytes=0):
        frames = [fs.Frame.from_polars(table) for table in (lines, heads)]
        calls = []
        for least in (1, 2):

            def asked(a: Any, b: Any, least: int = least) -> Any:
                joined = a.filter(pl.col("x") > least).join(b, on="k")
                return joined.group_by("k").agg(pl.col("x").max(), pl.col("y").first())

            before = two_workers.statistics().done
            found = asked(*frames).to_polars()
            calls.append(two_workers.statistics().done - before)
            same(found, asked(lines.lazy(), heads.lazy()).collect(), ordered=False)
    # The second time a call for each of two parts.
    assert calls[0] > calls[1] == 2


@pytest.mark.parametrize(
    "query",
    [
        lambda t, u: t.join(u, on="g", how="left", maintain_order="left").slice(3, 5),
        lambda t, u: t.join(u, on="g", maintain_order="left").head(5),
        lambda t, u: t.join(u, on="g", how="right", maintain_order="right").head(3),
    ],
)
def test_a_slice_of_a_join_in_order_has_its_rows_whatever_comes_after(query: Any) -> None:
    rng = np.random.default_rng(2)
    left = pl.DataFrame({"id": range(60), "g": rng.integers(0, 8, 60)})
    right = pl.DataFrame({"g": range(8), "name": list("abcdefgh")}).sample(8, shuffle=True, seed=1)
    expected = query(left, right).select(pl.col("id").sum())
    for rows in (7, 100):
        made = query(fs.Frame.from_polars(left, rows), fs.Frame.from_polars(right, 3))
        assert_frame_equal(made.select(pl.col("id").sum()).to_polars(), expected)
