"""Splitting collections into partitions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.client import Client
from freestone.client.future import Future
from freestone.collections.base import Collection, require_same_blocking, with_blocks
from freestone.collections.pieces import future_of
from freestone.collections.placing import slots_of
from freestone.collections.rows import describe_type
from freestone.errors import EmptyCollectionError
from freestone.errors.keywords import suggest_keywords
from freestone.partitions.holders import Holders
from freestone.partitions.partition import Partition
from freestone.partitions.placement import Placement, placement_of
from freestone.partitions.planning import Plan, place, plan
from freestone.partitions.positions import Positions

__all__ = ["gathered", "split"]

Ints = NDArray[np.int64]


@suggest_keywords
def split(
    *collections: Any,
    per: str | int = "core",
    balance: bool = False,
    placement: str | Placement | None = None,
) -> list[Any]:
    """Group the blocks of a collection by where they are. Nothing moves.

    Parameters
    ----------
    *collections
        One, or several of the same blocking, which are split together: then iteration over a
        partition yields tuples. Expressions, such as ``x[x > 0]``, have their blocks computed.
        Also persisted collections of Dask's: by `Cluster.persist`, cut along any axes, or on a
        cluster of Dask's.
    per
        ``"core"``: as many partitions as each worker has executors; ``"worker"``: one for each;
        or how many for each worker.
    balance
        Whether to move the fewest bytes that even out workers that hold too much.
    placement
        A policy that chooses the worker of each block instead, or the name of an entry point in
        ``freestone.placements``.

    Returns
    -------
    list of Partition
        None is empty; each block is in exactly one. Without a cluster there is one partition per
        core, of blocks that are here. On a cluster of Dask's futures of partitions.

    Raises
    ------
    BlockingError
        When collections are cut into blocks differently.
    EmptyCollectionError, DroppedError
        When there is nothing to split.
    TypeError
        For what is no collection, such as an array that is here, or has no rows in blocks, such
        as a sum of all; for what is no policy.
    ValueError
        When a policy is unknown, chooses workers that are not there, or comes with `balance`.
    Exception
        That of a block that could not be made.

    Warns
    -----
    UserWarning
        When blocks that belong together are on different workers: how many bytes will be sent.

    Notes
    -----
    One message to the manager; O(b log b) for b blocks.

    References
    ----------
    Barcelo et al., "SplIter", section 4.

    Examples
    --------
    >>> import numpy as np
    >>> import freestone as fs
    >>> x = fs.Array.from_numpy(np.arange(12.0), 3)
    >>> sum(block.sum() for part in fs.split(x) for block in part)
    np.float64(66.0)
    """
    _check_per(per)
    policy = _policy(placement, balance)
    if _is_dask(collections):
        from freestone.partitions.held import collections_of

        held = collections_of(collections)
        if held is None:
            from freestone.partitions.dask import split_dask

            return split_dask(*collections, per=per, balance=balance, placement=policy)
        collections = tuple(held)
    collections = tuple(with_blocks(each, must_have=True) for each in collections)
    first = _checked(collections)
    client = first.client
    if client is not None:
        client.require_open(f"split {first.name!r}")
    located = [_located(each, client) for each in collections]
    slots = _slots(client)
    tables = [(holders.among(slots), nbytes) for holders, nbytes in located]
    workers, nbytes = place(tables, slots, balance, policy)
    plans = plan(workers, nbytes, slots, per)
    columns = [each._live("split it") for each in collections]
    return [
        Partition(
            blocks,
            positions,
            worker=None if client is None else f"worker-{one.worker}",
            nbytes=int(nbytes[one.indexes].sum()),
            sources=collections,
        )
        for one, blocks, positions in gathered(plans, columns, first.offsets, first.grid)
    ]


def gathered(
    plans: Sequence[Plan],
    columns: Sequence[Sequence[Any]],
    offsets: Ints,
    grid: tuple[Ints, ...] = (),
) -> Iterator[tuple[Plan, list[list[Any]], Positions]]:
    """Yield for each planned partition its blocks, by collection, and where they stand."""
    for one in plans:
        indexes = one.indexes.tolist()
        blocks = [list(map(column.__getitem__, indexes)) for column in columns]
        yield one, blocks, Positions.of(one.indexes, offsets, grid)


def _is_dask(collections: Sequence[Any]) -> bool:
    of_dask = [hasattr(each, "__dask_keys__") for each in collections]
    if any(of_dask) and not all(of_dask):
        raise _refusal(collections[of_dask.index(False)], "collections of Dask's alone")
    return any(of_dask)


def _refusal(collection: Any, wanted: str) -> TypeError:
    what, advice = describe_type(collection), "make a collection of it first"
    if isinstance(collection, np.ndarray):
        advice += ", by Array.from_numpy"
    return TypeError(f"split() takes {wanted}, not what is {what}; {advice}")


def _located(collection: Collection, client: Client | None) -> tuple[Holders, Ints]:
    """Where each block is and how large, in one message."""
    pieces = collection._live("split it")
    if client is None:
        sizes = collection._block_nbytes()
        return Holders(np.zeros(len(pieces) + 1, np.int64), np.zeros(0, np.int64)), sizes
    futures = [future_of(piece) for piece in pieces]
    starts, workers, nbytes = _ask(client, futures)
    if (nbytes < 0).any():
        collection.persist()
        starts, workers, nbytes = _ask(client, futures)
    if any(type(piece) is not Future for piece in pieces):
        # Pieces of one block share its bytes.
        nbytes = collection._block_nbytes()
    return Holders(starts, workers), nbytes


def _ask(client: Client, futures: list[Any]) -> list[Ints]:
    return [np.frombuffer(flat, np.int64) for flat in client.locate(futures)]


def _check_per(per: str | int) -> None:
    if per not in ("core", "worker") and (not isinstance(per, int) or per < 1):
        raise ValueError(f"per={per!r}: give 'core', 'worker' or a number of partitions per worker")


def _policy(placement: str | Placement | None, balance: bool) -> Placement | None:
    if placement is None:
        return None
    if balance:
        raise ValueError("balance=True and placement= both choose workers; give one of them")
    return placement_of(placement)


def _checked(collections: tuple[Collection, ...]) -> Collection:
    if not collections:
        raise TypeError("split() takes a collection at least")
    for each in collections:
        if not isinstance(each, Collection):
            raise _refusal(each, "an Array, a Frame, a Bag or a persisted collection of Dask's")
        if not each._live("split it"):
            raise EmptyCollectionError(each.name, "split")
    first = collections[0]
    for each in collections[1:]:
        require_same_blocking(first, each)
        if each.client is not first.client:
            raise ValueError(
                f"{first.name!r} and {each.name!r} are not in the same cluster; make both where "
                "they are to be used"
            )
    return first


def _slots(client: Client | None) -> dict[int, int]:
    return {0: len(os.sched_getaffinity(0))} if client is None else slots_of(client)
