"""Small expressions of arrays that are here: NumPy's own functions, one after the other, at once.

See docs/decisions/093-small-lazy-values-are-computed-without-a-plan.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.pieces import value_of
from freestone.lang.arrays.nodes import Node
from freestone.lang.run.kernels.quiet import quietly

__all__ = ["MAX_BYTES", "NOT_SMALL", "small_value"]

MAX_BYTES = 5 << 20
"""What functions may read and make together: some 50 µs, as a plan and its threads take."""
MAX_INEXACT_BYTES = 1 << 17
"""The bytes of the largest array of functions whose last digits may be others in a plan."""
MAX_NODES = 64

NOT_SMALL: Any = object()
_KINDS = frozenset({"cells", "rows", "total", "small"})
_EXACT = frozenset(
    {"add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "square"}
)
_EXACT |= {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan"}
_EXACT |= {"minimum", "maximum", "floor", "ceil", "sign"}
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
    known: dict[Node, Any] = {}
    nodes: dict[Node, None] = {}
    nbytes = _add(root, nodes, known, MAX_NODES)
    if nbytes is None or nbytes > MAX_BYTES:
        return NOT_SMALL
    given = list(known.values())
    return _apart(quietly(_run, root, nodes, known, finish), given)


def _add(node: Node, nodes: dict[Node, None], known: dict[Node, Any], room: int) -> int | None:
    """Add what a node needs, and itself; return the bytes of all, None if it is not small."""
    if node.kind == "value":
        known[node] = data = node.attrs["data"]
        return 0 if np.ndim(data) == 0 or type(data) is np.ndarray else None
    size = _size(node)
    if size is None:
        return None
    if node.kind == "source":
        block = _block(node)
        known[node] = block
        return None if block is None else size
    if node.kind not in _KINDS or "function" not in node.attrs or not room:
        return None
    nbytes = largest = size
    for arg in node.args:
        if arg not in nodes and arg not in known:
            more = _add(arg, nodes, known, room - 1)
            if more is None:
                return None
            nbytes += more
        largest = max(largest, _size(arg) or 0)
    is_exact = node.kind == "cells" and node.attrs.get("ufunc") in _EXACT
    if len(nodes) >= MAX_NODES or (largest > MAX_INEXACT_BYTES and not is_exact):
        return None
    nodes[node] = None
    return nbytes


def _size(node: Node) -> int | None:
    nbytes = node.dtype.itemsize
    for side in node.shape:
        if side is None:
            return None
        nbytes *= side
    return nbytes


def _run(root: Node, nodes: Iterable[Node], known: dict[Node, Any], finish: Finish) -> Any:
    for node in nodes:
        found = node.attrs["function"](*[known[arg] for arg in node.args])
        if node.kind == "total":
            found = finish(node, found)
        known[node] = (
            found if getattr(found, "dtype", None) == node.dtype else np.asarray(found, node.dtype)
        )
    return known[root]


def _block(node: Node) -> Any:
    """Return the only block of an array here; None if it has others, or is not as it says."""
    array: Array = node.attrs["data"]
    if array.client is not None:
        return None
    blocks = array.blocks
    block = value_of(blocks[0]) if len(blocks) == 1 else None
    if type(block) is not np.ndarray or not block.size:
        return None
    # A block that is not what its array says is reported by the plan.
    return block if block.dtype == node.dtype and block.shape == node.shape else None


def _apart(found: Any, given: Sequence[Any]) -> Any:
    """Return a result that shares no memory with what it is made of."""
    if not isinstance(found, np.ndarray):
        return found
    # What is no view shares its memory only with itself.
    if found.base is None and not any(found is data for data in given):
        return found
    shares = any(np.may_share_memory(found, data) for data in given)
    return found.copy() if shares else found
