"""The values of keys in the names of folders."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from freestone.errors import SchemaError, UsageError
from freestone.io.many.filters import Filters
from freestone.io.many.finding import Found, Keys
from freestone.io.many.predicates import as_expression, could_hold, guarantee
from freestone.io.many.request import Request

__all__ = [
    "equalities",
    "key_types",
    "left_by_folders",
    "not_excluded",
    "type_of_values",
    "with_keys",
]


class InFolders(Protocol):
    """A file, or what one gives, with the keys of its folders."""

    @property
    def keys(self) -> Keys:
        """The keys, and their values."""


F = TypeVar("F", bound=InFolders)
_INTEGER = re.compile(r"-?\d{1,19}", re.ASCII)
_MIN_INT64, _MAX_INT64 = -(1 << 63), (1 << 63) - 1
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def key_types(files: Sequence[Found]) -> dict[str, Any]:
    """Return the type of each key: whole numbers, dates, or else texts, for all files alike.

    Raises
    ------
    SchemaError
        When a file has not the keys that others have.
    """
    if not any(found.keys for found in files):
        return {}
    first = files[0]
    values: dict[str, list[str]] = {name: [] for name, _ in first.keys}
    for found in files:
        names = [name for name, _ in found.keys]
        if names != list(values):
            reason = f"its folders have the keys {names}, and the other's {list(values)}"
            raise SchemaError(found.url, first.url, f"{reason}; read them apart")
        for name, value in found.keys:
            if value is not None:
                values[name].append(value)
    return {name: type_of_values(each) for name, each in values.items()}


def type_of_values(values: Sequence[str]) -> Any:
    """Return the type that texts have as the values of a key."""
    import pyarrow as pa

    if values and all(map(_is_integer, values)):
        return pa.int64()
    if values and all(map(_is_date, values)):
        return pa.date32()
    return pa.string()


def _is_integer(value: str) -> bool:
    is_one = _INTEGER.fullmatch(value) is not None
    return is_one and _MIN_INT64 <= int(value) <= _MAX_INT64


def _is_date(value: str) -> bool:
    if _DATE.fullmatch(value) is None:
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def scalar_of(value: str | None, kind: Any) -> Any:
    """Return a key's value as a scalar of Arrow."""
    import pyarrow as pa

    if value is None or pa.types.is_string(kind):
        return pa.scalar(value, kind)
    plain = int(value) if pa.types.is_int64(kind) else datetime.date.fromisoformat(value)
    return pa.scalar(plain, kind)


def equalities(keys: Keys, types: dict[str, Any]) -> dict[str, tuple[Any, Any, bool]]:
    """Return what a file's keys say of all its rows, as `freestone.io.many.predicates` takes it."""
    found = {}
    for name, value in keys:
        scalar = None if value is None else scalar_of(value, types[name])
        found[name] = (scalar, scalar, value is None)
    return found


def not_excluded(files: Sequence[F], request: Request, schema: Any) -> list[F]:
    """Return the files in whose folders a predicate could be true of some row."""
    if not request.key_types:
        return list(files)
    folders = {found.keys: guarantee(equalities(found.keys, request.key_types)) for found in files}
    could = could_hold(request.where, schema, list(folders.values()))
    left = {keys for keys, holds in zip(folders, could, strict=True) if holds}
    return [found for found in files if found.keys in left]


def left_by_folders(files: Sequence[F], request: Request) -> list[F]:
    """Return the files that their folders alone do not exclude, before any of them is opened.

    An expression of Arrow that names columns of files, too, says nothing until their types are
    known.
    """
    import pyarrow as pa

    where = request.where
    if isinstance(where, Filters):
        where = where.of_columns(request.key_types)
    if where is None or not request.key_types:
        return list(files)
    schema = pa.schema([*request.key_types.items()])
    try:
        return not_excluded(files, replace(request, where=as_expression(where, schema)), schema)
    except UsageError:
        if isinstance(where, Filters):
            raise
        return list(files)


def with_keys(table: Any, keys: Keys, types: dict[str, Any]) -> Any:
    """Return a table with a column for each key, behind the others."""
    import pyarrow as pa

    for name, value in keys:
        if name in types:
            column = pa.repeat(scalar_of(value, types[name]), table.num_rows)
            table = table.append_column(pa.field(name, types[name]), column)
    return table
