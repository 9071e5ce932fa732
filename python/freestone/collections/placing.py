"""Which worker makes which block."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from freestone.cluster import Cluster
from freestone.collections.blocking import Offsets

__all__ = ["dealt", "drawn_to"]

# How much more than its share a worker gets of what lies near it.
MOST = 1.25


def dealt(cluster: Cluster, offsets: Offsets) -> list[int | None]:
    """Give each worker a run of blocks, with rows in proportion to its executors.

    Returns
    -------
    list of int or None
        The worker of each block. The same for the same rows, so that collections of one blocking
        lie together.
    """
    workers = cluster.statistics().workers
    count = len(offsets) - 1
    if not workers:
        return [None] * count
    slots = np.cumsum([worker.slots for worker in workers])
    ends = slots * (offsets[-1] / slots[-1])
    middles = (offsets[:-1] + offsets[1:]) / 2
    which = np.minimum(np.searchsorted(ends, middles, side="right"), len(workers) - 1)
    numbers = [_number(worker.worker) for worker in workers]
    return [numbers[each] for each in which.tolist()]


def drawn_to(
    cluster: Cluster, offsets: Offsets, hosts: Sequence[Sequence[str]]
) -> list[int | None]:
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
    workers = cluster.statistics().workers
    if not workers:
        return [None] * len(hosts)
    slots = {_number(worker.worker): max(worker.slots, 1) for worker in workers}
    near: dict[str, list[int]] = defaultdict(list)
    for worker in workers:
        near[_key(worker.host)].append(_number(worker.worker))
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


def _number(worker: str) -> int:
    return int(worker.removeprefix("worker-"))


def _key(host: str) -> str:
    """Return a host's name without its domain; an address as it is."""
    first = host.lower().split(".")[0]
    return host if first.isdigit() else first
