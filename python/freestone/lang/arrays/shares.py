"""What each block finds by itself, put together: unique values, counts, a tall QR.

These are computed at once: how large their results are, or which rows are in which block of them,
is known only from the data. No call gets all rows, and none goes through the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.client.reduction import reduce
from freestone.collections import Array
from freestone.collections.rows import concatenate
from freestone.lang.arrays.blockwise import array_of, called, in_blocks, several
from freestone.lang.arrays.computing import as_array
from freestone.lang.arrays.nodes import Node, Rows, cut_up, refusal, value
from freestone.lang.arrays.sorting import by_range

__all__ = ["bincount", "qr", "unique"]


def unique(
    arg: Node,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """Return what `numpy.unique` does, as arrays in blocks.

    Notes
    -----
    Only what is unique in a block leaves it.
    """
    if return_inverse or axis is not None:
        word = "return_inverse" if return_inverse else f"axis={axis}"
        raise refusal("np.unique", f"takes no {word} here")
    array = in_blocks("unique", arg)
    client, width = array.client, int(np.prod(array.shape[1:]))
    starts = (array.offsets[:-1] * width).tolist()
    outputs = 3 if return_index or return_counts else 1
    runs = [
        several(client, outputs, _unique_block, piece, start, equal_nan, outputs > 1)
        for piece, start in zip(array.blocks, starts, strict=True)
    ]
    merge = _Uniques(equal_nan)
    parts = by_range(client, runs, merge)
    columns = list(zip(*parts, strict=True)) or [()] * outputs
    indexes = np.empty(0, np.intp)
    values = np.unique(np.empty(0, array.dtype))
    made = [array_of(client, "unique", columns[0], values)]
    for wanted, column in ((return_index, 1), (return_counts, 2)):
        if wanted:
            made.append(array_of(client, "unique", columns[column], indexes))
    return tuple(made) if len(made) > 1 else made[0]


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Array:
    """Return what `numpy.bincount` does, as an array of one block: the counts of blocks, added."""
    node = x if isinstance(x, Node) else value(x)
    weights = weights if weights is None or isinstance(weights, Node) else value(weights)
    given = [
        None if one is None else np.empty((0,) * one.ndim, one.dtype) for one in (node, weights)
    ]
    # What NumPy refuses of an empty array, it refuses of all.
    empty = np.bincount(given[0], given[1], minlength)  # type: ignore[arg-type]
    array = in_blocks("bincount", node)
    columns: list[Sequence[Any]] = [array.blocks]
    if weights is not None:
        columns.append(_beside(array, weights).blocks)
    client = array.client
    counts = [called(client, _counted, minlength, *blocks) for blocks in zip(*columns, strict=True)]
    if not counts:
        return array_of(client, "bincount", [], empty)
    if weights is not None and len(array):
        # NumPy gives whole numbers for no weights, and only then.
        empty = empty.astype(float)
    # Sums of weights depend on their order.
    total = reduce(_added, counts, commutes=weights is None)
    return array_of(client, "bincount", [total if client is not None else total.result()], empty)


def qr(a: Node, mode: str = "reduced") -> Any:
    """Return what `numpy.linalg.qr` does of a tall array: Q in the same blocks, R in one.

    Notes
    -----
    TSQR: of each block, then of their triangles, which one call gets: ``blocks * k * k`` numbers
    for `k` columns. Signs of columns may differ from NumPy's, which gives no rule for them.

    References
    ----------
    Demmel, Grigori, Hoemmen and Langou, Communication-optimal parallel and sequential QR and LU
    factorizations, SIAM J. Sci. Comput. 34 (2012), section 3.
    """
    if mode not in ("reduced", "r") or a.ndim != 2:
        raise refusal("np.linalg.qr", f"takes matrices and no mode={mode!r} here")
    sample = np.linalg.qr(np.ones((1, 1), a.dtype))
    array = in_blocks("linalg.qr", a)
    rows, columns = array.shape
    if rows < columns or not columns:
        raise refusal("np.linalg.qr", f"takes tall arrays, not one of shape {array.shape}")
    client = array.client
    factors = [several(client, 2, _factored, piece) for piece in array.blocks]
    triangles = [triangle for _, triangle in factors]
    whole, *turns = several(client, 1 + len(factors), _factored_again, *triangles)
    r = array_of(client, "qr", [whole], np.empty((0, columns), sample.R.dtype))
    if mode == "r":
        return r
    pieces = [
        called(client, np.matmul, q, turn) for (q, _), turn in zip(factors, turns, strict=True)
    ]
    dtype = sample.Q.dtype
    q = Array(pieces, array.offsets, name="qr", columns=(columns,), dtype=dtype)
    factors_of: Callable[..., Any] = type(sample)
    return factors_of(q, r)


# -- what blocks do --------------------------------------------------------------------------


def _beside(array: Array, weights: Node) -> Array:
    """Return weights in the same blocks."""
    if weights.rows is not None:
        other = as_array(weights)
    else:
        data = np.asarray(weights.attrs["data"]) if weights.kind == "value" else None
        if data is None:
            raise refusal("np.bincount", "takes no weights that are sums of rows")
        if data.shape != (len(array),):
            raise ValueError(f"np.bincount of {len(array):,} values with {len(data):,} weights")
        other = cut_up(data, Rows.of(array.offsets)).attrs["data"]
    if len(other) != len(array):
        raise ValueError(f"np.bincount of {len(array):,} values with {len(other):,} weights")
    return other.rechunk(array.offsets)


def _unique_block(block: Any, start: int, equal_nan: bool, counted: bool) -> Any:
    if not counted:
        return (np.unique(block, equal_nan=equal_nan),)
    values, index, counts = np.unique(
        block, return_index=True, return_counts=True, equal_nan=equal_nan
    )
    return values, index + start, counts


class _Uniques:
    """Puts what is unique in some blocks together."""

    __name__ = "unique"

    def __init__(self, equal_nan: bool) -> None:
        self.equal_nan = equal_nan

    def __call__(self, outputs: int, *runs: Any) -> Any:
        values = concatenate(runs[::outputs])
        if outputs == 1:
            return (np.unique(values, equal_nan=self.equal_nan),)
        index, counts = (np.concatenate(runs[column::outputs]) for column in (1, 2))
        found, first, inverse = np.unique(
            values, return_index=True, return_inverse=True, equal_nan=self.equal_nan
        )
        totals = np.zeros(len(found), np.intp)
        np.add.at(totals, inverse, counts)
        # Blocks are in order, so that the first one that has a value has its first index.
        return found, index[first], totals


# -- counts and factors -----------------------------------------------------------------------


def _counted(minlength: int, block: Any, weights: Any = None) -> Any:
    return np.bincount(block, weights, minlength)


def _added(one: Any, other: Any) -> Any:
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    # NumPy counts no values as integers, whatever their weights.
    total = long.astype(np.result_type(one, other))
    total[: len(short)] += short
    return total


def _factored(block: Any) -> Any:
    return tuple(np.linalg.qr(block))


def _factored_again(*triangles: Any) -> Any:
    """Return R of all, and by what each block's Q is multiplied."""
    q, r = np.linalg.qr(np.concatenate(triangles))
    stops = np.cumsum([len(triangle) for triangle in triangles])
    return r, *np.split(q, stops[:-1])
