"""Splitting collections into partitions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from freestone.cluster import Cluster
from freestone.collections.base import Collection, require_same_blocking
from freestone.errors import EmptyCollectionError
from freestone.split.partition import Partition, Positions
from freestone.split.planning import Holders, plan

__all__ = ["split"]


def split(
    *collections: Collection, per: str | int = "core", balance: bool = False
) -> list[Partition]:
    """Group the blocks of a collection by where they are. Nothing moves.

    Parameters
    ----------
    *collections
        One, or several of the same blocking, which are split together: then iteration over a
        partition yields tuples.
    per
        ``"core"``: as many partitions as each worker has executors; ``"worker"``: one for each;
        or how many for each worker.
    balance
        Whether to move the fewest bytes that even out workers that hold too much.

    Returns
    -------
    list of Partition
        None is empty; each block is in exactly one. Without a cluster there is one partition per
        core, of blocks that are here.

    Raises
    ------
    BlockingError
        When collections are cut into blocks differently.
    EmptyCollectionError, DroppedError
        When there is nothing to split.

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
    first = _checked(collections, per)
    cluster = first.cluster
    nbytes = sum((each._block_nbytes() for each in collections), start=np.zeros(1, np.int64))
    if cluster is None:
        slots: Mapping[int, int] = {0: len(os.sched_getaffinity(0))}
        where: list[list[str]] = [[] for _ in nbytes]
    else:
        slots = _slots(cluster)
        where = first.where()
    holders = Holders.from_lists([[_number(worker) for worker in workers] for workers in where])
    columns = [each._live("split it") for each in collections]
    partitions = []
    for one in plan(holders, nbytes, slots, per):
        blocks = [[column[index] for index in one.indexes.tolist()] for column in columns]
        partitions.append(
            Partition(
                blocks,
                Positions.of(one.indexes, first.offsets),
                worker=None if cluster is None else f"worker-{one.worker}",
                nbytes=int(nbytes[one.indexes].sum()),
            )
        )
    return partitions


def _checked(collections: tuple[Collection, ...], per: str | int) -> Collection:
    if not collections:
        raise TypeError("split() takes a collection at least")
    if per not in ("core", "worker") and (not isinstance(per, int) or per < 1):
        raise ValueError(f"per={per!r}: give 'core', 'worker' or a number of partitions per worker")
    first = collections[0]
    for each in collections:
        if not each._live("split it"):
            raise EmptyCollectionError(each.name, "split")
        require_same_blocking(first, each)
    return first


def _slots(cluster: Cluster) -> dict[int, int]:
    workers = cluster.statistics().workers
    return {_number(worker.worker): worker.slots for worker in workers}


def _number(worker: str) -> int:
    return int(worker.removeprefix("worker-"))
