"""Dask collections whose blocks are in a cluster, as what can be split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.client import current
from freestone.collections.base import Collection
from freestone.collections.blocking import Offsets, offsets_of
from freestone.collections.dask import are_held, held_blocks
from freestone.units import is_unknown

__all__ = ["collections_of"]


class HeldBlocks(Collection):
    """The blocks of a Dask collection, of whatever type they are."""

    def __init__(self, pieces: Sequence[Any], offsets: Offsets | None, *, name: str) -> None:
        super().__init__(pieces, offsets, name=name)


def collections_of(collections: Sequence[Any]) -> list[Collection] | None:
    """Return what persisted Dask collections are split as; None if a cluster of Dask's has them.

    Raises
    ------
    ValueError
        When one is not persisted, and there is no cluster of Dask's.
    """
    blocks = [held_blocks(each) for each in collections]
    found = [made(each, own) for each, own in zip(collections, blocks, strict=True) if own]
    if len(found) == len(collections) and all(are_held(own or ()) for own in blocks):
        return found
    if not found and (current() is None or _has_client_of_dask()):
        return None
    missing = next(each for each, own in zip(collections, blocks, strict=True) if not own)
    raise ValueError(
        f"{name_of(missing)!r} is not persisted: its blocks are not on the workers; split what "
        "cluster.persist(x) returns"
    )


def made(collection: Any, blocks: list[Any]) -> Collection:
    """Return the blocks of a Dask collection as a collection that can be split."""
    chunks = getattr(collection, "chunks", None)
    name = name_of(collection)
    if chunks == ():
        raise ValueError(f"{name!r} is one value, and has no rows to split: call its compute()")
    if chunks is None or any(is_unknown(*sides) for sides in chunks):
        _refuse_unknown(chunks, name)
        return HeldBlocks(blocks, None, name=name)
    if all(len(sides) == 1 for sides in chunks[1:]):
        return HeldBlocks(blocks, offsets_of(chunks[0]) if chunks else None, name=name)
    sizes = np.ones((), np.int64)
    for sides in chunks:
        sizes = np.multiply.outer(sizes, np.asarray(sides, np.int64))
    whole = HeldBlocks(blocks, offsets_of(sizes.ravel()), name=name)
    whole.grid = tuple(map(offsets_of, chunks))
    return whole


def _refuse_unknown(chunks: Any, name: str) -> None:
    if chunks is not None and any(len(sides) > 1 for sides in chunks[1:]):
        raise ValueError(
            f"{name!r} is cut along several axes into blocks of unknown sizes: call its "
            "compute_chunk_sizes() before it is persisted"
        )


def name_of(collection: Any) -> str:
    """Return what messages call a Dask collection."""
    return str(getattr(collection, "name", None) or type(collection).__name__)


def _has_client_of_dask() -> bool:
    try:
        from distributed import default_client

        default_client()
    except (ImportError, ValueError):
        return False
    return True
