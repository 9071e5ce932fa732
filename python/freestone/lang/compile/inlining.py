"""Functions that ``map`` calls on every element become operations on the whole matrix.

What a script's function does to a scalar, elementwise operations do to a matrix: so it is fused,
compiled and cut as they are. A branch becomes a selection, of which both sides are computed,
unless one may fail.
"""

from __future__ import annotations

from freestone.lang.compile.rewriting import emitter_for, replace
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.failing import may_fail
from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.types.types import CODES, Type
from freestone.lang.settings import Settings

MAX_OPERATIONS = 64
"""Of a function that is longer, matrices between operations would cost more than its calls."""
MAX_DEPTH = 8
"""How many calls may be inside each other; recursive functions stay calls."""
_ELEMENTWISE = frozenset({"binary", "unary", "cast"})


def inline(program: Program, settings: Settings) -> None:
    """Put operations in the place of functions that are mapped, in all blocks."""
    for block in list(program.blocks()):
        ops: list[Op] = []
        new: dict[Value, Value] = {}
        for op in block.ops:
            made = _inlined(op, new) if op.kind == "map" and op.kernel is None else None
            ops += [op] if made is None else made
        block.ops = ops
        replace(block, new)


class _UnsuitableError(Exception):
    """A function does what no elementwise operations do."""


def _inlined(op: Op, new: dict[Value, Value]) -> list[Op] | None:
    emitter = emitter_for(op)
    (result,) = op.results
    arg = op.operands[0]
    arg = new.get(arg, arg)
    try:
        (out,) = _Inlining(emitter, arg.type).block(op.attrs["function"].block, [arg], MAX_DEPTH)
    except _UnsuitableError:
        return None
    if out.type.data != "matrix":
        return None
    new[result] = emitter.cast(out, result.type.cell)
    return emitter.block.ops


class _Inlining:
    """Does to matrices of a shape what functions do to scalars."""

    def __init__(self, emitter: Emitter, type: Type) -> None:
        self._emitter, self._type = emitter, type

    def block(self, block: Block, args: list[Value], depth: int) -> list[Value]:
        """Emit what a function does to its arguments; return its results."""
        if depth == 0:
            raise _UnsuitableError
        return self._ops(block, dict(zip(block.args, args, strict=True)), depth)

    def _ops(self, block: Block, values: dict[Value, Value], depth: int) -> list[Value]:
        for op in block.ops:
            self._emitter.place = op.place
            operands = [_value(value, values) for value in op.operands]
            if op.kind == "call":
                results = self.block(op.attrs["function"].block, operands, depth - 1)
            elif op.kind == "if":
                results = self._selection(op, operands[0], values, depth)
            else:
                results = [self._elementwise(op, operands)]
            values.update(zip(op.results, results, strict=True))
            if len(self._emitter.block.ops) > MAX_OPERATIONS:
                raise _UnsuitableError
        return [_value(value, values) for value in block.outs]

    def _elementwise(self, op: Op, operands: list[Value]) -> Value:
        if op.kind not in _ELEMENTWISE or op.kernel is not None:
            raise _UnsuitableError
        (result,) = op.results
        if not CODES.keys() >= {value.type.cell for value in (*operands, result)}:
            raise _UnsuitableError
        is_matrix = any(value.type.data == "matrix" for value in operands)
        type = self._matrix(result.type.cell) if is_matrix else result.type
        return self._emitter.emit(op.kind, operands, type, **op.attrs)

    def _selection(
        self, op: Op, condition: Value, values: dict[Value, Value], depth: int
    ) -> list[Value]:
        first = len(self._emitter.block.ops)
        sides = [self._ops(region, dict(values), depth) for region in op.regions]
        # What is computed of elements that took the other branch must not end the script.
        fails = any(map(may_fail, self._emitter.block.ops[first:]))
        if fails or condition.type.data != "matrix" or len(sides) != 2:
            raise _UnsuitableError
        found = []
        for result, *pair in zip(op.results, *sides, strict=True):
            cell = result.type.cell
            if cell not in CODES:
                raise _UnsuitableError
            yes, no = (self._emitter.cast(side, cell) for side in pair)
            found.append(self._emitter.emit("choose", [condition, yes, no], self._matrix(cell)))
        return found

    def _matrix(self, cell: str) -> Type:
        return Type("matrix", cell, self._type.rows, self._type.columns)


def _value(value: Value, values: dict[Value, Value]) -> Value:
    return value if value.const is not None else values[value]
