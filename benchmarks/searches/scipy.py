"""Breadth-first search by SciPy."""

from __future__ import annotations

from typing import Any

from benchmarks.searches import graph

__all__ = ["measure"]


def measure(path: str, scale: int, roots: list[int]) -> dict[str, Any]:
    """Time `breadth_first_order`, which uses one core."""
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    matrix = graph.read(path, scale)
    _, labels = connected_components(matrix, directed=False)
    wanted = int((labels == labels[roots[0]]).sum())

    def search(root: int) -> Any:
        # The matrix is symmetric: as directed, SciPy does not make it so for each search.
        return breadth_first_order(matrix, root, directed=True, return_predecessors=True)

    return graph.measure(search, roots, lambda found: len(found[0]), wanted)
