"""Sides of operations of cells as NumPy repeats them.

The language repeats a row, a column or a number on the right of an operation only. How often the
left side is repeated may be known only when it is computed, as the rows that a mask leaves are.
"""

from __future__ import annotations

from collections.abc import Sequence

from freestone.lang.front.builtins import lower
from freestone.lang.front.builtins.elementwise import binary, cast, choose
from freestone.lang.front.builtins.meta import counted
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type

__all__ = ["chosen", "fitted"]

SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
SWAPPED |= {name: name for name in ("add", "mul", "min", "max", "eq", "neq", "and", "or")}
"""What operations are called when their sides change places."""

Shape = tuple[Value, Value]
"""Numbers of rows and columns, which may be known only when it is computed."""


def fitted(emitter: Emitter, name: str, left: Value, right: Value) -> tuple[str, Value, Value]:
    """Return an operation and its sides as the language takes them.

    Parameters
    ----------
    emitter : Emitter
        Where operations go that repeat a side.
    name : str
        The operation.
    left, right : Value
        Matrices. Those that don't go together are left to whoever refuses them.
    """
    one, other = left.type, right.type
    if (one.rows, one.columns) == (other.rows, other.columns):
        return name, left, right
    if _is_single(other):
        return name, left, _number(emitter, right)
    if _is_single(one):
        return name, _number(emitter, left), right
    left, right = _widened(emitter, left, right), _widened(emitter, right, left)
    one, other = left.type, right.type
    if not _may_be_shorter(one, other):
        return name, left, right
    if name in SWAPPED and not _may_be_shorter(other, one):
        return SWAPPED[name], right, left
    whole = _whole(emitter, [left, right])
    if not _is_open(one, other):
        return name, _repeated(emitter, left, whole), right
    # The language repeats a row, or a column, on the right of ones when it is run.
    ones = _filled(emitter, emitter.constant(1, one.cell), whole)
    return name, binary(emitter, "mul", ones, left), right


def chosen(emitter: Emitter, condition: Value, then: Value, otherwise: Value) -> Value:
    """Return cells of one where a condition is not 0, and of the other where it is."""
    values = [condition, then, otherwise]
    matrices = [value for value in values if value.type.data == "matrix"]
    whole = _whole(emitter, matrices)
    is_single = condition.type.data == "scalar" or _is_single(condition.type)
    if is_single and not (matrices and all(_is_single(value.type) for value in matrices)):
        condition = _filled(emitter, _number(emitter, condition), whole)
    parts = [_repeated(emitter, part, whole) for part in (then, otherwise)]
    made = choose(emitter, _repeated(emitter, condition, whole), *parts)
    is_number = all(value.type.data == "scalar" for value in values)
    return _number(emitter, made) if is_number else made


def _repeated(emitter: Emitter, value: Value, whole: Shape) -> Value:
    """Return a matrix of a shape whose rows or columns are all those of a row or a column."""
    type = value.type
    if type.data != "matrix":
        return value
    rows, columns = (
        own == 1 and count.const != 1
        for own, count in zip((type.rows, type.columns), whole, strict=True)
    )
    if not rows and not columns:
        return value
    if _is_single(type):
        return _number(emitter, value)
    one, once = emitter.constant(1, type.cell), emitter.constant(1, "index")
    if rows:
        sides = [_filled(emitter, one, (whole[0], once)), value]
    else:
        sides = [value, _filled(emitter, one, (once, whole[1]))]
    [made] = lower(emitter, "outerMul", sides, {})
    return made


def _filled(emitter: Emitter, value: Value, shape: Shape) -> Value:
    [made] = lower(emitter, "fill", [value, *shape], {})
    return made


def _number(emitter: Emitter, value: Value) -> Value:
    return cast(emitter, value, "scalar", None) if value.type.data == "matrix" else value


def _is_single(type: Type) -> bool:
    return type.rows == 1 and type.columns == 1


def _is_shorter(one: Type, other: Type) -> bool:
    """Tell whether one has a row, or a column, where the other may have several."""
    return (one.rows == 1 != other.rows) or (one.columns == 1 != other.columns)


def _is_open(one: Type, other: Type) -> bool:
    """Tell whether it is known when it is run only if one has a row where the other has several."""
    sides = ((one.rows, other.rows), (one.columns, other.columns))
    return any(own is None and count not in (None, 1) for own, count in sides)


def _may_be_shorter(one: Type, other: Type) -> bool:
    return _is_shorter(one, other) or _is_open(one, other)


def _widened(emitter: Emitter, value: Value, other: Value) -> Value:
    """Repeat the column that a value is, if it may be a single cell when it is run; or the row."""
    if 1 not in (value.type.rows, value.type.columns) or not _is_open(value.type, other.type):
        return value
    return _repeated(emitter, value, _whole(emitter, [value, other]))


def _whole(emitter: Emitter, values: Sequence[Value]) -> Shape:
    """Return the numbers of rows and columns that matrices are repeated to."""
    return _longest(emitter, "nrow", values), _longest(emitter, "ncol", values)


def _longest(emitter: Emitter, name: str, values: Sequence[Value]) -> Value:
    counts = [counted(emitter, name, value) for value in values]
    several = [count for count in counts if count.const != 1]
    # What is not known has to agree with what is, and is looked at only where all else is 1.
    known = [count for count in several if count.const is not None]
    return next(iter(known + several), emitter.constant(1, "index"))
