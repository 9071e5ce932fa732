"""Whole numbers in JSON lines that a float64 can't hold, which the parser rounds without a word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from freestone.errors import FormatError
from freestone.io.formats.tables import needs
from freestone.io.stores import FileLocation

__all__ = ["check_whole_numbers", "largest"]

# Beyond it a float64 has not all whole numbers; it has 16 digits.
EXACT = 1 << 53
MANY_DIGITS = re.compile(rb"(?<![\w.+\"-])-?\d{16,}(?![\w.])")


def largest(values: Any, kind: str) -> Any:
    """Return the largest absolute value of a type in a column, also inside lists and records."""
    pa = needs("pyarrow", "arrow", "JSON lines")
    compute = needs("pyarrow.compute", "arrow", "JSON lines")
    if kind not in str(values.type):
        return 0
    if str(values.type) == kind:
        ends = compute.min_max(values)
        return max(abs(ends["min"].as_py() or 0), abs(ends["max"].as_py() or 0))
    if isinstance(values, pa.ChunkedArray):
        return max((largest(chunk, kind) for chunk in values.chunks), default=0)
    if pa.types.is_dictionary(values.type):
        return largest(values.dictionary_decode(), kind)
    if pa.types.is_run_end_encoded(values.type):
        return largest(compute.run_end_decode(values), kind)
    inner = values.flatten()
    fields = inner if isinstance(inner, list) else [inner]
    return max((largest(each, kind) for each in fields), default=0)


def check_whole_numbers(location: FileLocation, text: bytes, table: Any, row: int) -> None:
    """Raise `FormatError` for a whole number of a column of float64 that this can't hold.

    The text begins behind `row` others; errors count rows from 1.

    Lines are looked at one by one only where such a column has large values and the text has long
    numbers without a point.
    """
    columns = {
        column.name: column.type
        for column, values in zip(table.schema, table.columns, strict=True)
        if largest(values, "double") >= EXACT
    }
    if not columns or not MANY_DIGITS.search(text):
        return
    for number, record in enumerate(_records(text), row + 1):
        for name in columns.keys() & record.keys():
            found = _unfit(record[name], columns[name])
            if found is not None:
                raise FormatError(
                    location.url,
                    f"row {number:,}: column {name!r} has {found}, and is of float64, which can't "
                    "hold it; put such numbers into the file as texts, in quotes",
                )


def _records(text: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of lines that were parsed before."""
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            # Empty, or of several objects, which only the other parser takes.
            continue


def _unfit(value: Any, kind: Any) -> int | None:
    """Return the first whole number in a value that a float64 of its type can't hold."""
    if type(value) is int and str(kind) == "double":
        return None if -EXACT <= value <= EXACT or _is_exact(value) else value
    if isinstance(value, list):
        inner = [(one, kind.value_type) for one in value]
    elif isinstance(value, dict):
        inner = [(one, kind.field(name).type) for name, one in value.items()]
    else:
        return None
    return next((found for each in inner if (found := _unfit(*each)) is not None), None)


def _is_exact(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False
