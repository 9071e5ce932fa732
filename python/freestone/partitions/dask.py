"""Partitions of Dask collections: futures of a plain Dask cluster, by its public API alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from dask.core import flatten
from distributed import Client, Future, default_client, futures_of, wait
from numpy.typing import NDArray

from freestone.collections.blocking import offsets_of
from freestone.collections.rows import count_rows
from freestone.collections.tiles import TILE_NBYTES
from freestone.errors import BlockingError, BlockShapeError, EmptyCollectionError
from freestone.partitions.holders import Holders
from freestone.partitions.partition import Partition, arrived
from freestone.partitions.placement import Placement
from freestone.partitions.planning import place, plan
from freestone.partitions.positions import Positioned, Positions
from freestone.units import is_unknown

__all__ = ["DaskPartition", "split_dask"]


class DaskPartition(Positioned, Future):  # type: ignore[misc]
    """Blocks of a Dask collection that are on one worker: a future of a `Partition`.

    Passed to a call of the client's, it is a `Partition` there, whose blocks are those of the
    worker and not copies. If that worker is lost or retired, Dask makes or moves it elsewhere.

    Attributes
    ----------
    worker : str
        The address of the worker where the blocks were when it was made.
    nbytes : int
        Bytes of its blocks.
    """

    def __init__(
        self, future: Future, positions: Positions, worker: str, nbytes: int, blocks: Sequence[Any]
    ) -> None:
        super().__init__(future.key, client=future.client)
        self.worker = worker
        self.nbytes = nbytes
        self._positions = positions
        # The blocks are wanted for as long as the partition is.
        self._blocks = blocks

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks' values in order; here they are fetched first."""
        return iter(self.result())

    def tiles(self, nbytes: int = TILE_NBYTES) -> Iterator[Any]:
        """Yield the rows in order, in arrays of about `nbytes`; here they are fetched first."""
        found: Partition = self.result()
        return found.tiles(nbytes)

    def materialize(self) -> Future:
        """Make its rows one array, by a copy on its worker; the future of it."""
        return self.client.submit(
            _materialize, self, workers=[self.worker], allow_other_workers=True
        )

    def __repr__(self) -> str:
        from freestone.units import format_nbytes

        size, noun = format_nbytes(self.nbytes), "block" if len(self) == 1 else "blocks"
        return f"<freestone.DaskPartition of {len(self):,} {noun}, {size} on {self.worker}>"

    def _repr_html_(self) -> str:
        from freestone.partitions.reprs import partition_html

        return partition_html(self)


def split_dask(
    *collections: Any,
    per: str | int = "core",
    balance: bool = False,
    placement: Placement | None = None,
) -> list[DaskPartition]:
    """Group the blocks of persisted Dask collections by where they are; see `split`.

    Notes
    -----
    Two messages to the scheduler, and a call per partition, which takes its blocks as
    dependencies: a partition is a value on its worker from then on.
    """
    client = default_client()
    columns = [_blocks(client, each) for each in collections]
    offsets = _offsets(client, collections[0], columns[0])
    for each, column in zip(collections[1:], columns[1:], strict=True):
        _require_same(collections[0], offsets, each, _offsets(client, each, column))
    threads = dict(client.nthreads())
    addresses = sorted(threads)
    slots = {number: threads[address] for number, address in enumerate(addresses)}
    workers, nbytes = place(_tables(client, columns, addresses), slots, balance, placement)
    partitions = []
    for one in plan(workers, nbytes, slots, per):
        address = addresses[one.worker]
        blocks = [[column[index] for index in one.indexes.tolist()] for column in columns]
        positions = Positions.of(one.indexes, offsets)
        size = int(nbytes[one.indexes].sum())
        future = client.submit(
            arrived, blocks, positions, address, size, workers=[address], allow_other_workers=True
        )
        partitions.append(DaskPartition(future, positions, address, size, blocks))
    return partitions


def _tables(
    client: Client, columns: Sequence[Sequence[Future]], addresses: Sequence[str]
) -> list[tuple[Holders, NDArray[np.int64]]]:
    """Where the blocks of each collection are, and how large."""
    numbers = {address: number for number, address in enumerate(addresses)}
    where = client.who_has([future for column in columns for future in column])
    sizes = client.nbytes(summary=False)
    tables = []
    for column in columns:
        held = [[numbers[w] for w in where[future.key] if w in numbers] for future in column]
        nbytes = np.array([sizes.get(future.key, 0) for future in column], np.int64)
        tables.append((Holders.from_lists(held), nbytes))
    return tables


def _blocks(client: Client, collection: Any) -> list[Future]:
    """Return the futures of a collection's blocks, in order; waits until they are made."""
    found = {future.key: future for future in futures_of(collection, client=client)}
    keys = list(flatten(collection.__dask_keys__()))
    if not keys:
        raise EmptyCollectionError(_name(collection), "split")
    if len(found) == len(keys) and not found.keys() & set(keys):
        # A dataframe's expression has other names than its persisted blocks, in the same order.
        keys = sorted(found, key=lambda key: key[1:])
    missing = [key for key in keys if key not in found]
    if missing:
        raise ValueError(
            f"{_name(collection)!r} is not persisted: {len(missing):,} of its {len(keys):,} blocks "
            "are not on the cluster; call persist() first"
        )
    blocks = [found[key] for key in keys]
    wait(blocks)
    for index, block in enumerate(blocks):
        if block.status == "error":
            error = block.exception()
            error.add_note(f"while making block {index} of {_name(collection)!r}")
            raise error
    return blocks


def _offsets(client: Client, collection: Any, blocks: Sequence[Future]) -> NDArray[np.int64]:
    chunks = getattr(collection, "chunks", None)
    if chunks is None:
        return offsets_of(client.gather(client.map(count_rows, blocks)))
    if any(len(side) > 1 for side in chunks[1:]):
        raise BlockShapeError(
            _name(collection), 0, wanted="a block of whole rows", found="a part of its columns"
        )
    if is_unknown(*chunks[0]):
        return offsets_of(client.gather(client.map(count_rows, blocks)))
    return offsets_of([int(rows) for rows in chunks[0]])


def _require_same(
    first: Any, ours: NDArray[np.int64], other: Any, theirs: NDArray[np.int64]
) -> None:
    if not np.array_equal(ours, theirs):
        shown = [f"{len(each) - 1:,} blocks of {each[-1]:,} rows in all" for each in (ours, theirs)]
        raise BlockingError(_name(first), _name(other), ours=shown[0], theirs=shown[1])


def _name(collection: Any) -> str:
    return str(getattr(collection, "name", None) or type(collection).__name__)


def _materialize(partition: Partition) -> Any:
    return partition.materialize()
