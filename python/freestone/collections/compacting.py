"""Tables over buffers that hold their rows and no others: a block is written with its buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["compact", "compacted"]

_SLACK_NBYTES = 1 << 12
_VIEW_NBYTES = 16


def compacted(table: pa.Table) -> pa.Table:
    """Return an Arrow table as it is, or a copy if its buffers have more than its rows.

    Notes
    -----
    Those of a slice are those of the table that it was cut from. A quarter more is left as it is.
    """
    import pyarrow as pa

    chunks = [chunk for column in table.columns for chunk in column.chunks]
    held = sum(buffer.size for chunk in chunks for buffer in chunk.buffers() if buffer is not None)
    has_more = _is_more(held, table.nbytes) or any(map(_has_more_views, chunks))
    if not has_more:
        return table
    try:
        return compact(table)
    except pa.ArrowException:
        # Arrow's files have no form for some types, such as dictionaries of extension types.
        return table


def compact(table: Any) -> Any:
    """Return an Arrow table with memory of its own, for its rows alone."""
    import pyarrow as pa

    if not table.num_rows:
        # Nothing would be written, and the categories of a column would be gone.
        return table
    table = _with_own_texts(table)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _is_more(held: int, needed: int) -> bool:
    return held > needed + needed // 4 + _SLACK_NBYTES


def _has_more_views(chunk: Any) -> bool:
    """Tell whether views of text are cut from others: Arrow counts all text that both share."""
    import pyarrow as pa

    is_viewed = pa.types.is_string_view(chunk.type) or pa.types.is_binary_view(chunk.type)
    return is_viewed and _is_more(chunk.buffers()[1].size, _VIEW_NBYTES * len(chunk))


def _with_own_texts(table: Any) -> Any:
    """Return a table whose views of text share that of its rows alone."""
    import pyarrow as pa

    wide = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    for place, field in enumerate(table.schema):
        if field.type in wide:
            column = table.column(place).cast(wide[field.type]).cast(field.type)
            table = table.set_column(place, field, column)
    return table
