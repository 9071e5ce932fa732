"""From what the ranks hold to a plan: who stays, which cuts, who becomes which rank.

See docs/decisions/063-multi-node-resize-plans-start-from-processes-not-from-nodes.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone.malleable import plans, together
from freestone.malleable.arrays import Array, Deal
from freestone.malleable.config import Config
from freestone.malleable.dealing import deal
from freestone.malleable.method import Method
from freestone.malleable.plans import Layout, Plan, Rows
from freestone.malleable.spawning import Group
from freestone.malleable.targets import Request

__all__ = ["Blueprint", "draw", "leaving", "misplaced", "new_groups", "ungranted"]


@dataclass(frozen=True)
class Blueprint:
    """All that sources and joining ranks have to know of a resize.

    Attributes
    ----------
    before, after : int
        Numbers of processes.
    method : Method
        How.
    joining ranks : list of Group
        What is spawned.
    process_of : tuple of int
        The process of each new rank: sources come first, then joining ranks.
    plans : dict of int or str to Plan
        By the deal of arrays.
    ragged : dict of str to dict of int to int
        By array whose rows differ, the elements before each row where a block begins or ends.
    """

    before: int
    after: int
    method: Method
    joining_ranks: list[Group]
    process_of: tuple[int, ...]
    plans: dict[Deal, Plan] = field(default_factory=dict)
    ragged: dict[str, dict[int, int]] = field(default_factory=dict)


def leaving(
    groups: Sequence[int],
    count: int,
    hosts: Sequence[str] = (),
    granted: Mapping[str, int] | None = None,
) -> list[int]:
    """Return ranks that leave in whole groups, the newest first; at most `count` of them.

    Ranks for which their hosts are not granted any more leave before others, also alone.

    Whoever leaves without its group waits for it at its end, so the rest may be anyone.

    Parameters
    ----------
    groups : sequence of int
        The group that each rank was spawned in; a higher number is a newer one.
    count : int
        How many ranks leave.
    hosts : sequence of str
        Where each rank is.
    granted : mapping of str to int, optional
        The hosts that the job keeps, and how many ranks each takes.
    """
    found = [] if granted is None else ungranted(groups, hosts, granted)[:count]
    for group in sorted(set(groups), reverse=True):
        members = [rank for rank, its in enumerate(groups) if its == group and rank not in found]
        if len(found) + len(members) <= count:
            found += members
    return sorted(found)


def ungranted(groups: Sequence[int], hosts: Sequence[str], granted: Mapping[str, int]) -> list[int]:
    """Return the ranks that are more than their hosts are granted for, the newest first.

    Of a rank whose host has no name it is not known.

    Parameters
    ----------
    groups, hosts : sequence
        The group and host of each rank.
    granted : mapping of str to int
        How many ranks each host takes.
    """
    free, found = dict(granted), []
    for group, rank in sorted((group, rank) for rank, group in enumerate(groups) if hosts[rank]):
        free[hosts[rank]] = free.get(hosts[rank], 0) - 1
        if free[hosts[rank]] < 0:
            found.append((group, rank))
    return [rank for _, rank in reversed(found)]


def misplaced(request: Request, method: Method, groups: Sequence[int], hosts: Sequence[str]) -> str:
    """Return why not all ranks that stay have a place on the hosts of a request, if so.

    Parameters
    ----------
    request : Request
        How many processes there shall be, and where.
    method : Method
        How: none stays of those that a baseline method replaces.
    groups, hosts : sequence
        The group and host of each rank.
    """
    if request.slots is None or method.processes == "baseline":
        return ""
    over, count = ungranted(groups, hosts, request.slots), max(0, len(hosts) - request.size)
    if len(over) <= count:
        return ""
    # What else a name has tells apart which processes share memory.
    here = dict(Counter(host.partition("/")[0] for host in hosts))
    return (
        f"{request.size} processes were asked for on {dict(request.slots)}, and ranks are on "
        f"{here}: {len(over)} of them have no place there, and {count} would leave; grant the "
        "hosts of those that stay, too"
    )


def new_groups(
    count: int,
    hosts: Sequence[str],
    slots: int | Mapping[str, int] | None,
    is_granted: bool = False,
) -> list[Group]:
    """Return how joining ranks are spawned: a group for each host, filled in order.

    Parameters
    ----------
    count : int
        How many joining ranks.
    hosts : sequence of str
        Where the ranks are that stay.
    slots : int, mapping of str to int, or None
        How many processes each host takes; without hosts, MPI chooses.
    is_granted : bool
        Whether a scheduler has granted them.
    """
    if count == 0:
        return []
    if not isinstance(slots, Mapping):
        return [Group(count)]
    groups = []
    for host, places in slots.items():
        free = min(count, places - sum(1 for other in hosts if other == host))
        if free > 0:
            groups.append(Group(free, host, is_granted))
            count -= free
    return groups if count == 0 else [*groups, Group(count)]


def draw(
    comm: Any,
    arrays: Sequence[Array],
    layouts: Mapping[Deal, Layout],
    groups: Sequence[int],
    hosts: Sequence[str],
    request: Request,
    method: Method,
    config: Config,
) -> Blueprint:
    """Draw the plan of a resize; all sources do it together, and come to the same.

    Parameters
    ----------
    comm : mpi4py communicator
        Of the sources.
    arrays : sequence of Array
        What is registered.
    layouts : mapping of int or str to Layout
        Today's, by the deal of arrays.
    groups, hosts : sequence
        The group and host of each source.
    request : Request
        How many processes there shall be, and where.
    method : Method
        How.
    config : Config
        The job's settings.

    Notes
    -----
    Two small all-reduces at most, for arrays whose rows differ in length.
    """
    before, size, granted = comm.size, request.size, request.slots
    if method.processes == "baseline":
        gone, coming = list(range(before)), size
    else:
        gone, coming = leaving(groups, before - size, hosts, granted), max(0, size - before)
    stay = [host for rank, host in enumerate(hosts) if rank not in gone] if coming else []
    slots = config.slots if granted is None else granted
    joining_ranks = new_groups(coming, stay, slots, granted is not None)
    if config.minimal:
        process_of = _staying(gone, before, size)
        after: dict[Deal, Layout] = {
            key: plans.move_fewest(old, process_of, size) for key, old in layouts.items()
        }
    else:
        after = {
            key: deal(comm, [each for each in arrays if each.deal == key], old.rows, size, config)
            for key, old in layouts.items()
        }
    bounds = {key: sorted({*layouts[key].offsets, *after[key].offsets}) for key in layouts}
    ragged = {
        array.name: _elements_before(comm, array, bounds[array.deal], config.timeout_s)
        for array in arrays
        if array.form.is_ragged
    }
    if not config.minimal:
        nodes = _nodes(hosts, joining_ranks) if config.by_host else None
        process_of = _processes(
            arrays, layouts, after, bounds, ragged, gone, before, size, config.relabel, nodes
        )
    each = {key: plans.follow(layouts[key], after[key], process_of) for key in layouts}
    return Blueprint(before, size, method, joining_ranks, process_of, each, ragged)


def _staying(gone: Sequence[int], before: int, size: int) -> tuple[int, ...]:
    """Return who becomes which rank if all that stay keep their order, before those that join."""
    staying = [rank for rank in range(before) if rank not in gone]
    return (*staying, *range(before, before + size))[:size]


def _nodes(hosts: Sequence[str], joining_ranks: Sequence[Group]) -> list[str | int]:
    """Return the node of each process; one that MPI places is thought to be alone on its node."""
    coming = [group.host for group in joining_ranks for _ in range(group.count)]
    return [*hosts, *(host or number for number, host in enumerate(coming))]


def _processes(
    arrays: Sequence[Array],
    layouts: Mapping[Deal, Layout],
    after: Mapping[Deal, Layout],
    bounds: Mapping[Deal, list[int]],
    ragged: Mapping[str, Mapping[int, int]],
    gone: list[int],
    before: int,
    size: int,
    relabel: bool,
    nodes: list[str | int] | None,
) -> tuple[int, ...]:
    """Return who becomes which rank, by the rows that weigh most.

    Only rows where a block begins or ends matter, so the plan is drawn over those.
    """
    weight = dict.fromkeys(layouts, 0)
    for array in arrays:
        weight[array.deal] += array.form.nbytes
    if not weight:
        # Nothing is registered, so any rows show who stays.
        none = plans.even(0, before)
        return plans.plan(none, plans.even(0, size), relabel=False, leaving=gone).process_of
    heaviest = max(weight, key=lambda key: weight[key])
    if not isinstance(layouts[heaviest], Rows) or not isinstance(after[heaviest], Rows):
        # Only of blocks it is clear which choice moves the fewest.
        return _staying(gone, before, size)
    marks = bounds[heaviest]
    index = {row: at for at, row in enumerate(marks)}
    table = [
        sum(
            part.position(row, ragged.get(array.name, {}))
            for array in arrays
            if array.deal == heaviest
            for part in array.form.parts
        )
        for row in marks
    ]
    old, new = (
        Rows([index[row] for row in layout.offsets])
        for layout in (layouts[heaviest], after[heaviest])
    )
    plan = plans.plan(old, new, relabel=relabel, leaving=gone, nodes=nodes, offsets=table)
    return plan.process_of


def _elements_before(
    comm: Any, array: Array, bounds: list[int], timeout_s: float
) -> dict[int, int]:
    known = array.counts_before(bounds)
    mine = np.array([known.get(row, 0) for row in bounds], np.int64)
    found = together.largest(comm, mine, timeout_s, "lengths of rows")
    return {row: int(count) for row, count in zip(bounds, found, strict=True)}
