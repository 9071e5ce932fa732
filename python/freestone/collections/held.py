"""Blocks of a cluster inside Dask graphs.

The node of such a block is a call of `value_in` with a `Held`. `Cluster.get` recognises it, and
takes the block where it is; any other scheduler calls it, and gets the value.
"""

from __future__ import annotations

from typing import Any

from freestone import _native
from freestone.client.future import Future
from freestone.collections.pieces import future_of, value_of

__all__ = ["Held", "held_in", "node_of", "value_in"]


class Held:
    """A block, or rows of one, inside a Dask graph, which takes it for a plain value.

    Attributes
    ----------
    piece : Future, Piece or object
        The block; a value without a cluster. It stays for as long as the graph does.
    """

    __slots__ = ("piece",)

    def __init__(self, piece: Any) -> None:
        self.piece = piece

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        piece, future = self.piece, future_of(self.piece)
        name = future.name if isinstance(future, Future) else id(future)
        return ("freestone", name, getattr(piece, "start", 0), getattr(piece, "stop", None))

    def __reduce__(self) -> Any:
        # Another process, such as one of Dask's pool, can't ask this cluster: the rows go along.
        return Held, (self.piece if self._is_at_home() else value_of(self.piece),)

    def _is_at_home(self) -> bool:
        """Whether it is being encoded for a call of the cluster that holds the block."""
        owner, future = _native.executor.encoding_owner(), future_of(self.piece)
        client = None if owner is None else owner()
        return client is not None and isinstance(future, Future) and future.client is client

    def __repr__(self) -> str:
        return f"<freestone block in a Dask graph: {self.piece!r}>"


def value_in(held: Held) -> Any:
    """Return the value of a block that a graph holds: what schedulers of Dask's call."""
    return value_of(held.piece)


def node_of(key: Any, piece: Any) -> Any:
    """Return the node of a Dask graph that stands for a block; it has `result`, as futures do."""
    from freestone.collections.held_node import HeldNode

    return HeldNode(key, value_in, Held(piece))


def held_in(node: Any) -> Any:
    """Return the block that a node of a Dask graph stands for; None if it is any other node.

    Notes
    -----
    Dask's optimisation may put the `Held` into a node of its own kind for constants.
    """
    if getattr(node, "func", None) is not value_in:
        return None
    (argument,) = node.args
    found = getattr(argument, "value", argument)
    return found.piece if isinstance(found, Held) else None
