"""Values of a column that become columns, as aggregates of groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from freestone.errors import UsageError

__all__ = ["PIVOTED", "aggregates_of_pivot"]

PIVOTED = ("item", "first", "last", "min", "max", "sum", "mean", "median", "len")
"""What may be made of several values of one new cell."""


def aggregates_of_pivot(
    empty: pl.DataFrame,
    on: Sequence[str],
    values: Sequence[str],
    on_columns: pl.DataFrame,
    aggregate: str,
) -> list[pl.Expr]:
    """Return the aggregates of groups, by the index, that are the columns of a pivot.

    Parameters
    ----------
    empty
        The table, without rows.
    on, values
        Columns: whose values are the new columns, and whose values fill these.
    on_columns
        Rows of values of `on`: a new column for each, and each of `values`.
    aggregate
        One of `PIVOTED`.
    """
    if aggregate not in PIVOTED:
        known = ", ".join(PIVOTED)
        raise UsageError(
            f"pivot(aggregate_function={aggregate!r}): it is one of {known}; for others, say "
            "group_by().agg(pl.col('x').filter(pl.col('kind') == 'a').std())"
        )
    pivoted = empty.lazy().pivot(
        list(on),
        on_columns,
        index=[],
        values=list(values),
        aggregate_function=aggregate,
    )
    names = pivoted.collect_schema().names()
    return list(_aggregates(names, on, values, on_columns, aggregate))


def _aggregates(
    names: Sequence[str],
    on: Sequence[str],
    values: Sequence[str],
    on_columns: pl.DataFrame,
    aggregate: str,
) -> Iterator[pl.Expr]:
    left = iter(names)
    for value in values:
        for row in on_columns.iter_rows():
            wanted = [pl.col(n).eq_missing(item) for n, item in zip(on, row, strict=True)]
            chosen = pl.col(value).filter(pl.all_horizontal(wanted))
            yield _aggregated(chosen, aggregate).alias(next(left))


def _aggregated(chosen: pl.Expr, aggregate: str) -> pl.Expr:
    if aggregate == "item":
        return chosen.item(allow_empty=True)
    found: pl.Expr = getattr(chosen, aggregate)()
    return found
