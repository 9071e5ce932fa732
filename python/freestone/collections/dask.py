"""Collections from Dask's, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.collections.held import Held, value_in

if TYPE_CHECKING:
    from freestone.collections.array import Array
    from freestone.collections.base import Collection

__all__ = ["blocks_of", "row_blocks_of", "to_array", "to_bag", "to_frame"]


def blocks_of(collection: Any) -> Iterator[Any]:
    """Yield the values of a Dask collection's partitions, computed together.

    What several of them need, such as a mean that is taken away from each, is computed once.
    """
    import dask

    yield from dask.compute(*np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def row_blocks_of(array: Any) -> Iterator[Any]:
    """Yield the row blocks of a Dask array; blocks side by side are joined."""
    array = array.rechunk(dict.fromkeys(range(1, array.ndim), -1))
    return blocks_of(array)


def to_array(array: Array) -> Any:
    """Return a ``dask.array`` whose chunks fetch the blocks when they are computed, here."""
    import dask
    import dask.array as da

    columns = array.shape[1:]
    rows = np.diff(array.offsets).tolist()
    chunks = [
        da.from_delayed(dask.delayed(value_in)(Held(piece)), (count, *columns), array.dtype)
        for piece, count in zip(array.blocks, rows, strict=True)
    ]
    return da.concatenate(chunks)


def to_frame(frame: Collection) -> Any:
    """Return a ``dask.dataframe`` whose partitions fetch the blocks when they are computed."""
    import dask.dataframe as dd

    return dd.from_map(_to_pandas, [Held(piece) for piece in frame.blocks])


def to_bag(bag: Collection) -> Any:
    """Return a ``dask.bag`` whose partitions fetch the blocks when they are computed."""
    import dask
    import dask.bag as db

    return db.from_delayed([dask.delayed(value_in)(Held(piece)) for piece in bag.blocks])


def _to_pandas(held: Held) -> Any:
    return value_in(held).to_pandas()
