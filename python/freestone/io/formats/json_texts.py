"""Columns of JSON lines as the texts that they have in the file, of which `types=` makes values.

The parser of Arrow takes the type of a column from its first value, and refuses others. So it gets
the lines without the values of such columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from freestone.errors import FormatError
from freestone.io.stores import FileLocation

__all__ = ["texts_apart"]


class _Integer(int):
    text: str


class _Float(float):
    text: str


def _integer(text: str) -> _Integer:
    made = _Integer(text)
    made.text = text
    return made


def _float(text: str) -> _Float:
    made = _Float(text)
    made.text = text
    return made


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise json.JSONDecodeError("an object has two values of one name", "", 0)
    return made


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, object_pairs_hook=_object)


def texts_apart(
    location: FileLocation, text: bytes, names: Sequence[str], row: int
) -> tuple[bytes, dict[str, list[str | None]]]:
    """Return lines with null in place of the values of some columns, and these as texts.

    The lines begin behind `row` others; errors count rows from 1.

    Raises
    ------
    FormatError
        For a list or an object in such a column, with its row.
    JSONDecodeError, UnicodeDecodeError
        For text that is no JSON, or no object.
    """
    lines: list[str] = []
    columns: dict[str, list[str | None]] = {name: [] for name in names}
    for number, record in enumerate(_records(text.decode()), row + 1):
        for name, column in columns.items():
            column.append(_as_text(location, record.get(name), name, number))
            if name in record:
                record[name] = None
        lines.append(json.dumps(record, ensure_ascii=False))
    return "\n".join(lines).encode(), columns


def _records(text: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a text, which may each take several lines."""
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        record, at = _DECODER.raw_decode(text, at)
        if not isinstance(record, dict):
            raise json.JSONDecodeError("what stands there is no object", text, at)
        yield record


def _as_text(location: FileLocation, value: Any, name: str, row: int) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, _Integer | _Float):
        return value.text
    shown = json.dumps(value)
    reason = (
        f"row {row:,}: column {name!r} has {shown:.60}, and types= is for texts, numbers and "
        "booleans; leave the column out of it"
    )
    raise FormatError(location.url, reason, row=row)
