"""What the manager is told of collections, so that it can even out their blocks."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from freestone.client.future import Future
from freestone.collections.pieces import future_of
from freestone.errors import InputLostError

__all__ = ["collect", "disperse", "naming_lost_blocks"]

_collected: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
"""Collections whose blocks are in clusters, by their identity: arrays have no hash."""


def collect(owner: Any, pieces: Sequence[Any]) -> int | None:
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
    _collected[id(owner)] = owner
    weakref.finalize(owner, client.disperse, number).atexit = False
    return number


def disperse(pieces: Sequence[Any], number: int | None) -> None:
    """Have the blocks moved no more."""
    client = future_of(pieces[0])._owner()() if pieces and number is not None else None
    if client is not None and not client.closed:
        client.disperse(number)


@contextmanager
def naming_lost_blocks() -> Iterator[None]:
    """Add to the error of a lost block which collection has it: names of blocks say nothing."""
    try:
        yield
    except InputLostError as error:
        note = _place_of(error.name)
        if note is not None and note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise


def _place_of(name: str) -> str | None:
    """Say which block of which collection has a name, of the first that was made of it."""
    for owner in list(_collected.values()):
        for index, piece in enumerate(owner._pieces or ()):
            if future_of(piece).name == name:
                return f"block {name[:8]} is block {index} of the {owner.kind} {owner.name!r}"
    return None
