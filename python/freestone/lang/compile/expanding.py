"""Operations that stand for others where rows are cut, because those work strip by strip."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from freestone.lang.compile.means import as_sums, is_mean
from freestone.lang.compile.rewriting import emitter_for, take_over
from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.front.types.types import matrix, scalar

__all__ = ["expanded"]


def expanded(op: Op, heights: Collection[int], kept: Collection[Value]) -> Iterable[Op]:
    """Return operations that give the same, of which more work on strips.

    `heights` are the numbers of rows of the matrices that are cut, `kept` those of which a filter
    kept some rows.

    Means and variances become sums; a sort becomes one of the columns that it compares, and the
    choice of rows by their new order.
    """
    value = op.operands[0] if op.operands else None
    if value is None or op.kernel is not None or value.type.data != "matrix":
        return [op]
    if not value.type.columns or (value.type.rows not in heights and value not in kept):
        return [op]
    if op.kind in ("agg_all", "agg_col") and is_mean(op):
        return as_sums(op)
    if value in kept:
        return [op]
    if op.kind == "order" and not value.type.form and value.type.cell != "str":
        return _sorted(op, value)
    return [op]


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
