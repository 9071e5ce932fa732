"""The graph behind lazy values: where operations go, and what runs them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from freestone.lang.passes import PASSES
from freestone.lang.plan.emitter import Emitter
from freestone.lang.plan.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.running import Run
from freestone.lang.settings import Settings
from freestone.lang.types.types import Type

__all__ = ["building", "emitter", "given", "givens", "program_of", "run"]

Copies = MutableMapping[Value, Value]

_body: ContextVar[Block | None] = ContextVar("body", default=None)


def emitter() -> Emitter:
    """Return what appends operations to the body that is being built; else, to no block."""
    return Emitter(_body.get())


@contextmanager
def building(body: Block) -> Iterator[None]:
    """Append what is made meanwhile to the body of a loop or of one way of a condition."""
    token = _body.set(body)
    try:
        yield
    finally:
        _body.reset(token)


def given(data: Any, type: Type) -> Value:
    """Make a value of what Python has."""
    return emitter().emit("given", [], type, data=data)


def givens(value: Value) -> Iterator[Any]:
    """Yield what Python gave of all that a value depends on."""
    for op in _ordered(value):
        for inner in (op, *(each for region in op.regions for each in _inside(region))):
            if inner.kind == "given":
                yield inner.attrs["data"]


def _inside(block: Block) -> Iterator[Op]:
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from _inside(region)


def program_of(value: Value, settings: Settings) -> Program:
    """Copy what a value depends on: passes change operations, and others may share them."""
    copies: dict[Value, Value] = {}
    ops = [_copied(op, copies) for op in _ordered(value)]
    program = Program(Block([], ops, [copies.get(value, value)]))
    for _, change in PASSES:
        change(program, settings)
    return program


def run(value: Value, settings: Settings) -> Any:
    """Run what makes a value."""
    if value.const is not None:
        return value.const
    return Run(settings).block(program_of(value, settings).main, {})[0]


def _copied(op: Op, copies: Copies) -> Op:
    operands = [copies.get(operand, operand) for operand in op.operands]
    # What a body makes is not known outside of it.
    regions = [_copied_block(region, ChainMap({}, copies)) for region in op.regions]
    copy = Op(op.kind, operands, [], dict(op.attrs), op.place, regions, op.kernel)
    copy.results = [Value(result.type, copy, result.const) for result in op.results]
    copies.update(zip(op.results, copy.results, strict=True))
    return copy


def _copied_block(block: Block, copies: Copies) -> Block:
    args = [Value(arg.type) for arg in block.args]
    copies.update(zip(block.args, args, strict=True))
    ops = [_copied(op, copies) for op in block.ops]
    return Block(args, ops, [copies.get(value, value) for value in block.outs])


def _ordered(value: Value) -> Iterator[Op]:
    """Yield operations, each after those that it needs; graphs may be deeper than the stack."""
    seen: set[Op] = set()
    stack = [(value.op, False)]
    while stack:
        op, ready = stack.pop()
        if op is None or (op in seen and not ready):
            continue
        if ready:
            yield op
            continue
        seen.add(op)
        stack.append((op, True))
        stack += [(operand.op, False) for operand in reversed(outer_operands(op))]
