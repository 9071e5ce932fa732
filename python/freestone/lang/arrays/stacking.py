"""Arrays below each other: the blocks of one after those of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.client.future import Future
from freestone.collections import Array
from freestone.collections.blocking import offsets_of
from freestone.collections.pieces import Piece, future_of
from freestone.lang.arrays.nodes import Node, refusal, source
from freestone.lang.arrays.totals import cast, small

__all__ = ["one_below_the_other"]


def one_below_the_other(nodes: Sequence[Node]) -> Node:
    """Make the node of the rows of arrays, one after the other.

    Notes
    -----
    No block moves. What is an expression is computed first, since its rows become blocks here.
    """
    shapes = {node.shape[1:] for node in nodes}
    if len(shapes) > 1:
        shown = " ".join(str(node.shape) for node in nodes)
        raise ValueError(f"np.concatenate of rows of different shapes: {shown}")
    if all(node.rows is None and node.kind != "turned" for node in nodes):
        return small(lambda *arrays: np.concatenate(arrays), *nodes)
    dtype = np.result_type(*[node.dtype for node in nodes])
    for node in nodes:
        if not np.can_cast(node.dtype, dtype, "same_kind"):
            raise TypeError(f"np.concatenate of {node.dtype} and {dtype}, which do not go together")
    arrays = [_array_of(cast(node, dtype)) for node in nodes]
    pieces = _together([piece for array in arrays for piece in array.blocks])
    offsets = offsets_of(np.concatenate([np.diff(array.offsets) for array in arrays]))
    whole = Array(pieces, offsets, name="rows", columns=arrays[0].shape[1:], dtype=dtype)
    return source(whole)


def _together(pieces: list[Any]) -> list[Any]:
    """Give blocks that are here to the cluster that has the others, if one has."""
    clients = {
        id(future.client): future.client
        for future in map(future_of, pieces)
        if isinstance(future, Future)
    }
    if len(clients) > 1:
        raise ValueError("np.concatenate of arrays in different clusters; make both in one")
    for client in clients.values():
        return [one if isinstance(one, Future | Piece) else client.put(one) for one in pieces]
    return pieces


def _array_of(node: Node) -> Array:
    from freestone.lang.arrays.computing import as_array, computed

    if node.kind == "turned":
        raise refusal("np.concatenate of the transpose", "has no rows that are in blocks")
    if node.rows is None:
        data = np.asarray(computed(node))
        return Array.from_numpy(data, max(len(data), 1))
    return as_array(node)
