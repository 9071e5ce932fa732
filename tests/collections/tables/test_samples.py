"""Rows drawn at random, values counted, and what a frame is indexed by."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import freestone as fs
from freestone.collections.tables import drawing
from freestone.errors import ColumnClashError, ColumnTypeError, MissingColumnError, UsageError
from tests.collections.tables.drawing import (
    CUT,
    MOVED,
    check,
    examples,
    framed,
    limits,
    tables,
)

ROWS = pl.DataFrame({"n": np.arange(1000), "half": np.arange(1000) // 2})


@pytest.fixture(autouse=True)
def chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "CHUNK_ROWS", 64)


@examples(30)
@given(
    cuts=st.lists(st.integers(0, 1000), max_size=8),
    n=st.integers(0, 1000),
    seed=st.integers(0, 99),
    again=st.booleans(),
)
def test_a_seed_draws_the_same_rows_however_they_are_cut(
    cuts: list[int], n: int, seed: int, again: bool
) -> None:
    options: dict[str, Any] = {"with_replacement": again, "seed": seed}
    with limits(**CUT):
        found = framed(ROWS, [0, *sorted(cuts), 1000]).sample(n, **options).to_polars()
    assert found.equals(framed(ROWS, [0, 1000]).sample(n, **options).to_polars())
    drawn = found["n"]
    assert len(drawn) == n
    assert drawn.is_sorted()
    assert again or drawn.n_unique() == n
    assert (found["half"] == drawn // 2).all()


@pytest.mark.parametrize("most", [10**9, 0])
@pytest.mark.parametrize("fraction", [0.05, 0.9])
def test_each_row_is_drawn_as_often_as_any_other(
    most: int, fraction: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawing, "MAX_EXACT_ROWS", most)
    frame = framed(ROWS.head(200), [0, 30, 200])
    with limits(**CUT):
        found = [frame.sample(fraction=fraction, seed=n).to_polars()["n"] for n in range(200)]
    assert {len(each) for each in found} == {int(200 * fraction)}
    counts = Counter(pl.concat(found))
    # Six standard deviations of a binomial distribution.
    spread = 6 * (200 * fraction * (1 - fraction)) ** 0.5
    assert all(abs(counts[n] - 200 * fraction) < spread for n in range(200))


def test_many_rows_of_few_are_drawn_in_all() -> None:
    assert sum(drawing.drawn_of_chunks(10**6, 3, 1, with_replacement=False)) == 3
    assert sum(drawing.drawn_of_chunks(2 * 10**7, 2 * 10**7 - 1, 1, with_replacement=False)) == (
        2 * 10**7 - 1
    )


def test_a_sample_stays_on_the_workers_and_is_the_same_in_later_steps(
    two_workers: fs.Cluster,
) -> None:
    frame = fs.Frame.from_polars(ROWS, 100)
    with limits(**CUT | {"part_nbytes": 2_000}):
        drawn = frame.filter(pl.col("n") >= 500).sample(fraction=0.5)
        both = drawn.join(drawn, on="n").select(pl.len(), pl.col("n").min()).to_polars()
        drawn.persist()
    assert both["len"].item() == 250
    assert both["n"].item() >= 500
    assert len(drawn) == 250
    assert len(drawn.blocks) > 1
    assert len(framed(ROWS, [0, 1000]).sample().to_polars()) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n": 11}, r"11 rows, of 10: take fewer, or give with_replacement=True"),
        ({"n": 2, "fraction": 0.1}, "give one of them"),
        ({"fraction": 1.5}, "a share of all rows, from 0 to 1"),
        ({"fraction": "a"}, "a share of all rows"),
        ({"fraction": float("nan")}, "a share of all rows"),
        ({"n": 2, "seed": -1}, "it is a whole number, 0 or more, or None"),
    ],
)
def test_samples_that_can_not_be_drawn_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        framed(ROWS.head(10), [0, 4, 10]).sample(**options).to_polars()


def test_no_rows_are_drawn_of_none() -> None:
    none = framed(ROWS.head(10), [0, 4, 10]).filter(pl.col("n") < 0)
    assert none.sample(fraction=0.5).to_polars().is_empty()
    with pytest.raises(UsageError, match=r"of 0: take fewer$"):
        none.sample(1, with_replacement=True).to_polars()
    with pytest.raises(TypeError, match="did you mean 'fraction'"):
        none.sample(frac=0.5)  # type: ignore[call-arg]


@pytest.mark.parametrize("columns", [["word"], ["key", "flag"], []])
@examples(5)
@given(drawn=tables())
def test_values_are_counted(columns: list[str], drawn: Any) -> None:
    names = columns or list(drawn[0].columns)

    def counted(table: Any) -> Any:
        if isinstance(table, fs.Frame):
            return table.value_counts(*columns)
        return table.group_by(names).agg(pl.len().alias("count"))

    check(counted, *drawn)
    check(counted, *drawn, **MOVED)


def test_counts_are_sorted_and_shares_are_of_all_rows() -> None:
    table = pl.DataFrame({"a": ["x", "y", "x", None, "x"]})
    frame = framed(table, [0, 2, 2, 5])
    with limits(**CUT):
        counts = frame.value_counts("a", sort=True).to_polars()
        shares = frame.value_counts(pl.col("a"), normalize=True, sort=True).to_polars()
        named = frame.value_counts("a", normalize=True, name="share").to_polars()
    assert counts["a"][0] == "x"
    assert counts["count"].to_list() == [3, 1, 1]
    expected = table["a"].value_counts(normalize=True, sort=True)
    assert shares.schema == expected.schema
    assert shares["proportion"].to_list() == [0.6, 0.2, 0.2]
    assert named.columns == ["a", "share"]
    with pytest.raises(ColumnClashError, match="more than one"):
        frame.value_counts("a", name="a")
    with pytest.raises(MissingColumnError, match="zz"):
        frame.value_counts("zz")


def test_a_frame_is_indexed_by_columns_and_tests() -> None:
    frame = framed(ROWS, [0, 400, 1000])
    assert frame[["half", "n"]].columns == ("half", "n")
    assert frame[pl.col("n") < 3].to_polars()["n"].to_list() == [0, 1, 2]
    with pytest.raises(ColumnTypeError, match="must be of type `Boolean`"):
        frame[pl.col("n")]
    with pytest.raises(TypeError, match=r"write pl\.col\('n'\), as in x\.filter\(pl\.col\('n'\)"):
        frame["n"]
    with pytest.raises(MissingColumnError, match="zz"):
        frame[["n", "zz"]]


@pytest.mark.parametrize(
    ("mask", "write"),
    [
        (np.arange(1000) < 3, "mask"),
        ([False] * 999 + [True], "mask"),
        (pd.Series(np.arange(1000) < 3), r"mask\.to_numpy\(\)"),
        (fs.Array.from_numpy(np.arange(1000), 300) < 3, r"mask\.compute\(\)"),
    ],
)
def test_masks_say_what_to_write(mask: Any, write: str) -> None:
    frame = framed(ROWS, [0, 400, 1000])
    with pytest.raises(TypeError, match=r"x\.filter\(mask\)") as caught:
        frame[mask]
    if write != "mask":
        assert re.search(rf"of this one it is x\.filter\({write}\)", str(caught.value))
    if write == "mask":
        assert len(frame.filter(mask)) == np.count_nonzero(mask)
    else:
        with pytest.raises(TypeError, match=rf"write x\.filter\({write}\)"):
            frame.filter(mask)


def test_comparisons_with_values_say_what_to_write() -> None:
    frame, bag = framed(ROWS, [0, 1000]), fs.Bag.from_items([1, 2], 1)
    assert frame in [bag, frame]
    assert frame != bag
    assert (frame == None) is False  # noqa: E711 (it is None in code that checks arguments)
    with pytest.raises(TypeError, match=r"x\.filter\(pl\.col\('a'\) == 1\)"):
        frame == 1  # noqa: B015
    with pytest.raises(TypeError, match=r"not compared with what is of type list: x\.compute\(\)"):
        bag != [1, 2]  # noqa: B015
    assert len({frame, bag, frame}) == 2
