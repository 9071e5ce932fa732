"""Files of scripts on a cluster: each worker reads and writes rows of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.collections.placing import dealt, drawn_to
from freestone.errors import FreestoneError
from freestone.errors.lang import ScriptRunError
from freestone.io import Dataset, open_dataset
from freestone.io.telling import telling
from freestone.lang.distributed.split import Split, as_dense
from freestone.lang.kernels.datasets import rows_of, save
from freestone.lang.kernels.files import describe
from freestone.lang.parse.source import Place, failure
from freestone.lang.plan.graph import Op

if TYPE_CHECKING:
    from freestone.lang.distributed.running import DistributedRun

__all__ = ["read", "write"]


def read(run: DistributedRun, op: Op, path: str) -> Split | None:
    """Have workers read a large matrix; None if it is small, or no matrix of numbers.

    Raises
    ------
    FreestoneError
        If the file can't be opened.
    """
    type = op.results[0].type
    if type.data != "matrix" or type.cell == "str" or type.coo:
        return None
    stored = describe(path)
    rows, columns = stored.rows or 0, stored.columns or 0
    nbytes = type.shaped(rows, columns).nbytes or 0
    if rows < 2 or nbytes < run.settings.distributed_bytes or not nbytes:
        return None
    dataset = _opened(path)
    offsets = run.offsets(rows, nbytes)
    if dataset.rows != rows:
        # The same message as without a cluster.
        return None
    number = run.cluster._define(read_rows, f"read {dataset.place.name}", True)
    workers = _workers(run, dataset, offsets)
    blocks = [
        run.cluster._call(
            number, (dataset, path, *cut, type.cell, type.csr, op.place), {"near": worker}, 1
        )
        for worker, cut in zip(workers, itertools.pairwise(offsets), strict=True)
    ]
    return run.split(blocks, offsets, columns, type.cell, csr=type.csr)


def _opened(path: str) -> Dataset:
    """Open a file by its whole path: workers have folders of their own."""
    try:
        return open_dataset(path if "://" in path else os.path.abspath(path))
    except FreestoneError as error:
        raise ValueError(_named(error, path)) from None


def _named(error: Exception, path: str) -> str:
    """Return what an error says, with the path as the script has it."""
    return str(error) if "://" in path else str(error).replace(os.path.abspath(path), path)


def _workers(run: DistributedRun, dataset: Dataset, offsets: tuple[int, ...]) -> list[int | None]:
    """Choose a worker for each block: one that is near its bytes, if that matters."""
    ends = np.array(offsets, np.int64)
    with telling(dataset.place.url):
        hosts = [dataset.where(*cut) for cut in itertools.pairwise(offsets)]
    return drawn_to(run.cluster, ends, hosts) if any(hosts) else dealt(run.cluster, ends)


def read_rows(
    dataset: Dataset,
    path: str,
    start: int,
    stop: int,
    cell: str,
    csr: bool,
    place: Place | None,
) -> Any:
    """Read the rows of a block, on a worker; what goes wrong has its place in the script."""
    try:
        return _native.Stored(rows_of(dataset, start, stop, cell, csr=csr))
    except (FreestoneError, ValueError, OSError) as error:
        problem = str(error).replace(dataset.place.url, path)
        raise failure(ScriptRunError, problem, place) from None


def write(run: DistributedRun, op: Op, operands: list[Any]) -> Sequence[Any] | None:
    """Write a matrix from the workers that have its blocks, into one file."""
    value, path = operands
    if not isinstance(value, Split):
        return None
    split = value
    if value.csr:
        number = run.cluster._define(dense_rows, "dense", True)
        blocks = [run.cluster._call(number, (block,), {}, 1) for block in value.blocks]
        split = run.split(blocks, value.offsets, value.columns, value.cell)
    save(path, op.operands[0].type, split.array())
    return [None]


def dense_rows(block: Any) -> Any:
    """Give all cells of a block, on a worker."""
    return _native.Stored(as_dense(block))
