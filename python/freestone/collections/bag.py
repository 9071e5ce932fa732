"""Bags: any values, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from freestone.collections.base import Collection
from freestone.collections.blocking import cuts_of
from freestone.collections.sources import put_all

__all__ = ["Bag"]


class Bag(Collection):
    """Any values that can be pickled, in blocks that are lists of them.

    Made by `from_items`, `from_function` and their like. Blocks may be of different lengths.
    """

    kind = "bag"

    @classmethod
    def from_items(cls, items: Iterable[Any], block_items: int, *, name: str = "bag") -> Self:
        """Cut values that are here into blocks and give them to the open cluster.

        Parameters
        ----------
        items
            The values.
        block_items
            Items per block, of which the last may have less; or offsets.
        name
            What messages call it.
        """
        items = list(items)
        offsets = cuts_of(len(items), block_items)
        ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return cls(put_all([items[start:stop] for start, stop in ends]), offsets, name=name)

    @classmethod
    def from_function(
        cls,
        items: int,
        block_items: int,
        function: Callable[[int, int], Any],
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make each block on a worker.

        Parameters
        ----------
        items
            How many there are.
        block_items
            Items per block, of which the last may have less; or offsets, from 0 to `items`.
        function
            Called as ``function(start, stop)``; returns those items.
        name
            What messages call it; the function's name by default.
        **options
            Those of `Cluster.submit`.
        """
        return cls._made(cuts_of(items, block_items), function, name, options)

    @classmethod
    def from_dask(cls, bag: Any, *, name: str = "bag") -> Self:
        """Make a bag of the blocks of a ``dask.bag``, where they are.

        Parameters
        ----------
        bag
            What `Cluster.persist` returned, or any other, which is computed on the open cluster.
        name
            What messages call it.

        Notes
        -----
        No block goes through this program. Without a cluster Dask's own scheduler computes it.
        """
        from freestone.collections.dask import are_held, blocks_of

        blocks = blocks_of(bag)
        return (
            cls(blocks, None, name=name) if are_held(blocks) else cls._from_own(blocks, name=name)
        )

    def to_dask(self) -> Any:
        """Return a ``dask.bag`` whose partitions are the blocks, where they are."""
        from freestone.collections.dask import to_bag

        return to_bag(self)

    def __getitem__(self, items: slice) -> Self:
        """Take items: cut out of the blocks where they are used."""
        if not isinstance(items, slice):
            raise TypeError(f"a Bag is sliced by items, x[start:stop], not by {items!r}")
        return self._slice(items)
