"""Random tables, steps on them, and what polars makes of the same."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
from hypothesis import Phase, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import freestone as fs
from freestone.collections.tables import LIMITS

# Set to look for what the same examples do not show.
RANDOM = os.environ.get("FREESTONE_RANDOM_TABLES")

SCHEMA = {
    "key": pl.Int64,
    "word": pl.String,
    "x": pl.Float64,
    "n": pl.Int32,
    "flag": pl.Boolean,
    "day": pl.Date,
    "class": pl.Categorical,
    "money": pl.Decimal(12, 2),
}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "key": st.integers(-3, 3),
    "word": st.sampled_from(["", "a", "b", "bb", "é", "long enough not to be inside of a view"]),
    "x": st.sampled_from([0.0, -0.0, 1.5, -2.25, 3.0, float("nan"), float("inf")]),
    "n": st.integers(-5, 5),
    "flag": st.booleans(),
    "day": st.dates(datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)),
    "class": st.sampled_from(["red", "green", "blue"]),
    "money": st.integers(-500, 500).map(lambda cents: decimal.Decimal(cents) / 100),
}


def examples(count: int) -> settings:
    """Try so many random tables, the same in each run."""
    phases = [Phase.explicit, Phase.generate]
    return settings(
        max_examples=count, deadline=None, derandomize=RANDOM is None, phases=phases, database=None
    )


@st.composite
def tables(draw: st.DrawFn, most: int = 30) -> tuple[pl.DataFrame, list[int]]:
    """Draw a table, and where it is cut into blocks, some of which have no rows."""
    rows = draw(st.integers(0, most))
    columns = {
        name: draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        for name, values in VALUES.items()
    }
    cuts = draw(st.lists(st.integers(0, rows), max_size=5))
    return pl.DataFrame(columns, schema=SCHEMA), [0, *sorted(cuts), rows]


def framed(table: pl.DataFrame, cuts: list[int]) -> fs.Frame:
    """Make a frame of the blocks of a table."""
    blocks = [table[a:b].to_arrow() for a, b in itertools.pairwise(cuts)]
    return fs.Frame.from_blocks(blocks)


@contextlib.contextmanager
def limits(**changed: int) -> Iterator[None]:
    """Have small tables be cut, moved and sent as large ones are."""
    before = {name: getattr(LIMITS, name) for name in changed}
    for name, value in changed.items():
        setattr(LIMITS, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(LIMITS, name, value)


CUT = {"small_nbytes": 0, "part_nbytes": 256}
MOVED = {**CUT, "broadcast_nbytes": -1}


def check(
    step: Callable[[Any], Any],
    table: pl.DataFrame,
    cuts: list[int],
    *,
    ordered: bool = False,
    **changed: int,
) -> None:
    """Compare what a step makes of a frame with what it makes of the table in polars."""
    expected = step(table.lazy()).collect()
    with limits(**(changed or CUT)):
        lazy = step(framed(table, cuts))
        assert pl.Schema(pl.from_arrow(lazy.schema.empty_table()).schema) == expected.schema
        found = lazy.to_polars()
    same(found, expected, ordered=ordered)


def same(found: pl.DataFrame, expected: pl.DataFrame, *, ordered: bool) -> None:
    """Raise unless two tables are the same, in any order of rows unless it is `ordered`."""
    assert found.schema == expected.schema
    text = {
        name: pl.String
        for name, dtype in expected.schema.items()
        if isinstance(dtype, pl.Categorical)
    }
    assert_frame_equal(found.cast(text), expected.cast(text), check_row_order=ordered)
