"""Which columns each step needs of its inputs, so that no others are moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from freestone.collections.tables.expressions import each_expr, roots
from freestone.collections.tables.plan import Op

__all__ = ["Columns", "join_keys", "join_needs", "needs", "united"]

Columns = set[str] | None
"""Names of columns; None are all."""


def needs(step: Op, needed: Columns) -> Columns:
    """Return the columns that a step needs of its input for the `needed` ones of its output."""
    rule = _RULES.get(step.method)
    return None if rule is None else rule(step, needed)


def united(*columns: Columns) -> Columns:
    """Return all of some columns."""
    if any(each is None for each in columns):
        return None
    return set().union(*(each for each in columns if each is not None))


def _filter(step: Op, needed: Columns) -> Columns:
    return united(needed, roots(each_expr(step.args)), set(step.options))


def _select(step: Op, needed: Columns) -> Columns:
    return roots(each_expr(step.args, step.options))


def _with_columns(step: Op, needed: Columns) -> Columns:
    return united(needed, roots(each_expr(step.args, step.options)))


def _group_by(step: Op, needed: Columns) -> Columns:
    keys, aggregates = step.args
    return roots(each_expr([*keys, *aggregates]))


def _windows(step: Op, needed: Columns) -> Columns:
    index, aggregates = step.args
    return roots(each_expr([index, step.options["group_by"] or [], *aggregates]))


def _sort(step: Op, needed: Columns) -> Columns:
    return united(needed, roots(each_expr(step.args[0])))


def _unique(step: Op, needed: Columns) -> Columns:
    subset = step.args[0]
    return None if subset is None else united(needed, roots(each_expr(subset)))


def _drop(step: Op, needed: Columns) -> Columns:
    return united(needed, set(step.input.schema) - set(step.schema))


def _rename(step: Op, needed: Columns) -> Columns:
    if needed is None:
        return None
    pairs = zip(step.input.schema, step.schema, strict=True)
    return {old for old, new in pairs if new in needed or old != new}


def _unpivot(step: Op, needed: Columns) -> Columns:
    return {*step.args[0], *step.options["index"]}


def _same(step: Op, needed: Columns) -> Columns:
    return needed


_RULES: dict[str, Callable[[Op, Columns], Columns]] = {
    "drop": _drop,
    "filter": _filter,
    "group_by": _group_by,
    "group_by_dynamic": _windows,
    "head": _same,
    "remove": _filter,
    "rename": _rename,
    "rolling": _windows,
    "sample": _same,
    "select": _select,
    "slice": _same,
    "sort": _sort,
    "tail": _same,
    "unique": _unique,
    "unpivot": _unpivot,
    "with_columns": _with_columns,
}


def join_keys(options: dict[str, Any]) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Return the keys of both sides of a join."""
    on = options.get("on")
    left, right = (on, on) if on is not None else (options["left_on"], options["right_on"])
    return list(each_expr(left or [])), list(each_expr(right or []))


def join_needs(
    step: Op, keys: tuple[list[Any], list[Any]], needed: Columns
) -> tuple[Columns, Columns]:
    """Return the columns that a join needs of each of its sides.

    Notes
    -----
    Of two columns of one name the left one is kept for as long as the right one is needed, which
    has a suffix only then.
    """
    left, right = (side.schema for side in step.inputs)
    ours, theirs = (roots(each_expr(side)) for side in keys)
    if step.options.get("how") in ("semi", "anti"):
        return united(needed, ours), theirs
    if needed is None:
        return None, None
    clashing = {name for name in right if name in left}
    renamed = {name: name + step.options["suffix"] for name in clashing}
    wanted = {name for name in right if renamed.get(name, name) in needed}
    kept = {name for name in left if name in needed} | (wanted & clashing)
    return united(kept, ours), united(wanted, theirs)
