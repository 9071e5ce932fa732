"""Predicates of polars as those of Arrow, so that readers leave out rows and parts of files.

What is pushed down never leaves out a row that polars would keep: what has no counterpart of
exactly the same meaning is not pushed down, and polars filters what is read once more. To polars
NaN is more than any number; to Arrow no comparison is true of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import polars as pl

from freestone.collections.tables.expressions import each_expr, tree_of
from freestone.collections.tables.plan import Op
from freestone.io.many import without_views

__all__ = ["are_plain", "as_where", "tests_of"]

_FLIPPED = {"Eq": "Eq", "NotEq": "NotEq", "Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq"}
_CLOSED = {
    "Both": ("GtEq", "LtEq"),
    "Left": ("GtEq", "Lt"),
    "Right": ("Gt", "LtEq"),
    "None": ("Gt", "Lt"),
}
_UNITS = {"ns": "Nanoseconds", "us": "Microseconds", "ms": "Milliseconds"}
_SAFE_INTEGERS = 1 << 53


class _NoCounterpartError(Exception):
    """An expression has no counterpart in Arrow of the same meaning."""


def tests_of(step: Op) -> list[pl.Expr]:
    """Return what has to be true of each row that a filter keeps."""
    named = [pl.col(name) == value for name, value in step.options.items()]
    return [*each_expr(step.args), *named]


def are_plain(step: Op) -> bool:
    """Tell whether a step only leaves out columns, so that a test before it means the same."""
    if step.method != "select" or step.options:
        return False
    return all(expr.meta.is_column() for expr in each_expr(step.args))


def as_where(tests: Sequence[pl.Expr], schema: Any) -> Any:
    """Return an expression of pyarrow that is true of all rows of which all tests are.

    Parameters
    ----------
    tests
        Predicates.
    schema
        The Arrow schema of what they are about.

    Returns
    -------
    pyarrow.compute.Expression or None
        None if no test has a counterpart.
    """
    found = []
    for test in tests:
        tree = tree_of(test)
        try:
            found.append(_Reading(schema).predicate(tree))
        except (_NoCounterpartError, KeyError, TypeError, ValueError, OverflowError):
            continue
    return reduce(and_, found) if found else None


class _Reading:
    """Reads what polars writes of an expression."""

    def __init__(self, schema: Any) -> None:
        self.schema = without_views(schema)

    def predicate(self, tree: Any) -> Any:
        """Return the counterpart of a predicate, or one that is true more often."""
        match tree:
            case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
                return self._both(left, right)
            case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
                return self.predicate(left) | self.predicate(right)
            case {
                "BinaryExpr": {"left": {"Column": name}, "op": sign, "right": {"Literal": value}}
            }:
                return self._compared(name, sign, value)
            case {
                "BinaryExpr": {"left": {"Literal": value}, "op": sign, "right": {"Column": name}}
            }:
                return self._compared(name, _FLIPPED[sign], value)
            case {
                "Function": {"input": [{"Column": name}, *values], "function": {"Boolean": what}}
            }:
                return self._called(name, what, [value["Literal"] for value in values])
        raise _NoCounterpartError

    def _both(self, left: Any, right: Any) -> Any:
        """Return the counterpart of two predicates; that of one if the other has none."""
        try:
            one = self.predicate(left)
        except _NoCounterpartError:
            return self.predicate(right)
        try:
            return one & self.predicate(right)
        except _NoCounterpartError:
            return one

    def _called(self, name: str, what: Any, values: list[Any]) -> Any:
        import pyarrow.compute as pc

        self._type(name)
        match what:
            case "IsNull":
                return pc.field(name).is_null()
            case "IsNotNull":
                return ~pc.field(name).is_null()
            case {"IsBetween": {"closed": closed}}:
                above, below = _CLOSED[closed]
                low, high = values
                return self._compared(name, above, low) & self._compared(name, below, high)
            case {"IsIn": {"nulls_equal": False}}:
                return self._is_in(name, values[0]["Scalar"]["List"])
        raise _NoCounterpartError

    def _compared(self, name: str, sign: str, literal: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind, field = self._type(name), pc.field(name)
        value = _scalar(literal, kind)
        is_float = pa.types.is_floating(kind)
        compared = {
            "Eq": field == value,
            "Lt": field < value,
            "LtEq": field <= value,
            "Gt": field > value,
            "GtEq": field >= value,
        }
        if sign == "NotEq" and not is_float:
            return field != value
        if sign not in compared:
            raise _NoCounterpartError
        is_true_of_nan = is_float and sign in ("Gt", "GtEq")
        return compared[sign] | field.is_nan() if is_true_of_nan else compared[sign]

    def _is_in(self, name: str, stream: list[int]) -> Any:
        """Return the counterpart of a test against values, which polars writes as an IPC stream."""
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = self._type(name)
        if not (pa.types.is_integer(kind) or _is_text(kind)):
            raise _NoCounterpartError
        try:
            values = pa.ipc.open_stream(bytes(stream)).read_all().column(0)
        except pa.ArrowNotImplementedError:
            # Polars' integers of 128 bits.
            raise _NoCounterpartError from None
        same = _is_text(values.type) if _is_text(kind) else pa.types.is_integer(values.type)
        if not same or values.null_count:
            raise _NoCounterpartError
        return pc.field(name).isin(values.cast(kind).combine_chunks())

    def _type(self, name: str) -> Any:
        return self.schema.field(name).type


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def _scalar(literal: Any, kind: Any) -> Any:
    """Return a literal as a value of a column's type, if to compare it so means the same."""
    import pyarrow as pa

    ((form, written),) = literal.items()
    ((sort, value),) = written.items()
    is_integer = sort.startswith(("Int", "UInt"))
    if pa.types.is_integer(kind) and is_integer:
        return pa.scalar(value, kind)
    if pa.types.is_float64(kind) and (is_integer or sort in ("Float", "Float64")):
        number = float(value)
        if math.isnan(number) or (is_integer and abs(value) > _SAFE_INTEGERS):
            raise _NoCounterpartError
        return pa.scalar(number, kind)
    if pa.types.is_float32(kind) and form == "Dyn" and float(np.float32(value)) == value:
        return pa.scalar(value, kind)
    if _is_text(kind) and sort == "String":
        return pa.scalar(value, kind)
    if pa.types.is_date32(kind) and sort == "Date":
        return pa.scalar(value, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind) and kind.tz is None and sort == "Datetime":
        number, unit, zone = value
        if zone is None and unit == _UNITS.get(kind.unit):
            return pa.scalar(number, pa.int64()).cast(kind)
    raise _NoCounterpartError
