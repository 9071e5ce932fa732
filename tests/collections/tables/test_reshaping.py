"""Pivots, rows of columns, frames below each other and groups' own methods, against polars."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given

import freestone as fs
from freestone.errors import ColumnTypeError, UsageError
from tests.collections.tables.drawing import CUT, check, examples, framed, limits, same, tables

ANY_ORDER = [
    lambda t: t.unpivot(["n", "key"], index="word"),
    lambda t: t.select("x", "n").unpivot(variable_name="which", value_name="what"),
    lambda t: t.unpivot("x", index=["day", "flag"]).filter(pl.col("value") > 0),
    lambda t: t.pivot("word", ["a", "bb", None], index="key", values="n", aggregate_function="sum"),
    lambda t: t.pivot("flag", [True], index="n", values=["x", "day"], aggregate_function="max"),
    lambda t: t.pivot("key", [1, 2], index=["flag", "n"], values="x", aggregate_function="median"),
    lambda t: t.select("key", "flag", "n").pivot(
        "flag", [True, False], index="key", aggregate_function="len"
    ),
    lambda t: t.pivot(
        ["flag", "key"],
        pl.DataFrame({"flag": [True, False], "key": [1, 2]}),
        index="n",
        values="x",
        aggregate_function="min",
    ),
    lambda t: t.pivot("day", [], index="n", values="x", aggregate_function="min"),
    lambda t: t.select("key", "n", "money").group_by("key").sum(),
    lambda t: t.select("key", "n", "day").group_by("key").max(),
    lambda t: t.select("key", "n", "day").group_by("key").min(),
    lambda t: t.select("key", "n").group_by("key").mean(),
    lambda t: t.select("key", "n").group_by("key").median(),
    lambda t: t.select("key", "n", "word").group_by("key").n_unique(),
    lambda t: t.select("key", "n").group_by("key").quantile(0.3, "lower"),
    lambda t: t.select("key", "n", "word").group_by("key").first(),
    lambda t: t.select("key", "n", "word").group_by("key", "word").last(),
    lambda t: t.select("key", "n", "word").group_by("key").head(2),
    lambda t: t.select("key", "n", "word").group_by("key").head(0),
    lambda t: t.select("key", "n", "word").group_by(pl.col("key") % 2).tail(1),
    lambda t: t.null_count(),
    lambda t: t.select("n", "key").top_k(4, by="n").select("n"),
    lambda t: t.select("n", "key").bottom_k(4, by=["n", "key"], reverse=[True, False]),
]


@pytest.mark.parametrize("step", ANY_ORDER)
@examples(5)
@given(drawn=tables())
def test_rows_in_any_order(step: Any, drawn: Any) -> None:
    check(step, *drawn)


OTHER = {
    "vertical": lambda t: t.filter(pl.col("n") > 0),
    "vertical_relaxed": lambda t: t.cast({"n": pl.Float64, "key": pl.Int8}),
    "diagonal": lambda t: t.select("x", "word", new=pl.col("n")),
    "diagonal_relaxed": lambda t: t.select(pl.col("n").cast(pl.Int64), one=pl.lit("one")),
}


@pytest.mark.parametrize("how", OTHER)
@examples(8)
@given(one=tables(), two=tables())
def test_frames_below_each_other(how: str, one: Any, two: Any) -> None:
    other = OTHER[how]
    tables_ = [one[0].lazy(), other(two[0].lazy()), one[0].lazy()]
    expected = pl.concat(tables_, how=how).collect()
    with limits(**CUT):
        left, right = framed(*one), framed(*two)
        found = fs.Frame.concat([left, other(right), left], how=how)
        same(found.to_polars(), expected, ordered=True)
        few = found.select("word").to_polars() if "word" in expected.columns else None
        assert few is None or few["word"].to_list() == expected["word"].to_list()


def test_the_columns_of_a_pivot_are_those_that_there_are() -> None:
    frame = fs.Frame.from_polars(
        pl.DataFrame({"k": [1, 1, 2], "c": ["b", "a", "b"], "v": [1, 2, 3]})
    )
    found = frame.pivot("c", index="k", values="v").sort("k").to_polars()
    assert found.to_dict(as_series=False) == {"k": [1, 2], "a": [2, None], "b": [1, 3]}
    ordered = frame.pivot("c", index="k", values="v", maintain_order=True)
    assert ordered.to_polars()["k"].to_list() == [1, 2]


def test_what_makes_no_pivot_is_refused() -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [1, 1], "c": ["a", "a"], "v": [1, 2]}))
    with pytest.raises(UsageError, match=r"aggregate_function='std'.*one of item, first"):
        frame.pivot("c", ["a"], index="k", values="v", aggregate_function="std")
    with pytest.raises(ValueError, match="say one of them"):
        frame.pivot("c", ["a"])
    with pytest.raises(pl.exceptions.PolarsError, match="expected no or a single value"):
        frame.pivot("c", ["a"], index="k", values="v").to_polars()


def test_what_can_not_be_put_together_is_refused() -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [1]}))
    with pytest.raises(
        ColumnTypeError, match=r"concat: column '.*' is String in frame 2, and Int64"
    ):
        fs.Frame.concat([frame, frame.cast(pl.String)])
    with pytest.raises(ColumnTypeError, match=r"concat: frame 3 has the columns .*how='diagonal'"):
        fs.Frame.concat([frame, frame, frame.with_columns(more=1)])
    with pytest.raises(UsageError, match=r"how='horizontal'.*a join"):
        fs.Frame.concat([frame, frame], how="horizontal")
    with pytest.raises(ValueError, match="nothing to put together"):
        fs.Frame.concat([])
    with pytest.raises(TypeError, match="concat"):
        fs.Frame.concat([frame, frame.to_polars()])  # type: ignore[list-item]


def test_frames_go_through_functions() -> None:
    frame = fs.Frame.from_polars(pl.DataFrame({"k": [1, 2]}))
    assert frame.pipe(lambda t, n: t.head(n), n=1).to_polars().item() == 1


@pytest.mark.parametrize("how", ["vertical", "vertical_relaxed"])
@pytest.mark.parametrize("other", [{"w": [3], "k": [4]}, {"k": [4], "v": [3]}])
def test_frames_of_other_columns_are_not_put_below_each_other(
    other: dict[str, list[int]], how: str
) -> None:
    frames = [fs.Frame.from_polars(pl.DataFrame(one)) for one in ({"v": [1], "k": [2]}, other)]
    with pytest.raises(ColumnTypeError, match=r"concat: frame 2 has the columns .*how='diagonal'"):
        fs.Frame.concat(frames, how=how)
