"""Joins that would make more rows than the machine has memory for, found by samples.

polars takes the memory until the process is killed. So before a call joins two tables whose keys
might all be equal, it joins some rows of both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from freestone.collections.tables.expressions import each_expr
from freestone.collections.tables.plan import Node, Op, Slot, build
from freestone.collections.tables.rowwise import row_wise
from freestone.collections.tables.sampling import refuse_too_many_rows, width_of
from freestone.units import machine_nbytes

__all__ = ["check_joins", "slot_of"]

_BEFORE = {"cast", "drop", "drop_nans", "drop_nulls", "filter", "rename", "select", "with_columns"}
"""Steps of which a sample is one of the rows that they make, if they look at one row alone."""
_GROWING = {"cross", "full", "inner", "left", "right"}


def check_joins(plan: Node, tables: Sequence[pl.DataFrame], limit_nbytes: int = 0) -> None:
    """Refuse a plan that joins two tables to far more rows than a call can hold.

    Parameters
    ----------
    plan
        With a slot for each table. A join of what is joined or grouped in the same plan is not
        looked at.
    tables
        The rows of the slots.
    limit_nbytes
        So many bytes may be joined; by default those of the machine's memory.

    Raises
    ------
    ExplodingJoinError
        With the sizes.

    Notes
    -----
    Takes a few milliseconds where two tables might make so many rows, and else none.
    """
    limit_nbytes = limit_nbytes or machine_nbytes()
    for join, top in _joins(plan, None):
        slots = [slot_of(side) for side in join.inputs]
        how = join.options.get("how", "inner")
        if how not in _GROWING or None in slots:
            continue
        sides = [tables[slot.index] for slot in slots if slot is not None]
        width = width_of(join.empty)
        most = limit_nbytes // width
        if len(sides[0]) * len(sides[1]) <= most or not _keeps_samples(join, top):
            continue
        keys = _keys(join)
        refuse_too_many_rows(
            sides, partial(_matches, join, top), most, width=width, keys=keys, how=how
        )


def _keys(join: Op) -> str:
    """Return what rows are joined by, for a message."""
    if join.method == "join_where":
        return ", ".join(map(str, each_expr(join.args)))
    on = join.options.get("on")
    sides = [on, on] if on is not None else [join.options.get(f"{s}_on") for s in ("left", "right")]
    left, right = (list(map(_name, each_expr(side or []))) for side in sides)
    pairs = zip(left, right, strict=False)
    return ", ".join(one if one == other else f"{one} = {other}" for one, other in pairs)


def _name(key: pl.Expr) -> str:
    return key.meta.output_name(raise_if_undetermined=False) or str(key)


def _joins(node: Node, top: Node | None) -> Iterator[tuple[Op, Node]]:
    """Yield joins, and the last of the steps after each that polars may do before it."""
    if not isinstance(node, Op):
        return
    if node.method in ("join", "join_where"):
        yield node, top or node
    inner = (top or node) if node.method in _BEFORE else None
    for each in node.inputs:
        yield from _joins(each, inner)


def slot_of(node: Node) -> Slot | None:
    """Return the slot whose rows a step gets, one by one; None if it is not so simple."""
    while isinstance(node, Op) and node.method in _BEFORE:
        node = node.input
    return node if isinstance(node, Slot) else None


def _keeps_samples(join: Op, top: Node) -> bool:
    """Tell whether all steps around a join look at one row alone."""
    chains = [(top, join), *((side, None) for side in join.inputs)]
    for node, end in chains:
        while isinstance(node, Op) and node is not end:
            if not row_wise(node):
                return False
            node = node.input
    return True


def _matches(join: Op, top: Node, samples: Sequence[pl.DataFrame]) -> int:
    """Return how many rows a join makes of samples, with what comes after it."""
    # What has no partner, or is there twice in a sample, is no reason to refuse or to add rows.
    is_by_keys = join.options.get("how", "cross") != "cross"
    inner = {"how": "inner", "validate": "m:m"} if is_by_keys else {}
    inputs = tuple(_numbered(side, place) for place, side in enumerate(join.inputs))
    trial = replace(join, inputs=inputs, options=join.options | inner)
    plan = build(_with(top, join, trial), [sample.lazy() for sample in samples])
    try:
        return int(plan.select(pl.len()).collect().item())
    except pl.exceptions.PolarsError:
        # The call itself says what is wrong.
        return 0


def _numbered(node: Node, index: int) -> Node:
    """Return a side of a join whose slot has another number."""
    if isinstance(node, Slot):
        return replace(node, index=index)
    assert isinstance(node, Op)
    return replace(node, inputs=(_numbered(node.input, index),))


def _with(top: Node, join: Op, trial: Op) -> Node:
    """Return steps after a join with another one in its place."""
    if top is join:
        return trial
    assert isinstance(top, Op)
    return replace(top, inputs=(_with(top.input, join, trial),))
