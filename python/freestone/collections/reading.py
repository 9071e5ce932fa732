"""Files as collections."""

from __future__ import annotations

import itertools
import os
from typing import Any

import numpy as np

from freestone.cluster import current
from freestone.collections.array import Array
from freestone.collections.blocking import Offsets, cuts_of
from freestone.collections.frame import Frame
from freestone.collections.making import Spec
from freestone.collections.meters import Meter, metered
from freestone.collections.sources import made
from freestone.io import Dataset, open_dataset
from freestone.io.telling import telling

__all__ = ["read"]

BLOCK_NBYTES = 32 << 20


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
        Rows per block; by default so many that a block has about 32 MiB, and that each executor
        gets one. Without a cluster all rows are one block.
    progress
        Whether to show a bar with bytes a second when it takes longer than a second; by default if
        standard error is a terminal. With a cluster the call does not wait: `freestone.progress`
        shows how far blocks are.
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
    No byte of the rows goes through this program, unless there is no cluster: then this process
    reads with all its cores.
    """
    dataset = open_dataset(url, format=format, **options)
    cluster = current()
    if cluster is None:
        return _here(dataset, progress)
    rows = block_rows or _block_rows(dataset, max(cluster.slots, 1))
    return _there(dataset, cuts_of(dataset.rows, rows))


def _there(dataset: Dataset, offsets: Offsets) -> Array | Frame:
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
        hosts = [dataset.where(*cut) for cut in itertools.pairwise(offsets.tolist())]
    pieces = made(spec, dataset.read, offsets, {}, hosts)
    if is_frame:
        return Frame(pieces, offsets, name=name)
    return Array(pieces, offsets, name=name, columns=columns, dtype=dtype)


def _here(dataset: Dataset, progress: bool | None) -> Array | Frame:
    nbytes = int(dataset.stamp[0]) if dataset.stamp else 0
    with metered(f"read {dataset.place.name}", Meter.of_reads(nbytes), progress):
        block = dataset.read(0, dataset.rows, threads=len(os.sched_getaffinity(0)))
    kind = Frame if dataset.kind == "frame" else Array
    return kind.from_blocks([block], name=dataset.place.name)


def _block_rows(dataset: Dataset, slots: int) -> int:
    """Return how many rows make blocks of a good size, in whole units of the file."""
    by_size = BLOCK_NBYTES / max(dataset.row_nbytes, 1e-3)
    by_slot = -(-dataset.rows // slots)
    unit = dataset.unit_rows
    units = max(int(np.ceil(min(by_size, by_slot) / unit)), 1)
    return units * unit
