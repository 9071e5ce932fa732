"""Calls with blocks one by one, on workers or here, for what is computed at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from freestone.client import Client
from freestone.collections import Array
from freestone.collections.pieces import value_of
from freestone.lang.arrays.computing import as_array
from freestone.lang.arrays.nodes import Node, refusal

__all__ = ["SORTABLE", "array_of", "called", "in_blocks", "several"]

SORTABLE = "biufcmMSU"
"""Types that NumPy sorts by value; there are others, of records, that it sorts by fields."""


def in_blocks(name: str, arg: Node, kinds: str = SORTABLE) -> Array:
    """Return an array whose blocks can be looked at one by one.

    Parameters
    ----------
    name
        What needs it, for messages: a function of NumPy's, or several words.
    arg
        The node of it.
    kinds
        Those of types that are taken.
    """
    what = name if " " in name else f"np.{name}"
    if arg.rows is None or arg.kind == "turned" or arg.dtype.kind not in kinds:
        raise refusal(what, f"takes rows in blocks, not {arg.shape} of {arg.dtype} here")
    array = as_array(arg)
    # A block of another dtype would be converted with all it is put together with.
    array._require_alike()
    if array.blocks and array._first().sparse:
        raise refusal(what, "takes no sparse blocks")
    return array


def called(client: Client | None, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function where its blocks are, and return what stands for its result."""
    if client is None:
        return function(*map(value_of, args))
    return client.submit(function, args, {}, _options(function))


def several(
    client: Client | None, outputs: int, function: Callable[..., Any], *args: Any
) -> tuple[Any, ...]:
    """Call a function that returns a tuple, and return what stands for each of its items."""
    if client is None:
        return tuple(function(*map(value_of, args)))
    if outputs == 1:
        return (client.submit(_only, (function, *args), {}, _options(function)),)
    return tuple(client.submit(function, args, {}, _options(function), outputs))


def _options(function: Callable[..., Any]) -> dict[str, Any]:
    return {"name": function.__name__.strip("_"), "near": "input"}


def _only(function: Callable[..., Any], *args: Any) -> Any:
    (made,) = function(*args)
    return made


def array_of(client: Client | None, name: str, pieces: Sequence[Any], empty: Any) -> Array:
    """Return an array of blocks that are made; of one without rows if there are none."""
    if client is None or not pieces:
        return Array._from_own(pieces or [empty], name=name)
    columns, dtype = empty.shape[1:], empty.dtype
    # Texts may be of other lengths: the blocks say it.
    dtype = None if dtype.kind in "SU" else dtype
    return Array(list(pieces), None, name=name, columns=columns, dtype=dtype)
