"""What passes share: replacing values."""

from __future__ import annotations

from collections.abc import Callable

from freestone.lang.plan.graph import Block, Value


def replace(block: Block, new: dict[Value, Value]) -> None:
    """Replace values wherever a block, or one inside of it, reads them."""

    def latest(value: Value) -> Value:
        while value in new:
            value = new[value]
        return value

    if new:
        _walk(block, latest)


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
