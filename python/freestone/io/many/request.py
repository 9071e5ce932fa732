"""What is asked of each of many files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Request"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of each file.

    Attributes
    ----------
    columns : tuple of str or None
        The columns that are wanted; None for all.
    where : pyarrow.compute.Expression, Filters or None
        Which rows are wanted; filters until the types of the columns are known.
    fills : bool
        Whether a file may lack columns, which then are missing values.
    format : str or None
        The format, if it is given.
    options : dict
        Those of the format.
    names : tuple of str
        The columns that were named, also where `columns` is left out to see all of a file.
    tested : tuple of str
        The columns on which the predicate depends.
    key_types : dict
        Types of the columns that the files' folders give.
    """

    columns: tuple[str, ...] | None = None
    where: Any = None
    fills: bool = False
    format: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    tested: tuple[str, ...] = ()
    key_types: dict[str, Any] = field(default_factory=dict)
