"""Values in order, and the order of values: by ranges of values, or column by column.

Blocks are sorted where they are, and cut at values that a sample of them says; what is between two
of those goes to one worker. Equal values are in one part. Along the rows of an array of several
columns, each call gets all rows of some columns, if they are not too many.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.client import Client
from freestone.client.future import Future
from freestone.collections import Array
from freestone.collections.rows import concatenate
from freestone.lang.arrays.blockwise import array_of, called, in_blocks, several
from freestone.lang.arrays.computing import computed
from freestone.lang.arrays.nodes import Node, cut_up, refusal, source

__all__ = ["along_columns", "by_range", "columns_of", "lexsort", "of_all"]

PART_NBYTES = 64 << 20
"""No call puts more values in order, if none is there more often."""
SAMPLES = 256
"""So many values of each block say where the parts of all begin."""

Parts = list[tuple[Any, ...]]


def of_all(name: str, arg: Node) -> Array:
    """Return what `numpy.sort` or `numpy.argsort` gives of the flattened array, in blocks."""
    array = in_blocks(name, arg)
    if name == "argsort":
        return _order([array])
    client = array.client
    runs = [(called(client, _sorted, piece),) for piece in array.blocks]
    parts = by_range(client, runs, _merged)
    return array_of(client, "sort", [run for (run,) in parts], np.empty(0, array.dtype))


def lexsort(keys: Sequence[Node], axis: Any = -1) -> Array:
    """Return what `numpy.lexsort` does of vectors in the same blocks, in blocks."""
    if isinstance(keys, Node) or axis not in (0, -1):
        raise refusal("np.lexsort", "takes a tuple of vectors")
    rows = next((key.rows for key in keys if key.rows is not None), None)
    if rows is None or any(key.ndim != 1 for key in keys):
        raise refusal("np.lexsort", "takes vectors in blocks")
    shapes = {key.shape for key in keys}
    if len(shapes) > 1 and (None,) not in shapes:
        raise ValueError(f"all keys need to be the same shape: {', '.join(map(str, shapes))}")
    nodes = [cut_up(np.asarray(computed(key)), rows) if key.rows is None else key for key in keys]
    if any(node.rows != rows for node in nodes):
        raise refusal("np.lexsort", "takes vectors in the same blocks: rechunk() some")
    return _order([in_blocks("lexsort", node) for node in nodes])


def _order(keys: Sequence[Array]) -> Array:
    """Return the positions of elements in order of their keys, of which the last counts most."""
    client, width = keys[0].client, int(np.prod(keys[0].shape[1:]))
    starts = (keys[0].offsets[:-1] * width).tolist()
    blocks = zip(*[key.blocks for key in keys], strict=True)
    runs = [
        several(client, 1 + len(keys), _ordered, start, *pieces)
        for start, pieces in zip(starts, blocks, strict=True)
    ]
    parts = by_range(client, runs, _merged_order, outputs=1)
    return array_of(client, "order", [order for (order,) in parts], np.empty(0, np.intp))


def _sorted(block: Any) -> Any:
    return np.sort(block, axis=None)


def _merged(count: int, *runs: Any) -> Any:
    # A stable sort finds the runs.
    return (np.sort(concatenate(runs), kind="stable"),)


def _ordered(start: int, *keys: Any) -> Any:
    """Return the last key in order, the positions of its values, and the other keys."""
    flat = [np.ravel(key) for key in keys]
    order = np.lexsort(flat)
    *others, last = [key[order] for key in flat]
    return last, order + start, *others


def _merged_order(count: int, *runs: Any) -> Any:
    """Return the positions of some runs in order; those of equal keys stay in order of blocks."""
    last, positions, *others = [concatenate(runs[column::count]) for column in range(count)]
    return (positions[np.lexsort([*others, last])],)


# -- by ranges of values ----------------------------------------------------------------------


def by_range(
    client: Client | None, runs: Parts, merge: Callable[..., Any], outputs: int | None = None
) -> Parts:
    """Put runs in order together: each has sorted values, and what goes with them.

    Parameters
    ----------
    client
        The cluster that has them; None if they are here.
    runs
        Of each block, in order.
    merge
        Called with how many items a run has, and the items of runs; returns those of a part.
    outputs
        How many items a part has; as many as a run by default.
    """
    count = len(runs[0]) if runs else 1
    cuts = None if client is None else _cuts(client, [run[0] for run in runs])
    if cuts is None or not len(cuts):
        parts = [[item for run in runs for item in run]] if runs else []
    else:
        number = len(cuts) + 1
        cut = [several(client, number * count, _cut_at, cuts, *run) for run in runs]
        parts = [
            [item for run in cut for item in run[part * count : (part + 1) * count]]
            for part in range(number)
        ]
    return [several(client, outputs or count, merge, count, *part) for part in parts]


def _cuts(client: Client, runs: Sequence[Future[Any]]) -> Any:
    """Return the values at which parts begin, so that all are about as large; None for one part."""
    samples = [future.result() for future in [called(client, _sampled, run) for run in runs]]
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
    pairs = itertools.pairwise(places)
    return tuple(item[start:stop] for start, stop in pairs for item in run)


# -- column by column -------------------------------------------------------------------------


def along_columns(name: str, arg: Node, **options: Any) -> Array:
    """Return what `numpy.sort` or `numpy.argsort` gives along the rows, in the same blocks.

    Parameters
    ----------
    name
        The function's name.
    arg
        Of two dimensions or more.
    options
        Those of the function.
    """
    function = functools.partial(getattr(np, name), axis=0, **options)
    array = in_blocks(name, arg)
    client, rows = array.client, np.diff(array.offsets)
    width = int(np.prod(array.shape[1:]))
    dtype = np.dtype(np.intp) if name == "argsort" else array.dtype
    if not width or np.count_nonzero(rows) < 2:
        return array.map_blocks(function, shape=array.shape, dtype=dtype, name=name)
    column_nbytes = len(array) * array.dtype.itemsize
    slots = 1 if client is None else min(client.slots, len(rows))
    if client is not None and (column_nbytes > PART_NBYTES or width < slots):
        return _each_column(name, array, width, dtype)
    sides = array.offsets.tolist()
    done = [
        several(client, len(rows), _by_columns, function, sides, *pieces)
        for pieces in columns_of(array)
    ]
    return _joined(name, array, list(zip(*done, strict=True)), array.offsets, dtype)


def columns_of(array: Array) -> list[tuple[Any, ...]]:
    """Cut blocks into groups of columns; return for each group its pieces of all blocks."""
    client, width = array.client, int(np.prod(array.shape[1:]))
    slots = 1 if client is None else min(client.slots, len(array.blocks))
    nbytes = len(array) * array.dtype.itemsize * width
    groups = min(width, max(slots, nbytes // PART_NBYTES))
    cuts = np.linspace(0, width, groups + 1).astype(int).tolist()
    cut = [several(client, groups, _columns_between, cuts, piece) for piece in array.blocks]
    return list(zip(*cut, strict=True))


def _each_column(name: str, array: Array, width: int, dtype: Any) -> Array:
    """Put each column in order by ranges of its values."""
    columns = []
    shape = array.shape[:1]
    for column in range(width):
        take = functools.partial(_column_of, column)
        one = array.map_blocks(take, shape=shape, dtype=array.dtype, name="column")
        columns.append(of_all(name, source(one)).rechunk(array.offsets))
    pieces = list(zip(*[column.blocks for column in columns], strict=True))
    return _joined(name, array, pieces, columns[0].offsets, dtype)


def _joined(name: str, array: Array, pieces: Sequence[Any], offsets: Any, dtype: Any) -> Array:
    """Return an array of blocks whose columns are in several pieces."""
    shape = array.shape[1:]
    made = [called(array.client, _side_by_side, shape, *block) for block in pieces]
    return Array(made, offsets, name=name, columns=shape, dtype=dtype)


def _columns_between(cuts: Sequence[int], block: Any) -> Any:
    flat = block.reshape(len(block), cuts[-1])
    return tuple(np.ascontiguousarray(flat[:, a:b]) for a, b in itertools.pairwise(cuts))


def _column_of(column: int, block: Any) -> Any:
    return np.ascontiguousarray(block.reshape(len(block), int(np.prod(block.shape[1:])))[:, column])


def _by_columns(function: Callable[..., Any], offsets: Sequence[int], *pieces: Any) -> Any:
    whole = function(concatenate(pieces))
    return tuple(whole[start:stop] for start, stop in itertools.pairwise(offsets))


def _side_by_side(shape: tuple[int, ...], *pieces: Any) -> Any:
    flat = [piece[:, None] if piece.ndim == 1 else piece for piece in pieces]
    whole = np.concatenate(flat, axis=1, dtype=flat[0].dtype)
    return whole.reshape(len(whole), *shape)
