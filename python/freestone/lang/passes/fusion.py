"""Fusion: operations that work row by row on the same rows become one pipeline.

An operation joins the pipelines that make its operands if nothing between them depends on the
pipeline. It never computes anything twice, and takes no other inputs than it had.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from freestone.lang.plan.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.settings import Settings
from freestone.lang.types.types import CODES, Type, is_float

MARKED = frozenset({"unary", "binary", "cast", "choose", "agg_all"})
"""What is fused by ``--vec-restricted``."""
REDUCTIONS = frozenset({"sum", "min", "max"})
MANY_CELLS = 1 << 17
"""From how many cells on one operation alone is a pipeline: two threads are faster than one."""


@dataclass(eq=False)
class Group:
    """Operations that become a pipeline."""

    ops: list[Op] = field(default_factory=list)
    rows: tuple[int | None, int | None] = (None, None)


def fuse(program: Program, settings: Settings) -> None:
    """Make pipelines in all blocks."""
    if not settings.vec:
        return
    for block in list(program.blocks()):
        _fuse(block, settings.restricted)


def _fuse(block: Block, restricted: bool) -> None:
    groups: dict[Op, Group] = {}
    makers = {result: op for op in block.ops for result in op.results}
    for op in block.ops:
        if not _fits(op) or (restricted and op.kind not in MARKED):
            continue
        group = _joined(op, makers, groups, block)
        group.ops.append(op)
        groups[op] = group
    chosen = {id(g): g for g in groups.values() if len(g.ops) > 1 or _is_worth_it(g.ops[0])}
    for group in chosen.values():
        _replace(block, group)


def _is_worth_it(op: Op) -> bool:
    """Tell whether the engine is better than NumPy at one operation alone."""
    types = [value.type for value in op.operands]
    if any(t.csr for t in types):
        return True
    rows, columns = _shape(op)
    return rows is not None and columns is not None and rows * columns >= MANY_CELLS


def _fits(op: Op) -> bool:
    """Tell whether the engine can run an operation inside of a pipeline."""
    if op.kernel is not None or len(op.results) != 1:
        return False
    types = [value.type for value in (*op.operands, *op.results)]
    if any(t.coo for t in types):
        return False
    if any(t.cell not in CODES for t in types) or types[0].data not in ("matrix", "scalar"):
        return False
    if op.kind in ("agg_all", "agg_row", "agg_col"):
        sparse_extreme = op.kind == "agg_col" and types[0].csr and op.attrs["name"] != "sum"
        return op.attrs["name"] in REDUCTIONS and not sparse_extreme
    if op.results[0].type.data != "matrix":
        return False
    if op.kind == "matmul":
        return types[1].columns == 1 and types[0].columns != 1 and not types[1].csr
    if op.kind == "binary":
        return _binary(op, types)
    if op.kind == "choose":
        return types[0].data == "matrix" and not any(t.csr for t in types)
    return op.kind in ("unary", "cast") and not types[0].csr


def _binary(op: Op, types: list[Type]) -> bool:
    left, right = types[0], types[1]
    if left.data == "matrix" and right.data == "matrix":
        # A single row on the left, or on both sides, is no tile of rows.
        if left.rows == 1 and right.rows == 1:
            return False
        if None in (left.rows, left.columns, right.rows, right.columns):
            return False
    if left.csr or right.csr:
        return left.csr and op.attrs["name"] == "mul"
    return True


def _shape(op: Op) -> tuple[int | None, int | None]:
    """Return the shape that an operation works on."""
    sides = [v.type for v in op.operands if v.type.data == "matrix"]
    if op.kind == "matmul":
        return sides[0].rows, sides[0].columns
    return sides[0].rows, max((s.columns for s in sides if s.columns is not None), default=None)


def _joined(op: Op, makers: dict[Value, Op], groups: dict[Op, Group], block: Block) -> Group:
    for operand in op.operands:
        maker = makers.get(operand)
        group = None if maker is None else groups.get(maker)
        if group is None or maker is None or not _streams(maker, op, operand):
            continue
        if not all(_streams(makers[v], op, v) for v in op.operands if makers.get(v) in group.ops):
            # It needs a total that the group itself makes: that is there only when the group ends.
            continue
        if _same_rows(group, op) and not _between(group, op, block):
            return group
    rows, columns = _shape(op)
    return Group([], (rows, columns))


def _streams(maker: Op, reader: Op, operand: Value) -> bool:
    """Tell whether what `maker` makes of a row is all that `reader` needs of it."""
    if maker.kind in ("agg_all", "agg_col"):
        return False
    return not (reader.kind == "matmul" and operand is not reader.operands[0])


def _same_rows(group: Group, op: Op) -> bool:
    rows, columns = _shape(op)
    if rows is None or columns is None or group.rows[0] != rows:
        return False
    # The widest side decides what a row is; single columns go with any.
    if columns not in (1, group.rows[1]) and group.rows[1] != 1:
        return False
    if columns != 1 and group.rows[1] == 1:
        group.rows = (rows, columns)
    return True


def _between(group: Group, op: Op, block: Block) -> bool:
    """Tell whether something outside of the group stands between it and `op`.

    Either `op` needs what an outside operation makes of the group, or it needs what is made only
    after the group was read: the pipeline could stand neither before nor after that. Or the group
    may fail, and something is printed, or written, before `op`.
    """
    tainted: set[Value] = {result for inner in group.ops for result in inner.results}
    members = set(group.ops)
    begin = block.ops.index(group.ops[0])
    was_read = False
    fails = any(_may_fail(inner) for inner in group.ops)
    late: set[Value] = set()
    for other in block.ops[begin : block.ops.index(op)]:
        if other in members:
            continue
        if fails and not other.pure:
            return True
        was_read = was_read or any(value in tainted for value in outer_operands(other))
        if was_read:
            late.update(other.results)
    return any(value in late for value in op.operands)


def _may_fail(op: Op) -> bool:
    """Tell whether an operation divides integers."""
    divides = op.kind == "binary" and op.attrs["name"] in ("div", "mod")
    return divides and not is_float(op.attrs["cell"])


def _replace(block: Block, group: Group) -> None:
    """Put one pipeline in the place of its operations."""
    inside = {result for op in group.ops for result in op.results}
    members = set(group.ops)
    read: set[Value] = set(block.outs)
    for op in block.ops:
        if op not in members:
            read.update(outer_operands(op))
    outs = [result for op in group.ops for result in op.results if result in read]
    reads = dict.fromkeys(
        v for op in group.ops for v in op.operands if v not in inside and v.const is None
    )
    last = group.ops[-1]
    body = Block([], list(group.ops), outs)
    fused = Op("pipeline", list(reads), list(outs), {"reads": list(reads)}, last.place, [body])
    block.ops.insert(_position(block, group, set(outs)), fused)
    block.ops = [op for op in block.ops if op not in members]


def _position(block: Block, group: Group, outs: set[Value]) -> int:
    """Return where the first that reads a result stands, or the last operation of the group."""
    begin, last = block.ops.index(group.ops[0]), block.ops.index(group.ops[-1])
    members = set(group.ops)
    for at in range(begin, last):
        op = block.ops[at]
        if op not in members and any(value in outs for value in outer_operands(op)):
            return at
    return last
