"""Is it a breadth-first tree? The specification's five rules, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from examples.graph500.kronecker import Edges

__all__ = ["check", "levels"]


def levels(parents: NDArray[np.int64], root: int) -> NDArray[np.int64]:
    """Return how far each vertex is from the root along its parents; -1 where it is not reached.

    Raises
    ------
    ValueError
        When the root has a parent, a parent is not in the tree, or there is a cycle.
    """
    if parents[root] != root:
        raise ValueError(f"the root {root} has the parent {parents[root]}")
    reached = np.flatnonzero(parents >= 0)
    found = np.full(len(parents), -1)
    found[root] = 0
    for level in range(1, len(reached) + 1):
        below = reached[(found[reached] < 0) & (found[parents[reached]] == level - 1)]
        if not len(below):
            break
        found[below] = level
    lost = reached[found[reached] < 0]
    if len(lost):
        raise ValueError(f"{len(lost)} vertices do not lead to the root, {lost[0]} is one of them")
    return found


def check(graph: Edges, parents: NDArray[np.int64], root: int) -> int:
    """Check a tree against the list of edges; how many of them were traversed.

    Raises
    ------
    ValueError
        When it is no breadth-first tree of the root's component.
    """
    depth = levels(parents, root)
    u, v = graph
    outside = (depth[u] < 0) != (depth[v] < 0)
    if outside.any():
        raise ValueError(f"{outside.sum()} edges lead out of the tree")
    far = np.abs(depth[u] - depth[v]) > 1
    if far.any():
        raise ValueError(f"{far.sum()} edges join levels that are no neighbours")
    joined = np.zeros(len(parents), bool)
    joined[u[parents[u] == v]] = True
    joined[v[parents[v] == u]] = True
    joined[root] = True
    alone = (depth >= 0) & ~joined
    if alone.any():
        raise ValueError(f"{alone.sum()} vertices have no edge with their parents")
    return int((depth[u] >= 0).sum())
