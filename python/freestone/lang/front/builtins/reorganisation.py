"""Reorganisation: shapes, orders, pieces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from freestone.lang.front.builtins.generation import unique_labels
from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type, common_type, matrix


@builtin("reshape", "arg numRows numCols")
def reshape(emitter: Emitter, arg: Value, rows: Value, columns: Value) -> Value:
    """Give the cells, row by row, another shape."""
    type = emitter.matrix(arg, "arg")
    goal = type.shaped(emitter.size(rows, "numRows"), emitter.size(columns, "numCols"))
    have, want = cells_of(type), cells_of(goal)
    emitter.equal(have, want, "reshape keeps the number of cells")
    return emitter.emit("reshape", [arg, rows, columns], goal)


def cells_of(type: Type) -> int | None:
    """Count the cells of a matrix, where its shape is known."""
    return None if type.rows is None or type.columns is None else type.rows * type.columns


@builtin("transpose t", "arg")
def transpose(emitter: Emitter, arg: Value) -> Value:
    """Swap rows and columns."""
    type = emitter.matrix(arg, "arg")
    return emitter.emit("transpose", [arg], type.shaped(type.columns, type.rows))


@builtin("cbind", "lhs rhs")
def cbind(emitter: Emitter, left: Value, right: Value) -> Value:
    """Put two matrices or frames side by side."""
    left, right = _pair(emitter, "cbind", left, right)
    one, other = left.type, right.type
    emitter.equal(one.rows, other.rows, "cbind takes as many rows on both sides")
    columns = _sum(one.columns, other.columns)
    if one.data == "frame":
        schema = None
        if one.schema is not None and other.schema is not None:
            schema = one.schema + other.schema
            unique_labels(emitter, [label for label, _ in schema])
        type = Type("frame", "", one.rows, columns, schema)
    else:
        type = matrix(one.cell, one.rows if other.rows is None else other.rows, columns)
    return emitter.emit("cbind", [left, right], type)


@builtin("rbind", "lhs rhs")
def rbind(emitter: Emitter, left: Value, right: Value) -> Value:
    """Put two matrices or frames below each other."""
    left, right = _pair(emitter, "rbind", left, right)
    one, other = left.type, right.type
    emitter.equal(one.columns, other.columns, "rbind takes as many columns on both sides")
    if one.schema != other.schema:
        emitter.fail("rbind takes frames with the same labels and types")
    type = one.shaped(_sum(one.rows, other.rows), one.columns)
    return emitter.emit("rbind", [left, right], type)


def _pair(emitter: Emitter, name: str, left: Value, right: Value) -> tuple[Value, Value]:
    """Check what is joined, and give the elements of matrices the more general type."""
    one, other = left.type, right.type
    if one.data != other.data or one.data not in ("matrix", "frame"):
        emitter.fail(f"{name} takes two matrices or two frames, not a {one} and a {other}")
    if one.data == "frame":
        return left, right
    cell = common_type([one.cell, other.cell])
    return emitter.cast(left, cell), emitter.cast(right, cell)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


@builtin("reverse", "arg")
def reverse(emitter: Emitter, arg: Value) -> Value:
    """Turn the order of the rows round."""
    return emitter.emit("reverse", [arg], emitter.matrix(arg, "arg"))


@builtin("order", "arg rest*")
def order(emitter: Emitter, arg: Value, *rest: Value) -> Value:
    """Sort rows by columns."""
    type = arg.type
    if type.data not in ("matrix", "frame"):
        emitter.fail(f"order takes a matrix or a frame, not a {type}")
    if len(rest) < 3 or len(rest) % 2 == 0:
        emitter.fail("order takes columns, as many truth values, and returnIndexes")
    half = len(rest) // 2
    columns = [column_index(emitter, type, column) for column in rest[:half]]
    for value in rest[half:]:
        emitter.number(value, "asc and returnIndexes")
    indexes = bool(emitter.known(rest[-1], "returnIndexes"))
    result = matrix("index", type.rows, 1) if indexes else type
    return emitter.emit("order", [arg, *columns, *rest[half:-1]], result, indexes=indexes)


def column_index(emitter: Emitter, type: Type, column: Value) -> Value:
    """Turn a label into its position."""
    if column.type.cell != "str":
        emitter.number(column, "a column")
        return column
    label = str(emitter.known(column, "a label"))
    return emitter.constant(position(emitter, type, label), "si64")


def position(emitter: Emitter, type: Type, label: str) -> int:
    """Find the position of a label."""
    from freestone.errors.base import did_you_mean

    if type.schema is None:
        emitter.fail("the labels of this frame are not known before the script runs")
    labels = [known for known, _ in type.schema]
    if label not in labels:
        known = did_you_mean(label, labels)
        emitter.fail(f"the frame has no column {label!r}{known}; it has {', '.join(labels)}")
    return labels.index(label)


SIDE_VALUES = {"all": 0, "at": 1, "list": 1, "from": 1, "range": 2, "slice": 3}
"""How rows or columns are chosen, and by how many values: begin, end and step of a slice, which is
clipped as Python's are, where a range has to be inside."""


def indexed_type(
    type: Type, kind: str, values: Sequence[Value], counts: Sequence[int | None]
) -> Type:
    """Return the type of some rows and columns.

    Parameters
    ----------
    type : Type
        What they are taken from.
    kind : str
        How columns are chosen: ``"all"``, ``"at"``, ``"list"``, ``"from"``, ``"range"`` or
        ``"slice"``.
    values : sequence of Value
        What chooses them; those of the columns come last.
    counts : sequence
        The numbers of rows and columns that are left, where they are known.
    """
    if type.data == "matrix":
        return type.shaped(counts[0], counts[1])
    schema = type.schema
    if schema is not None and kind != "all":
        chosen = _chosen(len(schema), kind, values)
        schema = None if chosen is None else tuple(schema[at] for at in chosen)
    return Type("frame", "", counts[0], counts[1], schema)


def _chosen(count: int, kind: str, values: Sequence[Value]) -> list[int] | None:
    sides = list(values[-SIDE_VALUES[kind] :])
    if kind == "list":
        made = sides[0].op
        if made is None or made.kind != "literal":
            return None
        sides = made.operands
    consts = [value.const for value in sides if value.const is not None]
    if len(consts) < len(sides) or not all(math.isfinite(float(const)) for const in consts):
        return None
    places = [int(float(const)) for const in consts]
    if kind == "slice":
        return list(range(count)[slice(*places)])
    places = [at + count if at < 0 else at for at in places]
    if kind in ("at", "list"):
        return places
    return list(range(places[0], count if kind == "from" else places[1]))


def inserted(
    emitter: Emitter,
    name: str,
    whole: Value,
    part: Value,
    kinds: tuple[str, str],
    sides: Sequence[Value],
    counts: Sequence[int | None],
) -> Value:
    """Append what writes a part of a matrix that is called `name`; the rest is as for an index."""
    type = emitter.matrix(whole, name)
    if "list" in kinds:
        emitter.fail("what is assigned to is chosen by positions and ranges, not by lists")
    if type.cell == "index":
        part = _as_indexes(emitter, name, part)
    if part.type.data == "scalar" and list(counts) == [1, 1]:
        part = emitter.emit("to_matrix", [part], matrix(part.type.cell, 1, 1))
    found = emitter.matrix(part, "what is assigned to a part of a matrix")
    if found.cell != type.cell:
        # Scripts have no word for indexes; these are the same cells.
        word = "ui64" if type.cell == "index" else type.cell
        emitter.fail(f"{name} holds {type.cell}, not {found.cell}; write as.{word}(...)")
    emitter.equal(counts[0], found.rows, "the part assigned to and its value differ in rows")
    emitter.equal(counts[1], found.columns, "the part assigned to and its value differ in columns")
    return emitter.emit("insert", [whole, part, *sides], type, kinds=kinds)


def _as_indexes(emitter: Emitter, name: str, part: Value) -> Value:
    """Take integers without a sign, and literals that are not negative, for indexes."""
    consts = _literals(part) if part.type.cell == "si64" else []
    negative = [const for const in consts if const < 0]
    if negative:
        emitter.fail(f"{name} holds indexes, which are not negative; {negative[0]} is")
    return emitter.cast(part, "index") if consts or part.type.cell == "ui64" else part


def _literals(value: Value) -> list[Any]:
    """Return the constants that a value is written with; none where it is computed."""
    made, items = value.op, [value]
    if made is not None and made.kind in ("literal", "fill"):
        items = made.operands[:1] if made.kind == "fill" else made.operands
    consts = [item.const for item in items]
    return [] if None in consts else consts


def bind_columns(emitter: Emitter, columns: Sequence[Value]) -> Value:
    """Put columns side by side."""
    value = columns[0]
    for column in columns[1:]:
        value = cbind(emitter, value, column)
    return value
