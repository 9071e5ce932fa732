"""Sums, extremes, means, and cumulative sums: of all, per row, per column, or per group."""

from __future__ import annotations

from freestone.lang.front.builtins.table import BUILTINS, Builtin, builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import floating, matrix, scalar

NAMES = {
    "sum": "sum",
    "aggMin": "min",
    "aggMax": "max",
    "mean": "mean",
    "var": "var",
    "stddev": "stddev",
}
MEANS = frozenset({"mean", "var", "stddev"})
PER_ROW, PER_COLUMN = 0, 1


def aggregate(emitter: Emitter, name: str, arg: Value, axis: int | None = None) -> Value:
    """Append an aggregation of all (None), per row (0) or per column (1)."""
    type = emitter.numbers(arg, "arg")
    cell = floating(type.cell) if name in MEANS else type.cell
    if axis is None:
        return emitter.emit("agg_all", [arg], scalar(cell), name=name)
    if axis == PER_ROW:
        return emitter.emit("agg_row", [arg], matrix(cell, type.rows, 1), name=name)
    return emitter.emit("agg_col", [arg], matrix(cell, 1, type.columns), name=name)


def _axis(emitter: Emitter, axis: Value) -> int:
    emitter.number(axis, "axis")
    known = emitter.known(axis, "axis")
    if known not in (PER_ROW, PER_COLUMN):
        emitter.fail(f"axis has to be 0 (per row) or 1 (per column), not {known}")
    return int(known)


def _grouped(emitter: Emitter, name: str, arg: Value, groups: Value, count: Value) -> Value:
    values, ids = emitter.numbers(arg, "arg"), emitter.numbers(groups, "groupIds")
    emitter.equal(values.columns, 1, f"a grouped {name} takes one column")
    emitter.equal(values.rows, ids.rows, f"arg and groupIds of a grouped {name} differ in rows")
    cell = floating(values.cell) if name in MEANS else values.cell
    if name == "count":
        cell = "si64"
    type = matrix(cell, emitter.size(count, "numGroups"), 1)
    return emitter.emit("agg_group", [arg, groups, count], type, name=name)


def _counted(emitter: Emitter, arg: Value) -> Value:
    """Return what a sum adds up: truth values are counted, and a bool holds no count."""
    return emitter.cast(arg, "si64") if emitter.numbers(arg, "arg").cell == "bool" else arg


def _register(public: str, name: str) -> None:
    def lower(
        emitter: Emitter, arg: Value, axis: Value | None = None, count: Value | None = None
    ) -> Value:
        if name == "sum":
            arg = _counted(emitter, arg)
        if axis is None:
            return aggregate(emitter, name, arg)
        if count is None:
            return aggregate(emitter, name, arg, _axis(emitter, axis))
        return _grouped(emitter, name, arg, axis, count)

    BUILTINS[public] = Builtin(public, ("arg",), ("axis", "numGroups"), "", lower)


for _public, _name in NAMES.items():
    _register(_public, _name)


@builtin("count", "arg groupIds numGroups")
def _count(emitter: Emitter, arg: Value, groups: Value, count: Value) -> Value:
    return _grouped(emitter, "count", arg, groups, count)


def _register_index(public: str, name: str) -> None:
    def lower(emitter: Emitter, arg: Value, axis: Value) -> Value:
        type = emitter.numbers(arg, "arg")
        if _axis(emitter, axis) == PER_ROW:
            return emitter.emit("index_row", [arg], matrix("index", type.rows, 1), name=name)
        return emitter.emit("index_col", [arg], matrix("index", 1, type.columns), name=name)

    BUILTINS[public] = Builtin(public, ("arg", "axis"), (), "", lower)


_register_index("idxMin", "min")
_register_index("idxMax", "max")


def _register_cumulative(public: str, name: str) -> None:
    def lower(emitter: Emitter, arg: Value) -> Value:
        if name == "sum":
            arg = _counted(emitter, arg)
        return emitter.emit("cumulate", [arg], emitter.numbers(arg, "arg"), name=name)

    BUILTINS[public] = Builtin(public, ("arg",), (), "", lower)


for _public, _name in (("Sum", "sum"), ("Prod", "prod"), ("Min", "min"), ("Max", "max")):
    _register_cumulative(f"cum{_public}", _name)
