"""Joins that would make more rows than the machine has memory for, found by a sample.

polars takes the memory until the process is killed. So before a call joins two tables whose keys
might all be equal, it joins some rows of both: of ``matches`` among ``s`` and ``t`` of ``n`` and
``m`` rows there are about ``matches * n / s * m / t`` in all. What three samples agree on is
refused.

References
----------
Haas, Naughton, Seshadri and Swami, Selectivity and cost estimation for joins based on random
sampling, J. Comput. Syst. Sci. 52 (1996), section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from freestone.collections.tables.plan import Node, Op, Slot, build
from freestone.collections.tables.rowwise import row_wise
from freestone.errors import ExplodingJoinError
from freestone.units import machine_nbytes

__all__ = ["check_joins"]

SAMPLES = 2_000
SEEDS = range(3)
MIN_MATCHES = 16
"""Fewer in a sample may be there by chance."""
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
        slots = [_slot(side) for side in join.inputs]
        if join.options["how"] not in _GROWING or None in slots:
            continue
        sides = [tables[slot.index] for slot in slots if slot is not None]
        left, right = map(len, sides)
        width = max(sum(map(_width, join.schema.dtypes())), 1)
        if left * right * width <= limit_nbytes or not _keeps_samples(join, top):
            continue
        rows = left * right
        for seed in SEEDS:
            rows = min(rows, _estimate(join, top, sides, seed))
            if rows * width <= limit_nbytes:
                break
        else:
            raise ExplodingJoinError(
                left_rows=left,
                right_rows=right,
                rows=rows,
                nbytes=rows * width,
                how=join.options["how"],
            )


def _joins(node: Node, top: Node | None) -> Iterator[tuple[Op, Node]]:
    """Yield joins, and the last of the steps after each that polars may do before it."""
    if not isinstance(node, Op):
        return
    if node.method == "join":
        yield node, top or node
    inner = (top or node) if node.method in _BEFORE else None
    for each in node.inputs:
        yield from _joins(each, inner)


def _slot(node: Node) -> Slot | None:
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


def _width(dtype: pl.DataType) -> int:
    """Return how many bytes a value takes, at least."""
    return 8 if dtype.is_numeric() or dtype.is_temporal() else 1 if dtype == pl.Boolean else 16


def _estimate(join: Op, top: Node, sides: Sequence[pl.DataFrame], seed: int) -> int:
    """Return about how many rows a join makes, with what comes after it; 0 if few."""
    samples, scale = [], 1.0
    for place, side in enumerate(sides):
        taken = side
        if len(side) > SAMPLES:
            taken = side.sample(SAMPLES, with_replacement=True, seed=2 * seed + place)
        scale *= len(side) / max(len(taken), 1)
        samples.append(taken.lazy())
    # What has no partner, or is there twice in a sample, is no reason to refuse or to add rows.
    inner = {"how": "inner", "validate": "m:m"} if join.options["how"] != "cross" else {}
    inputs = tuple(_numbered(side, place) for place, side in enumerate(join.inputs))
    trial = replace(join, inputs=inputs, options=join.options | inner)
    try:
        matches = build(_with(top, join, trial), samples).select(pl.len()).collect().item()
    except pl.exceptions.PolarsError:
        # The call itself says what is wrong.
        return 0
    return int(matches * scale) if matches >= MIN_MATCHES else 0


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
