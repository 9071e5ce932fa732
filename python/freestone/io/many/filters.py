"""Filters: tuples of column, operator and value, bound to the types that the columns have.

Numbers are compared as numbers, exactly, whatever their types are: a column of `uint64` with -1 or
2.5, a decimal with a whole number. Arrow by itself casts both to one type, which may not hold them.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np

from freestone.errors import UsageError, did_you_mean
from freestone.io.formats.tables import first_line, needs

__all__ = ["Filters", "as_filters"]

OPERATORS = ("==", "=", "!=", "<", "<=", ">", ">=", "in", "not in")
# Values that are neither numbers nor booleans.
_OTHERS = str | bytes | date | timedelta
# Arrow has no times in other units.
UNITS = {"h": "s", "m": "s", "generic": "s"}


@dataclass(frozen=True)
class Comparison:
    """A column, an operator and a value."""

    column: str
    operator: str
    value: Any

    def bound(self, schema: Any) -> Any:
        """Return what it means of the columns of a schema, as an expression of pyarrow.

        Raises
        ------
        UsageError
            When the value can't be compared with those of the column.
        """
        pc = needs("pyarrow.compute", "arrow", "where=")
        field = pc.field(self.column)
        place = schema.get_field_index(self.column)
        if place < 0:
            return field.is_valid()
        kind = schema.field(place).type
        kind = getattr(kind, "value_type", kind) if "dictionary" in str(kind) else kind
        try:
            if self.operator in ("in", "not in"):
                found = field.isin(_values(self.value, kind))
                return found if self.operator == "in" else ~found
            return _compared(field, self.operator, _plain(self.value), kind)
        except (TypeError, ValueError, OverflowError, NotImplementedError) as error:
            of_type = f"{type(self.value).__module__}.{type(self.value).__qualname__}"
            raise UsageError(
                f"where=: column {self.column!r} is {kind}, and can't be compared "
                f"({self.operator}) with {self.value!r} of type {of_type.removeprefix('builtins.')}"
                f": {first_line(error)}"
            ) from error


@dataclass(frozen=True)
class Filters:
    """Comparisons in groups, of one of which all have to be true."""

    groups: tuple[tuple[Comparison, ...], ...]

    def bound(self, schema: Any) -> Any:
        """Return what they mean of the columns of a schema, as an expression of pyarrow."""
        groups = [[each.bound(schema) for each in group] for group in self.groups]
        return reduce(or_, [reduce(and_, group) for group in groups])

    def of_columns(self, names: Container[str]) -> Filters | None:
        """Return what they say of some columns alone; None if that may be nothing."""
        groups = [tuple(each for each in group if each.column in names) for group in self.groups]
        return Filters(tuple(groups)) if all(groups) else None

    def name(self, column: str) -> bool:
        """Tell whether a column is in one of them."""
        return any(each.column == column for group in self.groups for each in group)


def as_filters(where: Any) -> Filters:
    """Return a tuple, a list of tuples, or a list of such lists as filters.

    Raises
    ------
    TypeError, ValueError
        When it is nothing of these.
    """
    if _is_comparison(where):
        where = [[where]]
    elif isinstance(where, Sequence) and where and _is_comparison(where[0]):
        where = [where]
    if not isinstance(where, Sequence) or isinstance(where, str | bytes):
        raise TypeError(f"it is of type {type(where).__name__}")
    groups = [tuple(_comparison(each) for each in group) for group in where]
    if not groups or not all(groups):
        raise ValueError("it is empty")
    return Filters(tuple(groups))


def _is_comparison(what: Any) -> bool:
    return isinstance(what, tuple) and len(what) == 3 and isinstance(what[0], str)


def _comparison(what: Any) -> Comparison:
    if not _is_comparison(what):
        raise ValueError(f"{what!r} is not a column, an operator and a value")
    column, operator, value = what
    if operator not in OPERATORS:
        hint = did_you_mean(operator, OPERATORS) if isinstance(operator, str) else ""
        raise ValueError(f"{operator!r} is no operator{hint}; there are {', '.join(OPERATORS)}")
    if operator in ("in", "not in") and (
        isinstance(value, str | bytes) or not isinstance(value, Iterable)
    ):
        raise TypeError(f"{operator!r} takes a list of values, not {value!r}")
    return Comparison(column, "==" if operator == "=" else operator, value)


def _plain(value: Any) -> Any:
    """Return a scalar of NumPy as what Arrow or Python has for it."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _times(np.array([value]))[0]
    return value.item() if isinstance(value, np.generic) else value


def _times(values: Any) -> Any:
    """Return times of NumPy in a unit that Arrow has, of which the dates are days."""
    import pyarrow as pa

    unit = np.datetime_data(values.dtype)[0]
    is_date = values.dtype.kind == "M" and unit in ("Y", "M", "W", "D")
    is_long = values.dtype.kind == "m" and unit in ("W", "D")
    wanted = "D" if is_date else "s" if is_long else UNITS.get(unit, unit)
    return pa.array(values.astype(f"{values.dtype.kind}8[{wanted}]"))


def _compared(field: Any, operator: str, value: Any, kind: Any) -> Any:
    import pyarrow as pa

    _check_types([value], kind)
    scale = _scale(kind)
    if scale is not None and _is_number(value, kind):
        return _compared_exactly(field, operator, value, kind, scale)
    if pa.types.is_temporal(kind) and isinstance(value, str):
        value = pa.scalar(value).cast(kind)
    elif pa.types.is_floating(kind) and isinstance(value, int) and not isinstance(value, bool):
        value = _as_float(value)
    literal = value if isinstance(value, pa.Scalar) else pa.scalar(value)
    match operator:
        case "==":
            return field == literal
        case "!=":
            return field != literal
        case "<":
            return field < literal
        case "<=":
            return field <= literal
        case ">":
            return field > literal
    return field >= literal


def _check_types(values: Iterable[Any], kind: Any) -> None:
    """Raise `TypeError` for a value that no value of a type equals: ``7`` is not ``"007"``.

    The message says what to write instead.
    """
    types = needs("pyarrow", "arrow", "where=").types
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_date = types.is_date(kind) or types.is_timestamp(kind)
    for value in values:
        is_truth = isinstance(value, bool)
        is_numeric = isinstance(value, int | float | Decimal) and not is_truth
        advice = ""
        if is_text and (is_numeric or is_truth):
            advice = f"its values are texts, and {value!r} is none; put it in quotes"
        elif types.is_boolean(kind) and (is_numeric or isinstance(value, _OTHERS)):
            advice = f"its values are booleans, and {value!r} is none; write True or False"
        elif is_number and (is_truth or isinstance(value, _OTHERS)):
            advice = f"its values are numbers, and {value!r} is none; write {_number_of(value)}"
        elif is_date and (is_numeric or is_truth):
            advice = (
                f"its values are dates or times, and {value!r} is none; write one of datetime, or "
                "a text such as '2024-05-01'"
            )
        if advice:
            raise TypeError(advice)


def _number_of(value: Any) -> str:
    """Return what a number is written as that stands there as something else."""
    if isinstance(value, bool):
        return str(int(value))
    try:
        text = value.decode() if isinstance(value, bytes) else value
        return f"{text.strip()}, without quotes" if float(text) == float(text) else "a number"
    except (AttributeError, TypeError, ValueError):
        return "a number"


def _scale(kind: Any) -> int | None:
    """Return how many digits the values of a type have behind the point; None of others."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return 0
    return int(kind.scale) if pa.types.is_decimal(kind) else None


def _is_number(value: Any, kind: Any) -> bool:
    import pyarrow as pa

    if isinstance(value, float):
        # Which decimal a float means nobody says: Arrow compares it with the nearest float.
        return bool(pa.types.is_integer(kind))
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _as_float(value: int) -> float:
    found = float(value)
    if int(found) != value:
        raise ValueError(f"no float is {value:,}; give a float")
    return found


def _limits(kind: Any) -> tuple[int, int]:
    """Return the smallest and the largest value of a type, in units of its last digit."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        most = 10**kind.precision - 1
        return -most, most
    info = np.iinfo(kind.to_pandas_dtype())
    return int(info.min), int(info.max)


def _literal(units: int, kind: Any, scale: int) -> Any:
    """Return so many units of a type's last digit as its value."""
    import pyarrow as pa

    if not pa.types.is_decimal(kind):
        return pa.scalar(units, kind)
    digits = tuple(map(int, str(abs(units))))
    return pa.scalar(Decimal((int(units < 0), digits, -scale)), kind)


def _in_units(value: Any, kind: Any, scale: int) -> tuple[int, int]:
    """Return a number rounded down and up, in units of a type's last digit."""
    if math.isinf(value):
        low, high = _limits(kind)
        beyond = high + 1 if value > 0 else low - 1
        return beyond, beyond
    units = Fraction(value) * Fraction(10) ** scale
    return math.floor(units), math.ceil(units)


def _compared_exactly(field: Any, operator: str, value: Any, kind: Any, scale: int) -> Any:
    import pyarrow as pa

    none, every = field.isin(pa.array([], kind)), field.is_valid()
    if math.isnan(value):
        return every if operator == "!=" else none
    down, up = _in_units(value, kind, scale)
    low, high = _limits(kind)
    if operator in ("==", "!="):
        if down != up or not low <= down <= high:
            return none if operator == "==" else every
        literal = _literal(down, kind, scale)
        return field == literal if operator == "==" else field != literal
    bound = up if operator in ("<", ">=") else down
    if not low <= bound <= high:
        return every if (bound > high) == (operator in ("<", "<=")) else none
    literal = _literal(bound, kind, scale)
    if operator in ("<", "<="):
        return field < literal if operator == "<" else field <= literal
    return field > literal if operator == ">" else field >= literal


def _values(given: Iterable[Any], kind: Any) -> Any:
    """Return the values of a set as Arrow has them, those that a column's type has."""
    import pyarrow as pa

    if isinstance(given, pa.Array | pa.ChunkedArray):
        return given
    if isinstance(given, np.ndarray) and given.dtype.kind in "mM":
        return _times(given)
    values = [each.as_py() if isinstance(each, pa.Scalar) else each for each in map(_plain, given)]
    scale, known = _scale(kind), [each for each in values if each is not None]
    _check_types(known, kind)
    if not known:
        return pa.array(values, kind)
    if scale is not None and all(_is_number(each, kind) for each in known):
        units = [_in_units(each, kind, scale) for each in known if not math.isnan(each)]
        low, high = _limits(kind)
        fit = [down for down, up in units if down == up and low <= down <= high]
        missing = [None] * (len(values) > len(known))
        return pa.array([_literal(each, kind, scale).as_py() for each in fit] + missing, kind)
    if pa.types.is_temporal(kind) and known and all(isinstance(each, str) for each in known):
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values)
