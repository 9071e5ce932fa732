"""How the parts of reductions are combined on their way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from freestone.errors import NotAssociativeError
from freestone.graph.reading import Graph
from freestone.graph.rewriting import Reduction

__all__ = ["Parts", "check"]


class Parts:
    """Which nodes are parts of which reductions, and which of them were combined in their call.

    Parameters
    ----------
    graph
        The graph.
    numbers
        The numbers of each reduction's parts.
    combines
        Whether parts that one call makes are combined there. Only parts that nothing else needs.
    """

    def __init__(self, graph: Graph, numbers: dict[int, list[int]], combines: bool) -> None:
        self._graph = graph
        self._numbers = numbers
        self._place: dict[int, tuple[int, int]] = {}
        self._partial: dict[tuple[int, int], tuple[int, int]] = {}
        self._next = len(graph.nodes)
        for reduction, parts in numbers.items() if combines else ():
            if len(set(parts)) < len(parts):
                continue
            for place, part in enumerate(parts):
                if graph.users[part] == 1:
                    self._place[part] = (reduction, place)

    def runs_in(self, tasks: Sequence[int]) -> list[tuple[int, int, list[int]]]:
        """Find parts among the tasks of a call that may be combined in it.

        Returns
        -------
        list of (int, int, list of int)
            The reduction, a number for what its parts give, and at least two parts.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        for task in tasks:
            if task in self._place:
                reduction, place = self._place[task]
                found.setdefault(reduction, []).append((place, task))
        return [
            (reduction, self._note(reduction, run), [part for _, part in run])
            for reduction, parts in found.items()
            for run in _runs(sorted(parts), self._recipe(reduction).commutes)
            if len(run) > 1
        ]

    def _recipe(self, reduction: int) -> Any:
        node: Reduction = self._graph.nodes[reduction]
        return node.recipe

    def _note(self, reduction: int, run: Sequence[tuple[int, int]]) -> int:
        partial = self._next
        self._next += 1
        first = run[0][0]
        for place, _ in run:
            self._partial[reduction, place] = (partial, first)
        return partial

    def left_of(self, reduction: int) -> list[int]:
        """Give the nodes, and partial results, that are left to combine, in order."""
        left = []
        for place, part in enumerate(self._numbers[reduction]):
            partial = self._partial.get((reduction, place))
            if partial is None:
                left.append(part)
            elif partial[1] == place:
                left.append(partial[0])
        return left


def _runs(parts: Sequence[tuple[int, int]], commutes: bool) -> list[list[tuple[int, int]]]:
    """Split parts, with their places, into runs of neighbours; all in one if order is free."""
    if commutes:
        return [list(parts)]
    runs: list[list[tuple[int, int]]] = []
    for place, part in parts:
        if runs and runs[-1][-1][0] == place - 1:
            runs[-1].append((place, part))
        else:
            runs.append([(place, part)])
    return runs


def check(combine: Callable[..., Any], label: str, commutes: bool, *values: Any) -> None:
    """Check on three values that a reducer is what it was declared to be.

    Raises
    ------
    NotAssociativeError
        When another grouping, or order if it commutes, gives another result.
    """
    one, two, three = values
    expected = combine(one, two, three)
    found = {
        "f(f(a, b), c)": combine(combine(one, two), three),
        "f(a, f(b, c))": combine(one, combine(two, three)),
    }
    if commutes:
        found["f(c, a, b)"] = combine(three, one, two)
    for how, value in found.items():
        if not _same(value, expected):
            raise NotAssociativeError(label=label, how=how)


def _same(one: Any, other: Any) -> bool:
    """Whether two results are equal, floating-point numbers up to how they are rounded."""
    if isinstance(one, float | complex) and not isinstance(one, bool):
        return bool(_close(one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    values, others = _arrays(one), _arrays(other)
    if values is not None and others is not None:
        import numpy as np

        return values.shape == others.shape and bool(np.allclose(values, others, equal_nan=True))
    return bool(one == other)


def _close(one: Any, other: Any) -> bool:
    if one != one:
        return bool(other != other)
    return bool(abs(one - other) <= 1e-9 * max(abs(one), abs(other), math.ulp(0.0)))


def _arrays(value: Any) -> Any:
    """Give a value as an array of numbers, if it is one or says how to become one."""
    import numpy as np

    if not hasattr(value, "__array__"):
        return None
    array = np.asarray(value)
    if array.dtype.names:
        array = np.stack([array[name].astype(float) for name in array.dtype.names])
    return array if array.dtype.kind in "biufc" else None
