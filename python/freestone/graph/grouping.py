"""Which tasks of a graph run in one call, one after the other.

See docs/decisions/014-tasks-of-a-dask-graph-are-grouped-by-level.md
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

__all__ = ["Group", "Limits", "group"]

_LEAST_S = 0.001
"""What takes less is not worth calls of its own, though slots be idle meanwhile."""

_SHORT_S = 0.0005
"""What takes less may delay others that wait for the same value: a message takes as long."""

_TOGETHER_S = 0.1
"""What takes longer gains nothing from values that are not written: a millisecond at most each."""

_PER_SLOT = 2
"""A slot gets what is equally deep in so many groups at least: what comes after waits for less."""

_MAX_TASKS = 240
"""A call has at most 256 outputs, and each of its tasks may be one."""


@dataclass(frozen=True)
class Limits:
    """How large groups may become.

    Attributes
    ----------
    seconds : float
        Tasks that need not follow one another share a group for at most so long.
    branch_s : float
        What needs only one group may join it for at most so long: its values then need not be
        written for other calls to read.
    chains_only : bool
        Whether only linear chains are fused, so that groups do not depend on durations.
    slots : int
        How many groups run at a time: none gets more than half of its share of what is equally deep
        in the graph, since that waits for the same and could run at the same time.
    """

    seconds: float
    branch_s: float
    chains_only: bool = False
    slots: int = 1

    @classmethod
    def of(cls, total_s: float, slots: int, chains_only: bool = False) -> Limits:
        """Choose limits so that each slot gets several groups, and none is long.

        Examples
        --------
        >>> Limits.of(total_s=4.0, slots=2)
        Limits(seconds=0.02, branch_s=0.4, chains_only=False, slots=2)
        >>> Limits.of(total_s=0.032, slots=2)
        Limits(seconds=0.004, branch_s=0.004, chains_only=False, slots=2)
        """
        slots = max(slots, 1)
        share_s = total_s / slots
        seconds = min(0.02, max(share_s / 4, 0.001))
        return cls(seconds, max(seconds, min(1.0, share_s / 5)), chains_only, slots)


@dataclass
class Group:
    """Tasks that run in one call, in this order.

    Attributes
    ----------
    tasks : list of int
        Numbers of nodes.
    seconds : float
        How long they are expected to take.
    at_depth : dict of int to float
        The same, by their depth in the graph.
    level : int
        Larger than that of every group that it needs something of.
    needs : set of int
        Those groups, by the order in which they were made.
    """

    level: int
    tasks: list[int] = field(default_factory=list)
    seconds: float = 0.0
    at_depth: dict[int, float] = field(default_factory=dict)
    needs: set[int] = field(default_factory=set)


def group(
    needs: Sequence[Sequence[int]],
    users: Sequence[int],
    seconds: Sequence[float],
    limits: Limits,
    apart: int = 0,
    alone: Container[int] = frozenset(),
    free: int = 0,
    ranks: Sequence[int] = (),
) -> list[Group]:
    """Put the nodes of a graph into groups.

    Parameters
    ----------
    needs
        For each node the nodes that it needs, all of smaller numbers; numbered depth first.
    users
        How many nodes need each.
    seconds
        How long each is expected to take.
    limits
        How large groups may be.
    apart
        Nodes of smaller numbers have run, or run, by themselves.
    alone
        Nodes that share a group with no other.
    free
        Nodes of smaller numbers are blocks that every slot can map at no cost; whoever needs them
        waits for nothing.
    ranks
        The priority of each: what is equally deep and has the same runs in the order of numbers.

    Returns
    -------
    list of Group
        In an order in which each comes after those that it needs.

    Notes
    -----
    A node that waits for nothing but one group, or for what that group waited for, joins it while
    there is room; a linear chain always, for nothing else could run meanwhile. What needs several
    groups waits for all of them, so it shares a group only with such as wait for the same, or for
    short ones too: a value must not lie about until some long task of another branch has ended.
    But for chains, no group gets more of what is equally deep than half of a slot's share, nor more
    than is left of it for each other slot: what comes after would wait for one slot while others
    are idle. All that a node needs shares a group with it if nothing else needs it and the other
    slots have as much to do meanwhile: then only the node's value is written for others to read.
    Linear in nodes and edges.
    """
    groups: list[Group] = []
    room = _Room(needs, seconds, limits, free, ranks)
    siblings = {} if limits.chains_only else _siblings(needs, users, apart, alone, free)
    home: list[int] = []
    open_at: dict[int | frozenset[int], int] = {}
    together: dict[int, int] = {}
    for node, all_needs in enumerate(needs):
        found = [need for need in all_needs if need >= free] if free else all_needs
        feeding = frozenset([home[need] for need in found])
        chosen = None
        may_share = node >= apart and node not in alone
        if may_share and all(need >= apart and need not in alone for need in found):
            chosen = _joined(groups, home, found, users, node, room)
        if chosen is None:
            chosen = together.get(node)
        if chosen is None:
            level = 1 + max((groups[index].level for index in feeding), default=-1)
            is_fed_fast = all(groups[index].seconds <= limits.seconds for index in feeding)
            waits_for: list[int | frozenset[int]] = [feeding, level] if is_fed_fast else [feeding]
            whole = siblings.get(node, ())
            some = whole[:-1] if room.are_whole(whole[:-1]) else (node,)
            fitting = (
                open_at[one]
                for one in waits_for
                if one in open_at and room.may_grow(groups[open_at[one]], some)
            )
            chosen = next(fitting, None) if may_share and not limits.chains_only else None
            if chosen is None:
                chosen = len(groups)
                groups.append(Group(level))
            if may_share:
                open_at.update(dict.fromkeys(waits_for, chosen))
                together.update(dict.fromkeys(whole if len(some) > 1 else (), chosen))
        room.take(groups[chosen], node)
        groups[chosen].needs.update(feeding - {chosen})
        home.append(chosen)
    return _in_order(groups)


def _siblings(
    needs: Sequence[Sequence[int]],
    users: Sequence[int],
    apart: int,
    alone: Container[int],
    free: int,
) -> dict[int, Sequence[int]]:
    """Give all that a node needs, and the node, where nothing else needs any of it.

    They are found by the first of them, and all have to wait for the same.
    """
    found: dict[int, Sequence[int]] = {}
    for node, all_needs in enumerate(needs):
        some = [*dict.fromkeys(need for need in all_needs if need >= free)]
        if len(some) > 1 and node not in alone and all(users[one] == 1 for one in some):
            may_share = min(some) >= apart and not any(one in alone for one in some)
            outer = {frozenset(need for need in needs[one] if need >= free) for one in some}
            if may_share and len(outer) == 1:
                found[min(some)] = [*some, node]
    return found


def _in_order(groups: Sequence[Group]) -> list[Group]:
    """Order groups so that each comes soon after those that it needs."""
    order: list[Group] = []
    done: set[int] = set()
    for root in range(len(groups)):
        stack = [(root, False)]
        while stack:
            index, ready = stack.pop()
            if index in done:
                continue
            if ready:
                done.add(index)
                order.append(groups[index])
                continue
            stack.append((index, True))
            stack += [(need, False) for need in groups[index].needs if need not in done]
    return order


def _joined(
    groups: Sequence[Group],
    home: Sequence[int],
    found: Sequence[int],
    users: Sequence[int],
    node: int,
    room: _Room,
) -> int | None:
    """Give the group that a node may join without waiting for anything more than it does."""
    feeding = {home[need] for need in found}
    if not feeding:
        return None
    index = max(feeding, key=lambda one: groups[one].level)
    here = groups[index]
    for one in feeding - here.needs - {index}:
        is_soon = groups[one].seconds <= room.limits.seconds and groups[one].level < here.level
        if not is_soon:
            return None
    if len(found) == 1 and users[found[0]] == 1 and here.tasks[-1] == found[0]:
        return index if len(here.tasks) < _MAX_TASKS else None
    if room.limits.chains_only or not room.has(here, (node,), room.limits.branch_s):
        return None
    is_shared = any(room.is_shared(node, users[need]) for need in found if home[need] == index)
    return None if is_shared else index


class _Room:
    """How much more groups may take, in all and of what is equally deep in the graph."""

    def __init__(
        self,
        needs: Sequence[Sequence[int]],
        seconds: Sequence[float],
        limits: Limits,
        free: int,
        ranks: Sequence[int],
    ) -> None:
        self.limits = limits
        self._seconds, self._ranks = seconds, ranks or [0] * len(needs)
        self._depths: list[int] = []
        self._left: dict[tuple[int, int], float] = {}
        work: dict[int, float] = {}
        for node, found in enumerate(needs):
            depth = 1 + max((self._depths[need] for need in found if need >= free), default=-1)
            self._depths.append(depth)
            work[depth] = work.get(depth, 0.0) + seconds[node]
            turn = depth, self._ranks[node]
            self._left[turn] = self._left.get(turn, 0.0) + seconds[node]
        self._shares = {
            depth: max(_LEAST_S, took / (_PER_SLOT * limits.slots))
            if limits.slots > 1
            else math.inf
            for depth, took in work.items()
        }

    def has(self, group: Group, nodes: Sequence[int], limit_s: float) -> bool:
        """Whether a group of so many seconds at most may take nodes that are equally deep."""
        took = sum(self._seconds[node] for node in nodes)
        if len(group.tasks) + len(nodes) > _MAX_TASKS or group.seconds + took > limit_s:
            return False
        depth = self._depths[nodes[0]]
        return group.at_depth.get(depth, 0.0) + took <= self._shares[depth]

    def may_grow(self, group: Group, nodes: Sequence[int]) -> bool:
        """Whether a group may take nodes that need not follow what is in it."""
        return self.has(group, nodes, self.limits.seconds) and self._leaves_enough(
            nodes, group.at_depth.get(self._depths[nodes[0]], 0.0)
        )

    def are_whole(self, nodes: Sequence[int]) -> bool:
        """Whether nodes that only one other needs may run in one call."""
        took = sum(self._seconds[node] for node in nodes)
        is_short = 0 < len(nodes) < _MAX_TASKS and took <= _TOGETHER_S
        return is_short and self._leaves_enough(nodes, 0.0)

    def _leaves_enough(self, nodes: Sequence[int], before_s: float) -> bool:
        """Whether other slots have as much to do as a call that also takes these nodes."""
        if self.limits.slots < 2:
            return True
        took = sum(self._seconds[node] for node in nodes)
        turn = self._depths[nodes[0]], self._ranks[nodes[0]]
        # Sums of the same numbers in another order differ in their last digits.
        others = 1.000001 * (self._left[turn] - took) / (self.limits.slots - 1)
        return before_s + took <= max(_LEAST_S, others)

    def is_shared(self, node: int, users: int) -> bool:
        """Whether so many tasks like a node run on several slots, and each is worth a call."""
        took = self._seconds[node]
        return users > 1 and took > _SHORT_S and took * users > self._shares[self._depths[node]]

    def take(self, group: Group, node: int) -> None:
        """Put a node into a group."""
        depth = self._depths[node]
        self._left[depth, self._ranks[node]] -= self._seconds[node]
        group.tasks.append(node)
        group.seconds += self._seconds[node]
        group.at_depth[depth] = group.at_depth.get(depth, 0.0) + self._seconds[node]
