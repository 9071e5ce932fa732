"""Files as collections."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from freestone.client import Client, current
from freestone.collections.array import Array
from freestone.collections.blocking import Offsets, cuts_of
from freestone.collections.frame import Frame
from freestone.collections.making import Spec
from freestone.collections.rows import split_rows
from freestone.collections.sources import made
from freestone.errors import FormatError, UsageError
from freestone.io import Dataset, open_dataset
from freestone.io.many import Found, Part, Request, as_predicate, is_many
from freestone.io.telling import telling
from freestone.storage.many import (
    BLOCK_NBYTES,
    MAX_BLOCKS,
    FileScan,
    checked_columns,
    read_many,
    with_tree,
)
from freestone.storage.meters import Meter, metered

__all__ = ["read"]


def read(
    url: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    where: Any = None,
    missing_columns: Literal["raise", "null"] = "raise",
    format: str | None = None,
    block_rows: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Array | Frame:
    """Read files into an array or a frame, each block by a worker.

    Parameters
    ----------
    url
        A path, or a URL such as ``hdfs://host:port/path``; a pattern such as ``data/*.csv``, or
        ``**/*.csv`` in all folders; a folder, which stands for all files below it; or a list of
        them. ``f.root:Events`` is a tree in a file. A path has to lead to the same file on every
        worker.
    columns
        The columns of a frame that are read, in this order; all by default.
    where
        The rows of a frame that are read: tuples of column, operator and value that all have to be
        true, as in ``[("x", ">", 0), ("y", "in", [1, 2])]``; a list of such lists, of which one has
        to; or an expression of `pyarrow.compute`. Row groups of Parquet, and folders called
        ``key=value``, that have no such row are not read.
    missing_columns
        Whether a column that some files lack is an error, or missing values in their rows.
    format
        One of ``freestone.io.formats.FORMATS``; by default what the name says.
    block_rows
        Rows per block, before `where`; by default so many that a block has about 30 MiB, and that
        each executor gets one. Without a cluster all rows are one block.
    progress
        Whether to show a bar with bytes a second when it takes longer than a second; by default if
        standard error is a terminal. With a cluster this call does not wait; ``persist()`` and
        ``compute()`` do, and show it.
    **options
        Those of the format; see `freestone.io.formats`.

    Returns
    -------
    Array or Frame
        With a cluster its blocks are read when workers get to it, and an error of a block is
        raised when the block is used, or by ``persist()``. A frame of which columns can be read
        alone is read when it is used first, and of what ``filter``, ``select`` and their like make
        of it only the rows and columns that they need; ``persist()`` reads all, and keeps it. Its
        ``found`` has the separator and header that were found in text; a tuple of several where
        files differ.

    Raises
    ------
    FileMissingError, FileUnreadableError, FileError
        When it can't be opened.
    FormatError
        When it is not what its format says.
    SchemaError
        When two files don't go together.
    MissingColumnError
        When there is no column that `columns` or `where` names.
    UsageError
        When the name says no format, or there is no such option.

    Notes
    -----
    Files are looked at by the workers, a few at a time, and small ones make a block together. Their
    columns are joined by name, and types of one column become the smallest that holds all values;
    what can't be joined is refused: see *Many files* in the guide to files.

    No byte of the rows goes through this program, unless there is no cluster, or the file is in
    this process's memory: then this process reads with all its cores. Without a cluster, the text
    of a CSV file in HDFS or an object store is kept while it is parsed, if it has at most 256 MiB;
    a larger one is fetched twice, a part at a time.
    """
    _check_block_rows(block_rows)
    if missing_columns not in ("raise", "null"):
        raise UsageError(f"missing_columns={missing_columns!r}: it is 'raise' or 'null'")
    url, options = with_tree(url, options)
    if columns is not None or where is not None or is_many(url):
        names = checked_columns(columns)
        request = Request(
            columns=names,
            names=names or (),
            where=as_predicate(where),
            fills=missing_columns == "null",
            format=format,
            options=options,
        )
        return read_many(url, request, block_rows, progress)
    assert isinstance(url, str | os.PathLike)
    client = current()
    dataset = open_dataset(url, format=format, whole=client is None, matrix=False, **options)
    if client is None:
        return _here(dataset, np.array([0, dataset.rows]), progress)
    rows = block_rows or _block_rows(dataset, max(client.slots, 1))
    blocks = -(-dataset.rows // max(rows, 1))
    if blocks > MAX_BLOCKS:
        reason = (
            f"{dataset.rows:,} rows would be {blocks:,} blocks of {rows:,}, and {MAX_BLOCKS:,} is "
            "the most; say a larger block_rows, if the file is not damaged"
        )
        raise FormatError(dataset.location.url, reason)
    offsets = cuts_of(dataset.rows, rows)
    if not dataset.location.is_shared:
        return _here(dataset, offsets, progress)
    if dataset.kind == "frame" and dataset.is_columnar:
        request = Request(format=format, options=options)
        return _unread(dataset, request, offsets, block_rows, progress, client)
    return _there(dataset, offsets, progress)


def _unread(
    dataset: Dataset,
    request: Request,
    offsets: Offsets,
    block_rows: int | None,
    progress: bool | None,
    client: Client,
) -> Frame:
    """Return the frame of a file of which any columns can be read; it is read when it is used."""
    rows = ((0, dataset.rows),) if dataset.rows else ()
    schema, name = dataset.arrow_schema(), dataset.location.name
    part = Part(dataset=dataset, keys=(), schema=schema, ranges=rows)
    read = functools.partial(_there, dataset, offsets, progress)
    files = [Found(dataset.location.url)]
    found = Frame([], offsets, name=name, schema=schema)
    found.found = dict(dataset.found)
    found._scan = FileScan(client, read, files, request, [part], block_rows, name, progress)
    return found


def _check_block_rows(block_rows: Any) -> None:
    whole = isinstance(block_rows, int | np.integer) and not isinstance(block_rows, bool)
    if block_rows is not None and not (whole and block_rows >= 1):
        raise UsageError(
            f"block_rows={block_rows!r}: give a whole number of rows; a block has at least one row"
        )


def _there(dataset: Dataset, offsets: Offsets, progress: bool | None) -> Array | Frame:
    """Have each block read by a worker, if that matters by one where its bytes are."""
    name, columns, dtype = dataset.location.name, dataset.columns, dataset.dtype
    is_frame = dataset.kind == "frame"
    spec = Spec(
        collection=name,
        kind=dataset.kind,
        columns=None if is_frame else columns,
        dtype=None if is_frame else dtype,
    )
    with telling(dataset.location.url):
        hosts = _hosts(dataset, offsets)
    pieces = made(spec, dataset.read_block, offsets, {}, hosts)
    if is_frame:
        found: Array | Frame = Frame(pieces, offsets, name=name)
    else:
        found = Array(pieces, offsets, name=name, columns=columns, dtype=dtype)
    found.found = dict(dataset.found)
    meter = Meter(dataset.nbytes)
    ends = (offsets * (dataset.nbytes / max(dataset.rows, 1))).astype(np.int64)
    for piece, nbytes in zip(pieces, np.diff(ends).tolist(), strict=True):
        meter.add(piece, nbytes)
    found._waiting = functools.partial(metered, f"read {name}", meter, progress)
    return found


def _hosts(dataset: Dataset, offsets: Offsets) -> list[list[str]]:
    """Return what holds each block; nothing where all workers reach it alike."""
    client = current()
    machines = {worker.host for worker in client.statistics().workers} if client else ()
    if dataset.location.by_host and len(machines) < 2:
        return []
    dataset.look_up()
    return [dataset.where(*cut) for cut in itertools.pairwise(offsets.tolist())]


def _here(dataset: Dataset, offsets: Offsets, progress: bool | None) -> Array | Frame:
    """Read all rows in this process, and cut them into blocks."""
    with metered(f"read {dataset.location.name}", Meter.of_reads(dataset.nbytes), progress):
        block = dataset.read(0, dataset.rows, threads=len(os.sched_getaffinity(0)))
    kind = Frame if dataset.kind == "frame" else Array
    starts, stops = offsets[:-1].tolist(), offsets[1:].tolist()
    blocks = [block] if len(starts) == 1 else split_rows(block, starts, stops)
    found = kind._from_own(blocks, name=dataset.location.name)
    found.found = dict(dataset.found)
    return found


def _block_rows(dataset: Dataset, slots: int) -> int:
    """Return how many rows make blocks of a good size, in whole units of the file."""
    by_size = BLOCK_NBYTES / max(dataset.row_nbytes, 1e-3)
    by_slot = -(-dataset.rows // slots)
    unit = dataset.unit_rows
    units = max(int(np.ceil(min(by_size, by_slot) / unit)), 1)
    return units * unit
