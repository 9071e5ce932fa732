"""Compiled kernels on the rows of large matrices, by all threads, in fused runs.

An operation that works row by row, or adds up rows, is called on as many ranges of rows as there
are workers, at the same time, as operations in pipelines are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from freestone.lang.compile.roles import ROWS, Roles, roles_of
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels.memory import workers
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["by_rows"]

MIN_BYTES = 1 << 20
"""From how many bytes on a matrix is cut: to start threads takes some tens of microseconds."""

Call = Callable[[list[Any], int], Sequence[Any]]
_COMBINE: dict[str, Any] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def by_rows(run: Any, op: Op, given: list[Any], call: Call) -> Sequence[Any]:
    """Call a kernel on ranges of rows, or once where that can't be done or is not worth it.

    Parameters
    ----------
    run : Run
        Whose settings say whether, and by how many workers.
    op : Op
        What the kernel computes.
    given : list
        What the kernel is given.
    call : callable
        Calls it with some rows, and the number of threads that it may use.

    Returns
    -------
    sequence
        Its results.
    """
    count = workers(run)
    roles = _roles(op, given) if run.settings.vec and count > 1 else None
    if roles is None:
        return call(given, count)
    rows = next(v.shape[0] for v, r in zip(given, roles.operands, strict=True) if r == ROWS)
    ends = [rows * part // count for part in range(count + 1)]
    parts = [_rows(given, roles, *pair) for pair in pairwise(ends) if pair[0] < pair[1]]
    with ThreadPoolExecutor(len(parts)) as threads:
        made = [found for (found,) in threads.map(lambda part: call(part, 1), parts)]
    return [_joined(made, roles, op)]


def _roles(op: Op, given: Sequence[Any]) -> Roles | None:
    """Tell how the kernel works on rows; None if it is called once."""
    if len(op.results) != 1 or not all(
        isinstance(v, int | float | np.ndarray | Csr) for v in given
    ):
        return None
    shapes = [value.shape if hasattr(value, "shape") else () for value in given]
    matrices = [value for value in given if hasattr(value, "shape")]
    largest = max((_nbytes(value) for value in matrices), default=0)
    if largest < MIN_BYTES:
        return None
    rows = max(shape[0] for shape in shapes if shape)
    roles = roles_of(op, shapes, rows)
    if roles is None or (roles.result != ROWS and roles.result not in _COMBINE):
        return None
    # Which rows a filter keeps is its own affair, but what is joined has to be in order.
    return None if op.kind in ("filter_rows", "map") else roles


def _nbytes(value: Any) -> int:
    return sum(part.nbytes for part in (value.arrays if isinstance(value, Csr) else (value,)))


def _rows(given: Sequence[Any], roles: Roles, start: int, stop: int) -> list[Any]:
    return [
        value
        if role != ROWS
        else value.rows(start, stop)
        if isinstance(value, Csr)
        else value[start:stop]
        for value, role in zip(given, roles.operands, strict=True)
    ]


def _joined(made: Sequence[Any], roles: Roles, op: Op) -> Any:
    if roles.result == ROWS:
        csr = all(isinstance(part, Csr) for part in made)
        return Csr.joined(made) if csr else np.concatenate(made)
    type = op.results[0].type
    with np.errstate(all="ignore"):
        whole = np.asarray(
            functools.reduce(
                _COMBINE[roles.result], [np.asarray(part, DTYPES[type.cell]) for part in made]
            )
        )
    return whole.item() if type.data == "scalar" else whole
