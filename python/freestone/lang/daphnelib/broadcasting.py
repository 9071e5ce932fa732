"""Sides of operations of cells as NumPy repeats them.

The language repeats a row, a column or a number on the right of an operation only.
"""

from __future__ import annotations

from freestone.lang.front.builtins import lower
from freestone.lang.front.builtins.elementwise import cast
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type

__all__ = ["fitted", "repeated"]

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
        return name, left, cast(emitter, right, "scalar", None)
    if one == (1, 1):
        return name, cast(emitter, left, "scalar", None), right
    whole = _whole(one, other)
    if whole in (None, one):
        return name, left, right
    if other == whole and name in SWAPPED:
        return SWAPPED[name], right, left
    return name, repeated(emitter, left, whole), right


def repeated(emitter: Emitter, value: Value, shape: Shape | None) -> Value:
    """Return a matrix of a shape whose rows or columns are all those of a row or a column."""
    own = _shape(value.type)
    if value.type.data != "matrix" or own == shape or shape is None or _whole(own, shape) != shape:
        return value
    if own == (1, 1):
        return cast(emitter, value, "scalar", None)
    rows, columns = (emitter.constant(count or 0, "si64") for count in shape)
    one, once = emitter.constant(1, value.type.cell), emitter.constant(1, "si64")
    if own[0] == 1:
        [ones] = lower(emitter, "fill", [one, rows, once], {})
        [made] = lower(emitter, "outerMul", [ones, value], {})
    else:
        [ones] = lower(emitter, "fill", [one, once, columns], {})
        [made] = lower(emitter, "outerMul", [value, ones], {})
    return made


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
