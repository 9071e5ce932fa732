"""Small tables of a join are made again by each part of the other, instead of by calls before it.

A call before another costs a round trip, during which executors wait for one another: more than to
filter a few MiB twice.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

from freestone.collections.tables.lowering import LIMITS, members_of, width_of
from freestone.collections.tables.needs import join_keys
from freestone.collections.tables.plan import Node, Op, Slot
from freestone.collections.tables.pushing import are_plain
from freestone.collections.tables.remembering import key_of
from freestone.collections.tables.rowwise import row_wise
from freestone.collections.tables.stages import Stage

__all__ = ["inlined"]

_NO_MORE = {"cast", "drop", "drop_nulls", "fill_null", "filter", "rename", "select", "with_columns"}
"""Steps that make at most one row of a row, if they look at one row alone."""


def inlined(side: Stage, other: Stage) -> Stage | None:
    """Return a side of a join as a stage of one part, whose plan the other's calls do themselves.

    Parameters
    ----------
    side
        What is to go to all parts of the other.
    other
        The larger table.

    Returns
    -------
    Stage or None
        None if that costs more than to call it for its own parts first, or is not the same.
    """
    if side.is_done or not _is_cheap(side, other):
        return None
    one = side if side.is_one else _as_one(side)
    if one is None or _only_selects(one.plan):
        return one
    # It is made before what it is joined with, so that its size is known.
    return one.then("cache")


def _is_cheap(side: Stage, other: Stage) -> bool:
    """Tell whether less is read again than a round trip costs, and no more is moved."""
    slots, workers = members_of(other.client)
    if workers > 1 and side.whole_nbytes() > LIMITS.small_nbytes:
        # Blocks are moved with all their columns.
        return False
    if _only_selects(side.plan):
        # A call before would write the same bytes once more, for the others to read.
        return True
    nbytes = side.nbytes()
    takers = max(len(other.parts), slots)
    if nbytes * takers > LIMITS.repeated_nbytes:
        return False
    return _most_rows(side.plan, side) * width_of(side.plan.empty) <= LIMITS.part_nbytes


def _only_selects(node: Node) -> bool:
    while isinstance(node, Op) and are_plain(node):
        node = node.input
    return isinstance(node, Slot)


def _most_rows(node: Node, stage: Stage) -> float:
    """Return about how many rows a step makes at most, of all parts.

    Infinity if those may be others each time: of a random sample, of a Python function, or sums,
    which depend on the order of rows. All parts have to join with the same ones.
    """
    if isinstance(node, Slot):
        return stage.nbytes_of(node) / width_of(node.empty)
    assert isinstance(node, Op)
    if key_of(node.args, node.options) is None:
        return math.inf
    rows = [_most_rows(each, stage) for each in node.inputs]
    if node.method == "join":
        keys = [*chain.from_iterable(join_keys(node.options))]
        if not all(key.meta.is_column() for key in keys):
            return math.inf
        return rows[0] if node.options["how"] in ("anti", "semi") else math.prod(rows)
    return rows[0] if node.method in _NO_MORE and row_wise(node) else math.inf


def _as_one(stage: Stage) -> Stage | None:
    """Give all rows to one part, if each step looks at one row alone."""
    node = stage.plan
    while isinstance(node, Op):
        if len(node.inputs) > 1 or not row_wise(node):
            return None
        node = node.input
    return replace(stage, parts=[([piece for (pieces,) in stage.parts for piece in pieces],)])
