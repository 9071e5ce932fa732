"""What each block finds by itself, put together: sorted and unique values, counts, a tall QR.

These are computed at once: how large their results are, or which rows are in which block of them,
is known only from the data. No call gets all rows, and none goes through the program.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.client import Client
from freestone.client.future import Future
from freestone.client.reduction import reduce
from freestone.collections import Array
from freestone.collections.base import require_same_blocking
from freestone.collections.pieces import value_of
from freestone.collections.rows import concatenate
from freestone.lang.arrays.computing import as_array
from freestone.lang.arrays.nodes import Node, cut_up, refusal, value

__all__ = ["bincount", "qr", "sort", "unique"]

KINDS = "biufcmMSU"
"""Types that NumPy sorts by value; there are others, of records, that it sorts by fields."""
PART_NBYTES = 64 << 20
"""No call puts more values in order, if none is there more often."""
SAMPLES = 256
"""So many values of each block say where the parts of all begin."""

Parts = list[tuple[Any, ...]]


def sort(arg: Node) -> Array:
    """Return all values in order, in blocks, as `numpy.sort` of the flattened array.

    Notes
    -----
    Blocks are sorted where they are, and cut at values that a sample of them says; what is between
    two of those goes to one worker. Equal values are in one block.
    """
    array = _in_blocks("sort", arg)
    client = array.client
    runs = [(_called(client, _sorted, piece),) for piece in array.blocks]
    parts = _by_range(client, runs, _merged)
    return _array(client, "sort", [run for (run,) in parts], np.empty(0, array.dtype))


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
    array = _in_blocks("unique", arg)
    client, width = array.client, int(np.prod(array.shape[1:]))
    starts = (array.offsets[:-1] * width).tolist()
    outputs = 3 if return_index or return_counts else 1
    runs = [
        _several(client, outputs, _unique_block, piece, start, equal_nan, outputs > 1)
        for piece, start in zip(array.blocks, starts, strict=True)
    ]
    merge = _Uniques(equal_nan)
    parts = _by_range(client, runs, merge)
    columns = list(zip(*parts, strict=True)) or [()] * outputs
    indexes = np.empty(0, np.intp)
    values = np.unique(np.empty(0, array.dtype))
    made = [_array(client, "unique", columns[0], values)]
    for wanted, column in ((return_index, 1), (return_counts, 2)):
        if wanted:
            made.append(_array(client, "unique", columns[column], indexes))
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
    array = _in_blocks("bincount", node)
    columns: list[Sequence[Any]] = [array.blocks]
    if weights is not None:
        columns.append(_beside(array, weights).blocks)
    client = array.client
    counts = [
        _called(client, _counted, minlength, *blocks) for blocks in zip(*columns, strict=True)
    ]
    if not counts:
        return _array(client, "bincount", [], empty)
    if weights is not None and len(array):
        # NumPy gives whole numbers for no weights, and only then.
        empty = empty.astype(float)
    # Sums of weights depend on their order.
    total = reduce(_added, counts, commutes=weights is None)
    return _array(client, "bincount", [total if client is not None else total.result()], empty)


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
    array = _in_blocks("linalg.qr", a)
    rows, columns = array.shape
    if rows < columns or not columns:
        raise refusal("np.linalg.qr", f"takes tall arrays, not one of shape {array.shape}")
    client = array.client
    factors = [_several(client, 2, _factored, piece) for piece in array.blocks]
    triangles = [triangle for _, triangle in factors]
    whole, *turns = _several(client, 1 + len(factors), _factored_again, *triangles)
    r = _array(client, "qr", [whole], np.empty((0, columns), sample.R.dtype))
    if mode == "r":
        return r
    pieces = [
        _called(client, np.matmul, q, turn) for (q, _), turn in zip(factors, turns, strict=True)
    ]
    dtype = sample.Q.dtype
    q = Array(pieces, array.offsets, name="qr", columns=(columns,), dtype=dtype)
    factors_of: Callable[..., Any] = type(sample)
    return factors_of(q, r)


# -- calls on workers, or here ----------------------------------------------------------------


def _in_blocks(name: str, arg: Node) -> Array:
    """Return an array whose blocks can be looked at one by one."""
    if arg.rows is None or arg.kind == "turned" or arg.dtype.kind not in KINDS:
        raise refusal(f"np.{name}", f"takes rows in blocks, not {arg.shape} of {arg.dtype} here")
    array = as_array(arg)
    if array.blocks and array._first().sparse:
        raise refusal(f"np.{name}", "takes no sparse blocks")
    return array


def _called(client: Client | None, function: Callable[..., Any], *args: Any) -> Any:
    (made,) = _several(client, 1, function, *args)
    return made


def _several(
    client: Client | None, outputs: int, function: Callable[..., Any], *args: Any
) -> tuple[Any, ...]:
    """Call a function where its blocks are, and return what stands for each of its results."""
    if client is None:
        found = function(*map(value_of, args))
        return tuple(found) if outputs > 1 else (found,)
    options = {"name": function.__name__.strip("_"), "near": "input"}
    made = client.submit(function, args, {}, options, outputs)
    return tuple(made) if outputs > 1 else (made,)


def _array(client: Client | None, name: str, pieces: Sequence[Any], empty: Any) -> Array:
    """Return an array of blocks that are made; of one without rows if there are none."""
    if client is None or not pieces:
        return Array._from_own(pieces or [empty], name=name)
    columns, dtype = empty.shape[1:], empty.dtype
    # Texts may be of other lengths: the blocks say it.
    dtype = None if dtype.kind in "SU" else dtype
    return Array(list(pieces), None, name=name, columns=columns, dtype=dtype)


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
        other = cut_up(data, _rows_of(array)).attrs["data"]
    if len(other) != len(array):
        raise ValueError(f"np.bincount of {len(array):,} values with {len(other):,} weights")
    require_same_blocking(array, other)
    return other


def _rows_of(array: Array) -> Any:
    from freestone.lang.arrays.nodes import Rows

    return Rows.of(array.offsets)


# -- values in order --------------------------------------------------------------------------


def _by_range(client: Client | None, runs: Parts, merge: Callable[..., Any]) -> Parts:
    """Put runs in order together: each has sorted values, and what goes with them."""
    outputs = len(runs[0]) if runs else 1
    cuts = None if client is None else _cuts(client, [run[0] for run in runs])
    if cuts is None or not len(cuts):
        parts = [[item for run in runs for item in run]] if runs else []
    else:
        count = len(cuts) + 1
        cut = [_several(client, count * outputs, _cut_at, cuts, *run) for run in runs]
        parts = [
            [item for run in cut for item in run[part * outputs : (part + 1) * outputs]]
            for part in range(count)
        ]
    return [_several(client, outputs, merge, outputs, *part) for part in parts]


def _cuts(client: Client, runs: Sequence[Future[Any]]) -> Any:
    """Return the values at which parts begin, so that all are about as large; None for one part."""
    samples = [future.result() for future in [_called(client, _sampled, run) for run in runs]]
    samples = [sample for sample in samples if len(sample[0])]
    if not samples:
        return None
    values = concatenate([found for found, _ in samples])
    weights = np.concatenate([np.full(len(found), rows / len(found)) for found, rows in samples])
    nbytes = weights.sum() * values.itemsize
    parts = min(max(client.slots, int(nbytes / PART_NBYTES)), len(runs)) if nbytes else 1
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    places = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts)
    cuts = np.unique(values[order][places])
    # What is no number comes last.
    return cuts[cuts == cuts]


def _sampled(run: Any) -> tuple[Any, int]:
    """Return values at equal distances, and of how many they are."""
    places = np.linspace(0, max(len(run) - 1, 0), min(len(run), SAMPLES)).astype(int)
    return run[places], len(run)


def _cut_at(cuts: Any, *run: Any) -> Any:
    """Return the parts of a run that begin at some values, and of what goes with it."""
    places = [0, *np.searchsorted(run[0], cuts, "left").tolist(), len(run[0])]
    cut = [item[start:stop] for start, stop in itertools.pairwise(places) for item in run]
    return tuple(cut)


def _sorted(block: Any) -> Any:
    return np.sort(block, axis=None)


def _merged(outputs: int, *runs: Any) -> Any:
    # A stable sort finds the runs.
    return np.sort(concatenate(runs), kind="stable")


def _unique_block(block: Any, start: int, equal_nan: bool, counted: bool) -> Any:
    if not counted:
        return np.unique(block, equal_nan=equal_nan)
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
            return np.unique(values, equal_nan=self.equal_nan)
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
