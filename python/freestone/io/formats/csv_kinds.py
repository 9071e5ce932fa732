"""Types of CSV's columns, by the kinds of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freestone.errors import UsageError
from freestone.io.formats.csv_guess import BIG, BOOL, EMPTY, NEGATIVE, REAL, SMALL, TEXT
from freestone.io.formats.csv_marks import Marks
from freestone.io.formats.csv_types import Cast, Sight, Wanted, date_type_of
from freestone.io.formats.meta import CODES

__all__ = ["cast_of", "code_of", "common_code", "kinds_of", "type_of"]


def code_of(dtype: Any) -> str:
    """Return the code of an array's dtype, which `.meta` has, too."""
    import numpy as np

    try:
        code = str(np.dtype(dtype).str).lstrip("<>=|")
    except TypeError:
        code = ""
    if code not in CODES.values():
        raise UsageError(f"dtype={dtype!r}: cells are numbers of {', '.join(CODES)}")
    return code


def kinds_of(sights: Sequence[Sight]) -> list[int]:
    """Return the kinds of cells that each column has."""
    return [sight.kinds for sight in sights]


def cast_of(wanted: Wanted, name: str, code: str, sight: Sight) -> Cast | None:
    """Say what is made of the texts of a column; None if the native module reads it at once."""
    missing = wanted.missing if sight.has_missing else ()
    marks = wanted.marks
    if name in wanted.types:
        given, kind = wanted.types[name]
        marks = marks if kind is None or "decimal" in str(kind) else Marks()
        is_needed = kind is not None or missing or marks
        return Cast(missing, given, kind, None, marks) if is_needed else None
    if isinstance(wanted.dates, dict) and name in wanted.dates:
        form = wanted.dates[name]
        kind = sight.date_type(strict=False) if form is None else date_type_of(form)
        return Cast(missing, None, kind or date_type_of("%M"), form)
    if wanted.dates is True and (kind := sight.date_type(strict=True)) is not None:
        return Cast(missing, None, kind)
    return Cast(missing, code, marks=marks) if missing or sight.has_marks else None


def type_of(kinds: int) -> str:
    """Return the type that holds all cells of a column exactly."""
    integers, numbers = NEGATIVE | SMALL | BIG, NEGATIVE | SMALL | BIG | REAL
    if kinds & TEXT or not kinds & ~EMPTY or (kinds & BOOL and kinds & numbers):
        return "str"
    if kinds & BOOL:
        return "b1"
    if kinds & REAL:
        return "f8"
    if kinds & BIG:
        return "str" if kinds & NEGATIVE else "u8"
    assert kinds & integers
    return "i8"


def common_code(kinds: Sequence[int]) -> str:
    """Return the type that holds the numbers of all columns, whatever else is among them."""
    numbers = {type_of(found & ~(TEXT | EMPTY)) for found in kinds} - {"str", "b1"}
    return numbers.pop() if len(numbers) == 1 else "f8"
