"""Medians, quantiles and percentiles along rows or columns, by blocks."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.rows import concatenate
from freestone.lang.arrays.blockwise import array_of, called, in_blocks, several
from freestone.lang.arrays.nodes import Node, refusal
from freestone.lang.arrays.sorting import columns_of

__all__ = ["along_columns", "along_rows"]

_MAX_PARTS = 64
"""The result of several quantiles of each row has at most so many blocks."""


def along_columns(
    name: str,
    arg: Node,
    axes: tuple[int, ...],
    *args: Any,
    keepdims: bool = False,
    **options: Any,
) -> Array:
    """Return what `numpy.quantile`, or its like, gives along the rows, as one block.

    Notes
    -----
    Axes behind the rows are put below each other first. Each value travels once, to the call that
    has its column; results are as small as a row.
    """
    function = functools.partial(getattr(np, name), axis=0, **options)
    array = _checked(name, arg)
    # NumPy's error for bad arguments, and the shape of what it gives.
    sample = np.asarray(function(np.ones((1, 1), arg.dtype), *args))
    first = sample.shape[:-1]
    sides = [1 if at in axes else side for at, side in enumerate(array.shape)]
    shape = first + tuple(side for at, side in enumerate(sides) if keepdims or at not in axes)
    client, array = array.client, _below_each_other(array, axes)
    done = [called(client, _of_columns, function, args, *pieces) for pieces in columns_of(array)]
    made = called(client, _joined, shape, sample.dtype, *done)
    return Array([made], None, name=name, columns=shape[1:])


def along_rows(name: str, arg: Node, axes: tuple[int, ...], q: Any, **options: Any) -> Array:
    """Return several quantiles of each row: a block for each along the first axis of `q`.

    Notes
    -----
    Each block is put in order once. What it gives travels to the call that joins the results of
    all blocks, and is as large as the rows' first elements, once for each quantile.
    """
    wanted = np.asarray(q)
    function = functools.partial(getattr(np, name), q=q, axis=axes, **options)
    array = _checked(name, arg)
    # NumPy's error for bad arguments, and the shape of what it gives.
    sample = np.asarray(function(np.ones((1, *array.shape[1:]), arg.dtype)))
    if not wanted.size:
        raise refusal(f"np.{name}", f"takes no q of shape {wanted.shape}")
    client, parts = array.client, min(len(wanted), _MAX_PARTS)
    cuts = np.linspace(0, len(wanted), parts + 1).astype(int).tolist()
    done = [
        several(client, parts, _of_rows, function, sample.dtype, cuts, piece)
        for piece, rows in zip(array.blocks, np.diff(array.offsets), strict=True)
        if rows
    ]
    made = [
        called(client, _one_after_another, wanted.ndim, *part) for part in zip(*done, strict=True)
    ]
    shape = (*sample.shape[: wanted.ndim], len(array), *sample.shape[wanted.ndim + 1 :])
    return array_of(client, name, made, np.empty((0, *shape[1:]), sample.dtype))


def _checked(name: str, arg: Node) -> Array:
    array = in_blocks(name, arg)
    if not len(array) or 0 in array.shape:
        raise refusal(f"np.{name}", f"takes no array of shape {array.shape}")
    return array


def _below_each_other(array: Array, axes: tuple[int, ...]) -> Array:
    """Put the elements along some axes, rows among them, below each other."""
    if axes == (0,):
        return array
    kept = tuple(side for at, side in enumerate(array.shape) if at not in axes)
    pieces = [called(array.client, _flattened, axes, piece) for piece in array.blocks]
    return array_of(array.client, array.name, pieces, np.empty((0, *kept), array.dtype))


def _flattened(axes: Sequence[int], block: Any) -> Any:
    moved = np.moveaxis(block, axes, range(len(axes)))
    kept = moved.shape[len(axes) :]
    return np.ascontiguousarray(moved.reshape(block.size // int(np.prod(kept)), *kept))


def _of_columns(function: Callable[..., Any], args: tuple[Any, ...], *pieces: Any) -> Any:
    return function(concatenate(pieces), *args)


def _joined(shape: tuple[int, ...], dtype: Any, *parts: Any) -> Any:
    return np.concatenate(parts, axis=-1, dtype=dtype).reshape(shape)


def _of_rows(function: Callable[..., Any], dtype: Any, cuts: Sequence[int], block: Any) -> Any:
    # Of rows that are all NaN, NumPy's functions without NaN give the type of the values.
    found = function(block).astype(dtype, copy=False)
    return tuple(found[start:stop] for start, stop in itertools.pairwise(cuts))


def _one_after_another(axis: int, *parts: Any) -> Any:
    return np.concatenate(parts, axis=axis)
