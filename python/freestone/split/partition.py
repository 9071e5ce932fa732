"""Partitions: blocks of a collection that are on one worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.collections.pieces import value_of
from freestone.collections.rows import concatenate, count_rows

__all__ = ["Partition", "Positions"]


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the blocks of a partition stand in the collection.

    Attributes
    ----------
    indexes : tuple of range
        The blocks' places, in order, as runs.
    items : tuple of range
        The rows' places, in the order of the partition, as runs.
    """

    indexes: tuple[range, ...]
    items: tuple[range, ...]

    @classmethod
    def of(cls, indexes: NDArray[np.int64], offsets: NDArray[np.int64]) -> Positions:
        """Make it from block numbers in rising order and the collection's offsets."""
        breaks = np.flatnonzero(np.diff(indexes) != 1) + 1
        firsts = indexes[np.concatenate(([0], breaks))]
        ends = indexes[np.concatenate((breaks - 1, [len(indexes) - 1]))] + 1
        runs = zip(firsts.tolist(), ends.tolist(), strict=True)
        items = zip(offsets[firsts].tolist(), offsets[ends].tolist(), strict=True)
        return cls(tuple(range(*run) for run in runs), tuple(range(*run) for run in items))

    def flat(self, runs: Sequence[range]) -> NDArray[np.int64]:
        """Return some runs as one array."""
        return np.concatenate([np.arange(run.start, run.stop) for run in runs])


class Partition:
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
    ) -> None:
        self._blocks = blocks
        self._positions = positions
        self.worker = worker
        self.nbytes = nbytes

    @property
    def indexes(self) -> list[int]:
        """The places of its blocks in the collection, in order."""
        return [index for run in self._positions.indexes for index in run]

    @property
    def item_indexes(self) -> tuple[range, ...]:
        """The places of its rows in the collection, in the order of its blocks, as ranges."""
        return self._positions.items

    def get_indexes(self) -> list[int]:
        """Return `indexes`, under the paper's name."""
        return self.indexes

    def get_item_indexes(self) -> NDArray[np.int64]:
        """Return the place of every row as one array, under the paper's name.

        Notes
        -----
        8 bytes per row; `item_indexes` says the same in a few.
        """
        return self._positions.flat(self.item_indexes)

    def __len__(self) -> int:
        """How many blocks it has."""
        return sum(map(len, self._positions.indexes))

    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks' values in order; tuples if several collections were split."""
        columns = [map(value_of, column) for column in self._blocks]
        return columns[0] if len(columns) == 1 else zip(*columns, strict=True)

    def materialize(self) -> Any:
        """Return its rows as one array; a tuple of arrays if several collections were split."""
        wholes = tuple(concatenate([value_of(b) for b in column]) for column in self._blocks)
        return wholes[0] if len(wholes) == 1 else wholes

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(map(len, self.item_indexes))

    def __reduce__(self) -> Any:
        return _arrived, (self._blocks, self._positions, self.worker, self.nbytes)

    def __repr__(self) -> str:
        from freestone.units import format_nbytes

        where = f" on {self.worker}" if self.worker else ""
        return f"<freestone.Partition of {len(self):,} blocks, {format_nbytes(self.nbytes)}{where}>"


def _arrived(
    blocks: Sequence[Sequence[Any]], positions: Positions, worker: str | None, nbytes: int
) -> Partition:
    return Partition(blocks, positions, worker=worker, nbytes=nbytes)


def in_order(results: Sequence[Any], partitions: Sequence[Partition]) -> Any:
    """Put results, one row per row of each partition, into the order of the collection."""
    whole = concatenate(results)
    order = np.empty(count_rows(whole), np.int64)
    order[np.concatenate([part.get_item_indexes() for part in partitions])] = np.arange(len(order))
    return whole[order]
