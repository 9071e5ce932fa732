"""Algebraic rules: the same numbers for less work.

=====================  =====================================
``t(A) @ A``           ``syrk(A)``
``t(A) @ x``           ``gemv(A, x)``, x a column
``sum(A * B)``         the sum of products, without ``A * B``
``t(t(A))``            ``A``
``aggMin(t(A))``       ``aggMin(A)``, and maxima; sums of integers, whose order is nothing
``replace(A, p, r)``   ``A == p ? r : A``, of which pipelines are made; ``isNan(A)`` for NaN
=====================  =====================================
"""

from __future__ import annotations

from freestone.lang.compile.rewriting import emitter_for, replace, take_over
from freestone.lang.front.builtins import elementwise
from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.types.scalars import wrapped
from freestone.lang.front.types.types import CODES, is_float
from freestone.lang.settings import Settings


def rewrite(program: Program, settings: Settings) -> None:
    """Apply the rules in all blocks."""
    for block in program.blocks():
        new: dict[Value, Value] = {}
        for op in block.ops:
            op.operands = [new.get(value, value) for value in op.operands]
            if settings.physical:
                _products(op)
            if settings.physical and not settings.vec:
                _sums(op)
            _transposed(op)
            if op.kind == "transpose" and _is(op.operands[0], "transpose"):
                new[op.results[0]] = _maker(op.operands[0]).operands[0]
        if settings.vec:
            block.ops = [each for op in block.ops for each in _replaced(op)]
        _replace_all(block, new)


def _replace_all(block: Block, new: dict[Value, Value]) -> None:
    replace(block, new)


def _maker(value: Value) -> Op:
    assert value.op is not None
    return value.op


def _is(value: Value, kind: str) -> bool:
    return value.op is not None and value.op.kind == kind and value.op.kernel is None


def _products(op: Op) -> None:
    if op.kind != "matmul" or op.kernel is not None or not _is(op.operands[0], "transpose"):
        return
    inner = _maker(op.operands[0]).operands[0]
    if inner.type.cell != op.results[0].type.cell or inner.type.form:
        return
    if op.operands[1] is inner:
        op.kind, op.operands = "syrk", [inner]
    elif op.operands[1].type.columns == 1:
        op.kind, op.operands = "gemv", [inner, op.operands[1]]


def _replaced(op: Op) -> list[Op]:
    if op.kind != "replace" or op.kernel is not None:
        return [op]
    value, *numbers = op.operands
    cell = value.type.cell
    if value.type.form or cell not in CODES or any(number.const is None for number in numbers):
        return [op]
    made = emitter_for(op)
    pattern, replacement = (made.constant(wrapped(cell, n.const), cell) for n in numbers)
    if pattern.const != pattern.const:
        hit = elementwise.unary(made, "isNan", value)
    else:
        hit = elementwise.binary(made, "eq", value, pattern)
    take_over(elementwise.choose(made, hit, replacement, value), op)
    return made.block.ops


def _transposed(op: Op) -> None:
    """Aggregate what was transposed without its transpose, where the order of cells is nothing."""
    if op.kind != "agg_all" or op.kernel is not None or not _is(op.operands[0], "transpose"):
        return
    exact = op.attrs["name"] in ("min", "max") or (
        op.attrs["name"] == "sum" and not is_float(op.results[0].type.cell)
    )
    if exact:
        op.operands = list(_maker(op.operands[0]).operands)


def _sums(op: Op) -> None:
    if op.kind != "agg_all" or op.attrs["name"] != "sum" or not _is(op.operands[0], "binary"):
        return
    inner = _maker(op.operands[0])
    types = [value.type for value in inner.operands]
    whole = all(t.data == "matrix" for t in types) and types[0].rows is not None
    same = types[0].shaped(None, None) == types[1].shaped(None, None)
    shaped = (types[0].rows, types[0].columns) == (types[1].rows, types[1].columns)
    if inner.attrs["name"] == "mul" and whole and same and shaped and is_float(types[0].cell):
        op.kind, op.operands, op.attrs = "sum_product", list(inner.operands), {}
