"""Breadth-first search as tasks that events set off: the teaching version.

Level by level, as in the paper (section V, figure 2). The one in Rust beside it is made for speed,
and can turn its direction.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.graph500.kronecker import Edges
from freestone import events as ev

__all__ = ["Rows", "Vertices", "run", "search"]

Vertices = NDArray[np.int64]


class Rows:
    """The neighbours of a rank's vertices. Vertex v is at place v // ranks of rank v % ranks.

    Parameters
    ----------
    graph
        All edges; shape ``(2, m)``.
    vertices
        How many there are, on all ranks.
    rank, ranks
        Which part of them.
    """

    def __init__(self, graph: Edges, vertices: int, rank: int, ranks: int) -> None:
        ends = np.concatenate([graph, graph[::-1]], axis=1)
        own = ends[:, (ends[0] % ranks == rank) & (ends[0] != ends[1])]
        own = own[:, np.argsort(own[0], kind="stable")]
        self.count = (vertices - rank + ranks - 1) // ranks
        sizes = np.bincount(own[0] // ranks, minlength=self.count)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.neighbours = own[1]

    def of(self, places: Vertices) -> tuple[Vertices, Vertices]:
        """Return all neighbours of vertices, and for each whose it is, as an index of `places`."""
        first, sizes = self.starts[places], self.starts[places + 1] - self.starts[places]
        whose = np.repeat(np.arange(len(places)), sizes)
        within = np.arange(len(whose)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.neighbours[first[whose] + within], whose


def search(rank: ev.Rank, rows: Rows, root: int) -> Vertices:
    """Search from a root; the parent of each own vertex, -1 where there is none.

    Each rank is at the same level: its task needs an event of every rank. The ranks know that they
    are done when none of them has sent a visit.
    """
    parents = np.full(rows.count, -1)

    def send(level: int, places: Vertices) -> None:
        children, whose = rows.of(places)
        visits = np.stack([children, places[whose] * rank.size + rank.id])
        for target in range(rank.size):
            rank.fire(target, f"visit_{level}", visits[:, children % rank.size == target])
        rank.fire(ev.ALL, f"sent_{level}", len(children))
        on = [(ev.ALL, f"visit_{level}"), (ev.ALL, f"sent_{level}")]
        rank.submit(lambda *events: receive(level, events), on=on)

    def receive(level: int, events: tuple[ev.Event, ...]) -> None:
        visits, sent = events[: rank.size], events[rank.size :]
        if not any(event.data for event in sent):
            rank.fire(ev.SELF, "found")
            return
        children, visitors = np.concatenate([event.data for event in visits], axis=1)
        places = children // rank.size
        is_new = parents[places] < 0
        found, first = np.unique(places[is_new], return_index=True)
        parents[found] = visitors[is_new][first]
        send(level + 1, found)

    own = root % rank.size == rank.id
    frontier = np.array([root // rank.size] if own else [], np.int64)
    parents[frontier] = root
    send(0, frontier)
    rank.wait([(ev.SELF, "found")])
    return parents


def run(rank: ev.Rank, graph: Edges, vertices: int, roots: Vertices) -> list[tuple[float, Any]]:
    """Search from each root: the seconds that it took, and the parents of the own vertices."""
    rows = Rows(graph, vertices, rank.id, rank.size)
    found = []
    for root in roots.tolist():
        rank.fire(ev.ALL, "ready")
        rank.wait([(ev.ALL, "ready")])
        started = time.perf_counter()
        parents = search(rank, rows, root)
        found.append((time.perf_counter() - started, parents))
    return found
