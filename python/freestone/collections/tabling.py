"""Tables of a bag's items: what columns they make, and which item makes none."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as shown
from typing import Any

import numpy as np

from freestone.collections.opaque import is_opaque
from freestone.collections.rows import is_table, items_of

__all__ = ["conformed", "schema_of", "schema_of_both", "table_of"]

_ADVICE = "convert the values before, by bag.map(...)"


def table_of(block: Sequence[Any]) -> Any:
    """Return the table of a block's items: a row each, of a dict, or of one column ``value``."""
    import pyarrow as pa

    if is_table(block):
        return block
    if is_opaque(block) and hasattr(block, "columns"):
        return block
    items = list(items_of(block))
    rows = [item if isinstance(item, dict) else {"value": item} for item in items]
    names = dict.fromkeys(name for row in rows for name in row)
    if rows and not names:
        raise ValueError(f"{len(rows):,} items are dicts without keys, and make no columns")
    for name in names:
        if not isinstance(name, str) or "\0" in name:
            place = next(place for place, row in enumerate(rows) if name in row)
            raise TypeError(
                f"items do not make one frame: item {place} of its block has the key {name!r} "
                f"({type(name).__name__}), and names of columns are texts without NUL; write "
                "bag.map(lambda item: {str(key): value for key, value in item.items()})"
            )
    return pa.table({name: _column_of(name, rows) for name in names})


def _column_of(name: str, rows: Sequence[dict[str, Any]]) -> Any:
    import pyarrow as pa

    values = [row.get(name) for row in rows]
    try:
        return _array_of(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        place = _first_misfit(values)
        known = [type(each).__name__ for each in values[:place] if each is not None]
        before = f", after values of {', '.join(dict.fromkeys(known))}" if known else ""
        value = values[place]
        raise TypeError(
            f"items do not make one frame: column {name!r} has {shown(value)} "
            f"({type(value).__name__}) in item {place} of its block{before} ({error}); {_ADVICE}, "
            "say to text by str"
        ) from None


def _array_of(values: list[Any]) -> Any:
    import pyarrow as pa

    kinds = {type(each) for each in values} - {type(None)}
    if len(kinds) == 1 and kinds <= {np.datetime64, np.timedelta64}:
        # Arrow takes their units from NumPy alone.
        return pa.array(np.array(values, "M8" if np.datetime64 in kinds else "m8"))
    return pa.array(values)


def _first_misfit(values: list[Any]) -> int:
    """Return the place of the first value that makes no column with those before it."""
    import pyarrow as pa

    low, high = 0, len(values)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            _array_of(values[:middle])
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            high = middle
        else:
            low = middle
    return low


def schema_of(table: Any) -> Any:
    """Return the columns of a table."""
    return table.schema


def schema_of_both(one: Any, other: Any) -> Any:
    """Return the columns of two tables, with types that hold the values of both."""
    import pyarrow as pa

    try:
        return pa.unify_schemas([one, other], promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise TypeError(
            f"items do not make one frame, those of two blocks: {error}; {_ADVICE}"
        ) from None


def conformed(table: Any, schema: Any) -> Any:
    """Return a table with all columns of a schema, of its types."""
    import pyarrow as pa

    columns = [
        _cast(table[field.name], field)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _cast(column: Any, field: Any) -> Any:
    import pyarrow as pa

    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise TypeError(
            f"items do not make one frame: {field.name!r} is of {column.type} in one block, and "
            f"of {field.type} with those of others: {error}; {_ADVICE}"
        ) from None
