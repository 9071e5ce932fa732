"""The last step of a plan is done by the program, if it is small and its result is waited for.

Mostly it sorts a few rows, or adds up what the parts gave: a call of its own takes several times
as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from math import prod
from typing import Any

import polars as pl

from freestone.collections.pieces import value_of
from freestone.collections.tables.calls import made, to_arrow, to_polars
from freestone.collections.tables.expressions import each_expr, tree_of
from freestone.collections.tables.lowering import LIMITS, width_of
from freestone.collections.tables.needs import join_keys
from freestone.collections.tables.plan import Node, Op, Slot
from freestone.collections.tables.remembering import key_of, remembered
from freestone.collections.tables.stages import Stage

__all__ = ["finished"]

_METHODS = {
    "filter",
    "group_by",
    "head",
    "join",
    "select",
    "sort",
    "tail",
    "unique",
    "with_columns",
}
_HEADS = {
    *("Agg", "Alias", "BinaryExpr", "Cast", "Column", "Filter", "Function", "Literal", "Sort"),
    *("SortBy", "Ternary"),
    *("Count", "First", "Last", "Max", "Mean", "Median", "Min", "NUnique", "Std", "Sum", "Var"),
}
_FUNCTIONS = {"Abs", "Boolean", "FillNull", "NullCount", "Quantile", "Round", "TemporalExpr"}
"""What polars calls expressions that make no more than they get."""


def finished(stage: Stage) -> list[Any]:
    """Return the blocks of a stage, made by the program if that is sooner.

    Notes
    -----
    Waits for what the stage is made of, if it is one part.
    """
    if stage.client is None or stage.is_done or not (stage.is_one and _is_small(stage)):
        return [block for (block,) in stage.blocks()]
    (part,) = stage.parts
    frames = [
        to_polars([value_of(piece) for piece in pieces], slot)
        for slot, pieces in zip(stage.slots, part, strict=True)
    ]
    return [stage.client.put(to_arrow(made(stage.plan, frames)))]


def _is_small(stage: Stage) -> bool:
    """Tell whether a stage gets and makes so little that the program's memory is safe with it."""
    steps = list(_steps(stage.plan))
    if not steps or not all(map(_makes_no_more, steps)):
        return False
    if stage.whole_nbytes() > LIMITS.here_nbytes:
        return False
    return _most_rows(stage.plan, stage) * width_of(stage.plan.empty) <= LIMITS.small_nbytes


def _most_rows(node: Node, stage: Stage) -> float:
    """Return about how many rows a step makes at most: those of a slot, or of a join of all."""
    if isinstance(node, Slot):
        return stage.nbytes_of(node) / width_of(node.empty)
    assert isinstance(node, Op)
    rows = [_most_rows(each, stage) for each in node.inputs]
    if len(rows) > 1 and node.options["how"] not in ("anti", "semi"):
        return prod(each + 1 for each in rows)
    return rows[0]


def _steps(node: Node) -> Iterator[Op]:
    if isinstance(node, Op):
        yield node
        for each in node.inputs:
            yield from _steps(each)


def _makes_no_more(step: Op) -> bool:
    """Tell whether a step has no functions of Python, and none that make much of little."""
    if step.method not in _METHODS:
        return False
    key = key_of("makes no more", step.method, step.args, step.options)
    return key is not None and remembered(key, lambda: all(map(_is_plain, _trees(step))))


def _trees(step: Op) -> Iterator[Any]:
    if step.method == "join":
        exprs: Iterator[pl.Expr] = chain.from_iterable(join_keys(step.options))
    else:
        named = step.options if step.method in ("select", "with_columns") else {}
        exprs = each_expr(step.args, named)
    return map(tree_of, exprs)


def _is_plain(tree: Any) -> bool:
    if isinstance(tree, list):
        return all(map(_is_plain, tree))
    if not isinstance(tree, dict):
        return tree is not None
    return all(_is_plain_part(key, value) for key, value in tree.items())


def _is_plain_part(key: str, value: Any) -> bool:
    if key[0].isupper() and key not in _HEADS:
        return False
    match key:
        case "Column" | "Literal" | "dtype" | "options" | "sort_options":
            return True
        case "Function":
            function = value["function"]
            head = function if isinstance(function, str) else next(iter(function))
            return head in _FUNCTIONS and _is_plain(value["input"])
    return _is_plain(value)
