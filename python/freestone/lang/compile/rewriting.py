"""What passes share: replacing values, and what makes them."""

from __future__ import annotations

from collections.abc import Callable

from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Block, Op, Value


def replace(block: Block, new: dict[Value, Value]) -> None:
    """Replace values wherever a block, or one inside of it, reads them."""

    def latest(value: Value) -> Value:
        while value in new:
            value = new[value]
        return value

    if new:
        _walk(block, latest)


def emitter_for(op: Op) -> Emitter:
    """Return what makes operations that stand for another, at its place in the script."""
    emitter = Emitter(Block())
    emitter.place = op.place
    return emitter


def take_over(value: Value, op: Op) -> None:
    """Let what makes a value make the results of another operation instead."""
    assert value.op is not None
    value.op.results = op.results
    for result in op.results:
        result.op = value.op


def _walk(block: Block, latest: Callable[[Value], Value]) -> None:
    for op in block.ops:
        op.operands = [latest(value) for value in op.operands]
        for region in op.regions:
            _walk(region, latest)
    block.outs = [latest(value) for value in block.outs]


def readers(block: Block) -> dict[Value, int]:
    """Count how often each value is read in a block and in those inside of it."""
    counts: dict[Value, int] = {}

    def count(inner: Block) -> None:
        for op in inner.ops:
            for value in op.operands:
                counts[value] = counts.get(value, 0) + 1
            for region in op.regions:
                count(region)
        for value in inner.outs:
            counts[value] = counts.get(value, 0) + 1

    count(block)
    return counts
