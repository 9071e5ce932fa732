"""What is done to the rows of one block, whatever holds them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from freestone.collections.categories import of_one_type, with_their_types
from freestone.collections.opaque import (
    concatenated,
    is_opaque,
    nbytes_of_opaque,
    rows_of_opaque,
    take_of_opaque,
)
from freestone.errors import BlockShapeError, BlockTypeError

__all__ = [
    "arrow",
    "as_pandas",
    "concatenate",
    "count_rows",
    "describe_type",
    "holds",
    "items_of",
    "nbytes_of",
    "one_schema",
    "portable",
    "same_dtype",
    "sendable_dtype",
    "split_rows",
    "take_rows",
]


def is_sparse(block: Any) -> bool:
    """Tell whether a block is a SciPy sparse matrix or array."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(block))


def is_table(block: Any) -> bool:
    """Tell whether a block is an Arrow table."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(block, arrow.Table)


def count_rows(block: Any) -> int:
    """Return how many rows, or items, a block has."""
    if is_table(block):
        return int(block.num_rows)
    if is_opaque(block):
        return rows_of_opaque(block)
    shape = getattr(block, "shape", None)
    return len(block) if shape is None else int(shape[0])


def take_rows(block: Any, start: int, stop: int) -> Any:
    """Return rows ``start:stop`` of a block without copying them.

    Notes
    -----
    A list is copied: its items are not. Of a CSR matrix only the row pointers are. All entries of a
    COO matrix are looked at, and those of the rows copied.
    """
    if start <= 0 and stop >= count_rows(block):
        return block
    if is_table(block):
        return block.slice(start, stop - start)
    if is_sparse(block) and block.format == "coo":
        kept = (block.row >= start) & (block.row < stop)
        places = (block.row[kept] - start, block.col[kept])
        return type(block)((block.data[kept], places), shape=(stop - start, block.shape[1]))
    if is_sparse(block):
        first, last = block.indptr[start], block.indptr[stop]
        parts = (block.data[first:last], block.indices[first:last])
        pointers = block.indptr[start : stop + 1] - first
        return type(block)((*parts, pointers), shape=(stop - start, block.shape[1]))
    return take_of_opaque(block, start, stop) if is_opaque(block) else block[start:stop]


def items_of(block: Any) -> Iterator[Any]:
    """Yield the rows, or items, of a block; what is iterated over by columns has none."""
    is_awkward = type(block).__module__.partition(".")[0] == "awkward"
    if is_table(block) or (is_opaque(block) and not is_awkward):
        raise TypeError(
            f"a block {describe_type(block)} has rows and no items: take it as it is, by "
            "map_blocks or iter_blocks()"
        )
    # SciPy iterates over rows of CSR alone.
    return iter(block.tocsr() if is_sparse(block) else block)


def split_rows(block: Any, starts: Sequence[int], stops: Sequence[int]) -> list[Any]:
    """Return rows ``start:stop`` for each of some ascending ranges.

    Notes
    -----
    As `take_rows` for each, but the entries of a COO matrix are sorted by row once.
    """
    if not (is_sparse(block) and block.format == "coo"):
        return [take_rows(block, start, stop) for start, stop in zip(starts, stops, strict=True)]
    order = np.argsort(block.row, kind="stable")
    rows, columns, values = block.row[order], block.col[order], block.data[order]
    parts = []
    for start, stop in zip(starts, stops, strict=True):
        cut = slice(*np.searchsorted(rows, [start, stop]))
        shape = (stop - start, block.shape[1])
        parts.append(type(block)((values[cut], (rows[cut] - start, columns[cut])), shape=shape))
    return parts


def concatenate(blocks: Sequence[Any], collection: str = "collection") -> Any:
    """Return the rows of blocks one after the other, as one block.

    Parameters
    ----------
    blocks
        At least one.
    collection
        What messages call it.

    Raises
    ------
    TypeError
        For blocks of a library or a class that has no function for it.
    BlockTypeError, BlockShapeError
        For the first block that does not go with block 0: dtypes of arrays have to be the same,
        tables have the same columns in any order, and one without values goes with any type.

    Notes
    -----
    Copies every byte once, unless there is only one block. Arrow tables are combined so that
    each column is one buffer.
    """
    first = blocks[0]
    if len(blocks) == 1:
        return first
    if is_table(first):
        return _one_table(blocks, collection)
    if is_opaque(first):
        return concatenated(blocks, collection)
    _check_alike(blocks, collection)
    if is_sparse(first):
        import scipy.sparse

        formats = {block.format for block in blocks}
        return scipy.sparse.vstack(blocks, format="coo" if formats == {"coo"} else "csr")
    if isinstance(first, list):
        return [item for block in blocks for item in block]
    # Without it NumPy makes another byte order the machine's own.
    dtype = first.dtype if all(block.dtype == first.dtype for block in blocks) else None
    return np.concatenate(blocks, dtype=dtype)


def arrow() -> Any:
    """Import pyarrow, which all frames need.

    Raises
    ------
    ImportError
        With what to install.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError("frames need pyarrow: pip install 'freestone[tables]'") from None
    return pa


def as_pandas(table: Any) -> Any:
    """Return a table as a frame of pandas, with the types that pandas has beyond Arrow's.

    A worker that has not loaded pandas reads periods and intervals as what they are stored as; the
    schema still says what they are.
    """
    import pandas as pd  # noqa: F401 - it registers its types with Arrow
    import pyarrow as pa

    schema = pa.ipc.read_schema(table.schema.serialize())
    columns = [_restored(table.column(at), field.type) for at, field in enumerate(schema)]
    return with_their_types(pa.table(columns, schema=schema).to_pandas(), schema)


def _restored(column: Any, kind: Any) -> Any:
    import pyarrow as pa

    if not isinstance(kind, pa.BaseExtensionType) or column.type == kind:
        return column
    chunks = [pa.ExtensionArray.from_storage(kind, chunk) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _one_table(tables: Sequence[Any], collection: str) -> Any:
    import pyarrow as pa

    names = tables[0].schema.names
    for index, table in enumerate(tables):
        if not is_table(table) or sorted(table.schema.names) != sorted(names):
            found = describe_type(table) + (f": {table.schema.names}" if is_table(table) else "")
            raise BlockShapeError(
                collection, index, wanted=f"a table of the columns {names}", found=found
            )
    tables = of_one_type(tables)
    try:
        return pa.concat_tables(tables, promote_options="default").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        _name_mixed(tables, collection)
        raise


def one_schema(schemas: Sequence[Any], collection: str) -> Any:
    """Return the schema of tables that are to be one, with the columns in the order of the first.

    Raises
    ------
    BlockTypeError, BlockShapeError
        For the first table that does not go with those before it.
    """
    import pyarrow as pa

    different = list(dict.fromkeys(schema.remove_metadata() for schema in schemas))
    if len(different) == 1:
        return schemas[0]
    whole = _one_table([schema.empty_table() for schema in schemas], collection)
    fields = [whole.schema.field(name) for name in schemas[0].names]
    return pa.schema(fields, metadata=schemas[0].metadata)


def _name_mixed(tables: Sequence[Any], collection: str) -> None:
    """Raise the error for the first table that does not go with those before it."""
    import pyarrow as pa

    schema = tables[0].schema
    for index, table in enumerate(tables):
        try:
            schema = pa.unify_schemas([schema, table.schema])
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            mixed = [f for f in table.schema if schema.field(f.name).type != f.type]
            wanted = ", ".join(f"{f.name!r} of {schema.field(f.name).type}" for f in mixed)
            found = "a table of " + ", ".join(f"{f.name!r} of {f.type}" for f in mixed)
            raise BlockTypeError(
                collection, index, wanted=f"a table of {wanted}, as in block 0", found=found
            ) from None


def _check_alike(blocks: Sequence[Any], collection: str) -> None:
    """Raise the error for the first array whose type or shape is another than the first one's."""
    first = blocks[0]
    if not hasattr(first, "dtype"):
        return
    for index, block in enumerate(blocks):
        dtype = getattr(block, "dtype", None)
        if not same_dtype(dtype, first.dtype) or is_sparse(block) != is_sparse(first):
            wanted = f"{'sparse' if is_sparse(first) else 'dense'} of dtype {first.dtype}"
            raise BlockTypeError(
                collection, index, wanted=f"{wanted}, as block 0 is", found=describe_type(block)
            )
        if block.shape[1:] != first.shape[1:]:
            wanted, found = f"like block 0, {describe_type(first)}", describe_type(block)
            raise BlockShapeError(collection, index, wanted=wanted, found=found)


def sendable_dtype(dtype: np.dtype[Any]) -> str | np.dtype[Any]:
    """Return what a dtype can be made from again: its name, which one with fields does not have."""
    return dtype.str if dtype.names is None else dtype


def same_dtype(one: Any, other: Any) -> bool:
    """Tell whether blocks of two dtypes go together: in any byte order, texts of any length."""
    if one is None or other is None or one.kind != other.kind:
        return one is other
    return one.kind in "US" or bool(one.newbyteorder("=") == other.newbyteorder("="))


def holds(wanted: np.dtype[Any], found: np.dtype[Any]) -> bool:
    """Tell whether a dtype has all values of another, which may be converted without a loss.

    NumPy calls more than that safe: float64 of int64, texts of numbers, nanoseconds of years.
    """
    numbers = "biufc"
    if found.kind in numbers and wanted.kind in numbers:
        loses_digits = found.kind in "iu" and found.itemsize == 8 and wanted.kind in "fc"
        return np.can_cast(found, wanted, "safe") and not loses_digits
    if found.kind in "US":
        return found.kind == wanted.kind and found.itemsize <= wanted.itemsize
    return same_dtype(found, wanted)


def portable(block: Any) -> Any:
    """Return an array that keeps its byte order when it is sent, copied if need be.

    NumPy's pickles of arrays in another byte order come back in the machine's own, unless their
    bytes are in order.
    """
    if isinstance(block, np.ndarray) and not (block.dtype.isnative or block.flags.c_contiguous):
        return np.ascontiguousarray(block)
    return block


def nbytes_of(block: Any) -> int:
    """Return the bytes of a block's values; of a list, what it takes by itself."""
    if is_sparse(block) and block.format == "coo":
        return int(block.data.nbytes + block.row.nbytes + block.col.nbytes)
    if is_sparse(block):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    if is_opaque(block):
        return nbytes_of_opaque(block)
    nbytes = getattr(block, "nbytes", None)
    return sys.getsizeof(block) if nbytes is None else int(nbytes)


def describe_type(block: Any) -> str:
    """Say in a few words what a block is, for messages."""
    kind = type(block)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    if is_table(block):
        return f"a table of {block.num_rows:,} rows x {block.num_columns:,} columns"
    if hasattr(block, "shape") and hasattr(block, "dtype"):
        return f"{name} of shape {tuple(map(int, block.shape))} and dtype {block.dtype}"
    return f"of type {name}"
