"""Parts of sums, minima and maxima become one, in the order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from freestone.client import Client
from freestone.client.future import Future
from freestone.client.reduction import fold
from freestone.lang.front.types import scalars
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["added", "combined"]

FEW = 4
"""Up to so many parts are combined here."""
ARITY = 8
_NAMES = {"sum": "add", "min": "min", "max": "max"}


def combined(name: str, cell: str, parts: Sequence[Any]) -> Any:
    """Combine scalars."""
    word = _NAMES[name]
    return reduce(lambda one, two: scalars.binary(word, cell, one, two, cell), parts)


def added(client: Client, name: str, parts: Sequence[Future]) -> Any:
    """Combine matrices: few of them here, many of them on the workers."""
    merge = _MERGES[name]
    if len(parts) <= FEW:
        whole = reduce(merge, [part.result() for part in parts])
    else:
        whole = client.reduce(partial(fold, merge), parts, ARITY).result()
    return whole if isinstance(whole, Csr) else np.array(whole)


def add(one: Any, two: Any) -> Any:
    """Add parts of a sum; CSR stay so."""
    if isinstance(one, Csr):
        from freestone.lang.run.kernels.products import sum_of

        return sum_of(one, two)
    return np.add(one, two)


def least(one: Any, two: Any) -> Any:
    """Take the lesser cells."""
    return np.minimum(one, two)


def greatest(one: Any, two: Any) -> Any:
    """Take the greater cells."""
    return np.maximum(one, two)


_MERGES = {"sum": add, "min": least, "max": greatest}
