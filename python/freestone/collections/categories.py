"""Columns of categories: Arrow's dictionaries, of which each block has its own."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["cast", "categories_of", "digests_of", "of_one_type", "with_their_types"]


def of_one_type(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Return tables of the same columns with one type for each that is categories in all of them.

    Notes
    -----
    Arrow alone refuses them: a block without values has categories of no type, texts are short or
    long, and the codes of one block may be too narrow for the categories of all.
    """
    found = list(tables)
    for name in found[0].schema.names:
        common = _common([table.column(name) for table in found])
        if common is not None:
            found = [cast(table, {name: common}) for table in found]
    return found


def cast(table: pa.Table, types: dict[str, pa.DataType]) -> pa.Table:
    """Return a table of which some columns have other types."""
    for at, field in enumerate(table.schema):
        kind = types.get(field.name, field.type)
        if kind != field.type:
            table = table.set_column(at, field.with_type(kind), table.column(at).cast(kind))
    return table


def _common(columns: Sequence[pa.ChunkedArray]) -> pa.DataType | None:
    """Return the type that columns of categories go into, or None.

    Others are left as they are, so that the error names the blocks that do not go together.
    """
    import pyarrow as pa

    kinds = {column.type for column in columns if not pa.types.is_null(column.type)}
    if not kinds or not all(map(pa.types.is_dictionary, kinds)):
        return None
    values = {kind.value_type for kind in kinds} - {pa.null()} or {pa.null()}
    if values == {pa.string(), pa.large_string()}:
        values = {pa.large_string()}
    if len(values) > 1 or len({kind.ordered for kind in kinds}) > 1:
        return None
    codes = {kind.index_type for kind in kinds}
    code = max(codes, key=lambda each: each.bit_width)
    if len(codes) > 1 or _most(columns) >> (code.bit_width - 1):
        code = pa.int64() if code.bit_width == 64 else pa.int32()
    return pa.dictionary(code, values.pop(), kinds.pop().ordered)


def _most(columns: Sequence[pa.ChunkedArray]) -> int:
    """Return how many categories columns have together, at most."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    dictionaries = [chunk.dictionary for chunk in chunks if hasattr(chunk, "dictionary")]
    first = dictionaries[:1]
    others = [each for each in dictionaries if not each.equals(first[0])]
    return sum(map(len, first + others))


def with_their_types(frame: pd.DataFrame, schema: pa.Schema) -> pd.DataFrame:
    """Give categories what Arrow drops in frames of pandas: a time zone, and a type if none is."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_dictionary(field.type) and field.name in frame:
            found = frame[field.name].cat.categories
            wanted = _as_typed(found, field.type.value_type)
            if wanted is not found:
                frame[field.name] = frame[field.name].cat.rename_categories(wanted)
    return frame


def _as_typed(categories: pd.Index, kind: pa.DataType) -> pd.Index:
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return categories.tz_localize("UTC").tz_convert(kind.tz)
    if not len(categories) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return pa.array([""], kind).dictionary_encode().to_pandas().cat.categories[:0]
    return categories


def categories_of(frame: pd.DataFrame) -> dict[str, pd.Index]:
    """Return the categories of each column that has some."""
    kinds = frame.dtypes[frame.dtypes == "category"]
    return {name: kind.categories for name, kind in kinds.items()}


def digests_of(frame: pd.DataFrame) -> dict[str, Any]:
    """Return a digest of the categories of each column, which is short where they are many."""
    return {
        name: hashlib.blake2b(pickle.dumps((str(each.dtype), each.tolist()))).digest()
        for name, each in categories_of(frame).items()
    }
