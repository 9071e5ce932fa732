"""Joins: with the smaller table sent to all parts of the other, or both moved by their keys."""

from __future__ import annotations

import polars as pl

from freestone.collections.tables.expressions import each_expr, is_row_wise
from freestone.collections.tables.guarding import slot_of
from freestone.collections.tables.inlining import inlined
from freestone.collections.tables.lowering import LIMITS, lower, may_hash, rule, shuffled, slots_of
from freestone.collections.tables.needs import Columns, join_keys, join_needs
from freestone.collections.tables.ordered import aligned
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__ = ["Keys", "by_parts", "moved_by_keys", "pays"]

_MAY_SEND_LEFT = {"cross", "inner", "right"}
_MAY_SEND_RIGHT = {"anti", "cross", "inner", "left", "semi"}
Keys = tuple[list[pl.Expr], list[pl.Expr]]


@rule("join")
def _join(step: Op, needed: Columns) -> Stage:
    keys = join_keys(step.options)
    wanted = join_needs(step, keys, needed)
    left, right = (
        lower(side, columns).trimmed(columns)
        for side, columns in zip(step.inputs, wanted, strict=True)
    )
    if (left.is_one and right.is_one) or not _by_parts(step, keys):
        return _sized(left.one()).joined(_sized(right.one()), "join", **step.options)
    pair = None if left.is_one or right.is_one else aligned(left, right, keys)
    if pair is not None:
        left, right = pair
        return left.joined(right, "join", **step.options)
    if step.options["how"] in ("anti", "semi") and _may_be_small(left, right):
        left = left.done()
        if pays(left, right) and _are_alike(step, keys):
            return _by_keys_found(left.one(), right, keys, step)
    left, right, is_sent = _sent(left, right, step)
    if is_sent:
        return left.joined(right, "join", **step.options)
    left, right = moved_by_keys(left, right, keys, step)
    return left.joined(right, "join", **step.options)


@rule("join_where")
def _join_where(step: Op, needed: Columns) -> Stage:
    left, right = (lower(side, None) for side in step.inputs)
    if not is_row_wise(step.empty, _numbered(list(each_expr(step.args)))):
        left, right = left.one(), right.one()
    elif left.nbytes() < right.nbytes():
        left = left.one()
    else:
        right = right.one()
    return left.joined(right, "join_where", *step.args, **step.options)


def _sized(side: Stage) -> Stage:
    """Have a call make a table first that is joined or grouped, so that it knows how many rows."""
    return side if slot_of(side.plan) is not None else side.then("cache")


def _may_be_small(left: Stage, right: Stage) -> bool:
    """Tell whether a left table may be so small that the keys of the right one go to it."""
    if left.is_one:
        return True
    return not left.is_done and left.nbytes() < right.nbytes() and not pays(right, left)


def _may_send(step: Op) -> tuple[bool, bool]:
    """Tell whether the left and the right table may be sent to all parts of the other."""
    how, order = step.options["how"], step.options["maintain_order"] or "none"
    left = how in _MAY_SEND_LEFT and order in ("none", "right", "right_left")
    right = how in _MAY_SEND_RIGHT and order in ("none", "left", "left_right")
    return left, right


def _by_parts(step: Op, keys: Keys) -> bool:
    """Tell whether rows of different keys can be joined in different calls."""
    ordered = step.options["maintain_order"] not in (None, "none")
    if step.options["validate"] != "m:m" or (ordered and not any(_may_send(step))):
        return False
    return by_parts(step, keys)


def by_parts(step: Op, keys: Keys) -> bool:
    """Tell whether the keys of each row are of that row alone."""
    pairs = zip(step.inputs, keys, strict=True)
    return all(not key or is_row_wise(side.empty, _numbered(key)) for side, key in pairs)


def _numbered(keys: list[pl.Expr]) -> list[pl.Expr]:
    return [key.alias(f"{place}") for place, key in enumerate(keys)]


def _sent(left: Stage, right: Stage, step: Op) -> tuple[Stage, Stage, bool]:
    """Have the smaller table be one part, if it may and should be sent to all of the other.

    Notes
    -----
    How large a table is that is filtered or joined before is found out by calling it, unless its
    calls would cost more than to do the same in all parts of the other.
    """
    sides = [left, right]
    choices = [side for side, may in enumerate(_may_send(step)) if may]
    if not choices:
        return left, right, False
    side = min(choices, key=lambda each: (not sides[each].is_one, sides[each].nbytes()))
    again = inlined(sides[side], sides[1 - side]) if pays(sides[side], sides[1 - side]) else None
    if again is not None:
        sides[side] = again
        return sides[0], sides[1], True
    has_to = step.options["how"] == "cross" or step.options["maintain_order"] not in (None, "none")
    sides[side] = sides[side].done()
    is_sent = has_to or pays(sides[side], sides[1 - side])
    if is_sent:
        sides[side] = sides[side].one()
    return sides[0], sides[1], is_sent


def _by_keys_found(left: Stage, right: Stage, keys: Keys, step: Op) -> Stage:
    """Join a small left table with its keys that a large right one has.

    Notes
    -----
    That is all that a semi-join or an anti-join needs of the right one, whose parts find them.
    """
    names = [f"{place}" for place in range(len(keys[0]))]
    sides = zip((left, right), keys, strict=True)
    ours, theirs = (side.then("select", _numbered(key)) for side, key in sides)
    alike = {"how": "semi", "nulls_equal": step.options["nulls_equal"]}
    found = theirs.joined(ours, "join", on=names, **alike).then("unique", names).done().one()
    options = {**step.options, "on": None, "left_on": keys[0], "right_on": names}
    return left.joined(found, "join", **options)


def pays(small: Stage, other: Stage) -> bool:
    """Tell whether less is moved, and hashed, by sending a table to all parts of another."""
    nbytes = small.nbytes()
    if nbytes <= LIMITS.small_nbytes:
        return True
    takers = max(len(other.parts), slots_of(other.client))
    return nbytes <= LIMITS.broadcast_nbytes and nbytes * (takers - 1) <= other.nbytes()


def moved_by_keys(left: Stage, right: Stage, keys: Keys, step: Op) -> tuple[Stage, Stage]:
    """Have rows of equal keys in parts of the same number."""
    types = _common_types(step, keys)
    if types is None or not all(map(may_hash, types)):
        return left.one(), right.one()
    parts = LIMITS.parts(left.nbytes() + right.nbytes(), left.client, right.client)
    left, right = (
        shuffled(side, key, types, parts) for side, key in zip((left, right), keys, strict=True)
    )
    return left, right


def _are_alike(step: Op, keys: Keys) -> bool:
    """Tell whether the keys of both sides have the same types."""
    pairs = zip(step.inputs, keys, strict=True)
    left, right = (side.empty.select(_numbered(key)).schema for side, key in pairs)
    return bool(left == right)


def _common_types(step: Op, keys: Keys) -> list[pl.DataType] | None:
    """Return the types as which polars compares the keys, so that equal ones have equal hashes."""
    sides = [side.empty.select(_numbered(key)) for side, key in zip(step.inputs, keys, strict=True)]
    try:
        types: list[pl.DataType] = pl.concat(sides, how="vertical_relaxed").dtypes
    except pl.exceptions.PolarsError:
        return None
    return types
