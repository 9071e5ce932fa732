"""Collections from Dask's, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.client.future import Future
from freestone.collections.pieces import future_of, value_of

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
        da.from_delayed(dask.delayed(_value)(_Source(piece)), (count, *columns), array.dtype)
        for piece, count in zip(array.blocks, rows, strict=True)
    ]
    return da.concatenate(chunks)


def to_frame(frame: Collection) -> Any:
    """Return a ``dask.dataframe`` whose partitions fetch the blocks when they are computed."""
    import dask.dataframe as dd

    return dd.from_map(_to_pandas, [_Source(piece) for piece in frame.blocks])


def to_bag(bag: Collection) -> Any:
    """Return a ``dask.bag`` whose partitions fetch the blocks when they are computed."""
    import dask
    import dask.bag as db

    return db.from_delayed([dask.delayed(_value)(_Source(piece)) for piece in bag.blocks])


class _Source:
    """A piece inside a Dask graph, which takes it for a plain value."""

    def __init__(self, piece: Any) -> None:
        self.piece = piece

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        piece, future = self.piece, future_of(self.piece)
        name = future.name if isinstance(future, Future) else id(future)
        return ("freestone", name, getattr(piece, "start", 0), getattr(piece, "stop", None))

    def result(self) -> Any:
        return value_of(self.piece)

    def __reduce__(self) -> Any:
        # Another process, such as one of Dask's pool, can't ask this cluster: the rows go along.
        return _Source, (self.result(),)


def _value(source: _Source) -> Any:
    return source.result()


def _to_pandas(source: _Source) -> Any:
    return source.result().to_pandas()
