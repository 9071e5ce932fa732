"""Means and variances as sums, which pipelines take in: no operand of theirs is ever stored.

A variance sums the squares of what is left without the mean, in a second round over the cells, as
NumPy does. Where a shape is not known, or is empty, the operation stays as it is.
"""

from __future__ import annotations

from freestone.lang.builtins.aggregation import MEANS, PER_COLUMN, PER_ROW, aggregate
from freestone.lang.builtins.elementwise import binary, unary
from freestone.lang.passes.rewriting import replace
from freestone.lang.plan.emitter import Emitter
from freestone.lang.plan.graph import Block, Op, Program, Value
from freestone.lang.settings import Settings

AXES = {"agg_all": None, "agg_row": PER_ROW, "agg_col": PER_COLUMN}


def spread(program: Program, settings: Settings) -> None:
    """Put sums into the place of means in all blocks, where there are pipelines."""
    if settings.vec and settings.physical and not settings.distributed:
        for block in list(program.blocks()):
            _spread(block)


def _spread(block: Block) -> None:
    new: dict[Value, Value] = {}
    ops: list[Op] = []
    for op in block.ops:
        if not _is_mean(op):
            ops.append(op)
            continue
        op.operands = [new.get(value, value) for value in op.operands]
        part = Block()
        new[op.results[0]] = _sums(op, part)
        ops += part.ops
    block.ops[:] = ops
    replace(block, new)


def _is_mean(op: Op) -> bool:
    if op.kind not in AXES or op.attrs["name"] not in MEANS or op.kernel is not None:
        return False
    type = op.operands[0].type
    return bool(type.rows and type.columns)


def _sums(op: Op, part: Block) -> Value:
    emitter = Emitter(part)
    emitter.place = op.place
    axis, cell = AXES[op.kind], op.results[0].type.cell
    cells = emitter.cast(op.operands[0], cell)
    average = _mean(emitter, cells, axis)
    if op.attrs["name"] == "mean":
        return average
    rest = binary(emitter, "sub", cells, average)
    variance = _mean(emitter, binary(emitter, "mul", rest, rest), axis)
    return variance if op.attrs["name"] == "var" else unary(emitter, "sqrt", variance)


def _mean(emitter: Emitter, cells: Value, axis: int | None) -> Value:
    rows, columns = cells.type.rows, cells.type.columns
    assert rows is not None
    assert columns is not None
    count = {None: rows * columns, PER_ROW: columns, PER_COLUMN: rows}[axis]
    total = aggregate(emitter, "sum", cells, axis)
    return binary(emitter, "div", total, emitter.constant(float(count), cells.type.cell))
