"""Tables of Arrow as polars' under the names that they have.

polars calls a column without a name, as pandas writes of its index, after its place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["free_name", "from_arrow", "named"]


def from_arrow(table: pa.Table, *, rechunk: bool = True) -> pl.DataFrame:
    """Return a table of Arrow's as one of polars', a column without a name under none, too."""
    names = table.column_names
    other = "" if "" not in names else free_name(names.index(""), names)
    found = pl.from_arrow(named(table, other), rechunk=rechunk)
    assert isinstance(found, pl.DataFrame)
    return found.rename({other: ""}) if other else found


def named(table: Any, name: str) -> Any:
    """Return a table of Arrow's, a column without a name under the one given."""
    names = table.column_names
    return table.rename_columns([each or name for each in names]) if "" in names else table


def free_name(place: int, names: Collection[str]) -> str:
    """Return what polars calls a column without a name, or the like if a column has that name."""
    name = f"column_{place}"
    while name in names:
        name += "_"
    return name
