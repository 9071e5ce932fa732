"""What is the same in every round of a loop is computed before it."""

from __future__ import annotations

from freestone.lang.front.graph.graph import Block, Op, Program, nested
from freestone.lang.front.types.types import is_float
from freestone.lang.settings import Settings

HARMLESS = frozenset(
    {"unary", "transpose", "cast", "fill", "literal", "syrk", "agg_row", "agg_col"}
)
"""Operations that can't fail once their shapes are known: a loop may never run them."""


def hoist(program: Program, settings: Settings) -> None:
    """Move operations out of loops, the inner ones first."""
    for block in list(program.blocks()):
        _hoist(block)


def _hoist(block: Block) -> None:
    ops: list[Op] = []
    for op in block.ops:
        if op.kind in ("for", "while"):
            for region in op.regions:
                ops += _invariant(region)
        ops.append(op)
    block.ops = ops


def _invariant(region: Block) -> list[Op]:
    inside = set(region.args)
    for block in nested(region):
        inside.update(block.args)
        for op in block.ops:
            inside.update(op.results)
    moved = []
    for op in list(region.ops):
        if _is_harmless(op) and not any(value in inside for value in op.operands):
            region.ops.remove(op)
            inside.difference_update(op.results)
            moved.append(op)
    return moved


def _is_harmless(op: Op) -> bool:
    types = [value.type for value in (*op.operands, *op.results)]
    if op.regions or any(t.data == "matrix" and None in (t.rows, t.columns) for t in types):
        return False
    if op.results[0].type.data != "matrix" or any(0 in (t.rows, t.columns) for t in types):
        return False
    if op.kind in ("binary", "matmul"):
        return is_float(op.results[0].type.cell)
    return op.kind in HARMLESS
