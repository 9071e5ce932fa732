"""The last step of a plan, if it is small, is done by the program and takes no call."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from polars import col

import freestone as fs
from freestone.collections.tables.stages import Stage
from tests.collections.tables.drawing import limits, same

ROWS = 20_000
TABLE = pl.DataFrame(
    {
        "key": [row % 7 for row in range(ROWS)],
        "word": [f"word {row % 5}" for row in range(ROWS)],
        "n": [None if row % 11 == 0 else row for row in range(ROWS)],
    }
)
PARTS = 2


def grouped(t: Any) -> Any:
    return t.group_by("word").agg(col("n").sum(), pl.len().alias("rows")).sort("word")


def summed(t: Any) -> Any:
    return t.select(col("n").sum().alias("sum"), col("key").max())


def first(t: Any) -> Any:
    return t.sort("key", "n", descending=[True, False]).head(5)


def counted(t: Any) -> Any:
    share = (col("n").filter(col("key") > 3).sum() / col("n").sum()).round(3)
    return t.group_by("word").agg(share.alias("share")).filter(col("share") > 0).sort("word")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, cluster: fs.Cluster) -> list[str]:
    """Return what the calls of tables that are submitted meanwhile do last."""
    found: list[str] = []
    call = Stage._call

    def counted_call(self: Stage, *args: Any) -> Any:
        found.append(getattr(self.plan, "method", "table"))
        return call(self, *args)

    monkeypatch.setattr(Stage, "_call", counted_call)
    return found


def made_by_parts(asked: Any) -> Any:
    with limits(small_nbytes=40_000, part_nbytes=1 << 20):
        made = asked(fs.Frame.from_polars(TABLE, ROWS // PARTS))
        made.to_polars()
    return made


@pytest.mark.parametrize("asked", [grouped, summed, first, counted])
def test_a_small_last_step_takes_no_call(calls: list[str], asked: Any) -> None:
    frame = made_by_parts(asked)
    assert len(calls) == PARTS
    expected = asked(TABLE.lazy()).collect()
    same(frame.to_polars(), expected, ordered=True)
    # The frame has a block like others.
    assert not frame.is_lazy
    same(frame.filter(pl.lit(value=True)).to_polars(), expected, ordered=True)


def with_a_function(t: Any) -> Any:
    batches = col("word").map_batches(lambda each: each.str.to_uppercase(), pl.String)
    return grouped(t).select(batches)


def with_much_of_little(t: Any) -> Any:
    return grouped(t).select(col("rows").repeat_by(3))


def with_a_range(t: Any) -> Any:
    return summed(t).select(pl.int_range(1000))


@pytest.mark.parametrize("asked", [with_a_function, with_much_of_little, with_a_range])
def test_what_may_take_long_or_much_memory_takes_one(calls: list[str], asked: Any) -> None:
    frame = made_by_parts(asked)
    assert len(calls) == PARTS + 1
    same(frame.to_polars(), asked(TABLE.lazy()).collect(), ordered=True)


def test_many_rows_take_one(calls: list[str]) -> None:
    frame = made_by_parts(lambda t: t.select("n").sort("n").head(ROWS))
    assert len(calls) == PARTS + 1
    same(frame.to_polars(), TABLE.select("n").sort("n"), ordered=True)


def test_errors_are_those_of_calls(cluster: fs.Cluster) -> None:
    def failing(t: Any) -> Any:
        return grouped(t).select(col("word").cast(pl.Int64))

    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion from `str`"):
        made_by_parts(failing)


def test_what_is_not_waited_for_is_a_call(calls: list[str]) -> None:
    with limits(small_nbytes=40_000, part_nbytes=1 << 20):
        grouped(fs.Frame.from_polars(TABLE, ROWS // PARTS)).persist()
    assert len(calls) == PARTS + 1
