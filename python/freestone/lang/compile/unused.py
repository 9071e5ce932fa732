"""Operations whose results nobody reads are dropped, but for those that may fail."""

from __future__ import annotations

from freestone.lang.front.graph.failing import may_fail
from freestone.lang.front.graph.graph import Block, Program, Value, outer_operands
from freestone.lang.settings import Settings


def drop(program: Program, settings: Settings) -> None:
    """Drop operations that do nothing but make what nobody reads, and can't fail."""
    for block in program.blocks():
        _drop(block)


def _drop(block: Block) -> None:
    read: set[Value] = set(block.outs)
    kept = []
    for op in reversed(block.ops):
        if op.pure and not any(result in read for result in op.results) and not may_fail(op):
            continue
        kept.append(op)
        read.update(outer_operands(op))
    block.ops = kept[::-1]
