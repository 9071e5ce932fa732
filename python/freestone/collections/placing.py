"""Which worker makes which block."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from freestone.client import Client
from freestone.collections.blocking import Offsets
from freestone.observe.figures import WorkerFigures
from freestone.observe.workers import worker_number

__all__ = ["by_turns", "dealt", "drawn_to"]

# How much more than its share a worker gets of what lies near it.
MOST = 1.25


def slots_of(client: Client) -> dict[int, int]:
    """Return how many calls each worker runs at once, by its number."""
    workers = client.statistics().workers
    return {worker_number(worker.worker): worker.slots for worker in workers}


def dealt(client: Client, offsets: Offsets) -> list[int | None]:
    """Give each worker a run of blocks, with rows in proportion to its executors.

    Returns
    -------
    list of int or None
        The worker of each block. The same for the same rows, so that collections of one blocking
        lie together.
    """
    workers = client.statistics().workers
    count = len(offsets) - 1
    if not workers:
        return [None] * count
    slots = np.cumsum([worker.slots for worker in workers])
    ends = slots * (offsets[-1] / slots[-1])
    middles = (offsets[:-1] + offsets[1:]) / 2
    which = np.minimum(np.searchsorted(ends, middles, side="right"), len(workers) - 1)
    numbers = [worker_number(worker.worker) for worker in workers]
    return [numbers[each] for each in which.tolist()]


def drawn_to(client: Client, offsets: Offsets, hosts: Sequence[Sequence[str]]) -> list[int | None]:
    """Give each block to a worker on a host that holds it.

    Parameters
    ----------
    cluster
        The cluster.
    offsets
        Where each block begins.
    hosts
        What holds each block, best first: hosts, or storage targets. Blocks of a target that is on
        no worker's host all go to one worker, which then reads it alone.

    Notes
    -----
    A worker gets at most a quarter more rows than its executors' share; what is over goes to the
    one that has least.
    """
    workers = client.statistics().workers
    if not workers:
        return [None] * len(hosts)
    slots = {worker_number(worker.worker): max(worker.slots, 1) for worker in workers}
    near: dict[str, list[int]] = defaultdict(list)
    for worker in workers:
        near[_key(worker.host)].append(worker_number(worker.worker))
    # Of a target on no worker's host: who got its first block gets its others.
    adopted: dict[str, int] = {}
    limit = MOST * float(offsets[-1]) / sum(slots.values())
    load = dict.fromkeys(slots, 0.0)
    found: list[int | None] = []
    for rows, names in zip(np.diff(offsets).tolist(), hosts, strict=True):
        held = [number for name in names for number in near.get(_key(name), ())]
        strange = not held
        held = held or [adopted[name] for name in names if name in adopted]
        free = [number for number in held if load[number] + rows / slots[number] <= limit]
        number = min(free or slots, key=lambda each: load[each] + rows / slots[each])
        load[number] += rows / slots[number]
        if names and strange:
            adopted.setdefault(names[0], number)
        found.append(number)
    return found


def by_turns(
    workers: Iterable[WorkerFigures],
    holders: Sequence[Sequence[str]],
    nbytes: Sequence[int],
    blocks: Sequence[int],
) -> list[int | None]:
    """Have the workers of a host take turns at what lies on it.

    Parameters
    ----------
    workers
        Those of the cluster.
    holders, nbytes
        Of each block the workers that hold it, and its bytes.
    blocks
        For each piece, in the order in which they are needed, the block that it is of.

    Returns
    -------
    list of int or None
        The worker of each piece; None where nobody holds its block.

    Notes
    -----
    Between workers of a host a block's file is linked, not sent. Yet it counts as memory of both:
    where one has no room for what it would get, each keeps to its own blocks.
    """
    known = {worker.worker: worker for worker in workers}
    homes = [next((known[name] for name in names if name in known), None) for names in holders]
    found = [
        None if (home := homes[each]) is None else worker_number(home.worker) for each in blocks
    ]
    mates: dict[str, list[WorkerFigures]] = defaultdict(list)
    for worker in known.values():
        mates[worker.host].append(worker)
    for host, group in mates.items():
        here = [
            piece
            for piece, block in enumerate(blocks)
            if (home := homes[block]) is not None and home.host == host
        ]
        turns = dict(zip(here, itertools.cycle(_rounds(group)), strict=False))
        if all(_has_room(worker, turns, holders, nbytes, blocks) for worker in group):
            for piece, worker in turns.items():
                found[piece] = worker_number(worker.worker)
    return found


def _rounds(workers: Sequence[WorkerFigures]) -> list[WorkerFigures]:
    """Return each worker as often as it has executors, the same one seldom twice in a row."""
    most = max(worker.slots for worker in workers)
    rounds = [[worker for worker in workers if worker.slots > turn] for turn in range(most)]
    return list(itertools.chain(*rounds)) or list(workers)


def _has_room(
    worker: WorkerFigures,
    turns: dict[int, WorkerFigures],
    holders: Sequence[Sequence[str]],
    nbytes: Sequence[int],
    blocks: Sequence[int],
) -> bool:
    """Tell whether a worker's cache has room in memory for the blocks that it would get."""
    wanted = {blocks[piece] for piece, taker in turns.items() if taker is worker}
    comes = sum(nbytes[block] for block in wanted if worker.worker not in holders[block])
    return not comes or comes <= worker.status.memory_quota - worker.nbytes


def _key(host: str) -> str:
    """Return a host's name without its domain; an address as it is."""
    first = host.lower().split(".")[0]
    return host if first.isdigit() else first
