"""What polars has said of plans, remembered by what they are made of.

A program asks the same of its tables again and again: each day's query, each step of a loop. What
comes out of a step of some columns, and whether it looks at one row alone, is the same each time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, TypeVar

import polars as pl
from polars.datatypes import DataTypeClass

__all__ = ["is_plain", "key_of", "remembered"]

T = TypeVar("T")

_MAX_ANSWERS = 4096
_MAX_NBYTES = 4096
"""A longer expression, such as one with many values in it, costs more to keep than it saves."""
_MAX_PLAN_NBYTES = 1 << 16
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
"""How Python objects begin in what polars writes: functions, which may be others the next time."""
_PLAIN = (bool, int, float, str, bytes, date, time, timedelta, Decimal, pl.DataType, DataTypeClass)

_answers: dict[Hashable, Any] = {}


class _UnknownError(Exception):
    """A value is not one of those by which answers are remembered."""


def remembered(key: Hashable | None, answer: Callable[[], T]) -> T:
    """Return an answer that was given before, or give it now.

    Parameters
    ----------
    key
        What it depends on, and nothing else does; None if that is not known.
    answer
        Gives it. What it raises is not remembered.
    """
    if key is None:
        return answer()
    try:
        found: T = _answers[key]
    except KeyError:
        found = answer()
        if len(_answers) >= _MAX_ANSWERS:
            _answers.clear()
        _answers[key] = found
    return found


def key_of(*values: Any) -> Hashable | None:
    """Return what stands for values, equal only for equal ones; None if there is no such thing.

    Notes
    -----
    Takes some 4 µs for an expression. An expression with a Python function in it has none.
    """
    try:
        return tuple(map(_key, values))
    except _UnknownError:
        return None


def is_plain(pickled: bytes) -> bool:
    """Tell whether a short pickle has no others in it, as those of functions in expressions are."""
    return len(pickled) <= _MAX_PLAN_NBYTES and not _PICKLE.search(pickled, 2)


def _key(value: Any) -> Hashable:
    if value is None:
        return None
    if isinstance(value, pl.Expr):
        return type(value), _written(value)
    if isinstance(value, _PLAIN):
        # 1, 1.0 and True are equal, and columns of them are not.
        return type(value), value
    if isinstance(value, pl.Schema):
        return tuple(value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(map(_key, value))
    if isinstance(value, Mapping):
        return dict, tuple((_key(name), _key(each)) for name, each in value.items())
    raise _UnknownError


def _written(expr: pl.Expr) -> bytes:
    """Return an expression as polars writes it."""
    try:
        written = expr.__getstate__()
    except (pl.exceptions.PolarsError, TypeError, ValueError, AttributeError):
        raise _UnknownError from None
    if not isinstance(written, bytes) or len(written) > _MAX_NBYTES or _PICKLE.search(written):
        raise _UnknownError
    return written
