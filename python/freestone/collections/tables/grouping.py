"""Groups, and aggregates of all rows: of parts first, or of the rows of a group together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from freestone.collections.tables.aggregates import Aggregates, Ranked, decomposed
from freestone.collections.tables.calls import to_arrow
from freestone.collections.tables.expressions import each_expr, is_row_wise, names_of
from freestone.collections.tables.lowering import (
    LIMITS,
    lower_input,
    may_hash,
    rule,
    shuffled,
)
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.ordered import disjoint
from freestone.collections.tables.plan import Op, Slot
from freestone.collections.tables.ranks import quantile_of
from freestone.collections.tables.rowwise import row_wise
from freestone.collections.tables.stages import Stage

__all__ = ["by_keys"]


@rule("group_by")
def _group_by(step: Op, needed: Columns) -> Stage:
    keys, aggregates = step.args
    stage = lower_input(step, needed)
    empty = step.input.empty
    if stage.is_one or not is_row_wise(empty, keys):
        return stage.one().then("group_by", keys, aggregates, **step.options)
    apart = disjoint(stage, keys)
    if apart is not None:
        return apart.then("group_by", keys, aggregates, **step.options)
    found = decomposed(empty, aggregates, keyed=True) if aggregates else None
    if found is not None:
        return _in_two_steps(stage, keys, found, step)
    if step.options.get("maintain_order"):
        return stage.one().then("group_by", keys, aggregates, **step.options)
    stage = by_keys(stage, keys)
    return stage.then("group_by", keys, aggregates, **step.options)


def _in_two_steps(stage: Stage, keys: list[pl.Expr], found: Aggregates, step: Op) -> Stage:
    names = [name for key in keys for name in names_of(step.input.empty, key)]
    columns = [pl.col(name) for name in names]
    parts = stage.then("group_by", keys, found.partial, **step.options).done()
    parts = parts.one() if step.options.get("maintain_order") else by_keys(parts, columns)
    final = parts.then("group_by", columns, found.final, **step.options)
    return final.then("select", [*columns, *found.tail])


def by_keys(stage: Stage, keys: list[pl.Expr]) -> Stage:
    """Have the rows of a group in one part."""
    types = stage.plan.empty.lazy().select(keys).collect_schema().dtypes()
    if not all(map(may_hash, types)):
        return stage.one()
    return shuffled(stage, keys, types, LIMITS.parts(stage.nbytes(), stage.client))


@rule("select")
def _select(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed)
    if not stage.is_one and not row_wise(step):
        exprs = list(each_expr(step.args, step.options))
        found = decomposed(step.input.empty, exprs, keyed=False)
        if found is not None:
            return _of_all_rows(stage, found)
        stage = stage.one()
    return stage.then("select", *step.args, **step.options)


def _of_all_rows(stage: Stage, found: Aggregates) -> Stage:
    """Make one row of aggregates of all parts, and of quantiles of these."""
    if found.ranked and not isinstance(stage.plan, Slot):
        stage = stage.done()
    ranked = list(_ranked(stage, found.ranked))
    if found.partial:
        stage = stage.then("select", found.partial).one().then("select", found.final)
        return stage.then("with_columns", *ranked).then("select", found.tail)
    one = pl.DataFrame(ranked)
    return Stage.of([[to_arrow(one)]], one.clear(), stage.client).then("select", found.tail)


def _ranked(stage: Stage, wanted: Sequence[Ranked]) -> Iterator[pl.Series]:
    made: dict[str, Stage] = {}
    for each in wanted:
        if each.key not in made:
            made[each.key] = stage.then("select", each.values.alias("values")).done()
        found = quantile_of(made[each.key], each.fraction, each.interpolation)
        yield found.alias(each.name)
