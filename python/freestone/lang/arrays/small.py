"""Small expressions of arrays that are here: NumPy's own functions, one after the other, at once.

See docs/decisions/093-small-lazy-values-are-computed-without-a-plan.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.pieces import value_of
from freestone.lang.arrays.nodes import Node, ordered

__all__ = ["MAX_BYTES", "NOT_SMALL", "small_value"]

MAX_BYTES = 1 << 17
"""The bytes of the largest array; of larger ones NumPy's intermediate results leave the caches."""
MAX_NODES = 64

NOT_SMALL: Any = object()
_KINDS = frozenset({"source", "value", "cells", "rows", "total", "small"})
Finish = Callable[[Node, Any], Any]


def small_value(root: Node, finish: Finish) -> Any:
    """Compute an expression, if it is small and its arrays are here in one block each.

    Parameters
    ----------
    root : Node
        The expression.
    finish : callable
        Makes what a node of all rows is of the part of the only block.

    Returns
    -------
    ndarray, number or NOT_SMALL
        What it is, in memory of its own.
    """
    nodes = list(ordered([root]))
    if len(nodes) > MAX_NODES or not all(map(_is_small, nodes)):
        return NOT_SMALL
    known: dict[Node, Any] = {}
    sources = []
    with np.errstate(all="ignore"):
        for node in nodes:
            if node.kind == "source":
                known[node] = value_of(node.attrs["data"].blocks[0])
                sources.append(known[node])
            elif node.kind == "value":
                known[node] = node.attrs["data"]
            else:
                found = node.attrs["function"](*[known[arg] for arg in node.args])
                known[node] = _of_type(node, finish(node, found) if _is_total(node) else found)
    return _apart(known[root], sources)


def _is_total(node: Node) -> bool:
    return node.kind == "total"


def _is_small(node: Node) -> bool:
    if node.kind not in _KINDS or None in node.shape:
        return False
    if node.kind == "source":
        return _is_one_block(node, node.attrs["data"])
    if node.kind == "value":
        return np.ndim(node.attrs["data"]) == 0 or type(node.attrs["data"]) is np.ndarray
    nbytes = node.dtype.itemsize
    for side in node.shape:
        nbytes *= side or 0
    return "function" in node.attrs and nbytes <= MAX_BYTES


def _is_one_block(node: Node, array: Array) -> bool:
    if array.client is not None or len(array.blocks) != 1:
        return False
    block = value_of(array.blocks[0])
    if type(block) is not np.ndarray or not 0 < block.nbytes <= MAX_BYTES:
        return False
    # A block that is not what its array says is reported by the plan.
    return bool(block.dtype == node.dtype and block.shape == node.shape)


def _of_type(node: Node, found: Any) -> Any:
    return found if getattr(found, "dtype", None) == node.dtype else np.asarray(found, node.dtype)


def _apart(found: Any, sources: Sequence[Any]) -> Any:
    """Return a result that shares no memory with what it is made of."""
    if isinstance(found, np.ndarray) and any(np.may_share_memory(found, s) for s in sources):
        return found.copy()
    return found
