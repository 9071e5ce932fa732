"""Tables cut into blocks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from freestone.collections.base import Collection
from freestone.collections.blocking import cuts_of
from freestone.collections.making import Meta, Spec, check_blocks
from freestone.collections.rows import take_rows
from freestone.collections.sources import put_all

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Frame"]


class Frame(Collection):
    """A table cut into blocks of rows: Arrow tables of the same columns.

    Made by `from_table`, `from_function` and their like, which also take what pandas and a dict
    of columns give. Blocks may be of different lengths. Needs ``pyarrow``.

    The index of a pandas frame is kept as columns, by its names, and is an index again in
    `to_pandas`. Only an index of whole numbers without a name, which are numbers of rows, is not.
    Names of columns are texts: ``"0"`` of 0, and ``"('a', 'b')"`` of a pandas MultiIndex.
    """

    kind = "frame"

    @classmethod
    def from_table(cls, table: Any, block_rows: int, *, name: str = "frame") -> Self:
        """Cut a table that is here into blocks and give them to the open cluster.

        Parameters
        ----------
        table
            An Arrow table, a pandas frame, or a dict of columns of one length.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to n.
        name
            What messages call it.

        Notes
        -----
        Copies every byte once, into the cache of the worker on this machine; without a cluster,
        into this program's memory. Blocks can't be written into.
        """
        table = Spec(collection=name, kind=cls.kind).check(table, 0, None)
        offsets = cuts_of(table.num_rows, block_rows)
        ends = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return cls(put_all([take_rows(table, *end) for end in ends]), offsets, name=name)

    @classmethod
    def from_function(
        cls,
        rows: int,
        block_rows: int,
        function: Callable[[int, int], Any],
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Make each block on a worker.

        Parameters
        ----------
        rows
            How many there are.
        block_rows
            Rows per block, of which the last may have less; or offsets, from 0 to `rows`.
        function
            Called as ``function(start, stop)``; returns those rows.
        name
            What messages call it; the function's name by default.
        **options
            Those of `Cluster.submit`.
        """
        return cls._made(cuts_of(rows, block_rows), function, name, options)

    @classmethod
    def from_dask(cls, frame: Any, *, name: str = "frame") -> Self:
        """Make a frame of the blocks of a ``dask.dataframe``, where they are.

        Parameters
        ----------
        frame
            What `Cluster.persist` returned, or any other, which is computed on the open cluster.
        name
            What messages call it.

        Notes
        -----
        No block goes through this program. Blocks become Arrow tables, each by a call where it is.
        Without a cluster Dask's own scheduler computes it.
        """
        from freestone.collections.dask import are_held, blocks_of, converted

        blocks = converted(blocks_of(frame), Spec(collection=name, kind=cls.kind))
        return (
            cls(blocks, None, name=name) if are_held(blocks) else cls._from_own(blocks, name=name)
        )

    def to_dask(self) -> Any:
        """Return a ``dask.dataframe`` whose partitions are the blocks, where they are."""
        from freestone.collections.dask import to_frame

        return to_frame(self)

    def to_pandas(self) -> Any:
        """Return all rows as one pandas frame, here."""
        return self.compute().to_pandas()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return all rows as one NumPy array without names, here, as a pandas frame does."""
        return np.asarray(self.to_pandas(), dtype=dtype)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns; asks the blocks if they are not known."""
        metas = self._described()
        return tuple(map(str, metas[0].columns)) if metas else ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the first block."""
        return next(iter(self)).schema

    def _described(self) -> list[Meta]:
        known = self._metas is not None
        metas = super()._described()
        if not known:
            check_blocks(Spec(collection=self.name, kind=self.kind), metas)
        return metas

    def __getitem__(self, rows: slice) -> Self:
        """Take rows without copying them: views of the blocks, cut out where they are used."""
        if not isinstance(rows, slice):
            raise TypeError(f"a Frame is sliced by rows, x[start:stop], not by {rows!r}")
        return self._slice(rows)
