"""Which blocks go into which partition: plain functions over tables, without a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from freestone import _native
from freestone.partitions.holders import Holders
from freestone.partitions.placement import Placement, chosen
from freestone.units import format_nbytes

__all__ = ["Plan", "assign", "cut", "even_out", "place", "plan"]

Ints = NDArray[np.int64]

_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class Plan:
    """One partition: the worker, and which blocks, in order."""

    worker: int
    indexes: Ints


def plan(workers: Ints, nbytes: Ints, slots: Mapping[int, int], per: str | int) -> list[Plan]:
    """Cut the blocks of each worker into partitions of like bytes.

    Parameters
    ----------
    workers
        The worker of each block, as `assign` or `even_out` says.
    nbytes
        Bytes of each block.
    slots
        The executors of each worker.
    per
        ``"core"``: as many partitions as the worker has executors; ``"worker"``: one; or how many.

    Returns
    -------
    list of Plan
        None is empty; each block is in exactly one, in order within it.

    Notes
    -----
    O(blocks log blocks), in NumPy; blocks are kept in contiguous runs, so that a partition's bytes
    are off the mean by less than the bytes of one block.
    """
    # Numbers of one or two bytes are sorted in linear time.
    order = np.argsort(workers.astype(np.min_scalar_type(workers.max())), kind="stable")
    present, firsts = np.unique(workers[order], return_index=True)
    plans = []
    groups = np.split(order, firsts[1:])
    for worker, indexes in zip(present.tolist(), groups, strict=True):
        count = {"core": slots.get(worker, 1), "worker": 1}.get(str(per), per)
        plans += [Plan(worker, part) for part in cut(indexes, nbytes, int(count))]
    return plans


def even_out(workers: Ints, nbytes: Ints, slots: Mapping[int, int]) -> Ints:
    """Move blocks from workers that hold more than their share to those that hold less.

    Returns
    -------
    ndarray
        The worker of each block then.

    Notes
    -----
    The plan by which the manager moves blocks when workers come and go. What moves is what a worker
    has too much, to within half a block: no fewer bytes will do. O(b log w) for b blocks on w
    workers.
    """
    if not any(slots.values()):
        return workers
    numbers = np.array(sorted(slots), np.int64)
    owners = np.searchsorted(numbers, workers)
    sizes = nbytes.astype(np.int64)
    shares = [slots[number] for number in numbers.tolist()]
    after = _native.layout.layout_even_out(
        owners.astype(np.int64).tobytes(), sizes.tobytes(), shares
    )
    return numbers[np.frombuffer(after, np.int64)]


def assign(holders: Holders, nbytes: Ints, slots: Mapping[int, int]) -> Ints:
    """Choose for each block one of the workers that hold it, so that bytes per slot are even.

    Notes
    -----
    Blocks with one holder have no choice. The others follow in order, in rounds of some blocks,
    each with the holder that has least per slot by then.
    """
    numbers = np.array(sorted(slots), np.int64)
    shares = np.array([max(slots[number], 1) for number in numbers.tolist()], float)
    counts = np.diff(holders.starts)
    places = np.full(len(counts), -1, np.int64)
    single = np.flatnonzero(counts == 1)
    places[single] = np.searchsorted(numbers, holders.workers[holders.starts[single]])
    load = np.bincount(places[single], nbytes[single], len(numbers)) / shares
    several = np.flatnonzero(counts > 1)
    _choose(several, holders, numbers, nbytes, shares, load, places)
    _deal(np.flatnonzero(counts == 0), nbytes, shares, load, places)
    return numbers[places]


def _choose(
    blocks: Ints,
    holders: Holders,
    numbers: Ints,
    nbytes: Ints,
    shares: NDArray[np.float64],
    load: NDArray[np.float64],
    places: Ints,
) -> None:
    """Give blocks with several holders to the least loaded of them."""
    if not len(blocks):
        return
    most = int(np.diff(holders.starts)[blocks].max())
    columns = np.minimum(
        holders.starts[blocks, None] + np.arange(most), holders.starts[blocks + 1, None] - 1
    )
    table = np.searchsorted(numbers, holders.workers[columns])
    for chunk in np.array_split(np.arange(len(blocks)), min(len(blocks), _ROUNDS)):
        best = np.argmin(load[table[chunk]], axis=1)
        chosen = table[chunk, best]
        places[blocks[chunk]] = chosen
        load += np.bincount(chosen, nbytes[blocks[chunk]], len(numbers)) / shares


def _deal(
    blocks: Ints,
    nbytes: Ints,
    shares: NDArray[np.float64],
    load: NDArray[np.float64],
    places: Ints,
) -> None:
    """Give blocks that are nowhere to workers in contiguous runs, evening out their load."""
    if not len(blocks):
        return
    sizes = np.maximum(nbytes[blocks], 1)
    level = (load * shares).sum() + sizes.sum()
    room = np.maximum(level * shares / shares.sum() - load * shares, 0)
    ends = np.cumsum(room) * (sizes.sum() / room.sum())
    middles = np.cumsum(sizes) - sizes / 2
    places[blocks] = np.minimum(np.searchsorted(ends, middles), len(shares) - 1)


def cut(indexes: Ints, nbytes: Ints, count: int) -> list[Ints]:
    """Cut a run of blocks into at most `count` runs of like bytes, none of them empty."""
    count = min(max(count, 1), len(indexes))
    sizes = np.maximum(nbytes[indexes], 1)
    ends = np.cumsum(sizes)
    wanted = ends[-1] * np.arange(1, count) / count
    cuts = np.searchsorted(ends - sizes / 2, wanted)
    least = np.arange(1, count)
    # Each run keeps at least one block.
    cuts = np.maximum.accumulate(np.maximum(cuts, least) - least) + least
    cuts = np.minimum(cuts, len(indexes) - count + least)
    return np.split(indexes, cuts)


def place(
    tables: Sequence[tuple[Holders, Ints]],
    slots: Mapping[int, int],
    balance: bool,
    placement: Placement | None = None,
) -> tuple[Ints, Ints]:
    """Choose a worker for each block, and warn of what has to move; bytes of all blocks too.

    Without a policy the largest collection stays where it is, and the blocks of the others go
    along. Of several workers that hold a block those are taken that hold most of what belongs to
    it.
    """
    main = max(range(len(tables)), key=lambda number: int(tables[number][1].sum()))
    total = np.sum([nbytes for _, nbytes in tables], axis=0)
    others = [table for number, table in enumerate(tables) if number != main]
    holders = tables[main][0].beside(others)
    if placement is not None:
        return chosen(placement, total, holders, slots), total
    workers = assign(holders, total, slots)
    if balance:
        workers = even_out(workers, total, slots)
    moved = sum(table.moved(workers, nbytes) for table, nbytes in others)
    if moved:
        warnings.warn(
            f"{format_nbytes(moved)} of collections that are split together are not where their "
            "partners are, and will be sent there; blocks that one call makes are together",
            stacklevel=4,
        )
    return workers, total
