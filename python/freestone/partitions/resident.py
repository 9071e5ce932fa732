"""Partitions that stay: one block each, whatever the number of blocks in it.

See docs/decisions/051-a-call-on-a-group-may-take-the-groups-members-as-inputs.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from freestone import _native
from freestone.client import Client
from freestone.client.future import Future
from freestone.collections.pieces import value_of
from freestone.collections.rows import concatenate
from freestone.partitions.partition import Partition, arrived
from freestone.partitions.positions import Ints, Positions

__all__ = ["hold", "materialize"]


def hold(client: Client, partition: Partition) -> Future:
    """Make a partition one block on its worker: a list of names, over blocks that stay in place.

    Notes
    -----
    O(blocks) once; from then on a call that has the partition carries one input, and an executor
    that has mapped it does so no more. If a block moves or is lost, the list is made again.
    """
    positions = partition._positions
    # Tuples and arrays alone: thousands of futures among them are written without pickle.
    args = (
        tuple(map(tuple, partition._blocks)),
        positions.index_runs,
        positions.item_runs,
        positions.block_rows,
        partition.worker,
        partition.nbytes,
    )
    future: Future = _submit(client, partition, _hold, args)
    return future


def materialize(client: Client, partition: Partition) -> tuple[Future, ...]:
    """Make the rows of a partition one block per collection, by a copy on its worker.

    Notes
    -----
    A single block is that already.
    """
    if all(len(column) == 1 and type(column[0]) is Future for column in partition._blocks):
        return tuple(column[0] for column in partition._blocks)
    count = len(partition._blocks)
    made = _submit(client, partition, _materialize, (partition,), outputs=count)
    return made if count > 1 else (made,)


def _submit(
    client: Client,
    partition: Partition,
    function: Any,
    args: tuple[Any, ...],
    outputs: int = 1,
) -> Any:
    worker = partition.worker
    near = None if worker is None else int(worker.removeprefix("worker-"))
    return client.submit(function, args, {}, {"name": "split", "near": near}, outputs)


def _hold(*args: Any) -> _native.Group:
    return _native.Group(_arrived(*args), _arrived)


def _arrived(
    blocks: Sequence[Sequence[Any]],
    index_runs: Ints,
    item_runs: Ints,
    block_rows: Ints,
    worker: str | None,
    nbytes: int,
) -> Partition:
    return arrived(blocks, Positions(index_runs, item_runs, block_rows), worker, nbytes)


def _materialize(partition: Partition) -> Any:
    """Return the whole columns, for `Partition.materialize`."""
    wholes = tuple(
        _native.Stored(concatenate([value_of(block) for block in column]))
        for column in partition._blocks
    )
    return wholes if len(wholes) > 1 else wholes[0]
