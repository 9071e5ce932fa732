"""The graph behind lazy values: where operations go, and what runs them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from freestone.errors.lang import ScriptCompileError
from freestone.lang.compile import PASSES
from freestone.lang.daphnelib import programs, small
from freestone.lang.daphnelib.planned import Planned
from freestone.lang.front.extensions.kernel import choose
from freestone.lang.front.extensions.loading import kernels_of
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Block, Op, Program, Value, outer_operands
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.types import Type
from freestone.lang.settings import Settings

__all__ = ["building", "emitter", "given", "program_of", "run"]

Copies = MutableMapping[Value, Value]

_body: ContextVar[Block | None] = ContextVar("body", default=None)


class _Dropped(list[Op]):
    """A list that stays empty."""

    def append(self, op: Op) -> None:
        """Leave it out."""


_NOWHERE = Block(ops=_Dropped())


def emitter() -> Emitter:
    """Return what appends operations to the body that is being built; else, to no block."""
    return Emitter(_body.get() or _NOWHERE)


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


def program_of(value: Value, settings: Settings) -> Program:
    """Return the program that makes a value, improved by all passes."""
    return _compiled(value, list(_ordered(value)), settings)


def run(value: Value, settings: Settings) -> tuple[Any, list[Any]]:
    """Run what makes a value; return it, and what Python gave that it may share memory with.

    Notes
    -----
    The program is kept for graphs of the same operations, types and settings, such as the next step
    of an iteration: to improve a small one takes longer than to run it.
    """
    op = value.op
    if op is None:
        _check_known(value)
        return value.const, []
    ready = op.ready
    if ready.__class__ is not Planned or ready.settings is not settings:
        found = small.computed(value, settings)
        if found is not None:
            return found
        ready = _planned(value, op, settings)
    return ready.run()


def _planned(value: Value, op: Op, settings: Settings) -> Planned:
    """Return the program of a value, which its operation keeps if it can."""
    ops = list(_ordered(value))
    data = list(_data(ops))
    key = programs.key_of(ops, value, settings)
    program = programs.known(key)
    if program is None:
        program = programs.keep(key, _compiled(value, ops, settings))
    planned = Planned(program, data, settings)
    if key is not None:
        op.ready = planned
    return planned


def _compiled(value: Value, ops: Iterable[Op], settings: Settings) -> Program:
    """Copy operations into a program: passes change them, and other values may share them."""
    copies: dict[Value, Value] = {}
    copied = [_copied(op, copies) for op in ops]
    program = Program(Block([], copied, [copies.get(value, value)]))
    for slot, op in enumerate(_givens(copied)):
        # The program may outlive the data, and run with others'.
        op.attrs = {"slot": slot}
    if settings.kernels:
        _choose_kernels(program, settings)
    for _, change in PASSES:
        change(program, settings)
    return program


def _choose_kernels(program: Program, settings: Settings) -> None:
    """Have operations run by the kernels of others that come before our own."""
    kernels = kernels_of(settings)
    for block in program.blocks():
        for op in block.ops:
            op.kernel = op.kernel or choose(kernels, op, None)


def _data(ops: Iterable[Op]) -> Iterator[Any]:
    return (op.attrs["data"] for op in _givens(ops))


def _givens(ops: Iterable[Op]) -> Iterator[Op]:
    """Yield the operations that stand for what Python gave, in order."""
    for op in ops:
        if op.kind == "given":
            yield op
        elif op.regions:
            for region in op.regions:
                yield from _givens(region.ops)


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
    stack = [(value, False)]
    while stack:
        made, ready = stack.pop()
        op = made.op
        if op is None:
            _check_known(made)
            continue
        if op in seen and not ready:
            continue
        if ready:
            yield op
            continue
        seen.add(op)
        operands = outer_operands(op) if op.regions else op.operands
        if not operands:
            yield op
            continue
        stack.append((made, True))
        stack += [(operand, False) for operand in reversed(operands)]


def _check_known(value: Value) -> None:
    """Refuse what the body of a loop is given: it has a value only while the loop runs."""
    if value.op is None and value.const is None:
        raise failure(
            ScriptCompileError,
            f"a {value.type} of the body of a loop has no value yet: the body is built once, and "
            "runs when what the loop returns is computed; there, call print(), and use cond() for "
            "decisions",
        )
