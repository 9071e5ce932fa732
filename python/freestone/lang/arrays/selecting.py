"""The median and quantiles of all values of an array, by its blocks.

Samples of the blocks say between which two values the wanted one is, almost surely. Each block
counts what is below, and only what is in between, some percent of all, goes to one call. If the
wanted one is elsewhere after all, the bounds become wider.

References
----------
Floyd and Rivest, Expected time bounds for selection, Commun. ACM 18 (1975), section 2.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.pieces import value_of
from freestone.collections.rows import concatenate
from freestone.lang.arrays.blockwise import called, in_blocks, several
from freestone.lang.arrays.nodes import Node, refusal
from freestone.lang.arrays.ranks import positions

__all__ = ["of_all"]

Samples = list[tuple[Any, int]]

SAMPLES = 1024
"""So many values of each block say where the wanted one is."""
DEVIATIONS = 5
"""So many standard deviations of the sampled rank the bounds are off."""


def of_all(name: str, arg: Node, *q: Any, method: str = "linear", keepdims: bool = False) -> Any:
    """Return what `numpy.quantile`, `numpy.median` or their like give of all values."""
    found = _quantile(name, arg, q[0], method) if q else _median(name, arg)
    return np.reshape(found, np.shape(found) + (1,) * arg.ndim) if keepdims else found


def _median(name: str, arg: Node) -> Any:
    array = _checked(name, arg)
    count, samples = _sampled(name, array)
    if not count:
        return getattr(np, name)(np.full(1, np.nan, array.dtype))
    return np.median(_at_ranks(array, (count - 1) // 2, count // 2, samples))


def _quantile(name: str, arg: Node, q: Any, method: str) -> Any:
    array = _checked(name, arg)
    call = functools.partial(getattr(np, name), method=method)
    sample = call(np.zeros(1, array.dtype), q)  # NumPy's error for bad arguments
    count, samples = _sampled(name, array)
    if not count or not np.size(q):
        return call(np.full(1, np.nan, array.dtype), q)
    found = []
    for part in np.ravel(_as_fractions(name, q)):
        first, last, between = positions(method, count, part)
        pair = _at_ranks(array, first, last, samples)
        # With a number of Python's, NumPy goes from one value to the next in the values' own type.
        share = float(between) if between is not None and type(q) in (int, float) else between
        found.append(pair[0] if share is None else np.quantile(pair, share))
    return np.reshape(np.asarray(found, np.asarray(sample).dtype), np.shape(q))[()]


def _as_fractions(name: str, q: Any) -> Any:
    """Return quantiles between 0 and 1, of the type that NumPy computes with."""
    wanted = np.asarray(q)
    if wanted.dtype.kind not in "iuf":
        raise refusal(f"np.{name}", f"takes no q of {wanted.dtype}")
    if not name.endswith("percentile"):
        return wanted
    return np.true_divide(wanted, 100)


def _checked(name: str, arg: Node) -> Array:
    # NumPy counts places in the array's own type: half precision has too few of them.
    is_known = arg.dtype.kind in "iuf" and (arg.dtype != np.float16 or name.endswith("median"))
    if arg.rows is None or not is_known:
        raise refusal(f"np.{name}", f"takes numbers in blocks, not {arg.shape} of {arg.dtype}")
    array = in_blocks(name, arg)
    if not len(array) or 0 in array.shape:
        raise refusal(f"np.{name}", f"takes no array of shape {array.shape}")
    return array


@dataclass(frozen=True)
class _Bounds:
    """Two values, between which others are, or which those are."""

    low: Any
    high: Any


def _sampled(name: str, array: Array) -> tuple[int, Samples]:
    """Return of how many values a quantile is, none if it is NaN, and samples of the blocks."""
    made = [called(array.client, _sample, piece) for piece in array.blocks]
    samples = [value_of(found) for found in made]
    count = sum(numbers for _, numbers in samples)
    has_nans = count < int(np.prod(array.shape))
    return (0 if has_nans and not name.startswith("nan") else count), samples


def _at_ranks(array: Array, first: int, last: int, samples: Samples) -> Any:
    """Return the values at two places of all in order, which are next to each other."""
    client, widest = array.client, _widest(array.dtype)
    for bounds in (_bounds(first, last, samples, widest), widest):
        made = [several(client, 2, _between, bounds, piece) for piece in array.blocks]
        counts = [value_of(count) for count, _ in made]
        below, low, inner, high = map(sum, zip(*counts, strict=True))
        if below <= first and last < below + low + inner + high:
            parts = [part for _, part in made]
            places = [first - below - low, last - below - low]
            picked = called(client, _picked, bounds, places, inner, *parts)
            return np.asarray(value_of(picked), array.dtype)
    raise AssertionError("all values are between the least and the greatest")


def _widest(dtype: Any) -> _Bounds:
    if dtype.kind == "f":
        return _Bounds(dtype.type(-np.inf), dtype.type(np.inf))
    return _Bounds(dtype.type(np.iinfo(dtype).min), dtype.type(np.iinfo(dtype).max))


def _sample(block: Any) -> tuple[Any, int]:
    """Return some values of a block, and how many it has, without those that are NaN."""
    flat = block.reshape(-1)
    places = np.random.default_rng(flat.size).integers(0, max(flat.size, 1), SAMPLES)
    some = flat[places] if flat.size > SAMPLES else flat
    if flat.dtype.kind != "f":
        return some, flat.size
    return some[~np.isnan(some)], flat.size - int(np.count_nonzero(np.isnan(flat)))


def _bounds(first: int, last: int, samples: Samples, widest: _Bounds) -> _Bounds:
    """Return two values between which those of two ranks are, almost surely."""
    values = concatenate([found for found, _ in samples])
    if not len(values):
        return widest
    weights = np.concatenate([np.full(len(v), size / max(len(v), 1)) for v, size in samples])
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    margin = DEVIATIONS * 0.5 * float(np.sqrt(np.square(weights).sum()))
    low, high = np.searchsorted(ends, [first - margin, last + margin])
    return _Bounds(
        values[order[low]] if first > margin else widest.low,
        values[order[high]] if high < len(values) else widest.high,
    )


def _between(bounds: _Bounds, block: Any) -> tuple[tuple[int, int, int, int], Any]:
    """Return values between bounds, and how many are below, the lower, in between, the upper."""
    flat = block.reshape(-1)
    above = flat > bounds.low
    inner = flat[above & (flat < bounds.high)]
    below = int(np.count_nonzero(flat < bounds.low))
    # NaN, which some quantiles leave out, is neither above nor below.
    low = int(np.count_nonzero(flat == bounds.low))
    high = int(np.count_nonzero(above & (flat == bounds.high)))
    return (below, low, inner.size, high), inner


def _picked(bounds: _Bounds, places: Sequence[int], count: int, *parts: Any) -> Any:
    """Return values at some places of those in order that begin after the lower bound."""
    inside = [place for place in places if 0 <= place < count]
    inner = np.partition(concatenate(parts), inside) if inside else ()
    return [
        bounds.low if place < 0 else bounds.high if place >= count else inner[place]
        for place in places
    ]
