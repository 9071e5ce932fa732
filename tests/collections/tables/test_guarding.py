"""Joins that would make more rows than any memory holds are refused before they are begun."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import freestone as fs
from freestone.collections.tables import op
from freestone.collections.tables.guarding import check_joins
from freestone.collections.tables.plan import Slot
from freestone.errors import ExplodingJoinError
from tests.collections.tables.drawing import MOVED, limits

MANY = 1_000_000
SAME = pl.DataFrame({"key": np.zeros(MANY, np.int64), "x": np.arange(MANY)})


@pytest.mark.parametrize("sizes", [{}, MOVED | {"part_nbytes": MANY * 8}])
def test_a_join_of_tables_with_one_key_is_refused(
    two_workers: fs.Cluster, sizes: dict[str, int]
) -> None:
    with limits(**sizes):
        left, right = fs.Frame.from_polars(SAME, MANY // 2), fs.Frame.from_polars(SAME, MANY // 2)
        joined = left.filter(pl.col("x") >= 0).join(right, on="key")
        with pytest.raises(
            ExplodingJoinError, match=r"would make about .* TiB.*more columns"
        ) as it:
            joined.to_polars()
        assert it.value.rows > 10**11
        # What makes no more rows than there are may have as many equal keys as it likes.
        assert len(left.join(right, on="key", how="semi")) == MANY


def test_without_a_cluster() -> None:
    frame = fs.Frame.from_polars(SAME, MANY)
    with pytest.raises(ExplodingJoinError) as it:
        frame.join(frame, how="cross").to_polars()
    assert (it.value.left_rows, it.value.right_rows, it.value.rows) == (MANY, MANY, MANY**2)


def test_a_join_by_comparisons_is_refused(two_workers: fs.Cluster) -> None:
    frame = fs.Frame.from_polars(SAME, MANY // 2)
    joined = frame.join_where(frame, pl.col("x") < pl.col("x_right"))
    with pytest.raises(ExplodingJoinError, match=r'by .*col\("x"\).* would make about'):
        joined.select("x", "x_right").to_polars()
    few = frame.head(1000).join_where(frame.head(1000), pl.col("x") < pl.col("x_right"))
    assert len(few) == 999 * 500


def check(left: pl.DataFrame, right: pl.DataFrame, limit_nbytes: int, **options: Any) -> None:
    """Check a join on the column ``key``, and what comes after it."""
    slots = [Slot(side.clear(), place) for place, side in enumerate((left, right))]
    after = options.pop("after", None)
    how = {"how": "inner", "maintain_order": None, "validate": "m:m"} | options
    plan = op("join", slots, **({} if how["how"] == "cross" else {"on": "key"}), **how)
    check_joins(plan if after is None else op("filter", [plan], after), [left, right], limit_nbytes)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
@pytest.mark.parametrize("skew", [0.0, 1.5])
def test_what_a_sample_says_is_about_right(how: str, skew: float) -> None:
    dice = np.random.default_rng(5)
    weights = np.arange(1, 1001) ** -skew

    def drawn(rows: int) -> pl.DataFrame:
        keys = dice.choice(1000, rows, p=weights / weights.sum())
        return pl.DataFrame({"key": keys, "x": np.arange(rows)})

    left, right = drawn(40_000), drawn(30_000)
    # A key and two other columns of 8 bytes.
    each = [np.bincount(side["key"], minlength=1000) for side in (left, right)]
    nbytes = 24 * int(each[0] @ each[1])
    check(left, right, 2 * nbytes, how=how)
    with pytest.raises(ExplodingJoinError) as it:
        check(left, right, nbytes // 2, how=how)
    assert nbytes / 2 < it.value.nbytes < 2 * nbytes


def test_keys_that_are_unique_on_one_side_are_not_refused() -> None:
    keys = np.where(np.arange(MANY) % 3 == 0, 7, np.arange(MANY))
    many, unique = pl.DataFrame({"key": keys}), pl.DataFrame({"key": np.arange(MANY)})
    check(many, unique, 100 * 8 * MANY)
    check(unique, many, 100 * 8 * MANY)


def test_what_a_filter_leaves_of_a_join_counts() -> None:
    """So polars computes it: pairs that the filter drops are never there."""
    left = pl.DataFrame({"a": np.arange(100_000)})
    right = pl.DataFrame({"b": np.arange(100_000)})
    nbytes = 10**9
    check(left, right, nbytes, how="cross", after=pl.col("a") == pl.col("b"))
    with pytest.raises(ExplodingJoinError):
        check(left, right, nbytes, how="cross", after=pl.col("a") <= pl.col("b"))
