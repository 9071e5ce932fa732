"""Joins of the nearest keys on random tables, cut into random blocks, against polars."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.errors import ColumnTypeError, MissingColumnError
from tests.collections.tables.drawing import CUT, MOVED, examples, framed, limits, same, tables

STRATEGIES = ("backward", "forward", "nearest")


@pytest.mark.parametrize("sizes", [{}, CUT, MOVED])
@pytest.mark.parametrize("key", ["key", "n", "day", "word"])
@examples(12)
@given(
    left=tables(),
    right=tables(),
    strategy=st.sampled_from(STRATEGIES),
    exact=st.booleans(),
    by=st.sampled_from([None, ["flag"], ["class", "word"]]),
    tolerance=st.sampled_from([None, 1]),
)
def test_the_nearest_rows_are_those_of_polars(
    sizes: dict[str, int],
    key: str,
    left: Any,
    right: Any,
    strategy: Any,
    exact: bool,
    by: list[str] | None,
    tolerance: int | None,
) -> None:
    options: dict[str, Any] = {"strategy": strategy, "allow_exact_matches": exact}
    if key == "word":
        options["strategy"] = "backward"
    if tolerance is not None and key != "word":
        options["tolerance"] = "1d" if key == "day" else tolerance
    by = None if by is None or key in by else by
    sides = [
        table.with_row_index("row").sort(key, maintain_order=True) for table, _ in (left, right)
    ]
    expected = sides[0].join_asof(sides[1], on=key, by=by, check_sortedness=False, **options)
    with limits(**sizes):
        ours = [framed(sides[0], left[1]), framed(right[0].with_row_index("row"), right[1])]
        found = ours[0].join_asof(ours[1], on=key, by=by, **options).to_polars()
        # Not all columns are asked for.
        rows = ours[0].join_asof(ours[1], on=key, by=by, **options).select("row", "row_right")
        narrow = rows.to_polars()
    same(found, expected, ordered=by is None)
    same(narrow, expected.select("row", "row_right"), ordered=by is None)


def test_keys_of_a_nearest_join_are_looked_at_at_once() -> None:
    rain = fs.Frame.from_table({"at": [1, 5], "place": ["a", "b"], "mm": [1.0, 2.0]}, 1)
    wind = fs.Frame.from_table({"at": [1.0, 5.0], "place": [1, 2]}, 1)
    with pytest.raises(ValueError, match=r"by no column: give on=, or left_on= and right_on="):
        rain.join_asof(rain, left_on="at")
    with pytest.raises(MissingColumnError, match="unable to find column"):
        rain.join_asof(rain, on="nowhere")
    for options in ({"on": "at"}, {"on": "mm", "by": "place"}):
        with pytest.raises((ColumnTypeError, MissingColumnError)):
            rain.join_asof(wind, **options)
    with pytest.raises(ValueError, match="strategy"):
        rain.join_asof(rain, on="at", strategy="last")
    with pytest.raises(TypeError, match=r"takes a freestone\.Frame"):
        rain.join_asof(rain.to_polars(), on="at")  # type: ignore[arg-type]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_neighbours_are_found_in_parts_far_away(strategy: Any) -> None:
    left = pl.DataFrame({"t": range(0, 4000, 2), "l": range(2000)})
    right = pl.DataFrame({"t": [1000] * 200 + [3000] * 200, "r": range(400)})
    with limits(**MOVED):
        frames = [fs.Frame.from_polars(table, 1 + len(table) // 8) for table in (left, right)]
        found = frames[0].join_asof(frames[1], on="t", strategy=strategy).to_polars()
    same(found, left.join_asof(right, on="t", strategy=strategy), ordered=True)
