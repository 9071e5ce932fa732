"""What the manager is told of collections, so that it can even out their blocks."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from freestone.client.future import Future
from freestone.collections.pieces import future_of

__all__ = ["collect", "disperse"]


def collect(owner: object, pieces: Sequence[Any]) -> int | None:
    """Have the blocks moved to where workers have room, for as long as `owner` is there.

    Returns
    -------
    int or None
        The number by which the manager knows them, if they are in a cluster.

    Notes
    -----
    One message, of 16 bytes for each block.
    """
    futures = [future for future in map(future_of, pieces) if isinstance(future, Future)]
    client = futures[0]._owner()() if futures else None
    if client is None or client.closed or len(futures) != len(pieces):
        return None
    number: int = client.collect(futures)
    weakref.finalize(owner, client.disperse, number).atexit = False
    return number


def disperse(pieces: Sequence[Any], number: int | None) -> None:
    """Have the blocks moved no more."""
    client = future_of(pieces[0])._owner()() if pieces and number is not None else None
    if client is not None and not client.closed:
        client.disperse(number)
