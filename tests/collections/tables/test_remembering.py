"""What polars has said of plans is remembered for the same plans, and for no others."""

from __future__ import annotations

import pickle
from typing import Any

import polars as pl
import pytest

import freestone as fs
from freestone.collections.tables.remembering import is_plain, key_of, remembered

COLUMN = pl.col("a")


def test_equal_values_have_equal_keys() -> None:
    def key(name: str) -> Any:
        return key_of("select", {"a": pl.Int64}, [(pl.col(name) + 1).alias("b")], None)

    assert key("a") is not None
    assert key("a") == key("a")
    assert key("a") != key("c")


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (1, 1.0), (pl.lit(1), pl.lit(1.0)), ([COLUMN], (COLUMN,)), (pl.Int64, pl.Int64())],
)
def test_what_is_alike_and_not_the_same_has_other_keys(one: Any, other: Any) -> None:
    assert key_of(one) != key_of(other)


@pytest.mark.parametrize(
    "value",
    [
        COLUMN.map_elements(lambda a: a, return_dtype=pl.Int64),
        COLUMN.map_batches(lambda a: a),
        COLUMN.name.map(lambda name: name + "x"),
        pl.fold(pl.lit(0), lambda a, b: a + b, [COLUMN]),
        COLUMN.is_in(list(range(10_000))),
        pl.Series([1]),
        len,
    ],
)
def test_functions_and_many_values_have_none(value: Any) -> None:
    assert key_of("filter", [value]) is None


def test_plans_with_functions_are_read_each_time() -> None:
    plain = [COLUMN.sum().alias("b"), COLUMN.str.slice(0, 2) == "ab", pl.DataFrame({"a": [1, 2]})]
    assert is_plain(pickle.dumps(plain))
    assert not is_plain(pickle.dumps([*plain, COLUMN.map_batches(lambda a: a)]))
    assert not is_plain(pickle.dumps(bytes(1 << 17)))


def test_an_error_is_not_remembered() -> None:
    def wrong() -> int:
        raise ValueError("now")

    key = key_of("test_an_error_is_not_remembered")
    with pytest.raises(ValueError, match="now"):
        remembered(key, wrong)
    assert remembered(key, lambda: 1) == 1
    assert remembered(key, lambda: 2) == 1
    assert remembered(None, lambda: 2) == 2


def test_a_function_that_changes_is_asked_again() -> None:
    frame = fs.Frame.from_table({"a": [1, 2]}, 1)
    for result, dtype in ((1, pl.Int64), ("x", pl.String)):
        made = frame.select(COLUMN.map_elements(lambda _, r=result: r, return_dtype=dtype))
        assert made.to_polars()["a"].to_list() == [result, result]


def test_columns_of_other_types_give_other_columns() -> None:
    for values in ([1, 2], [1.5, 2.5], ["x", "y"]):
        frame = fs.Frame.from_table({"a": values}, 1).select(COLUMN, b=COLUMN)
        assert frame.to_polars()["b"].to_list() == values
