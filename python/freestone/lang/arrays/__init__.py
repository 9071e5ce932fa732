"""Expressions of arrays that are cut into blocks, by NumPy's own protocols.

``np.exp(x).sum()`` of an `Array` only adds to a graph. ``compute()`` lowers what works row by row
to the typed graph that scripts are compiled to, runs it fused on each partition, where its blocks
are, and combines the parts of sums and extremes.
"""

from __future__ import annotations

from typing import Any

from freestone.collections.protocols import offer_expressions


def lazily(array: Any) -> Any:
    """Return the expression that stands for an array.

    Examples
    --------
    >>> import numpy as np
    >>> import freestone as fs
    >>> x = fs.Array.from_numpy(np.arange(6.0), 2)
    >>> lazily(x)
    <LazyArray of shape (6,) and dtype float64, not computed>
    """
    # Loaded when it is first used: most programs that have arrays never do.
    from freestone.lang.arrays.lazy import lazy_of

    return lazy_of(array)


offer_expressions(lazily)
