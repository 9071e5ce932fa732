"""Tables as folders of files, one folder for each value of some columns: ``year=2024/``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from freestone.collections.frame import Frame
from freestone.errors import UsageError
from freestone.io.many.finding import NULL_KEY
from freestone.io.many.keys import type_of_values

__all__ = ["check_values", "keys_among", "parts_of", "without_drafts"]


def keys_among(frame: Frame, given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns by which a table is cut up.

    Raises
    ------
    UsageError
        When they are no columns, or of types that names of folders don't keep.
    """
    import pyarrow as pa

    keys = (given,) if isinstance(given, str) else tuple(given)
    known = frame.columns
    if not keys or len(set(keys)) < len(keys) or not all(key in known for key in keys):
        raise UsageError(
            f"partition_by={given!r}: give names of columns, each once; there are "
            f"{', '.join(map(repr, known))}"
        )
    if len(keys) == len(known):
        raise UsageError(
            f"partition_by={given!r}: these are all columns, and none is left for the files"
        )
    for key in keys:
        kind = frame.schema.field(key).type
        values = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (_is_text(values) or pa.types.is_integer(values) or pa.types.is_date32(values)):
            raise UsageError(
                f"partition_by={given!r}: column {key!r} is of {kind}, and names of folders keep "
                "integers, dates and texts only; cast it to one of them"
            )
        if not key:
            raise UsageError(
                "partition_by='': a folder can't be called after a column without a name; give it "
                'one, as by frame.rename({"": "row"})'
            )
        if key.startswith((".", "_")):
            raise UsageError(
                f"partition_by={given!r}: folders that begin with {key[0]!r} are not read; rename "
                f"column {key!r}"
            )
    return keys


def parts_of(table: Any, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    """Yield the values, the folder and the other columns of the rows of each of them."""
    from freestone.collections.tables import from_arrow

    frame = from_arrow(table.select(keys))
    columns = [name for name in table.schema.names if name not in keys]
    numbered = frame.with_row_index(_row_name(keys))
    for values, rows in numbered.group_by(keys, maintain_order=True):
        folders = [_folder(*pair) for pair in zip(keys, values, strict=True)]
        # The rows are taken of the table itself, so that types and metadata stay.
        part = table.select(columns).take(rows[_row_name(keys)].to_arrow())
        yield tuple(values), "/".join(folders), part


def check_values(keys: Sequence[str], found: set[tuple[Any, ...]]) -> None:
    """Raise `UsageError` for values whose names would be read as something else.

    Texts of digits only are read as integers, and integers that int64 does not have as texts, for
    example.
    """
    for place, key in enumerate(keys):
        values = [each[place] for each in found if each[place] is not None]
        if not values:
            continue
        kind = type_of_values([str(value) for value in values])
        if not _is_kept(values[0], kind):
            alone = {value: type_of_values([str(value)]) for value in values}
            wrong = min(value for value, one in alone.items() if not _is_kept(value, one))
            raise UsageError(
                f"the values of column {key!r}, such as {wrong!r}, would be read as {kind}; "
                "cast it, or partition by another column"
            )
        if NULL_KEY in values:
            raise UsageError(f"column {key!r} has {NULL_KEY!r}, which would be read as a null")


def without_drafts(folder: str) -> None:
    """Remove what writers that were lost have left in a folder of ours."""
    for path, _, names in os.walk(folder):
        for name in names:
            if name.startswith("."):
                os.unlink(os.path.join(path, name))


def _is_kept(value: Any, kind: Any) -> bool:
    """Tell whether a type, as which the name of a folder is read, is that of its value."""
    import pyarrow as pa

    if isinstance(value, str):
        return _is_text(kind)
    return bool(kind == (pa.int64() if isinstance(value, int) else pa.date32()))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _folder(key: str, value: Any) -> str:
    text = NULL_KEY if value is None else quote(str(value), safe=" ")
    return f"{quote(key, safe=' ')}={text}"


def _row_name(keys: Sequence[str]) -> str:
    """Return a name that is none of the keys."""
    return "row" + "_" * max(map(len, keys))
