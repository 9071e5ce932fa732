"""Operations that stand for others where rows are cut, because those work on some at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from freestone.lang.compile.means import as_sums, is_mean
from freestone.lang.compile.rewriting import emitter_for, take_over
from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.front.types.types import matrix, scalar

__all__ = ["by_rows", "expanded"]


def expanded(op: Op, heights: Collection[int], kept: Collection[Value]) -> Iterable[Op]:
    """Return operations that give the same, of which more work on strips.

    `heights` are the numbers of rows of the matrices that are cut, `kept` those of which a filter
    kept some rows.
    """
    value = op.operands[0] if op.operands else None
    if value is None or (value.type.rows not in heights and value not in kept):
        return [op]
    if is_mean(op) and op.kind != "agg_row" and value.type.data == "matrix":
        return as_sums(op)
    return [op] if op.kind == "order" and value in kept else by_rows(op)


def by_rows(op: Op) -> list[Op]:
    """Return operations that give the same and take fewer rows as a whole.

    A sort becomes one of the columns that it compares, and the choice of rows by their new order;
    bins get their ends, and a recoded column its distinct cells, in a round before.
    """
    rule = _RULES.get(op.kind)
    if rule is None or op.kernel is not None:
        return [op]
    type = op.operands[0].type
    if type.data != "matrix" or not type.columns or type.form or type.cell == "str":
        return [op]
    return rule(op, op.operands[0])


def _binned(op: Op, value: Value) -> list[Op]:
    if len(op.operands) == 4:
        # It has its ends.
        return [op]
    made = emitter_for(op)
    ends = [made.emit("finite_end", [value], scalar("f64"), name=end) for end in ("min", "max")]
    take_over(made.emit("bin", [*op.operands, *ends], op.results[0].type), op)
    return made.block.ops


def _recoded(op: Op, value: Value) -> list[Op]:
    made = emitter_for(op)
    codes, cells = op.results
    made.emit("distinct", op.operands, cells.type)
    made.emit("encode", [value, cells], codes.type)
    for result, each in zip((cells, codes), made.block.ops, strict=True):
        each.results, result.op = [result], each
    return made.block.ops


def _sorted(op: Op, value: Value) -> list[Op]:
    if value.type.columns == 1:
        # It is its own key.
        return [op]
    half = len(op.operands) // 2
    columns, ascending = op.operands[1 : half + 1], op.operands[half + 1 :]
    made, type = emitter_for(op), value.type.shaped(value.type.rows, 1)
    keys = [made.emit("index", [value, at], type, kinds=("all", "at")) for at in columns]
    key = keys[0]
    for count, other in enumerate(keys[1:], 2):
        key = made.emit("cbind", [key, other], type.shaped(type.rows, count))
    places = [Value(scalar("si64"), None, at) for at in range(half)]
    order = made.emit(
        "order", [key, *places, *ascending], matrix("index", type.rows, 1), indexes=True
    )
    if not op.attrs["indexes"]:
        kinds = ("list", "all")
        order = made.emit("index", [value, order], op.results[0].type, kinds=kinds)
    take_over(order, op)
    return made.block.ops


_RULES = {"bin": _binned, "order": _sorted, "recode": _recoded}
