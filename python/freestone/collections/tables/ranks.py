"""Values of all rows by their ranks, such as medians, without bringing all rows to one place.

A sample of each part, evenly spaced in the order of its values, cuts all values into ranges of
about as many rows. The parts count theirs, and one call gets those of the ranges that hold the
ranks.

References
----------
DeWitt, Naughton and Schneider, Parallel sorting on a shared-nothing architecture using
probabilistic splitting, PDIS (1991), section 2.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, count

import polars as pl

from freestone.collections.pieces import value_of
from freestone.collections.tables.calls import to_polars
from freestone.collections.tables.ordering import between, samples_of
from freestone.collections.tables.stages import Stage

__all__ = ["may_rank", "quantile_of", "values_at"]

MAX_CUTS = 4096
"""More of them would make smaller ranges, and longer tables of counts."""
_CODE = "__range"
_BETWEEN = ("linear", "midpoint")
"""Quantiles that are made of two values."""


def may_rank(dtype: pl.DataType) -> bool:
    """Tell whether values of a type are put in the order of their ranks here."""
    return bool(dtype.is_numeric() or dtype.is_temporal())


def quantile_of(stage: Stage, fraction: float, interpolation: str) -> pl.Series:
    """Return, as a column of one row, the quantile of a column as polars computes it.

    Parameters
    ----------
    stage
        Rows of one column; nulls do not count.
    fraction, interpolation
        As for ``Series.quantile``.
    """
    (name,) = stage.columns
    within = 0.0

    def ranks(values: int, nulls: int) -> list[int]:
        nonlocal within
        # Polars has nulls before all values, and rounds the place among both.
        place = (values - 1) * fraction + nulls
        whole = math.floor(place)
        if interpolation in _BETWEEN:
            within = place - whole
            return [whole - nulls, math.ceil(place) - nulls]
        if interpolation == "equiprobable":
            return [max(math.ceil(values * fraction) - 1, 0)]
        is_up = {"lower": False, "higher": place > whole, "nearest": place - whole >= 0.5}
        return [whole - nulls + is_up[interpolation]]

    ends = values_at(stage, ranks).to_frame().lazy()
    how = interpolation if interpolation in _BETWEEN else "nearest"
    made = ends.select(pl.col(name).quantile(within, how))
    # Of no dates polars makes none, but panics.
    is_none = ends.select(pl.len()).collect().item() == 0
    return (
        pl.DataFrame([[None]], made.collect_schema()) if is_none else made.collect()
    ).to_series()


def values_at(stage: Stage, ranks: Callable[[int, int], Sequence[int]]) -> pl.Series:
    """Return the values that have some ranks, from 0, among those of a column; none if it has none.

    Parameters
    ----------
    stage
        Rows of one column; nulls have no ranks.
    ranks
        Called with the numbers of values and of nulls; not if there are no values.

    Notes
    -----
    Of parts of the same length a range has about a hundredth of the values at most, and the column
    is made once: all parts keep theirs until the ranks are known.
    """
    (name,) = stage.columns
    values = stage.done()
    cuts = _cuts(values, name)
    coded = values.then("with_columns", _code(pl.col(name), cuts).alias(_CODE))
    counts, nulls = _counts(coded, 2 * len(cuts) + 1)
    ends = [0, *accumulate(counts)]
    wanted = ranks(ends[-1], nulls) if ends[-1] else []
    codes = [bisect_right(ends, rank) - 1 for rank in wanted]
    # Ranges of odd numbers are cuts, whose values are known.
    fetched = sorted({code for code in codes if code % 2 == 0})
    before = accumulate((counts[code] for code in fetched), initial=0)
    firsts = dict(zip(fetched, before, strict=False))
    places = [
        firsts[code] + rank - ends[code]
        for rank, code in zip(wanted, codes, strict=True)
        if code in firsts
    ]
    known = _taken(coded.then("filter", pl.col(_CODE).is_in(fetched)), name, places)
    at = count()
    found = [
        known.slice(next(at), 1) if code in firsts else cuts.slice(code // 2, 1) for code in codes
    ]
    return pl.concat(found) if found else cuts.clear()


def _cuts(values: Stage, name: str) -> pl.Series:
    samples = samples_of(values, pl.col(name)).sort()
    return between(samples, min(len(samples), MAX_CUTS)) if len(samples) > 1 else samples


def _code(value: pl.Expr, cuts: pl.Series) -> pl.Expr:
    """Return the range that a value is in: even ones lie between cuts, odd ones are a cut each."""
    sides = [pl.lit(cuts).search_sorted(value, side).cast(pl.UInt32) for side in ("left", "right")]
    return pl.when(value.is_not_null()).then(sides[0] + sides[1])


def _counts(coded: Stage, ranges: int) -> tuple[list[int], int]:
    """Return how many values are in each range, and how many are null."""
    counted = coded.then("group_by", [pl.col(_CODE)], [pl.len().cast(pl.UInt64).alias("rows")])
    blocks = [value_of(block) for (block,) in counted.blocks()]
    counts, nulls = [0] * ranges, 0
    for code, rows in to_polars(blocks, counted.plan).iter_rows():
        if code is None:
            nulls += rows
        else:
            counts[code] += rows
    return counts, nulls


def _taken(stage: Stage, name: str, places: list[int]) -> pl.Series:
    """Return the values at some places in the order of all, which one call gets."""
    if not places:
        return stage.plan.empty[name]
    found = stage.one().then("select", pl.col(name).sort().gather(places))
    ((block,),) = found.blocks()
    return to_polars([value_of(block)], found.plan).to_series()
