"""Blocks of libraries, and classes, that have rows, bytes and a concatenation of their own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

__all__ = ["concatenated", "is_opaque", "nbytes_of_opaque", "rows_of_opaque", "take_of_opaque"]

_CONCATENATE = {
    "awkward": "concatenate",
    "pandas": "concat",
    "polars": "concat",
    "xarray": "concat",
}
"""Libraries, and their function that puts blocks below each other."""


def _library_of(block: Any) -> str:
    return type(block).__module__.partition(".")[0]


def is_opaque(block: Any) -> bool:
    """Tell whether a block is an array, a table or a series of such a library, or joins itself."""
    is_known = _library_of(block) in _CONCATENATE or _own_function(block) is not None
    return is_known and hasattr(block, "__len__")


def _own_function(block: Any) -> Any:
    """Return what puts blocks of a class of the user's below each other; None if it has none."""
    found = getattr(type(block), "concatenate", None)
    return found if callable(found) else None


def concatenated(blocks: Sequence[Any]) -> Any:
    """Return the rows of blocks one after the other, by their library's own function.

    Notes
    -----
    xarray's go along the first dimension.
    """
    library = _library_of(blocks[0])
    _require_one_library(blocks)
    own = _own_function(blocks[0])
    if library not in _CONCATENATE and own is not None:
        return own(list(blocks))
    function = getattr(import_module(library), _CONCATENATE[library])
    options = {"dim": _dimension(blocks[0])} if library == "xarray" else {}
    return function(list(blocks), **options)


def _require_one_library(blocks: Sequence[Any]) -> None:
    """Raise `TypeError` for blocks of which no function makes one."""
    first = _library_of(blocks[0])
    for index, block in enumerate(blocks):
        if _library_of(block) != first:
            raise TypeError(
                f"block {index} is a {type(block).__name__} of {_library_of(block)}, and block 0 a "
                f"{type(blocks[0]).__name__} of {first}: blocks of two libraries do not become "
                "one; convert them by map_blocks"
            )


def rows_of_opaque(block: Any) -> int:
    """Return how many rows a block has; of xarray's, how long the first dimension is."""
    if _library_of(block) == "xarray":
        return int(block.sizes[_dimension(block)])
    return len(block)


def take_of_opaque(block: Any, start: int, stop: int) -> Any:
    """Return rows ``start:stop`` of a block."""
    if _library_of(block) == "xarray":
        return block.isel({_dimension(block): slice(start, stop)})
    return block[start:stop]


def nbytes_of_opaque(block: Any) -> int:
    """Return the bytes of a block's values."""
    if hasattr(block, "memory_usage"):
        usage = block.memory_usage(deep=True)
        return int(usage.sum() if hasattr(usage, "sum") else usage)
    if hasattr(block, "estimated_size"):
        return int(block.estimated_size())
    return int(block.nbytes) if hasattr(block, "nbytes") else sys.getsizeof(block)


def _dimension(block: Any) -> Any:
    """Return the first dimension of an array or dataset of xarray's."""
    return next(iter(block.sizes))
