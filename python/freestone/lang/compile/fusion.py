"""Fusion: operations that work row by row on the same rows become one pipeline.

An operation joins a pipeline that makes one of its operands if all others can be there before that
pipeline runs. It never computes anything twice, and takes no other inputs than it had.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from freestone.lang.front.graph.failing import may_fail
from freestone.lang.front.graph.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.front.types.types import CODES, Type
from freestone.lang.settings import Settings

MARKED = frozenset({"unary", "binary", "cast", "choose", "agg_all"})
"""What is fused by ``--vec-restricted``."""
REDUCTIONS = frozenset({"sum", "min", "max"})
MANY_CELLS = 1 << 17
"""From how many cells on one operation alone is a pipeline: two threads are faster than one."""


@dataclass(eq=False)
class Group:
    """Operations that become a pipeline.

    Attributes
    ----------
    after : int
        The latest time of what it reads: it runs later.
    time : int or None
        When it runs, once something outside of it reads it; nothing later can be read by it then.
    """

    ops: list[Op] = field(default_factory=list)
    rows: tuple[int | None, int | None] = (None, None)
    after: int = -1
    time: int | None = None


def fuse(program: Program, settings: Settings) -> None:
    """Make pipelines in all blocks."""
    if not settings.vec:
        return
    for block in list(program.blocks()):
        _Fusion(block, settings.restricted).run()


class _Fusion:
    """Fuses the operations of a block.

    Each operation and each group has a time, and reads only what has an earlier one: so groups
    never need each other, and the times are the order in which all run. An operation that is alone
    keeps its own time. That of a group is open while only the group reads what it makes; the first
    reader fixes it, right before its own time or that of its group.

    What may fail keeps its order, among effects too: the error that a script ends with does not
    depend on what was fused.
    """

    def __init__(self, block: Block, restricted: bool) -> None:
        self._block = block
        self._restricted = restricted
        self._groups: dict[Value, Group] = {}
        self._makers = {result: op for op in block.ops for result in op.results}
        # Between two operations there is room for the times of all groups.
        self._room = len(block.ops) + 1
        self._times = {op: at * self._room for at, op in enumerate(block.ops)}
        self._read = {*block.outs, *(value for op in block.ops for value in outer_operands(op))}
        # The latest time of an effect, or of what may fail and takes no more such operations.
        self._last_effect = -1
        self._failing: Group | None = None

    def run(self) -> None:
        """Put pipelines in the place of groups of operations."""
        for op in self._block.ops:
            # What only may fail is no part of a pipeline: it would make nothing there.
            is_read = any(result in self._read for result in op.results)
            if is_read and _fits(op) and not (self._restricted and op.kind not in MARKED):
                self._add(op)
            else:
                self._pass(op)
        # A group is there once for each value that it makes.
        members: dict[Op, Group] = {
            op: group
            for group in dict.fromkeys(self._groups.values())
            if len(group.ops) > 1 or _is_worth_it(group.ops[0])
            for op in group.ops
        }
        whole = self._pipelines(dict.fromkeys(members.values()), members)
        alone = [(self._time_alone(op), op) for op in self._block.ops if op not in members]
        self._block.ops = [op for _, op in sorted([*whole, *alone], key=lambda pair: pair[0])]

    def _pass(self, op: Op) -> None:
        """Let an operation run alone."""
        now = self._times[op]
        for value in outer_operands(op):
            if value in self._groups:
                self._fix(self._groups[value], now)
        if not op.pure or may_fail(op):
            if self._failing is not None:
                self._fix(self._failing, now)
                self._failing = None
            self._last_effect = now

    def _add(self, op: Op) -> None:
        """Let an operation join a group, or begin one."""
        candidates = (self._groups.get(value) for value in op.operands)
        joined = (each for each in candidates if each is not None and self._joins(op, each))
        group = next(joined, None) or Group(rows=_shape(op))
        for value in op.operands:
            other = self._groups.get(value)
            if other is not group:
                if other is not None:
                    self._fix(other, self._times[op] if group.time is None else group.time)
                group.after = max(group.after, self._time_of(value))
        if may_fail(op):
            self._add_failing(op, group)
        group.ops.append(op)
        self._groups[op.results[0]] = group

    def _add_failing(self, op: Op, group: Group) -> None:
        """Let a group run after all that may have failed before one of its operations does."""
        before = self._failing
        if before is not None and before is not group:
            self._fix(before, self._times[op] if group.time is None else group.time)
            assert before.time is not None
            self._last_effect = max(self._last_effect, before.time)
        group.after = max(group.after, self._last_effect)
        self._failing = group

    def _joins(self, op: Op, group: Group) -> bool:
        inside = [value for value in op.operands if self._groups.get(value) is group]
        # A total that the group itself makes is there only when the group ends.
        if not all(_streams(self._makers[value], op, value) for value in inside):
            return False
        if may_fail(op) and not self._keeps_order(group):
            return False
        outside = [value for value in op.operands if self._groups.get(value) is not group]
        return all(self._may_read(group, value) for value in outside) and _same_rows(group, op)

    def _may_read(self, group: Group, value: Value) -> bool:
        """Tell whether a value is there, or can be, before a group runs."""
        other = self._groups.get(value)
        if other is None:
            return self._earlier(self._time_of(value), group)
        return self._runs_before(other, group)

    def _keeps_order(self, group: Group) -> bool:
        """Tell whether all effects, and all that may fail, are or can be before a group."""
        before = self._failing
        return self._earlier(self._last_effect, group) and (
            before is None or before is group or self._runs_before(before, group)
        )

    def _runs_before(self, other: Group, group: Group) -> bool:
        if other.time is not None:
            return self._earlier(other.time, group)
        return group.time is None or other.after < group.time - 1

    def _earlier(self, time: int, group: Group) -> bool:
        return group.time is None or time < group.time

    def _time_of(self, value: Value) -> int:
        group = self._groups.get(value)
        if group is not None:
            assert group.time is not None
            return group.time
        return self._times[self._makers[value]] if value in self._makers else -1

    def _fix(self, group: Group, reader: int) -> None:
        if group.time is None:
            group.time = reader - 1

    def _time_alone(self, op: Op) -> int:
        group = self._groups.get(op.results[0]) if op.results else None
        return self._times[op] if group is None else self._run_at(group)

    def _run_at(self, group: Group) -> int:
        last = self._times[group.ops[-1]]
        return last if group.time is None else min(group.time, last)

    def _pipelines(self, groups: Iterable[Group], members: dict[Op, Group]) -> list[tuple[int, Op]]:
        read: set[Value] = set(self._block.outs)
        for op in self._block.ops:
            group = members.get(op)
            for value in outer_operands(op):
                if group is None or self._groups.get(value) is not group:
                    read.add(value)
        return [(self._run_at(group), _pipeline(group, read)) for group in groups]


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
    if op.kind == "outer":
        # A column beside a row; a single one of either is no tile of rows.
        sides = types[0].rows, types[1].columns
        return not any(t.csr for t in types) and all(side and side > 1 for side in sides)
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


def _pipeline(group: Group, read: set[Value]) -> Op:
    """Return the pipeline of a group of which some values are read by others."""
    inside = {result for op in group.ops for result in op.results}
    outs = [result for op in group.ops for result in op.results if result in read]
    reads = dict.fromkeys(
        v for op in group.ops for v in op.operands if v not in inside and v.const is None
    )
    body = Block([], list(group.ops), outs)
    place = group.ops[-1].place
    return Op("pipeline", list(reads), list(outs), {"reads": list(reads)}, place, [body])
