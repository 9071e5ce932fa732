"""Large values that calls compute again from blocks, since to write and map them takes longer.

See docs/decisions/089-slices-are-cut-by-the-calls-that-need-them.md
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from freestone.graph.durations import is_fused
from freestone.graph.grouping import Group
from freestone.graph.reading import Graph
from freestone.graph.specs import task_spec

__all__ = ["Recomputing", "passes_of"]

_MAX_PASSES = 3
"""So many passes over an array take as long as to write it into the cache."""

_LARGE_NBYTES = 1 << 20
"""Smaller blocks are in the processor's cache, and their values written and mapped as fast."""

_PASSES: dict[Any, float] = {
    **dict.fromkeys((operator.add, operator.sub, operator.mul, operator.truediv), 1.0),
    **dict.fromkeys((operator.neg, operator.pos, operator.abs), 1.0),
    **dict.fromkeys((np.add, np.subtract, np.multiply, np.true_divide, np.where), 1.0),
    **dict.fromkeys((np.negative, np.positive, np.absolute, np.square, np.conjugate), 1.0),
    **dict.fromkeys((np.minimum, np.maximum, np.fmin, np.fmax), 1.0),
    **dict.fromkeys((operator.lt, operator.le, operator.eq, operator.ne), 0.5),
    **dict.fromkeys((operator.gt, operator.ge, np.less, np.less_equal, np.equal), 0.5),
    **dict.fromkeys((np.not_equal, np.greater, np.greater_equal), 0.5),
    **dict.fromkeys((np.isnan, np.isfinite, np.isinf, np.signbit), 0.5),
    **dict.fromkeys((operator.and_, operator.or_, operator.xor, operator.invert), 0.5),
    **dict.fromkeys((np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert), 0.5),
    **dict.fromkeys((np.logical_and, np.logical_or, np.logical_xor, np.logical_not), 0.5),
}
"""Functions of arrays that do an operation or two for each element, and nothing else. Booleans are
a byte each, so what makes them passes over half as much."""


class Recomputing:
    """Which calls of a graph compute values of other calls again, so that these are not written.

    Parameters
    ----------
    graph
        The graph.

    Attributes
    ----------
    users : list of int
        How many nodes need each, as `Graph.users`, but those that compute it again for themselves.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._again: dict[int, frozenset[int]] = {}
        self.users = [*graph.users]

    def plan(
        self, groups: Sequence[Group], apart: int, alone: Container[int]
    ) -> list[Sequence[int]]:
        """Choose what each group computes again.

        Parameters
        ----------
        groups
            The calls.
        apart
            Nodes of smaller numbers have run, or run, by themselves.
        alone
            Nodes whose calls are no programs.

        Returns
        -------
        list of sequence of int
            The tasks of each group, without those that all others compute for themselves.

        Notes
        -----
        Linear in nodes and edges.
        """
        calls: list[Sequence[int]] = [one.tasks for one in groups]
        if all((block.nbytes or 0) < _LARGE_NBYTES for block in self._graph.held):
            return calls
        again: dict[int, frozenset[int]] = {}
        for makers, takers in _Bundles(self._graph, groups, apart, alone).chosen():
            for taker in takers:
                again[taker] = again.get(taker, frozenset()) | makers
        needs = self._graph.needs
        for taker, makers in again.items():
            for task in calls[taker]:
                self._add(-1, (need for need in needs[task] if need in makers))
            for maker in makers:
                self._add(1, (need for need in needs[maker] if need not in makers))
        for index in range(len(calls) - 1, -1, -1):
            calls[index] = self._needed(calls[index], again.get(index, frozenset()))
            if index in again and calls[index]:
                self._again[calls[index][0]] = again[index]
        return [tasks for tasks in calls if tasks]

    def _add(self, count: int, needs: Iterable[int]) -> None:
        for need in needs:
            self.users[need] += count

    def _needed(self, tasks: Sequence[int], again: frozenset[int]) -> list[int]:
        """Leave out tasks that nothing needs any more, and what they need of other calls."""
        left = []
        for task in reversed(tasks):
            if self.users[task]:
                left.append(task)
            else:
                # Of what the call computes again for itself it is no user any more.
                self._add(-1, (need for need in self._graph.needs[task] if need not in again))
        return left[::-1]

    def steps_of(self, tasks: Sequence[int]) -> list[int]:
        """Give the nodes that a call computes, what it computes again before its first use."""
        again = self._again.get(tasks[0])
        if not again:
            return [*tasks]
        order: dict[int, None] = {}

        def add(task: int) -> None:
            for need in self._graph.needs[task]:
                if need in again and need not in order:
                    add(need)
            order[task] = None

        for task in tasks:
            add(task)
        return [*order]

    def needs_of(self, tasks: Sequence[int]) -> Iterator[int]:
        """Yield what a call's tasks need, once for each use, without what it computes again."""
        again = self._again.get(tasks[0], frozenset())
        for task in (*again, *tasks):
            yield from (need for need in self._graph.needs[task] if need not in again)

    def results_of(self, tasks: Sequence[int]) -> list[int]:
        """Give those of a call's tasks whose values other calls need, or the program."""
        inside = dict.fromkeys(tasks, 0)
        for need in self.needs_of(tasks):
            if need in inside:
                inside[need] += 1
        return [task for task, uses in inside.items() if uses < self.users[task]]


class _Bundles:
    """Values of one group that the same other groups need."""

    def __init__(
        self, graph: Graph, groups: Sequence[Group], apart: int, alone: Container[int]
    ) -> None:
        self._graph = graph
        self._home = {task: index for index, one in enumerate(groups) for task in one.tasks}
        self._takers: dict[int, dict[int, None]] = {}
        for index, one in enumerate(groups):
            for task in one.tasks:
                for need in graph.needs[task]:
                    if self._home[need] != index:
                        self._takers.setdefault(need, {})[index] = None
        refused = {index for index, one in enumerate(groups) if one.tasks[0] in alone}
        wanted = {*graph.wanted.values()}
        self._bundles: dict[tuple[int, ...], list[int]] = {}
        for node, takers in self._takers.items():
            is_spared = node not in wanted and refused.isdisjoint(takers)
            if node >= apart and is_spared and passes_of(graph.nodes[node]) is not None:
                self._bundles.setdefault((self._home[node], *takers), []).append(node)
        self._wanted = wanted

    def chosen(self) -> Iterator[tuple[frozenset[int], Sequence[int]]]:
        """Yield nodes, and the groups that compute all of them again."""
        for (_, *takers), nodes in self._bundles.items():
            makers = self._makers(nodes)
            if makers is not None:
                passes = sum(passes_of(self._graph.nodes[maker]) or 0 for maker in makers)
                if passes * len(takers) <= _MAX_PASSES * len(nodes):
                    yield makers, takers

    def _makers(self, nodes: Sequence[int]) -> frozenset[int] | None:
        """Give what makes nodes from large blocks; None if as many others had to be written."""
        held = self._graph.held
        found, blocks = {*nodes}, set()
        written: set[int] = set()
        stack = [*nodes]
        while stack:
            node = stack.pop()
            for need in self._graph.needs[node]:
                if need < len(held):
                    blocks.add(need)
                elif need in found or self._is_written(need, node):
                    continue
                elif passes_of(self._graph.nodes[need]) is None:
                    written.add(need)
                else:
                    found.add(need)
                    stack.append(need)
        is_large = any((held[block].nbytes or 0) >= _LARGE_NBYTES for block in blocks)
        return frozenset(found) if is_large and len(written) < len(nodes) else None

    def _is_written(self, need: int, user: int) -> bool:
        """Whether other calls find a value in the cache anyway."""
        is_elsewhere = self._home[need] != self._home[user]
        return is_elsewhere or need in self._takers or need in self._wanted


def passes_of(node: Any) -> float | None:
    """Count the arrays that a node computes by a few operations for each element.

    Returns
    -------
    float or None
        None if it does anything else, too.

    Examples
    --------
    >>> from dask._task_spec import Task, TaskRef
    >>> passes_of(Task("mask", np.isnan, TaskRef("block")))
    0.5
    >>> passes_of(Task("roots", np.exp, TaskRef("block"))) is None
    True
    """
    spec = task_spec()
    if isinstance(node, spec.Alias | spec.TaskRef | spec.DataNode):
        return 0.0
    if type(node) is not spec.Task:
        return None
    if is_fused(node):
        inner, _, _, *outside = node.args
        return _sum([*inner.values(), *outside])
    own = _own_passes(node)
    return None if own is None else _sum(node.args, own)


def _own_passes(node: Any) -> float | None:
    """Count the passes of a task without those of its arguments."""
    from dask.array import chunk

    function, options = node.func, {*node.kwargs}
    if function is np.transpose and options <= {"axes"}:
        return 0.0
    if (function is operator.getitem or function is chunk.getitem) and not options:
        return 0.0 if _is_basic(node.args[1]) else None
    if function is chunk.astype and options == {"astype_dtype"}:
        return 1.0
    try:
        return None if options else _PASSES.get(function)
    except TypeError:  # What is called can't be hashed.
        return None


def _is_basic(index: Any) -> bool:
    """Whether an index makes a view of an array."""
    parts = index if type(index) is tuple else (index,)
    return all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts)


def _sum(arguments: Any, own: float = 0.0) -> float | None:
    """Add up the passes of those arguments that are nodes."""
    spec = task_spec()
    total = own
    for argument in arguments:
        if isinstance(argument, spec.GraphNode | spec.TaskRef):
            passes = passes_of(argument)
            if passes is None:
                return None
            total += passes
    return total
