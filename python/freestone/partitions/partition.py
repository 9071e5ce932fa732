"""Partitions: blocks of a collection that are on one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.client.future import Future
from freestone.collections.pieces import value_of
from freestone.collections.rows import concatenate, take_rows
from freestone.collections.tiles import TILE_NBYTES, joined
from freestone.observe.workers import worker_number
from freestone.partitions.positions import Ints, Positioned, Positions

if TYPE_CHECKING:
    from freestone.client import Client
    from freestone.collections.base import Collection

__all__ = ["Partition"]


class Partition(Positioned):
    """Some blocks of a collection that are on one worker, and where they stand in it.

    Made by `freestone.split`. Passed to a call it takes the call to its blocks; there it is an
    iterable of them, mapped in place. Of several collections split together it yields tuples.

    Attributes
    ----------
    worker : str or None
        Where the blocks were when it was made; None without a cluster. A call goes to where they
        are when it runs.
    nbytes : int
        Bytes of its blocks.
    """

    def __init__(
        self,
        blocks: Sequence[Sequence[Any]],
        positions: Positions,
        *,
        worker: str | None,
        nbytes: int,
        sources: Sequence[Collection] = (),
    ) -> None:
        self._blocks = blocks
        self._positions = positions
        self.worker = worker
        self.nbytes = nbytes
        # The collections, in the program that split them.
        self._sources = tuple(sources)
        self._held: Future | None = None
        # What `materialize` made, by collection: futures in the program, arrays elsewhere.
        self._whole: tuple[Any, ...] | None = None

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks' values in order; tuples if several collections were split.

        Once the partition is materialized they are views of its array.
        """
        tuples = self._tuples()
        return (blocks[0] for blocks in tuples) if self._width == 1 else tuples

    @property
    def _width(self) -> int:
        """How many collections were split together."""
        return len(self._blocks if self._whole is None else self._whole)

    def _tuples(self) -> Iterator[tuple[Any, ...]]:
        self._require_live("iterate over it")
        if self._whole is not None:
            columns = [self._views(value_of(whole)) for whole in self._whole]
        else:
            columns = [map(value_of, column) for column in self._blocks]
        return zip(*columns, strict=True)

    def tiles(self, nbytes: int = TILE_NBYTES) -> Iterator[Any]:
        """Yield the rows in order, in arrays of about `nbytes`, however large the blocks are.

        Parameters
        ----------
        nbytes
            Bytes of an array, those of all collections that were split together taken together.

        Yields
        ------
        array, or tuple of arrays
            Views of blocks, or of parts of them; copies where small blocks are joined.

        Notes
        -----
        What a call of a kernel costs besides its data is then spent once per tile, and not once
        per block. Copies each row of a block that is smaller than half a tile, and keeps none.
        """
        rows = max(1, nbytes * self.rows // max(self.nbytes, 1))
        if self._whole is None:
            blocks = self._tuples()
        else:
            self._require_live("iterate over it")
            blocks = iter([tuple(map(value_of, self._whole))])
        for tile in joined(blocks, rows):
            yield tile[0] if len(tile) == 1 else tile

    def materialize(self) -> Any:
        """Make its rows one array, by a copy on its worker, and keep it for later iterations.

        Returns
        -------
        Future or array
            In the program, with a cluster: the future of the array, which the partition stands on
            from now on. Elsewhere the array. A tuple of them if several collections were split.

        Notes
        -----
        Copies every byte once, and takes as many bytes again on the worker.

        References
        ----------
        The extension that section 7 of the paper asks for.
        """
        self._require_live("materialize it")
        if self._positions.grid:
            self._refuse("one array of its rows")
        client = self._client()
        if self._whole is None and client is not None:
            self._whole = _made_one_array(client, self)
        elif self._whole is None:
            columns = ([value_of(block) for block in column] for column in self._blocks)
            self._whole = tuple(map(concatenate, columns))
        return self._whole[0] if len(self._whole) == 1 else self._whole

    def _views(self, whole: Any) -> Iterator[Any]:
        rows = self._positions.block_rows
        for end, count in zip(np.cumsum(rows).tolist(), rows.tolist(), strict=True):
            yield take_rows(whole, end - count, end)

    def _client(self) -> Client | None:
        return self._sources[0].client if self._sources else None

    def _require_live(self, action: str) -> None:
        for source in self._sources:
            source._live(action)

    def __reduce__(self) -> Any:
        self._require_live("use a partition of it")
        plain = (self._blocks, self._positions, self.worker, self.nbytes)
        owner = _native.executor.encoding_owner()
        client = None if owner is None else owner()
        if client is None or not self._sources:
            return arrived, plain
        if self._whole is not None:
            return arrived_whole, (self._whole, *plain[1:])
        if self.worker is None or not _native.executor.encoding_place(self.worker):
            # Another partition of the call is elsewhere: these blocks go there.
            return arrived, plain
        return self._hold(client).__reduce__()

    def _hold(self, client: Client) -> Future:
        if self._held is None:
            self._held = _made_one_block(client, self)
        return self._held

    def __sizeof__(self) -> int:
        """Count the blocks where they are: Dask's workers and scheduler weigh a value by this."""
        return object.__sizeof__(self) + (0 if self._sources else self.nbytes)

    def __repr__(self) -> str:
        from freestone.units import format_nbytes

        where = f" on {self.worker}" if self.worker else ""
        noun = "block" if len(self) == 1 else "blocks"
        return f"<freestone.Partition of {len(self):,} {noun}, {format_nbytes(self.nbytes)}{where}>"

    def _repr_html_(self) -> str:
        from freestone.partitions.reprs import partition_html

        return partition_html(self)


def arrived(
    blocks: Sequence[Sequence[Any]], positions: Positions, worker: str | None, nbytes: int
) -> Partition:
    """Make a partition where a call runs, of blocks that are there."""
    return Partition(blocks, positions, worker=worker, nbytes=nbytes)


def arrived_whole(
    wholes: tuple[Any, ...], positions: Positions, worker: str | None, nbytes: int
) -> Partition:
    """Make a partition where a call runs, of rows that are one array."""
    partition = Partition([], positions, worker=worker, nbytes=nbytes)
    partition._whole = wholes
    return partition


def _made_one_block(client: Client, partition: Partition) -> Future:
    """Make a partition one block on its worker: a list of names, over blocks that stay in place.

    Notes
    -----
    O(blocks) once; from then on a call that has the partition carries one input, and an executor
    that has mapped it does so no more. If a block moves or is lost, the list is made again.
    See docs/decisions/051-a-call-on-a-group-may-take-the-groups-members-as-inputs.md
    """
    positions = partition._positions
    # Tuples and arrays alone: thousands of futures among them are written without pickle.
    args = (
        tuple(map(tuple, partition._blocks)),
        positions.index_runs,
        positions.item_runs,
        positions.block_rows,
        positions.grid,
        partition.worker,
        partition.nbytes,
    )
    future: Future = _submit(client, partition, _hold, args)
    return future


def _made_one_array(client: Client, partition: Partition) -> tuple[Future, ...]:
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
    near = None if worker is None else worker_number(worker)
    return client.submit(function, args, {}, {"name": "split", "near": near}, outputs)


def _hold(*args: Any) -> _native.blocks.Group:
    return _native.blocks.Group(_arrived(*args), _arrived)


def _arrived(
    blocks: Sequence[Sequence[Any]],
    index_runs: Ints,
    item_runs: Ints,
    block_rows: Ints,
    grid: tuple[Ints, ...],
    worker: str | None,
    nbytes: int,
) -> Partition:
    return arrived(blocks, Positions(index_runs, item_runs, block_rows, grid), worker, nbytes)


def _materialize(partition: Partition) -> Any:
    """Return the whole columns, for `Partition.materialize`."""
    wholes = tuple(
        _native.blocks.Stored(concatenate([value_of(block) for block in column]))
        for column in partition._blocks
    )
    return wholes if len(wholes) > 1 else wholes[0]
