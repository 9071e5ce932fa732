"""Which process holds which rows, and what has to move when the number of processes changes.

Pure: nothing is sent here. Rows are dealt to places in order, one contiguous block each
(:class:`Rows`), in runs, any number to a place (:class:`Runs`), or in many small blocks, several to
a place (:func:`reassign`).

References
----------
Martín-Álvarez et al., *Efficient data redistribution for malleable applications*, SC-W 2023,
section 3; keeping most of the data where it is, is its future work (section 5).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from freestone import _native
from freestone._native.layout import RowBlocks as Rows
from freestone._native.layout import RowRuns as Runs

__all__ = [
    "Crossing",
    "Layout",
    "Move",
    "Plan",
    "Rows",
    "Runs",
    "block_moves",
    "by_load",
    "even",
    "follow",
    "move_fewest",
    "plan",
    "reassign",
    "weighted",
]

Layout = Rows | Runs
"""Rows dealt to places, in one block each or in runs."""


class Move(NamedTuple):
    """Rows ``start`` to ``stop`` that process ``source`` has and ``target`` shall have."""

    source: int
    target: int
    start: int
    stop: int


class Crossing(NamedTuple):
    """What crosses between nodes: in all, and on the busiest network card one way."""

    total: int
    busiest: int


@dataclass(frozen=True)
class Plan:
    """Which process becomes which place, and what each sends to each.

    Attributes
    ----------
    before, after : Layout
        Of the old and of the new places.
    process_of : tuple of int
        The process of each new place. Processes below ``before.places`` are the old places,
        those from there on are new.
    moves : tuple of Move
        All rows, in order, with the processes that have and shall have them; in those that stay
        where they are both are the same.
    """

    before: Layout
    after: Layout
    process_of: tuple[int, ...]
    moves: tuple[Move, ...]

    def moved(self, offsets: Sequence[int] | None = None) -> int:
        """Return how many rows change their process, or what they weigh.

        Parameters
        ----------
        offsets : sequence of int, of shape (rows + 1,), optional
            What all rows before each one weigh: the row pointers of a CSR matrix. Without it
            each row weighs 1.
        """
        return _native.layout.layout_moved(list(self.moves), offsets=offsets)

    def crossing(self, nodes: Iterable[Hashable], offsets: Sequence[int] | None = None) -> Crossing:
        """Return what crosses between nodes, given that of each process: see :func:`plan`."""
        numbers = _numbered(nodes)
        return Crossing(*_native.layout.layout_crossing(list(self.moves), numbers, offsets=offsets))


def even(rows: int, places: int) -> Rows:
    """Deal rows so that each place has as many as any other, or one more.

    Raises
    ------
    ValueError
        With no places; and likewise in all functions here for what can't be laid out.
    """
    return Rows.even(rows, places)


def weighted(rows: int, weights: Iterable[float]) -> Rows:
    """Deal rows in proportion to each place's weight, such as its speed; exact to one row."""
    return Rows.weighted(rows, weights)


def by_load(offsets: Iterable[int], places: int) -> Rows:
    """Deal rows so that each place has about the same load, such as non-zeros.

    Parameters
    ----------
    offsets : iterable of int, of shape (rows + 1,)
        What all rows before each one load: the row pointers of a CSR matrix.
    places : int
        How many there shall be.
    """
    return Rows.by_load(offsets, places)


def plan(
    before: Rows,
    after: Rows,
    *,
    relabel: bool = True,
    leaving: Iterable[int] = (),
    nodes: Iterable[Hashable] | None = None,
    offsets: Sequence[int] | None = None,
) -> Plan:
    """Plan how rows get from one layout to another.

    Parameters
    ----------
    before, after : Rows
        Of the same rows.
    relabel : bool
        Choose which process becomes which place so that the fewest rows move; no choice of
        contiguous blocks moves fewer. Otherwise process ``r`` stays place ``r``, as in the paper.
    leaving : iterable of int
        Old places that become no new one.
    nodes : iterable of hashable, optional
        The node of each process: of the old places, then of each joining rank there is. Then
        relabelling also looks at what crosses between nodes: places that no process keeps go to
        the nodes that have most of their rows, and places are exchanged between nodes as long as
        the busiest network card gets less to carry.
    offsets : sequence of int, optional
        What all rows before each one weigh, if they do not all weigh the same.

    Notes
    -----
    Linear in the number of places: 10,000 to 12,000 take some 20 ms.
    """
    leaves = frozenset(leaving)
    stays = [place not in leaves for place in range(before.places)]
    if relabel and nodes is not None:
        numbers = _numbered(nodes)
        found = _native.layout.layout_relabel_nodes(before, after, stays, numbers, offsets=offsets)
        return _plan(before, after, *found)
    if relabel:
        found = _native.layout.layout_relabel(before, after, offsets=offsets, may_stay=stays)
        return _plan(before, after, *found)
    staying = [place for place, may in enumerate(stays) if may]
    joining_ranks = range(before.places, before.places + after.places)
    processes = [*staying, *joining_ranks][: after.places]
    moves = _native.layout.layout_transfers(before, after)
    return _plan(before, after, processes, [(s, processes[t], a, b) for s, t, a, b in moves])


def _numbered(nodes: Iterable[Hashable]) -> list[int]:
    """Return a number for each node, in the order in which they come."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(node, len(numbers)) for node in nodes]


def move_fewest(before: Layout, process_of: Sequence[int], places: int) -> Runs:
    """Deal rows evenly, to one row, so that no such layout moves fewer of them.

    Parameters
    ----------
    before : Layout
        Of the old places.
    process_of : sequence of int
        The process of each new place: see :class:`Plan`.
    places : int
        How many there shall be.

    Notes
    -----
    See docs/decisions/114-rows-that-move-least-lie-in-runs-that-grow-together-again.md
    """
    place_of = {process: place for place, process in enumerate(process_of)}
    becomes = [place_of.get(old) for old in range(before.places)]
    return _native.layout.layout_move_fewest(before, becomes, places)


def follow(before: Layout, after: Layout, process_of: Sequence[int]) -> Plan:
    """Plan how other rows get to the same processes."""
    moves = _native.layout.layout_transfers(before, after)
    return _plan(before, after, process_of, [(s, process_of[t], a, b) for s, t, a, b in moves])


def _plan(
    before: Layout,
    after: Layout,
    processes: Iterable[int],
    moves: Iterable[tuple[int, int, int, int]],
) -> Plan:
    return Plan(before, after, tuple(processes), tuple(map(Move._make, moves)))


def reassign(owners: Sequence[int], places: int) -> list[int]:
    """Give each of many blocks to a place so that all have as many and the fewest change hands.

    Parameters
    ----------
    owners : sequence of int, of shape (blocks,)
        The place that has each block; places from `places` on leave.
    places : int
        How many there shall be.

    Returns
    -------
    list of int, of shape (blocks,)
        The place that shall have each.
    """
    return _native.layout.layout_reassign(owners, places)


def block_moves(blocks: Rows, before: Sequence[int], after: Sequence[int]) -> tuple[Move, ...]:
    """Return what moves between two owners of each block, in the order of the rows."""
    return tuple(map(Move._make, _native.layout.layout_block_transfers(blocks, before, after)))
