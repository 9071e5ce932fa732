"""Common subexpressions: what was computed before is not computed again."""

from __future__ import annotations

from typing import Any

from freestone.lang.compile.rewriting import replace
from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.settings import Settings

CHANGING = frozenset({"read", "sql", "pipeline", "map", "given", "apply"})
"""Operations that may give something else the next time, or whose attributes are not compared."""


def share(program: Program, settings: Settings) -> None:
    """Share equal operations of a block, and of those around it."""
    for block in (program.main, *(function.block for function in program.functions)):
        _share(block, {})


def _share(block: Block, known: dict[Any, Op]) -> None:
    new: dict[Value, Value] = {}
    for op in list(block.ops):
        op.operands = [new.get(value, value) for value in op.operands]
        for region in op.regions:
            replace(region, new)
            _share(region, dict(known))
        if not op.pure or op.kind in CHANGING or op.regions:
            continue
        key = _key(op)
        if key is None:
            continue
        if key in known:
            new.update(zip(op.results, known[key].results, strict=True))
            block.ops.remove(op)
        else:
            known[key] = op
    replace(block, new)


def _key(op: Op) -> Any:
    if op.kind in ("rand", "sample") and op.operands[-1].const in (None, -1):
        return None
    operands = tuple(
        (type(v.const), repr(v.const), v.type.cell) if v.const is not None else v
        for v in op.operands
    )
    attrs = tuple(sorted((name, repr(value)) for name, value in op.attrs.items()))
    return (op.kind, operands, attrs, op.kernel, tuple(value.type for value in op.results))
