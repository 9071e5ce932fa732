"""Files as collections."""

from __future__ import annotations

import functools
import itertools
import os
from typing import Any

import numpy as np

from freestone.client import current
from freestone.collections.array import Array
from freestone.collections.blocking import Offsets, cuts_of
from freestone.collections.frame import Frame
from freestone.collections.making import Spec
from freestone.collections.rows import split_rows
from freestone.collections.sources import made
from freestone.errors import FormatError, UsageError
from freestone.io import Dataset, open_dataset
from freestone.io.telling import telling
from freestone.storage.meters import Meter, metered

__all__ = ["read"]

# Executors keep memory that they have used before for smaller arrays only: see `memory.rs`.
BLOCK_NBYTES = 30 << 20
# A header of a few bytes can say any number of rows.
MAX_BLOCKS = 1 << 20


def read(
    url: str | os.PathLike[str],
    *,
    format: str | None = None,
    block_rows: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Array | Frame:
    """Read a file into an array or a frame, each block by a worker.

    Parameters
    ----------
    url
        A path, or a URL such as ``hdfs://host:port/path``. A path has to lead to the same file
        on every worker.
    format
        One of ``freestone.io.formats.FORMATS``; by default what the name says.
    block_rows
        Rows per block; by default so many that a block has about 30 MiB, and that each executor
        gets one. Without a cluster all rows are one block.
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
        raised when the block is used, or by ``persist()``.

    Raises
    ------
    FileMissingError, FileUnreadableError, FileError
        When it can't be opened.
    FormatError
        When it is not what its format says.
    UsageError
        When the name says no format, or there is no such option.

    Notes
    -----
    No byte of the rows goes through this program, unless there is no cluster, or the file is in
    this process's memory: then this process reads with all its cores. Without a cluster, the text
    of a CSV file in HDFS or an object store is kept while it is parsed, if it has at most 256 MiB;
    a larger one is fetched twice, a part at a time.
    """
    _check_one(url)
    if block_rows is not None and block_rows < 1:
        raise UsageError(f"block_rows={block_rows}: a block has at least one row")
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
        raise FormatError(dataset.place.url, reason)
    offsets = cuts_of(dataset.rows, rows)
    if not dataset.place.is_shared:
        return _here(dataset, offsets, progress)
    return _there(dataset, offsets, progress)


def _check_one(url: Any) -> None:
    """Refuse several files, whose order, types and columns somebody has to decide."""
    several = "Frame.from_files(paths, pandas.read_csv) makes a block of each file"
    if not isinstance(url, str | os.PathLike):
        raise UsageError(
            f"read() takes one path or URL, not what is of type {type(url).__name__}; for several "
            f"files, {several}, and np.concatenate joins arrays: "
            "np.concatenate([fs.read(path) for path in paths])"
        )
    name = str(os.fspath(url))
    is_pattern = any(sign in name for sign in "*?[") and "://" not in name
    if is_pattern and not os.path.exists(name):
        raise UsageError(
            f"read() takes one file, and none is called {name!r}; for all that match a pattern, "
            f"take paths = sorted(glob.glob({name!r})): {several}, and "
            "np.concatenate([fs.read(path) for path in paths]) joins arrays"
        )


def _there(dataset: Dataset, offsets: Offsets, progress: bool | None) -> Array | Frame:
    """Have each block read by a worker, if that matters by one where its bytes are."""
    name, columns, dtype = dataset.place.name, dataset.columns, dataset.dtype
    is_frame = dataset.kind == "frame"
    spec = Spec(
        collection=name,
        kind=dataset.kind,
        columns=None if is_frame else columns,
        dtype=None if is_frame else dtype,
    )
    with telling(dataset.place.url):
        hosts = _hosts(dataset, offsets)
    pieces = made(spec, dataset.read_block, offsets, {}, hosts)
    if is_frame:
        found: Array | Frame = Frame(pieces, offsets, name=name)
    else:
        found = Array(pieces, offsets, name=name, columns=columns, dtype=dtype)
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
    if dataset.place.by_host and len(machines) < 2:
        return []
    dataset.look_up()
    return [dataset.where(*cut) for cut in itertools.pairwise(offsets.tolist())]


def _here(dataset: Dataset, offsets: Offsets, progress: bool | None) -> Array | Frame:
    """Read all rows in this process, and cut them into blocks."""
    with metered(f"read {dataset.place.name}", Meter.of_reads(dataset.nbytes), progress):
        block = dataset.read(0, dataset.rows, threads=len(os.sched_getaffinity(0)))
    kind = Frame if dataset.kind == "frame" else Array
    starts, stops = offsets[:-1].tolist(), offsets[1:].tolist()
    blocks = [block] if len(starts) == 1 else split_rows(block, starts, stops)
    return kind._from_own(blocks, name=dataset.place.name)


def _block_rows(dataset: Dataset, slots: int) -> int:
    """Return how many rows make blocks of a good size, in whole units of the file."""
    by_size = BLOCK_NBYTES / max(dataset.row_nbytes, 1e-3)
    by_slot = -(-dataset.rows // slots)
    unit = dataset.unit_rows
    units = max(int(np.ceil(min(by_size, by_slot) / unit)), 1)
    return units * unit
