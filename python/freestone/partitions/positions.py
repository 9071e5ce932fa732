"""Where the blocks of a partition stand in its collection, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Never

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ints", "Positioned", "Positions"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """Where the blocks of a partition stand in the collection.

    Attributes
    ----------
    index_runs : ndarray of shape (runs, 2)
        The blocks' places, in order, as runs: the first, and the one behind the last.
    item_runs : ndarray of shape (runs, 2)
        The rows' places, in the order of the partition, likewise.
    block_rows : ndarray of shape (blocks,)
        How many rows each block has; elements if blocks are cut along several axes.
    grid : tuple of ndarray
        Where blocks begin and end along each axis, if they are cut along several.
    """

    index_runs: Ints
    item_runs: Ints
    block_rows: Ints
    grid: tuple[Ints, ...] = ()

    @classmethod
    def of(cls, indexes: Ints, offsets: Ints, grid: tuple[Ints, ...] = ()) -> Positions:
        """Make it from block numbers in rising order and the collection's offsets."""
        breaks = np.flatnonzero(indexes[1:] - indexes[:-1] != 1) + 1
        runs = np.empty((len(breaks) + 1, 2), np.int64)
        runs[0, 0], runs[1:, 0] = indexes[0], indexes[breaks]
        runs[:-1, 1], runs[-1, 1] = indexes[breaks - 1], indexes[-1]
        runs[:, 1] += 1
        return cls(runs, offsets[runs], offsets[indexes + 1] - offsets[indexes], grid)

    @property
    def indexes(self) -> tuple[range, ...]:
        """The blocks' places as ranges."""
        return tuple(range(start, stop) for start, stop in self.index_runs.tolist())

    @property
    def items(self) -> tuple[range, ...]:
        """The rows' places as ranges."""
        return tuple(range(start, stop) for start, stop in self.item_runs.tolist())

    @property
    def slices(self) -> list[tuple[slice, ...]]:
        """Where each block is in the collection."""
        if not self.grid:
            stops = np.cumsum(self.block_rows)
            starts = np.repeat(self.item_runs[:, 0], np.diff(self.index_runs).ravel())
            behind = np.repeat(_lengths_before(self.item_runs), np.diff(self.index_runs).ravel())
            firsts = (starts + (stops - self.block_rows) - behind).tolist()
            rows = self.block_rows.tolist()
            return [(slice(a, a + n),) for a, n in zip(firsts, rows, strict=True)]
        numbers = self.flat(self.indexes)
        places = np.unravel_index(numbers, [len(cuts) - 1 for cuts in self.grid])
        starts_stops = [
            (cuts[at].tolist(), cuts[at + 1].tolist())
            for cuts, at in zip(self.grid, places, strict=True)
        ]
        sides = [[*map(slice, *ends)] for ends in starts_stops]
        return [*zip(*sides, strict=True)]

    def flat(self, runs: Sequence[range]) -> NDArray[np.int64]:
        """Return some runs as one array."""
        return np.concatenate([np.arange(run.start, run.stop) for run in runs])


def _lengths_before(runs: Ints) -> Ints:
    """Return how long all runs before each are together."""
    lengths = np.diff(runs).ravel()
    before: Ints = np.cumsum(lengths) - lengths
    return before


class Positioned:
    """What knows the places of its blocks and rows in a collection."""

    _positions: Positions

    @property
    def indexes(self) -> list[int]:
        """The places of its blocks in the collection, in order."""
        return [index for run in self._positions.indexes for index in run]

    @property
    def item_indexes(self) -> tuple[range, ...]:
        """The places of its rows in the collection, in the order of its blocks, as ranges.

        Raises
        ------
        TypeError
            When blocks are cut along several axes: `slices` says where they are.
        """
        if self._positions.grid:
            self._refuse("places of its rows")
        return self._positions.items

    @property
    def slices(self) -> list[tuple[slice, ...]]:
        """For each block its place in the collection, so that ``whole[slices]`` has its values.

        One slice of rows; of arrays of Dask's that are cut along several axes one for each.
        """
        return self._positions.slices

    def _refuse(self, what: str) -> Never:
        raise TypeError(
            f"a partition of blocks that are cut along several axes has no {what}: take its "
            "slices, or rechunk the array so that it is cut along the first axis only"
        )

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

    @property
    def rows(self) -> int:
        """How many rows it has; a TypeError when blocks are cut along several axes."""
        if self._positions.grid:
            self._refuse("rows")
        return int(self._positions.block_rows.sum())

    def __len__(self) -> int:
        """How many blocks it has."""
        return len(self._positions.block_rows)
