"""How blocks are made and checked, where they are made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone import _native
from freestone.collections.compacting import compacted
from freestone.collections.opaque import is_opaque
from freestone.collections.rows import (
    arrow,
    count_rows,
    describe_type,
    holds,
    is_sparse,
    is_table,
    nbytes_of,
    portable,
    same_dtype,
    sendable_dtype,
)
from freestone.errors import BlockShapeError, BlockTypeError, FreestoneError

__all__ = [
    "Meta",
    "Spec",
    "check_blocks",
    "check_dtype",
    "describe",
    "make_block",
    "map_block",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What every block of a collection has to be.

    Attributes
    ----------
    collection : str
        Its name.
    kind : str
        ``array``, ``frame`` or ``bag``.
    columns : tuple of int or None
        The shape of a row of an array; None when the blocks say it.
    dtype : str or dtype or None
        The dtype of an array; None when the blocks say it.
    converts : bool
        Whether blocks of any dtype are converted to it; otherwise only those that lose nothing.
    """

    collection: str
    kind: str
    columns: tuple[int, ...] | None = None
    dtype: str | np.dtype[Any] | None = None
    converts: bool = True

    def check(self, block: Any, index: int, rows: int | None) -> Any:
        """Return a block in the form in which it is kept, or say clearly what is wrong."""
        block = _FORMS[self.kind](self, block, index)
        found = count_rows(block)
        if rows is not None and found != rows:
            wanted, got = f"of {rows:,} rows", f"of {found:,} rows ({describe_type(block)})"
            raise BlockShapeError(self.collection, index, wanted=wanted, found=got)
        return block


def _array(spec: Spec, block: Any, index: int) -> Any:
    if isinstance(block, np.ma.MaskedArray):
        wanted = "an array without a mask, as filled() makes one"
        raise BlockTypeError(spec.collection, index, wanted=wanted, found="a masked array")
    if not is_sparse(block):
        block = np.asarray(block)
    elif block.format not in ("csr", "coo"):
        block = block.tocsr()
    if block.dtype.hasobject:
        wanted = "an array of numbers or fixed-size text"
        raise BlockTypeError(spec.collection, index, wanted=wanted, found=describe_type(block))
    if not block.ndim:
        raise BlockShapeError(
            spec.collection, index, wanted="of one dimension or more", found=describe_type(block)
        )
    columns = tuple(map(int, block.shape[1:]))
    if spec.columns is not None and columns != spec.columns:
        wanted = f"of shape {('n', *spec.columns)}".replace("'", "")
        raise BlockShapeError(spec.collection, index, wanted=wanted, found=describe_type(block))
    if spec.dtype is not None and block.dtype != np.dtype(spec.dtype):
        _require_held(spec, block, index)
        block = block.astype(spec.dtype)
    return portable(block)


def _require_held(spec: Spec, block: Any, index: int) -> None:
    """Raise the error for a block that would lose something in the dtype that was said."""
    if spec.converts or not block.shape[0] or holds(np.dtype(spec.dtype), block.dtype):
        return
    wanted, advice = f"of dtype {np.dtype(spec.dtype)}, as dtype= says", "or give the right dtype="
    raise BlockTypeError(
        spec.collection,
        index,
        wanted=wanted,
        found=describe_type(block),
        advice=f"call .astype() in the function, {advice}",
    )


def _frame(spec: Spec, block: Any, index: int) -> Any:
    table = _table(spec, block, index)
    rows = len(block) if type(block).__module__.split(".")[0] == "pandas" else table.num_rows
    if rows and not table.num_columns:
        # Arrow forgets how many they are where tables are joined or sent.
        found = f"{rows:,} rows without columns"
        raise BlockShapeError(spec.collection, index, wanted="of one column or more", found=found)
    return compacted(table)


def _table(spec: Spec, block: Any, index: int) -> Any:
    pa = arrow()
    if is_table(block):
        return block
    if isinstance(block, pa.RecordBatch):
        return pa.Table.from_batches([block])
    try:
        if isinstance(block, dict):
            return _columns(spec, block, index)
        library = type(block).__module__.partition(".")[0]
        if library == "polars" and hasattr(block, "lazy"):
            from freestone.collections.tables import to_arrow

            return to_arrow(block.lazy().collect())
        if library == "pandas" and block.ndim == 2:
            return _of_pandas(spec, block, index)
    except FreestoneError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        reason = "; ".join(map(str, error.args))
        raise _no_type(spec, block, index, f"{_column_at_fault(block)}{reason}") from error
    wanted = "an Arrow table, a frame of pandas or polars, or a dict of columns"
    raise BlockTypeError(spec.collection, index, wanted=wanted, found=describe_type(block))


def _of_pandas(spec: Spec, block: Any, index: int) -> Any:
    import pyarrow as pa

    table = pa.Table.from_pandas(block, preserve_index=_has_labels(block.index))
    for field in table.schema:
        kind = field.type
        if pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType):
            # Arrow writes these, and can't read them.
            reason = f"column {field.name!r} has categories of {kind.value_type.extension_name}"
            raise _no_type(spec, block, index, f"{reason}, such as pandas.cut makes")
    return table


def _no_type(spec: Spec, block: Any, index: int, reason: str) -> BlockTypeError:
    wanted = "of columns that Arrow has a type for"
    return BlockTypeError(
        spec.collection,
        index,
        wanted=wanted,
        found=f"{describe_type(block)}: {reason}",
        advice="convert that column, to text by astype(str) for example, or use freestone.Bag, "
        "which holds any values",
    )


def _column_at_fault(block: Any) -> str:
    """Name the first column that Arrow does not take alone."""
    import pyarrow as pa

    for name, values in block.items() if hasattr(block, "items") else ():
        try:
            pa.array(values)
        except Exception:
            return f"column {name!r}: "
    return ""


def _has_labels(index: Any) -> bool:
    """Tell whether an index of pandas' is more than numbers of rows, which have no name."""
    return any(name is not None for name in index.names) or index.dtype.kind not in "iu"


def _columns(spec: Spec, columns: dict[str, Any], index: int) -> Any:
    import pyarrow as pa

    from freestone.io.formats.tables import arrow_column

    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} {length:,}" for name, length in lengths.items())
        raise BlockShapeError(
            spec.collection, index, wanted="of columns of one length", found=f"ragged: {shown}"
        )
    return pa.table({name: arrow_column(values) for name, values in columns.items()})


def _bag(spec: Spec, block: Any, index: int) -> Any:
    if is_opaque(block) or is_table(block):
        return block
    if is_sparse(block):
        return block if block.format in ("csr", "coo") else block.tocsr()
    if isinstance(block, str | bytes | dict) or not hasattr(block, "__iter__"):
        raise BlockTypeError(
            spec.collection,
            index,
            wanted="a list of items",
            found=describe_type(block),
            advice=f"put it into one, as [{type(block).__name__}], or give its class nbytes or "
            "__sizeof__: then it is a block as it is",
        )
    return block if isinstance(block, list) else list(block)


_FORMS: dict[str, Callable[[Spec, Any, int], Any]] = {
    "array": _array,
    "bag": _bag,
    "frame": _frame,
}


def make_block(
    spec: Spec, function: Callable[[int, int], Any], index: int, start: int, stop: int
) -> Any:
    """Make rows ``start:stop``, block number `index` of a collection."""
    try:
        block = function(start, stop)
    except Exception as error:
        error.add_note(f"while making block {index} of {spec.collection!r}, rows {start}:{stop}")
        raise
    if isinstance(block, _native.blocks.Filled):
        # Written in its form by the reader of a file.
        return block
    return _native.blocks.Stored(spec.check(block, index, stop - start))


def map_block(
    spec: Spec, function: Callable[..., Any], index: int, rows: int | None, *blocks: Any
) -> Any:
    """Make block number `index` of a collection from the blocks, and values, that it comes from."""
    try:
        block = function(*blocks)
    except Exception as error:
        given = ", ".join(describe_type(block) for block in blocks if hasattr(block, "shape"))
        made = f"while making block {index} of {spec.collection!r}"
        error.add_note(f"{made} from {given}" if given else made)
        raise
    return _native.blocks.Stored(spec.check(block, index, rows))


@dataclass(frozen=True, slots=True)
class Meta:
    """What is known of a block without its values."""

    rows: int
    nbytes: int
    columns: tuple[Any, ...] = ()
    dtype: str | np.dtype[Any] | None = None
    sparse: bool = False


def describe(block: Any) -> Meta:
    """Return what a collection has to know of a block."""
    rows, nbytes = count_rows(block), nbytes_of(block)
    if is_table(block):
        return Meta(rows, nbytes, tuple(block.schema.names))
    if isinstance(block, np.ndarray) or is_sparse(block):
        columns = tuple(map(int, block.shape[1:]))
        return Meta(rows, nbytes, columns, sendable_dtype(block.dtype), is_sparse(block))
    return Meta(rows, nbytes)


def _go_together(one: Meta, other: Meta) -> bool:
    if (one.columns, one.sparse) != (other.columns, other.sparse):
        return False
    if one.dtype is None or other.dtype is None:
        return one.dtype is other.dtype
    ours, theirs = np.dtype(one.dtype), np.dtype(other.dtype)
    # What is computed of texts has the width of the first ones, and would cut longer ones.
    return same_dtype(ours, theirs) and ours.itemsize == theirs.itemsize


def _described(meta: Meta) -> str:
    form = "sparse " if meta.sparse else ""
    kind = "" if meta.dtype is None else f" and {form}dtype {meta.dtype}"
    return f"of columns {meta.columns}{kind}"


def check_blocks(spec: Spec, metas: Sequence[Meta]) -> None:
    """Say clearly which of some blocks does not go with the first."""
    for index, meta in enumerate(metas):
        if not _go_together(meta, metas[0]):
            wanted, found = f"like block 0, {_described(metas[0])}", _described(meta)
            raise BlockShapeError(
                spec.collection, index, wanted=wanted, found=found, advice=_advice(meta, metas[0])
            )


def _advice(meta: Meta, first: Meta) -> str:
    """Say how blocks can be made to go together."""
    if meta.columns != first.columns:
        return "give all blocks the same columns, or use freestone.Bag, which holds any values"
    if meta.sparse != first.sparse:
        return "make all blocks sparse or, with .toarray(), dense"
    if meta.dtype is not None and np.dtype(meta.dtype).kind in "US":
        return "astype() where the blocks are made gives all texts one width"
    return "convert them where they are made: .astype() gives all blocks one dtype"


def check_dtype(collection: str, dtype: np.dtype[Any] | None, metas: Sequence[Meta]) -> None:
    """Say which of some blocks, all alike, is not of the dtype that the collection says.

    Only those that another library made may be: Dask believes ``dtype=`` and ``meta=``.
    """
    index, meta = next(((at, one) for at, one in enumerate(metas) if one.rows), (0, None))
    if dtype is None or meta is None or meta.dtype is None:
        return
    found = np.dtype(meta.dtype)
    if same_dtype(found, dtype) and found.itemsize == dtype.itemsize:
        return
    raise BlockTypeError(
        collection,
        index,
        wanted=f"of dtype {dtype}, as the array says",
        found=f"of dtype {found}",
        advice="call .astype() in the function that makes it, or give the right dtype= there",
    )
