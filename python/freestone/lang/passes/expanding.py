"""Operations that stand for others where rows are cut, because those work strip by strip."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from freestone.lang.plan.graph import Op, Value
from freestone.lang.types.types import Type, matrix, scalar

__all__ = ["expanded"]

_SPREAD = ("mean", "var", "stddev")


def expanded(op: Op, heights: Collection[int]) -> Iterable[Op]:
    """Return operations that give the same, of which more work on strips.

    `heights` are the numbers of rows of the matrices that are cut.

    Means and variances become sums; a sort becomes one of the columns that it compares, and the
    choice of rows by their new order.
    """
    value = op.operands[0] if op.operands else None
    if value is None or op.kernel is not None or value.type.data != "matrix":
        return [op]
    if value.type.rows not in heights or not value.type.columns:
        return [op]
    if op.kind in ("agg_all", "agg_col") and op.attrs["name"] in _SPREAD:
        return _spread(op, value)
    if op.kind == "order" and not value.type.form and value.type.cell != "str":
        return _sorted(op, value)
    return [op]


def _spread(op: Op, value: Value) -> list[Op]:
    (result,), cell = op.results, op.results[0].type.cell
    height, width = value.type.rows or 0, value.type.columns or 0
    made = _Made(op)
    count = Value(scalar(cell), None, float(height * (width if op.kind == "agg_all" else 1)))
    cells = value if value.type.cell == cell else made.cast(value, cell)
    average = made.mean(cells, count)
    if op.attrs["name"] != "mean":
        left = made.binary("sub", cells, average, cells)
        average = made.mean(made.binary("mul", left, left, cells), count)
    if op.attrs["name"] == "stddev":
        average = made.emit("unary", [average], result.type, name="sqrt")
    return made.ending(average)


def _sorted(op: Op, value: Value) -> list[Op]:
    if value.type.columns == 1:
        # It is its own key.
        return [op]
    half = len(op.operands) // 2
    columns, ascending = op.operands[1 : half + 1], op.operands[half + 1 :]
    made, type = _Made(op), value.type.shaped(value.type.rows, 1)
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
    return made.ending(order)


class _Made:
    """The operations that take the place of another."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self._cell = op.results[0].type.cell
        self.ops: list[Op] = []

    def emit(self, kind: str, operands: list[Value], type: Type, **attrs: Any) -> Value:
        op = Op(kind, operands, [], attrs, self._op.place)
        op.results = [Value(type, op)]
        self.ops.append(op)
        return op.results[0]

    def cast(self, value: Value, cell: str) -> Value:
        return self.emit("cast", [value], value.type.of(cell))

    def binary(self, name: str, left: Value, right: Value, like: Value) -> Value:
        return self.emit("binary", [left, right], like.type, name=name, cell=self._cell)

    def mean(self, value: Value, count: Value) -> Value:
        attrs = self._op.attrs | {"name": "sum"}
        total = self.emit(self._op.kind, [value], self._op.results[0].type, **attrs)
        return self.binary("div", total, count, total)

    def ending(self, value: Value) -> list[Op]:
        """Return all operations; the last one has the results of the one that they stand for."""
        assert value.op is not None
        value.op.results = self._op.results
        return self.ops
