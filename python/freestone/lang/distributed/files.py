"""Files of scripts whose large matrices are in blocks: read, and written, by the workers."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone import _native
from freestone.collections import Array
from freestone.collections.placing import dealt, drawn_to
from freestone.errors import FreestoneError
from freestone.io import Dataset, open_dataset
from freestone.lang.distributed.split import Split
from freestone.lang.kernels.elementwise import converted
from freestone.lang.kernels.files import holds_entries, written
from freestone.lang.kernels.sparse import Csr
from freestone.lang.plan.graph import Op
from freestone.lang.types.types import DTYPES, SIZES, Type

if TYPE_CHECKING:
    from freestone.lang.distributed.running import DistributedRun

__all__ = ["read_blocks", "write_blocks"]


def read_blocks(run: DistributedRun, op: Op, path: str) -> Split | None:
    """Have each block of a matrix read by a worker; None for what is small, or no matrix.

    The path has to lead to the same file on every worker.
    """
    type = op.results[0].type
    if type.data != "matrix" or type.cell == "str":
        return None
    try:
        dataset = open_dataset(path)
    except FreestoneError:
        # Told by whoever reads it here.
        return None
    nbytes = _nbytes(dataset, type)
    if dataset.kind != "array" or not dataset.columns or dataset.rows < 2:
        return None
    if nbytes < max(run.settings.distributed_bytes, 1):
        return None
    offsets = run.offsets(dataset.rows, nbytes)
    cuts = np.array(offsets, np.int64)
    pairs = list(pairwise(offsets))
    hosts = [dataset.where(*pair) for pair in pairs]
    place = drawn_to(run.cluster, cuts, hosts) if any(hosts) else dealt(run.cluster, cuts)
    name = f"read {dataset.place.name}"
    blocks = [
        run.cluster._submit(
            _rows, (dataset, type.cell, type.csr, *pair), {}, {"near": near, "name": name}
        )
        for pair, near in zip(pairs, place, strict=True)
    ]
    return run.split(blocks, offsets, int(dataset.columns[0]), type.cell, csr=type.csr)


def _nbytes(dataset: Dataset, type: Type) -> int:
    cells = dataset.nonzeros if type.csr else None
    count = dataset.rows * int(dataset.columns[0]) if dataset.columns else dataset.rows
    return (count if cells is None else cells) * SIZES[type.cell]


def _rows(dataset: Dataset, cell: str, csr: bool, start: int, stop: int) -> _native.Stored:
    block = dataset.read(start, stop)
    if csr and hasattr(block, "toarray"):
        return _native.Stored(Csr.of_scipy(block.astype(DTYPES[cell])))
    dense = block.toarray() if hasattr(block, "toarray") else block
    found = converted(np.ascontiguousarray(dense), cell)
    return _native.Stored(Csr.of(found) if csr else found)


def write_blocks(run: DistributedRun, op: Op, operands: list[Any]) -> list[Any] | None:
    """Have each block of a matrix written by the worker that has it."""
    split, path = operands
    if not isinstance(split, Split):
        return None
    blocks, offsets = split.blocks, np.array(split.offsets, np.int64)
    if split.csr and not holds_entries(path):
        return None
    if split.csr:
        blocks = run.cluster.map(_to_scipy, blocks, near="input")
    written(Array(blocks, offsets, name=os.path.basename(path)), path)
    return [None]


def _to_scipy(block: Any) -> _native.Stored:
    sparse = block if isinstance(block, Csr) else Csr.of(block)
    return _native.Stored(sparse.to_scipy())
