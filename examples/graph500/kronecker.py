"""The benchmark's graph, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Edges", "edges", "roots"]

Edges = NDArray[np.int64]
"""Shape ``(2, m)``: the two vertices of each edge."""

EDGE_FACTOR = 16
A, B, C = 0.57, 0.19, 0.19


def edges(scale: int, seed: int = 2) -> Edges:
    """Return a Kronecker graph of ``2**scale`` vertices and 16 times as many edges.

    Loops and twins are in it, as the specification has them.
    """
    random = np.random.default_rng(seed)
    found = np.zeros((2, EDGE_FACTOR << scale), np.int64)
    for _ in range(scale):
        draw = random.random(found.shape[1])
        lower = draw >= A + B
        right = ((draw >= A) & (draw < A + B)) | (draw >= A + B + C)
        found = 2 * found + np.stack([lower, right])
    labels = random.permutation(1 << scale)
    return labels[found]


def roots(graph: Edges, count: int, seed: int = 2) -> NDArray[np.int64]:
    """Return vertices with at least one edge to another one, none twice.

    Raises
    ------
    ValueError
        When there are not so many.
    """
    joined = np.unique(graph[:, graph[0] != graph[1]])
    if len(joined) < count:
        raise ValueError(f"{count} roots: the graph has {len(joined)} vertices with edges")
    return np.random.default_rng(seed).choice(joined, count, replace=False)
