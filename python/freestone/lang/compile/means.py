"""Means and variances as sums, which pipelines and strips take in: no operand is ever stored.

A variance sums the squares of what is left without the mean, in a second round over the cells, as
NumPy does. Where a shape is empty the operation stays as it is; rows that are not known are counted
when they are there.
"""

from __future__ import annotations

from freestone.lang.compile.rewriting import emitter_for, take_over
from freestone.lang.front.builtins.aggregation import MEANS, PER_COLUMN, PER_ROW, aggregate
from freestone.lang.front.builtins.elementwise import binary, unary
from freestone.lang.front.builtins.meta import counted
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Op, Program, Value
from freestone.lang.settings import Settings

AXES = {"agg_all": None, "agg_row": PER_ROW, "agg_col": PER_COLUMN}


def spread(program: Program, settings: Settings) -> None:
    """Put sums into the place of means in all blocks, where there are pipelines."""
    if settings.vec and settings.physical and not settings.distributed:
        for block in list(program.blocks()):
            block.ops[:] = [
                each for op in block.ops for each in (as_sums(op) if _is_known(op) else [op])
            ]


def _is_known(op: Op) -> bool:
    return is_mean(op) and op.operands[0].type.rows is not None


def is_mean(op: Op) -> bool:
    """Tell whether an operation is a mean, a variance or a deviation that sums can stand for."""
    if op.kind not in AXES or op.attrs["name"] not in MEANS or op.kernel is not None:
        return False
    type = op.operands[0].type
    return type.rows != 0 and bool(type.columns)


def as_sums(op: Op) -> list[Op]:
    """Return operations that stand for a mean; the last one has its result."""
    emitter = emitter_for(op)
    axis, cell, name = AXES[op.kind], op.results[0].type.cell, op.attrs["name"]
    cells = emitter.cast(op.operands[0], cell)
    count = _count(emitter, cells, axis)
    found = _mean(emitter, cells, axis, count, name)
    if name != "mean":
        rest = binary(emitter, "sub", cells, found)
        found = _mean(emitter, binary(emitter, "mul", rest, rest), axis, count, name)
    if name == "stddev":
        found = unary(emitter, "sqrt", found)
    take_over(found, op)
    return emitter.block.ops


def _count(emitter: Emitter, cells: Value, axis: int | None) -> Value:
    """Return how many cells each mean is of."""
    return counted(emitter, {None: "ncell", PER_ROW: "ncol", PER_COLUMN: "nrow"}[axis], cells)


def _mean(emitter: Emitter, cells: Value, axis: int | None, count: Value, name: str) -> Value:
    total = aggregate(emitter, "sum", cells, axis)
    if count.const is None:
        return emitter.emit("average", [total, count], total.type, name=name)
    return binary(emitter, "div", total, emitter.constant(float(count.const), cells.type.cell))
