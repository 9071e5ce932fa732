"""Groups, and aggregates of all rows: of parts first, or of the rows of a group together."""

from __future__ import annotations

import polars as pl

from freestone.collections.tables.aggregates import Aggregates, decomposed
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
from freestone.collections.tables.plan import Op
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
        stage = stage.one() if found is None else stage.then("select", found.partial).one()
        if found is not None:
            return stage.then("select", found.final).then("select", found.tail)
    return stage.then("select", *step.args, **step.options)
