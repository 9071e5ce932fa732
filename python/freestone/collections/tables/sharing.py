"""Steps that several others of a plan need are done once, and what they make is kept for the plan.

A join or a group whose rows go to two later steps would be computed for each: what follows it is
done in the same calls, so that these are not the same calls.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from freestone.collections.tables.lowering import lower, unwrapped
from freestone.collections.tables.needs import Columns, join_keys, join_needs, needs, united
from freestone.collections.tables.plan import Leaf, Node, Op, leaves

__all__ = ["with_shared_steps_done"]

_COSTLY = {
    *("group_by", "group_by_dynamic", "join", "join_asof", "join_where", "rolling", "sample"),
    *("sort", "sql", "unique"),
}
"""Steps that are not repeated; others cost less than to write what they make."""


def with_shared_steps_done(node: Node) -> Node:
    """Return a plan whose costly steps have one user each: others are frames, being computed."""
    steps = _in_order(node)
    users = Counter(id(each) for step in steps for each in _inputs(step))
    shared = {id(step) for step in steps if users[id(step)] > 1 and step.method in _COSTLY}
    if not shared:
        return node
    wanted = _wanted(steps)
    kind = type(next(leaves(node)).frame)
    made: dict[int, Node] = {}
    for step in steps:
        inputs = tuple(made.get(id(unwrapped(each)), each) for each in step.inputs)
        again: Node = replace(step, inputs=inputs)
        if id(step) in shared:
            again = _computed(again, wanted[id(step)], kind)
        made[id(step)] = again
    return made[id(unwrapped(node))]


def _computed(step: Node, wanted: Columns, kind: Any) -> Leaf:
    stage = lower(step, wanted).trimmed(wanted).done()
    frame = kind([piece for (pieces,) in stage.parts for piece in pieces], None, name="shared")
    frame._is_planned = True
    return Leaf(stage.plan.empty, frame, is_shared=True)


def _inputs(step: Op) -> list[Op]:
    """Return the steps whose rows a step gets."""
    found = map(unwrapped, step.inputs)
    return [each for each in found if isinstance(each, Op)]


def _in_order(node: Node) -> list[Op]:
    """Return all steps of a plan once, each after its inputs."""
    found: dict[int, Op] = {}

    def visit(step: Op) -> None:
        if id(step) not in found:
            for each in _inputs(step):
                visit(each)
            found[id(step)] = step

    top = unwrapped(node)
    if isinstance(top, Op):
        visit(top)
    return list(found.values())


def _wanted(steps: list[Op]) -> dict[int, Columns]:
    """Return the columns of each step that any of its users needs."""
    found: dict[int, Columns] = {id(steps[-1]): None}
    for step in reversed(steps):
        for each, columns in zip(step.inputs, _wanted_by(step, found[id(step)]), strict=True):
            key = id(unwrapped(each))
            found[key] = united(found[key], columns) if key in found else columns
    return found


def _wanted_by(step: Op, needed: Columns) -> list[Columns]:
    """Return the columns that a step needs of each input."""
    if step.method == "join":
        return list(join_needs(step, join_keys(step.options), needed))
    if len(step.inputs) == 1:
        return [needs(step, needed)]
    return [None] * len(step.inputs)
