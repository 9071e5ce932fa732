"""Conditions and loops over lazy values: their bodies are built once, and run when computed.

See docs/decisions/057-loop-bodies-of-lazy-values-are-traced-once-per-signature.md
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

from freestone.errors.lang import ScriptCompileError
from freestone.lang.daphnelib import graph
from freestone.lang.daphnelib.lazy import Lazy, lifted, value_of, wrapped
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.types import Type, joined, scalar

__all__ = ["cond", "do_while_loop", "for_loop", "function", "while_loop"]

MAX_ROUNDS = 4
"""How often the body of a loop is built until the types of what it carries are stable."""

Body = Callable[..., Any]
Results = tuple[Any, ...]


def cond(
    input_nodes: Iterable[Any], pred: Body, then_fn: Body, else_fn: Body | None = None
) -> Results:
    """Do one of two things; only the one that is chosen runs.

    Parameters
    ----------
    input_nodes : iterable
        What both functions are given.
    pred : callable
        Takes nothing and returns a scalar.
    then_fn, else_fn : callable
        Return as many values, of the same types. Without the second, the inputs stay as they are.

    Returns
    -------
    tuple
        What is returned.
    """
    nodes = [lifted(node) for node in input_nodes]
    emitter = graph.emitter()
    condition = _truth(emitter, pred())
    blocks = [_built(Block(), then_fn, nodes), _built(Block(), else_fn or _same, nodes)]
    types = _covering([value.type for value in blocks[0].outs], blocks[1].outs, "way")
    return _appended(emitter, Op("if", [condition], [], {}, None, blocks), types)


def for_loop(
    input_nodes: Iterable[Any], callback: Body, start: Any, end: Any, step: Any = None
) -> Results:
    """Count from one number to another, both included.

    Parameters
    ----------
    input_nodes : iterable
        What the first round is given.
    callback : callable
        Takes as many values and the number, and returns as many values for the next round.
    start, end, step : int or Scalar
        By default the step is 1 or -1, towards the end.
    """
    emitter = graph.emitter()
    ends = [value_of(each) for each in (start, end, step) if each is not None]
    for value in ends:
        emitter.number(value, "an end or the step of a loop")
    if step is not None and ends[2].const == 0:
        emitter.fail("the step of a loop can't be 0")
    ends = [emitter.cast(value, "si64") for value in ends]

    def build(types: Sequence[Type]) -> list[Block]:
        counter, given = Value(scalar("si64")), [Value(type) for type in types]
        return [_built(Block([counter, *given]), callback, _lazy([*given, counter]))]

    inits = [value_of(node) for node in input_nodes]
    return _loop(emitter, Op("for", ends, [], {"ends": len(ends)}), inits, build)


def while_loop(input_nodes: Iterable[Any], cond: Body, callback: Body) -> Results:
    """Repeat while a condition holds, which is asked before each round.

    Parameters
    ----------
    input_nodes : iterable
        What the first round is given.
    cond : callable
        Takes as many values and returns a scalar.
    callback : callable
        Takes as many values and returns as many for the next round.
    """
    return _while(input_nodes, cond, callback, test_first=True)


def do_while_loop(input_nodes: Iterable[Any], cond: Body, callback: Body) -> Results:
    """Repeat while a condition holds, which is asked after each round; see `while_loop`."""
    return _while(input_nodes, cond, callback, test_first=False)


def _while(input_nodes: Iterable[Any], cond: Body, callback: Body, *, test_first: bool) -> Results:
    def build(types: Sequence[Type]) -> list[Block]:
        given = [Value(type) for type in types]
        body = _built(Block(given), callback, _lazy(given))
        after = types if test_first else [out.type for out in body.outs]
        asked = [Value(type) for type in after]
        test = Block(asked)
        with graph.building(test):
            test.outs = [_truth(graph.emitter(), cond(*_lazy(asked)))]
        return [body, test]

    inits = [value_of(node) for node in input_nodes]
    op = Op("while", [], [], {"test_first": test_first})
    return _loop(graph.emitter(), op, inits, build)


def function(callback: Body) -> Body:
    """Make a function of lazy values; what it is given is checked against its hints.

    Returns
    -------
    callable
        Takes lazy values, and numbers and arrays; returns a tuple of lazy values.
    """
    names = list(inspect.signature(callback).parameters)
    hints = {name: _name_of(hint) for name, hint in inspect.get_annotations(callback).items()}

    @wraps(callback)
    def called(*args: Any, **keywords: Any) -> Results:
        bound = inspect.signature(callback).bind(*args, **keywords)
        given = {name: _fitting(name, value, hints) for name, value in bound.arguments.items()}
        return _results(callback(*(given[name] for name in names if name in given)))

    return called


def _name_of(hint: Any) -> str:
    name = hint if isinstance(hint, str) else getattr(hint, "__name__", "")
    return name.rpartition(".")[2]


def _fitting(name: str, value: Any, hints: dict[str, str]) -> Lazy:
    made: Lazy = lifted(value)
    hint, found = hints.get(name, ""), type(made).__name__
    if hint in ("Matrix", "Frame", "Scalar", "List") and hint != found:
        raise TypeError(f"the parameter {name!r} is a {hint}, and is given a {found}")
    return made


def _same(*nodes: Lazy) -> Results:
    return nodes


def _lazy(values: Iterable[Value]) -> list[Any]:
    return [wrapped(value) for value in values]


def _results(made: Any) -> Results:
    return tuple(map(lifted, made if isinstance(made, tuple | list) else (made,)))


def _built(block: Block, body: Body, nodes: Sequence[Any]) -> Block:
    with graph.building(block):
        block.outs = [node._value for node in _results(body(*nodes))]
    return block


def _truth(emitter: Emitter, made: Any) -> Value:
    value = value_of(made)
    emitter.number(value, "the condition")
    return value


def _loop(
    emitter: Emitter, op: Op, inits: list[Value], build: Callable[[Sequence[Type]], list[Block]]
) -> Results:
    types = [value.type for value in inits]
    for _ in range(MAX_ROUNDS):
        op.regions = build(types)
        wider = _covering(types, op.regions[0].outs, "round")
        if wider == types:
            break
        types = wider
    op.operands += inits
    return _appended(emitter, op, types)


def _covering(types: Sequence[Type], outs: Sequence[Value], what: str) -> list[Type]:
    if len(types) != len(outs):
        problem = f"one {what} gives {len(types)} values, and the other {len(outs)}"
        raise failure(ScriptCompileError, problem)
    found = []
    for at, (one, other) in enumerate(zip(types, outs, strict=True)):
        both = joined(one, other.type)
        if both is None:
            problem = f"value {at} is a {one} in one {what}, and a {other.type} in the other"
            raise failure(ScriptCompileError, problem)
        found.append(both)
    return found


def _appended(emitter: Emitter, op: Op, types: Sequence[Type]) -> Results:
    op.results = [Value(type, op) for type in types]
    emitter.block.ops.append(op)
    return tuple(_lazy(op.results))
