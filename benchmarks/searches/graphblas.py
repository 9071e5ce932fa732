"""Breadth-first search by SuiteSparse:GraphBLAS, through python-graphblas."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.searches import graph

__all__ = ["measure"]

PULL = 24
"""A frontier of more than one in so many vertices is searched from the other end."""


def measure(path: str, scale: int, roots: list[int]) -> dict[str, Any]:
    """Time a search by masked products, from either end; it uses all cores."""
    import graphblas as gb
    from scipy.sparse.csgraph import connected_components

    matrix = graph.read(path, scale)
    _, labels = connected_components(matrix, directed=False)
    wanted = int((labels == labels[roots[0]]).sum())
    rows = gb.io.from_scipy_sparse(matrix.astype(np.bool_))
    push, pull = gb.semiring.any_secondi["INT64"], gb.semiring.any_firstj["INT64"]

    def search(root: int) -> Any:
        parents = gb.Vector("INT64", rows.nrows)
        frontier = gb.Vector("INT64", rows.nrows)
        parents[root] = frontier[root] = root
        while frontier.nvals:
            if frontier.nvals * PULL < rows.nrows:
                frontier(~parents.S, replace=True) << push(frontier @ rows)
            else:
                frontier(~parents.S, replace=True) << pull(rows @ frontier)
            parents(frontier.S) << frontier
        parents.wait()
        return parents

    return graph.measure(search, roots, lambda parents: parents.nvals, wanted)
