"""Blocks of libraries, and classes, that say how large they are and stay what they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from numbers import Integral
from types import FunctionType
from typing import Any

__all__ = ["concatenated", "is_opaque", "nbytes_of_opaque", "rows_of_opaque", "take_of_opaque"]

_CONCATENATE = {
    "awkward": "concatenate",
    "pandas": "concat",
    "polars": "concat",
    "xarray": "concat",
}
"""Libraries, and their function that puts blocks below each other."""


_PLAIN = frozenset({"array", "builtins", "collections", "numpy", "pyarrow", "scipy"})
"""Libraries whose types are blocks in a way of their own, or hold items."""


def _library_of(block: Any) -> str:
    return type(block).__module__.partition(".")[0]


def is_opaque(block: Any) -> bool:
    """Tell whether a block is of such a library, joins itself, or says its bytes."""
    library = _library_of(block)
    if library in _CONCATENATE:
        return hasattr(block, "__len__")
    if library in _PLAIN:
        return False
    return _own_function(block) is not None or _says_its_size(block)


def _says_its_size(block: Any) -> bool:
    """Tell whether a class says how large it is, and is no kind of list or number."""
    if isinstance(block, list | tuple | str | bytes | dict):
        return False
    if isinstance(getattr(type(block), "__sizeof__", None), FunctionType):
        return True
    return isinstance(getattr(block, "nbytes", None), Integral)


def _own_function(block: Any) -> Any:
    """Return what puts blocks of a class of the user's below each other; None if it has none."""
    found = getattr(type(block), "concatenate", None)
    return found if callable(found) else None


def concatenated(blocks: Sequence[Any], collection: str) -> Any:
    """Return the rows of blocks one after the other, by their library's own function.

    Raises
    ------
    TypeError
        For blocks of two libraries, and of a type that has no such function.

    Notes
    -----
    xarray's go along the first dimension, numbers along a new one, ``block``.
    """
    _require_one_library(blocks)
    first = blocks[0]
    library, own = _library_of(first), _own_function(first)
    if library == "xarray":
        return import_module(library).concat(list(blocks), dim=_dimension(first))
    if library in _CONCATENATE:
        return getattr(import_module(library), _CONCATENATE[library])(list(blocks))
    if own is not None:
        return own(list(blocks))
    if hasattr(type(first), "__array_function__"):
        return import_module("numpy").concatenate(list(blocks))
    raise TypeError(
        f"the blocks of {collection!r} are of type {_name_of(first)}, which nothing puts below "
        "each other: give the class a static method concatenate(blocks), or take the blocks one by "
        "one, by map_blocks or iter_blocks()"
    )


def _name_of(block: Any) -> str:
    return f"{type(block).__module__}.{type(block).__qualname__}"


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
    """Return how many rows a block has: of xarray's, how long the first dimension is.

    One that has no length is one item.
    """
    if _library_of(block) == "xarray":
        return int(block.sizes.get(_dimension(block), 1))
    has_length = hasattr(type(block), "__len__") and getattr(block, "ndim", None) != 0
    return len(block) if has_length else 1


def take_of_opaque(block: Any, start: int, stop: int) -> Any:
    """Return rows ``start:stop`` of a block."""
    if _library_of(block) == "xarray":
        return block.isel({_dimension(block): slice(start, stop)})
    if getattr(type(block), "__getitem__", None) is None:
        raise TypeError(
            f"rows {start}:{stop} of a block of type {_name_of(block)} are wanted, which can't be "
            "cut: give the class __getitem__ for slices, or take whole blocks"
        )
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
    """Return the first dimension of an array or dataset of xarray's; a new one for numbers."""
    return next(iter(block.sizes), "block")
