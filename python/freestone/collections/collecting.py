"""What the manager is told of collections, so that it can even out their blocks."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from freestone.collections.pieces import future_of
from freestone.future import Future

__all__ = ["collect"]


def collect(owner: object, pieces: Sequence[Any]) -> None:
    """Have the blocks moved to where workers have room, for as long as `owner` is there.

    Notes
    -----
    One message, of 16 bytes for each block.
    """
    futures = [future for future in map(future_of, pieces) if isinstance(future, Future)]
    cluster = futures[0]._owner()() if futures else None
    if cluster is None or cluster.closed or len(futures) != len(pieces):
        return
    manager = cluster._manager
    weakref.finalize(owner, manager.disperse, manager.collect(futures)).atexit = False
