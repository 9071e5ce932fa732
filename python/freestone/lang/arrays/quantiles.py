"""Medians, quantiles and percentiles along the rows: each call gets all rows of some columns."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.rows import concatenate
from freestone.lang.arrays.blockwise import called, in_blocks
from freestone.lang.arrays.nodes import Node, refusal
from freestone.lang.arrays.sorting import columns_of
from freestone.lang.arrays.totals import axes_of

__all__ = ["along_columns"]


def along_columns(name: str, arg: Node, axis: Any, *args: Any, **options: Any) -> Array:
    """Return what `numpy.quantile`, or its like, gives along the rows, as one block.

    Notes
    -----
    Each value travels once, to the call that has its column; results are as small as a row.
    """
    is_along = arg.rows is not None and arg.ndim > 1 and axes_of(axis, arg.ndim) == (0,)
    refused = ("keepdims", "out", "weights")
    if not is_along or any(options.get(word) is not None for word in refused):
        raise refusal(f"np.{name}", "goes along the rows of a matrix, axis=0")
    options = {word: option for word, option in options.items() if word != "overwrite_input"}
    function = functools.partial(getattr(np, name), axis=0, **options)
    # NumPy's error for bad arguments, and the shape of what it gives.
    sample = np.asarray(function(np.ones((1, 1), arg.dtype), *args))
    array = in_blocks(name, arg)
    if not len(array) or 0 in array.shape:
        raise refusal(f"np.{name}", f"takes no array of shape {array.shape}")
    client, shape = array.client, sample.shape[:-1] + array.shape[1:]
    done = [called(client, _of_columns, function, args, *pieces) for pieces in columns_of(array)]
    made = called(client, _joined, shape, *done)
    return Array([made], None, name=name, columns=shape[1:])


def _of_columns(function: Callable[..., Any], args: tuple[Any, ...], *pieces: Any) -> Any:
    return function(concatenate(pieces), *args)


def _joined(shape: tuple[int, ...], *parts: Any) -> Any:
    return np.concatenate(parts, axis=-1, dtype=parts[0].dtype).reshape(shape)
