"""Views of the texts of Arrow's tables, which polars takes as they are.

To make them took a tenth of the time of queries. So executors keep those of blocks that are named
by their content. What is kept has no addresses, and fits wherever the block is mapped next.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from freestone.units import machine_nbytes

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Kept", "viewed"]

_MAX_TEXT_NBYTES = (1 << 31) - 1
"""Offsets in views have 32 bits."""
_KEPT_SHARE = 32
"""What the executors of a machine keep together of its memory: one part in so many."""
_VIEW_NBYTES = 16


class Kept:
    """The views of columns that were used last, without the texts that they point into.

    Parameters
    ----------
    max_nbytes : int
        So many bytes are kept.
    """

    def __init__(self, max_nbytes: int) -> None:
        self.max_nbytes = max_nbytes
        self.nbytes = 0
        self._views: OrderedDict[tuple[str, str], list[pa.Buffer]] = OrderedDict()

    def get(self, key: tuple[str, str], column: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """Return a column with its views; None if they are not there."""
        import pyarrow as pa

        views = self._views.get(key)
        if views is None:
            return None
        self._views.move_to_end(key)
        chunks = [
            pa.Array.from_buffers(
                pa.string_view(),
                len(chunk),
                [chunk.buffers()[0], each, chunk.buffers()[2]],
                chunk.null_count,
                chunk.offset,
            )
            for chunk, each in zip(column.chunks, views, strict=True)
        ]
        return pa.chunked_array(chunks, pa.string_view())

    def add(self, key: tuple[str, str], column: pa.ChunkedArray, made: pa.ChunkedArray) -> None:
        """Keep the views that were made of a column, if they are of its own text."""
        views = [chunk.buffers()[1] for chunk in made.chunks]
        nbytes = _nbytes(views)
        if nbytes > self.max_nbytes or not all(map(_is_same_text, column.chunks, made.chunks)):
            return
        self._views[key] = views
        self.nbytes += nbytes
        while self.nbytes > self.max_nbytes:
            _, oldest = self._views.popitem(last=False)
            self.nbytes -= _nbytes(oldest)


@functools.cache
def _kept() -> Kept:
    cores = os.cpu_count() or 1
    return Kept(machine_nbytes() // _KEPT_SHARE // cores)


def viewed(table: pa.Table, name: str = "") -> pa.Table:
    """Return a table whose texts are views.

    Parameters
    ----------
    table
        The rows.
    name
        The name of the block that they are all of, if it stands for the content.

    Notes
    -----
    Arrow makes views in a third of the time that polars takes.
    """
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_large_string(field.type) or pa.types.is_string(field.type):
            column = table.column(place)
            if all(_text_nbytes(chunk) <= _MAX_TEXT_NBYTES for chunk in column.chunks):
                table = table.set_column(place, field.name, _views_of(column, (name, field.name)))
    return table


def _views_of(column: pa.ChunkedArray, key: tuple[str, str]) -> pa.ChunkedArray:
    import pyarrow as pa

    kept = _kept() if key[0] else None
    found = kept.get(key, column) if kept else None
    if found is None:
        found = column.cast(pa.string_view())
        if kept:
            kept.add(key, column, found)
    return found


def _is_same_text(texts: pa.Array, views: pa.Array) -> bool:
    """Tell whether views begin where some texts do, and point into their buffer, if into any."""
    _, own, *shared = views.buffers()
    text = texts.buffers()[2]
    return bool(
        views.offset == texts.offset
        and len(views) == len(texts)
        and own.size >= _VIEW_NBYTES * (views.offset + len(views))
        and text is not None
        and all(each.address == text.address for each in shared)
        and len(shared) <= 1
    )


def _nbytes(buffers: list[pa.Buffer]) -> int:
    return sum(buffer.size for buffer in buffers)


def _text_nbytes(texts: pa.Array) -> int:
    data: Any = texts.buffers()[2]
    return 0 if data is None else int(data.size)
