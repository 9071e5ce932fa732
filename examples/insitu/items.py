"""Items, which computational ranks send, and partial results, which analytics ranks exchange."""

from __future__ import annotations

import functools
import struct
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Items", "Partials", "dtype", "merge", "pack", "partials", "stamp", "summary", "unpack"]

Items = NDArray[np.void]
"""Shape ``(n,)``: `sent`, `step`, `field`, `member` and the `values` of each."""

Partials = NDArray[np.float64]
"""Shape ``(n, 5)``: how many values, their sum, that of their squares, the least, the greatest."""

_HEAD = struct.Struct("<dqqq")
_SENT = struct.Struct("<d")
EMPTY = (0.0, 0.0, 0.0, np.inf, -np.inf)


@functools.cache
def dtype(points: int) -> np.dtype[np.void]:
    """Return the layout of an item."""
    head = [(name, "<i8") for name in ("step", "field", "member")]
    return np.dtype([("sent", "<f8"), *head, ("values", "<f8", (points,))])


def pack(step: int, field: int, member: int, values: NDArray[np.float64]) -> bytes:
    """Return an item as bytes, not stamped."""
    return _HEAD.pack(0.0, step, field, member) + values.tobytes()


def stamp(item: bytes) -> bytes:
    """Return an item with the time at which it is sent."""
    return _SENT.pack(time.perf_counter()) + item[_SENT.size :]


def unpack(pieces: Iterable[Any], points: int) -> Items:
    """Return the items in pieces of bytes."""
    return np.frombuffer(b"".join(pieces), dtype(points))


def partials(values: NDArray[np.float64]) -> Partials:
    """Reduce each row of values, shape ``(n, points)``."""
    found = np.empty((len(values), 5))
    found[:, 0] = values.shape[1]
    values.sum(axis=1, out=found[:, 1])
    np.einsum("ij,ij->i", values, values, out=found[:, 2])
    values.min(axis=1, out=found[:, 3])
    values.max(axis=1, out=found[:, 4])
    return found


def merge(columns: Sequence[Any]) -> tuple[float, float, float, float, float]:
    """Reduce partial results, given as columns, to one."""
    # Not in NumPy: they are few, and each call of it costs as much as adding up a dozen numbers.
    counts, totals, squares, least, greatest = columns
    return sum(counts), sum(totals), sum(squares), min(least), max(greatest)


def summary(merged: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Return mean, variance, least and greatest value."""
    count, total, squares, least, greatest = merged
    if not count:
        return (np.nan, np.nan, np.nan, np.nan)
    mean = total / count
    return mean, max(squares / count - mean * mean, 0.0), least, greatest
