"""Search a Kronecker graph breadth first, on ranks that events drive; the teaching version."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from examples import launched
from examples.graph500 import kronecker, tree
from examples.graph500.search import run
from freestone import events as ev


def search_all(
    scale: int, ranks: int, count: int, *, threads: bool = False
) -> tuple[list[float], list[int]]:
    """Search from `count` roots and check every tree; seconds, and edges that were traversed."""
    graph, vertices = kronecker.edges(scale), 1 << scale
    roots = kronecker.roots(graph, count)
    found = ev.run(run, ranks, args=(graph, vertices, roots), threads=threads)
    seconds, edges = [], []
    for root, parts in zip(roots.tolist(), zip(*found, strict=True), strict=True):
        parents = np.empty(vertices, np.int64)
        for rank, (_, part) in enumerate(parts):
            # As many as mpiexec has started, under it.
            parents[rank :: len(parts)] = part
        edges.append(tree.check(graph, parents, root))
        seconds.append(max(elapsed for elapsed, _ in parts))
    return seconds, edges


def main() -> None:
    """Search, check, and print the figure of the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=14, help="2**scale vertices, 14")
    parser.add_argument("--ranks", type=int, default=2, help="processes, 2")
    parser.add_argument("--roots", type=int, default=64, help="searches, 64")
    options = parser.parse_args()
    seconds, edges = search_all(options.scale, options.ranks, options.roots)
    if launched.rank() > 0:
        return
    rates = np.array(edges) / np.array(seconds)
    print(f"searches: {len(seconds)}, every tree valid; edges traversed: {np.mean(edges):,.0f}")
    print(f"median time: {np.median(seconds) * 1e3:.2f} ms")
    print(f"harmonic mean: {len(rates) / (1 / rates).sum():,.0f} TEPS")


if __name__ == "__main__":
    main()
