"""Which workers hold which blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Holders"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Holders:
    """For each block the workers that hold it, as one flat table.

    Attributes
    ----------
    starts : ndarray of shape (blocks + 1,)
        Where the workers of each block begin in `workers`.
    workers : ndarray
        Numbers of workers.
    """

    starts: Ints
    workers: Ints

    def of(self, block: int) -> list[int]:
        """Return the numbers of the workers that hold a block."""
        return self.workers[self.starts[block] : self.starts[block + 1]].tolist()  # type: ignore[no-any-return]

    def moved(self, workers: Ints, nbytes: Ints) -> int:
        """Return the bytes of blocks that are elsewhere than on the workers given for them."""
        counts = np.diff(self.starts)
        blocks = np.repeat(np.arange(len(counts)), counts)
        here = np.zeros(len(counts), bool)
        here[blocks[self.workers == workers[blocks]]] = True
        return int(nbytes[~here & (counts > 0)].sum())

    def beside(self, others: Sequence[tuple[Holders, Ints]]) -> Holders:
        """Keep of each block's workers those that hold most bytes of its partners.

        Parameters
        ----------
        others
            Who holds the partners, and their bytes.
        """
        counts = np.diff(self.starts)
        if not others or not len(counts) or counts.max() < 2:
            return self
        blocks = np.repeat(np.arange(len(counts)), counts)
        held = np.zeros(len(blocks), np.int64)
        places = self._places()
        for holders, nbytes in others:
            held += np.where(np.isin(places, holders._places()), nbytes[blocks], 0)
        most = np.zeros(len(counts), np.int64)
        np.maximum.at(most, blocks, held)
        return self._only(held == most[blocks])

    def among(self, workers: Iterable[int]) -> Holders:
        """Keep of each block's workers those of a list: others may have gone since."""
        here = np.isin(self.workers, np.fromiter(workers, np.int64))
        return self if here.all() else self._only(here)

    def _only(self, kept: NDArray[np.bool_]) -> Holders:
        left = np.concatenate(([0], np.cumsum(kept)))
        return Holders(left[self.starts], self.workers[kept])

    def _places(self) -> Ints:
        """Return block and worker as one number each."""
        blocks = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return blocks << 32 | self.workers

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int]]) -> Holders:
        """Make it from one list per block."""
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        starts = np.concatenate(([0], np.cumsum(counts)))
        flat = [worker for workers in lists for worker in workers]
        return cls(starts, np.array(flat, np.int64))
