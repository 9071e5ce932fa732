"""Joins of each row with the one whose key comes next to its own: ``join_asof``.

A small right table goes to all parts of the left one. Of two large ones the rows are moved: by the
hash of the keys that have to be equal, or else so that each part has those between two keys. Then
a row's partner may be in another part, but only as the last row before its part or the first one
after it; each part gets these.
"""

from __future__ import annotations

import polars as pl

from freestone.collections.tables.calls import ByRange
from freestone.collections.tables.expressions import as_expr
from freestone.collections.tables.joining import Keys, by_parts, moved_by_keys, pays
from freestone.collections.tables.lowering import LIMITS, cut, lower, rule
from freestone.collections.tables.needs import Columns, join_needs
from freestone.collections.tables.ordering import borders, may_cut
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__: list[str] = []

_IN_ORDER = {"descending": False, "nulls_last": False, "maintain_order": True}


@rule("join_asof")
def _join_asof(step: Op, needed: Columns) -> Stage:
    near, equal = _keys(step)
    keys = ([*near[0], *equal[0]], [*near[1], *equal[1]])
    left, right = (
        lower(side, columns).trimmed(columns)
        for side, columns in zip(step.inputs, join_needs(step, keys, needed), strict=True)
    )
    if not by_parts(step, keys):
        left, right = left.one(), right.one()
    if not right.is_one:
        right = right.done()
        if pays(right, left):
            right = right.one()
        elif equal[0]:
            left, right = moved_by_keys(left, right, equal, step)
        else:
            left, right = _in_ranges(left.done(), right, near, step)
    left, right = (
        side.then("sort", key, **_IN_ORDER) for side, key in zip((left, right), near, strict=True)
    )
    return left.joined(right, "join_asof", **step.options)


def _keys(step: Op) -> tuple[Keys, Keys]:
    """Return the keys of both sides: those that are to be near, and those that are to be equal."""
    near = tuple([as_expr(step.options[f"{side}_on"])] for side in ("left", "right"))
    equal = tuple(
        list(map(as_expr, step.options[f"by_{side}"] or [])) for side in ("left", "right")
    )
    return (near[0], near[1]), (equal[0], equal[1])


def _in_ranges(left: Stage, right: Stage, near: Keys, step: Op) -> tuple[Stage, Stage]:
    """Have rows between the same two keys in parts of the same number, each with its neighbours."""
    (ours,), (theirs,) = near
    types = [
        side.empty.select(key).dtypes for side, key in zip(step.inputs, (ours, theirs), strict=True)
    ]
    nbytes = [left.nbytes(), right.nbytes()]
    parts = LIMITS.parts(sum(nbytes), left.client, right.client)
    larger, key = (left, ours) if nbytes[0] > nbytes[1] else (right, theirs)
    may = types[0] == types[1] and may_cut(step.input.empty, ours) and parts > 1
    found = borders(larger, key, parts, descending=False) if may else None
    if found is None:
        return left, right.one()
    # A row without a key is no partner.
    right = cut(right.then("filter", theirs.is_not_null()), ByRange(theirs, found, False, False))
    return (
        cut(left, ByRange(ours, found, False, False)),
        _with_neighbours(right, theirs, step.options["strategy"]),
    )


def _with_neighbours(stage: Stage, key: pl.Expr, strategy: str) -> Stage:
    """Give each part the last rows of those before it, and the first ones of those after it."""
    stage = stage.then("sort", [key], **_IN_ORDER).done()
    lasts = [block for (block,) in stage.then("tail", 1).blocks()]
    firsts = stage.then("head", 1)
    if strategy == "nearest":
        # Of rows of the same key polars takes the last one for the nearest.
        firsts = stage.then("filter", key == key.first()).then("tail", 1)
    nexts = [block for (block,) in firsts.blocks()]
    parts = [
        [*lasts[:place], *part, *nexts[place + 1 :]] for place, (part,) in enumerate(stage.parts)
    ]
    return Stage.of(parts, stage.plan.empty, stage.client)
