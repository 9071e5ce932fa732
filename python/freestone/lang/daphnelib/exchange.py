"""What other libraries hold, taken and handed out in place.

See docs/decisions/058-results-may-share-memory-with-inputs.md
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from freestone.lang.front.types.dtypes import cell_of
from freestone.lang.run.kernels.coordinates import Coo
from freestone.lang.run.kernels.frames import Frame as FrameData
from freestone.lang.run.kernels.sparse import Csr

__all__ = [
    "cells_of",
    "exported",
    "frame_of_arrow",
    "frame_of_pandas",
    "table_of",
]

Array = np.ndarray[Any, Any]

WIDER = {"int16": "int32", "uint16": "uint32", "float16": "float32"}
"""What no matrix holds, and the least that holds it."""

HELD = (np.ndarray, Csr, Coo, FrameData, list)
"""What has memory that may be an input's."""


def cells_of(array: Any, *, flatten: bool = False, copy: bool = False) -> Array:
    """Return the cells of an array as a matrix, in place where that goes.

    Parameters
    ----------
    array : array_like
        Of one dimension, which becomes a column, or two, with any strides.
    flatten : bool
        Whether dimensions after the second are laid side by side.
    copy : bool
        Whether what happens to the array later must not be seen.

    Raises
    ------
    ValueError
        If it has other dimensions, or cells of a type that no matrix holds.

    Notes
    -----
    Copied are cells whose bytes are in another order, that lie at odd addresses, or of a type that
    is widened; nothing else.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError("a matrix has no masked cells; fill them first: array.filled(...)")
    cells = np.asarray(array)
    if cells.ndim > 2 and flatten:
        cells = cells.reshape(cells.shape[0], -1)
    if cells.ndim not in (1, 2):
        raise ValueError(f"a matrix has two dimensions, not {cells.ndim}")
    cells = _held(cells)
    if copy:
        cells = cells.copy()
    return cells.reshape(-1, 1) if cells.ndim == 1 else cells


def _held(cells: Array) -> Array:
    """Return cells of a type that matrices hold, in this machine's order and at even addresses."""
    dtype = cells.dtype
    if dtype.kind in "US":
        return cells.astype(str).astype(object)
    if dtype.hasobject:
        wrong = next((item for item in cells.flat if not isinstance(item, str)), None)
        if wrong is not None:
            raise ValueError(
                f"cells are numbers of one type, or strings, not {wrong!r} of objects; "
                "fill in what is missing, or convert the cells first, as by .astype(str)"
            )
        return cells
    native = dtype.newbyteorder("=")
    wanted = np.dtype(WIDER.get(native.name, native))
    cell_of(wanted)
    return np.require(cells, wanted, ["ALIGNED"])


def frame_of_pandas(frame: Any, *, keep_index: bool = False, copy: bool = False) -> FrameData:
    """Take the columns of a frame of pandas', and perhaps its index as the first one."""
    pairs = [(str(label), frame.iloc[:, at]) for at, label in enumerate(frame.columns)]
    if keep_index:
        pairs.insert(0, (str(frame.index.name or "index"), frame.index))
    return _frame(((label, column.to_numpy()) for label, column in pairs), copy=copy)


def frame_of_arrow(table: Any) -> FrameData:
    """Take the columns of a table of Arrow's; those of one chunk without nulls in place.

    Raises
    ------
    ValueError
        If a column has nulls and is not of floats, or is of a type that frames do not hold.
    """
    return _frame(
        (name, _arrow_cells(name, column))
        for name, column in zip(table.column_names, table.columns, strict=True)
    )


def _arrow_cells(name: str, column: Any) -> Array:
    floats = str(column.type) in ("halffloat", "float", "double")
    if column.null_count and not floats:
        raise ValueError(f"column {name!r} has {column.null_count} nulls; fill them first")
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    column = chunks[0] if len(chunks) == 1 else column.combine_chunks()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _frame(pairs: Iterable[tuple[str, Array]], *, copy: bool = False) -> FrameData:
    labels, columns = [], []
    for label, column in pairs:
        if label in labels:
            raise ValueError(f"the label {label!r} is there twice; a frame needs one of each")
        labels.append(label)
        try:
            held = _held(column)
        except (TypeError, ValueError) as error:
            error.add_note(f"in column {label!r}")
            raise
        columns.append(held.copy() if copy else held)
    return FrameData(columns, labels, [cell_of_column(column) for column in columns])


def cell_of_column(column: Array) -> str:
    """Return the type of a column's cells."""
    return "str" if column.dtype.hasobject else cell_of(column.dtype)


def exported(data: Any, given: Collection[Any], *, index: bool = False) -> Any:
    """Hand out a result in place; what is still an input's memory can only be read.

    Parameters
    ----------
    data
        What the run gave.
    given
        What Python had given.
    index : bool
        Whether the column ``index`` of a frame becomes the index.
    """
    if not isinstance(data, HELD):
        return data
    if not given and isinstance(data, np.ndarray):
        return data
    known = [array for item in given for array in _arrays(item)]
    if isinstance(data, Csr):
        from scipy.sparse import csr_array

        # SciPy takes offsets and columns of one type; with other offsets it would copy the columns.
        offsets = data.indptr.astype("i4") if len(data.cells) < 2**31 else data.indptr
        parts = [_guarded(part, known) for part in (data.cells, data.indices, offsets)]
        return csr_array(tuple(parts), shape=data.shape)
    if isinstance(data, Coo):
        from scipy.sparse import coo_array

        parts = [_guarded(part, known) for part in (data.cells, data.rows, data.columns)]
        return coo_array((parts[0], (parts[1], parts[2])), shape=data.shape)
    if isinstance(data, FrameData):
        return _pandas(data, known, index)
    if isinstance(data, list):
        return [exported(item, known) for item in data]
    return _guarded(data, known)


def _pandas(data: FrameData, known: list[Array], index: bool) -> Any:
    import pandas as pd

    columns = [_guarded(column, known) for column in data.columns]
    frame = pd.DataFrame(dict(zip(data.labels, columns, strict=True)), copy=False)
    return frame.set_index("index") if index and "index" in data.labels else frame


def _guarded(data: Array, known: Iterable[Array]) -> Array:
    for array in known:
        if np.may_share_memory(array, data):
            view = data.view()
            view.setflags(write=False)
            return view
    return data


def _arrays(data: Any) -> list[Array]:
    """Return the arrays that a matrix, a frame or a list is made of."""
    if isinstance(data, np.ndarray):
        return [data]
    if isinstance(data, FrameData):
        return data.columns
    if isinstance(data, Csr):
        return [data.cells, data.indices, data.indptr]
    if isinstance(data, Coo):
        return [data.cells, data.rows, data.columns]
    return []


def table_of(data: FrameData) -> Any:
    """Make a table of Arrow's; columns of numbers are in place."""
    import pyarrow as pa

    return pa.table([pa.array(column) for column in data.columns], names=data.labels)
