"""Files of scripts whose large matrices are in blocks: read, and written, by the workers.

See docs/decisions/060-files-are-read-on-workers-random-matrices-are-drawn-in-one-process.md
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.collections import Array
from freestone.collections.placing import dealt, drawn_to
from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptRunError
from freestone.io import Dataset, open_dataset
from freestone.lang.front.file_types import describe, holds_entries, widened, width_of
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.parse.source import Location, failure
from freestone.lang.front.types.dtypes import cell_of
from freestone.lang.front.types.types import DTYPES, SIZES, Type, common_type
from freestone.lang.run.distributed.split import Split, as_dense
from freestone.lang.run.distributed.tables import Schema, SplitFrame, frame_of, have_polars, type_of
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.files import check_planned, framed, written
from freestone.lang.run.kernels.sparse import Csr
from freestone.lang.run.kernels.sql import arrow_of

if TYPE_CHECKING:
    from freestone.lang.run.distributed.running import DistributedRun

__all__ = ["read_blocks", "write_blocks"]


def read_blocks(run: DistributedRun, op: Op, path: str) -> Split | SplitFrame | None:
    """Have each block of a matrix or frame read by a worker; None for what is small, or neither.

    The path has to lead to the same file on every worker.
    """
    type = op.results[0].type
    if type.data == "frame":
        return _frame_in_blocks(run, op, path)
    if type.data != "matrix" or type.cell == "str" or type.coo:
        return None
    try:
        dataset = open_dataset(path)
    except FreestoneError:
        # Told by whoever reads it here.
        return None
    if not dataset.location.is_shared:
        return None
    width, nbytes = width_of(dataset), _nbytes(dataset, type)
    # What is not as it is described is told by whoever reads it here, too.
    fits = type.rows in (None, dataset.rows) and type.columns in (None, width)
    if dataset.rows < 2 or not fits or not _holds(type.cell, dataset):
        return None
    if nbytes < max(run.settings.distributed_bytes, 1):
        return None
    offsets = run.offsets(dataset.rows, nbytes)
    given = (dataset, type.cell, type.csr, op.place)
    blocks = _read_where_they_are(run, dataset, offsets, read_rows, given)
    return run.split(blocks, offsets, width, type.cell, csr=type.csr)


def _frame_in_blocks(run: DistributedRun, op: Op, path: str) -> SplitFrame | None:
    type = op.results[0].type
    if not have_polars() or not type.schema:
        return None
    try:
        dataset = open_dataset(path)
        check_planned(path, describe(path), type)
    except (FreestoneError, ValueError):
        # Whoever reads it here says what is wrong.
        return None
    nbytes = dataset.rows * sum(SIZES[cell] for _, cell in type.schema)
    is_large = dataset.rows > 1 and nbytes >= max(run.settings.distributed_bytes, 1)
    if dataset.kind != "frame" or not dataset.location.is_shared or not is_large:
        return None
    offsets = run.offsets(dataset.rows, nbytes)
    given = (dataset, type.schema, op.place)
    blocks = _read_where_they_are(run, dataset, offsets, read_table, given)
    return frame_of(blocks, offsets, dataset.location.name, type.schema)


def _read_where_they_are(
    run: DistributedRun,
    dataset: Dataset,
    offsets: tuple[int, ...],
    function: Callable[..., Any],
    given: tuple[Any, ...],
) -> list[Any]:
    """Have each block read by a worker near its bytes."""
    cuts = np.array(offsets, np.int64)
    pairs = list(pairwise(offsets))
    hosts = [dataset.where(*pair) for pair in pairs]
    place = drawn_to(run.client, cuts, hosts) if any(hosts) else dealt(run.client, cuts)
    number = run.client.define(function, f"read {dataset.location.name}")
    return [
        run.client.call(number, (*given, *pair), {"near": near}, 1)
        for pair, near in zip(pairs, place, strict=True)
    ]


def _holds(cell: str, dataset: Dataset) -> bool:
    """Tell whether cells of a type hold what a file holds, as the script was compiled for it."""
    if dataset.kind == "frame":
        return True
    return common_type([cell, cell_of(widened(dataset.dtype))]) == cell


def _nbytes(dataset: Dataset, type: Type) -> int:
    cells = dataset.nonzeros if type.csr else None
    count = dataset.rows * width_of(dataset)
    return (count if cells is None else cells) * SIZES[type.cell]


def read_rows(
    dataset: Dataset, cell: str, csr: bool, place: Location | None, start: int, stop: int
) -> _native.blocks.Stored:
    """Read the rows of a block, on a worker; what goes wrong has its place in the script."""
    with _failing_at(place):
        return _native.blocks.Stored(
            _cells(dataset.location.url, dataset.read(start, stop), cell, csr)
        )


def read_table(
    dataset: Dataset, schema: Schema, place: Location | None, start: int, stop: int
) -> _native.blocks.Stored:
    """Read the rows of a block of a frame, on a worker, as the script's process would."""
    with _failing_at(place):
        table = framed(dataset.location.url, dataset.read(start, stop), type_of(schema))
        return _native.blocks.Stored(arrow_of(table))


@contextmanager
def _failing_at(place: Location | None) -> Iterator[None]:
    try:
        yield
    except (FreestoneError, ValueError, OSError) as error:
        raise failure(ScriptRunError, str(error), place) from None


def _cells(url: str, block: Any, cell: str, csr: bool) -> Any:
    if csr and hasattr(block, "toarray"):
        return Csr.of_scipy(block.astype(DTYPES[cell], copy=False))
    if hasattr(block, "column_names"):
        block = framed(url, block, Type("matrix", cell)).matrix(cell)
    dense = block.toarray() if hasattr(block, "toarray") else block
    found = converted(np.ascontiguousarray(dense.reshape(len(dense), -1)), cell)
    return Csr.of(found) if csr else found


def write_blocks(run: DistributedRun, op: Op, operands: list[Any]) -> list[Any] | None:
    """Have each block of a matrix written by the worker that has it."""
    split, path = operands
    if not isinstance(split, Split):
        return None
    blocks, offsets = split.blocks, np.array(split.offsets, np.int64)
    if split.csr:
        form = to_scipy if holds_entries(path) else dense_rows
        blocks = run.client.map(form, zip(blocks), {"near": "input"})
    written(Array(blocks, offsets, name=os.path.basename(path)), path)
    return [None]


def to_scipy(block: Any) -> _native.blocks.Stored:
    """Give the entries of a block, on a worker."""
    sparse = block if isinstance(block, Csr) else Csr.of(block)
    return _native.blocks.Stored(sparse.to_scipy())


def dense_rows(block: Any) -> _native.blocks.Stored:
    """Give all cells of a block, on a worker."""
    return _native.blocks.Stored(as_dense(block))
