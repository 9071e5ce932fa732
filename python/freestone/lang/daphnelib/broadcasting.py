"""Sides of operations of cells as NumPy repeats them.

The language repeats a row, a column or a number on the right of an operation only.
"""

from __future__ import annotations

from freestone.lang.front.builtins import lower
from freestone.lang.front.builtins.elementwise import cast, choose
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type

__all__ = ["chosen", "fitted"]

Shape = tuple[int | None, int | None]

SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
SWAPPED |= {name: name for name in ("add", "mul", "min", "max", "eq", "neq", "and", "or")}
"""What operations are called when their sides change places."""


def fitted(emitter: Emitter, name: str, left: Value, right: Value) -> tuple[str, Value, Value]:
    """Return an operation and its sides as the language takes them.

    Parameters
    ----------
    emitter : Emitter
        Where operations go that repeat a side.
    name : str
        The operation.
    left, right : Value
        Matrices. Of sides whose numbers of rows or columns are not known nothing changes, and
        those that don't go together are left to whoever refuses them.
    """
    one, other = _shape(left.type), _shape(right.type)
    if None in one or None in other or one == other:
        return name, left, right
    if other == (1, 1):
        return name, left, _number(emitter, right)
    if one == (1, 1):
        return name, _number(emitter, left), right
    whole = _whole(one, other)
    if whole in (None, one):
        return name, left, right
    if other == whole and name in SWAPPED:
        return SWAPPED[name], right, left
    return name, _repeated(emitter, left, whole), right


def chosen(emitter: Emitter, condition: Value, then: Value, otherwise: Value) -> Value:
    """Return cells of one where a condition is not 0, and of the other where it is."""
    values = [condition, then, otherwise]
    whole: Shape | None = (1, 1)
    for value in values:
        if value.type.data == "matrix":
            whole = None if whole is None else _whole(whole, _shape(value.type))
    if whole is None:
        return choose(emitter, *values)
    if condition.type.data == "scalar" or _shape(condition.type) == (1, 1) != whole:
        condition = _filled(emitter, _number(emitter, condition), whole)
    parts = [_repeated(emitter, part, whole) for part in (then, otherwise)]
    made = choose(emitter, _repeated(emitter, condition, whole), *parts)
    is_number = all(value.type.data == "scalar" for value in values)
    return _number(emitter, made) if is_number else made


def _repeated(emitter: Emitter, value: Value, shape: Shape) -> Value:
    """Return a matrix of a shape whose rows or columns are all those of a row or a column."""
    own = _shape(value.type)
    if value.type.data != "matrix" or own == shape:
        return value
    if own == (1, 1):
        return _number(emitter, value)
    one = emitter.constant(1, value.type.cell)
    if own[0] == 1:
        sides = [_filled(emitter, one, (shape[0], 1)), value]
    else:
        sides = [value, _filled(emitter, one, (1, shape[1]))]
    [made] = lower(emitter, "outerMul", sides, {})
    return made


def _filled(emitter: Emitter, value: Value, shape: Shape) -> Value:
    sides = [emitter.constant(count or 0, "si64") for count in shape]
    [made] = lower(emitter, "fill", [value, *sides], {})
    return made


def _number(emitter: Emitter, value: Value) -> Value:
    return cast(emitter, value, "scalar", None) if value.type.data == "matrix" else value


def _shape(type: Type) -> Shape:
    return type.rows, type.columns


def _whole(one: Shape, other: Shape) -> Shape | None:
    """Return the shape that two are repeated to; None if that is not known, or there is none."""
    if None in one or None in other:
        return None
    sides = []
    for left, right in zip(one, other, strict=True):
        if left != right and 1 not in (left, right):
            return None
        sides.append(right if left == 1 else left)
    return sides[0], sides[1]
