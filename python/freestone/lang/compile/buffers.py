"""Results are written over operands that nobody reads any more.

Only operations of cells outside of pipelines: a pipeline has no results in between, and the
engine takes memory again that was given back.
"""

from __future__ import annotations

from freestone.lang.front.graph.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.front.types.types import Type
from freestone.lang.settings import Settings

CELLWISE = frozenset({"unary", "binary"})
BORROWED = frozenset({"given", "call", "if", "for", "while", "to_frame", "read", "rows"})
"""Operations whose results somebody else may hold."""


def take_over(program: Program, settings: Settings) -> None:
    """Mark the operand of each operation that its result may be written over."""
    # On a cluster the program that sent a matrix holds it as well.
    if settings.distributed or not settings.forget:
        return
    for block in program.blocks():
        _mark(block)


def _mark(block: Block) -> None:
    made = {result for op in block.ops for result in op.results}
    later = set(block.outs)
    for op in reversed(block.ops):
        if op.kind in CELLWISE:
            at = _victim(op, made, later)
            if at is not None:
                op.attrs["over"] = at
        later.update(outer_operands(op))


def _victim(op: Op, made: set[Value], later: set[Value]) -> int | None:
    goal = op.results[0].type
    if goal.data != "matrix" or goal.csr or goal.cell == "str":
        return None
    for at, operand in enumerate(op.operands):
        maker = operand.op
        if operand not in made or operand in later or maker is None or maker.kind in BORROWED:
            continue
        if _alike(operand.type, goal):
            return at
    return None


def _alike(one: Type, other: Type) -> bool:
    shapes = (one.rows, one.columns), (other.rows, other.columns)
    known = None not in shapes[1] and shapes[0] == shapes[1]
    return known and one.data == other.data and one.cell == other.cell and not one.csr
