"""From the nodes of a Dask graph to the steps of programs.

See docs/decisions/015-callables-of-a-graph-are-named-by-their-pickle.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from freestone.client.future import Future
from freestone.client.interface import Client
from freestone.collections.held import held_in
from freestone.collections.pieces import future_of
from freestone.graph.durations import Kinds
from freestone.graph.program import Step
from freestone.graph.reading import Graph
from freestone.graph.specs import task_spec
from freestone.graph.tools import Tools

__all__ = ["Compiler", "Program"]

_PLAIN = frozenset({int, float, str, bool, type(None), complex, slice})
_LARGE_NBYTES = 8192
_SHORT = 16


class Program:
    """The steps of one call, as they are written.

    Attributes
    ----------
    code : list of Step
        Slots 0, 1, ... are those of `inputs`; step k's is `len(inputs) + k` once `seal` was called.
    inputs : list of int
        The nodes whose values it needs.
    constants : list
        Futures of large constants, after the inputs.
    results : list of int
        The nodes whose values it gives.
    owners : list of int
        For each step the node that it is a part of.
    kinds : list
        For each step what it does; None if it is there for the next one.
    views : dict of key to int
        The slots of slices that are no nodes.
    """

    def __init__(self) -> None:
        self.code: list[list[Any]] = []
        self.inputs: list[int] = []
        self.constants: list[Any] = []
        self.results: list[int] = []
        self.owners: list[int] = []
        self.kinds: list[Any] = []
        self.views: dict[Any, int] = {}
        self._slots: dict[int, int] = {}

    def slot_of(self, node: int) -> int:
        """Give the slot of a node: of its step, or a negative number for an input."""
        slot = self._slots.get(node)
        if slot is None:
            self.inputs.append(node)
            slot = self._slots[node] = -2 * len(self.inputs)
        return slot

    def constant(self, future: Any) -> int:
        """Give the slot of a constant that is a block."""
        self.constants.append(future)
        return -2 * len(self.constants) - 1

    def add(self, owner: int, step: list[Any], kind: Any = None) -> int:
        """Add a step; its slot."""
        self.code.append(step)
        self.owners.append(owner)
        self.kinds.append(kind)
        return len(self.code) - 1

    def took(self, seconds: Sequence[float]) -> Iterator[tuple[int, Any, float]]:
        """Yield for which node what was done and how long it took, from the seconds of steps."""
        before, waiting = None, 0.0
        for owner, kind, one in zip(self.owners, self.kinds, seconds, strict=True):
            waiting = one + (waiting if owner == before else 0.0)
            before = owner
            if kind is not None:
                yield owner, kind, waiting
                waiting = 0.0

    def finish(self, node: int, slot: int) -> None:
        """Say which slot has the value of a node."""
        self._slots[node] = slot

    def seal(self, results: Sequence[int]) -> tuple[tuple[Step, ...], tuple[int, ...]]:
        """Give the final code and result slots, each value dropped after its last use."""
        self.results = [*results]
        n_inputs, n_constants = len(self.inputs), len(self.constants)
        shift = n_inputs + n_constants

        def final(slot: int) -> int:
            if slot >= 0:
                return slot + shift
            half, odd = divmod(-slot, 2)
            return n_inputs + half - 1 if odd else half - 1

        ends = {final(self._slots[node]) for node in results}
        last: dict[int, int] = {}
        code: list[Any] = []
        for index, (tool, values, references, names) in enumerate(self.code):
            if values is None:
                references = tuple(map(final, references))
                used = references
            else:
                references = tuple((place, final(slot)) for place, slot in references)
                used = tuple(slot for _, slot in references)
            for slot in used:
                last[slot] = index
            code.append([tool, values, references, names, ()])
        for slot, index in last.items():
            if slot not in ends:
                code[index][4] = (*code[index][4], slot)
        return tuple(map(tuple, code)), tuple(final(self._slots[node]) for node in results)


class Compiler:
    """Writes the nodes of one graph as steps.

    Parameters
    ----------
    graph
        The graph.
    client
        The cluster, where a large constant becomes a block.
    kinds
        What tasks do.
    """

    def __init__(self, graph: Graph, client: Client, kinds: Kinds) -> None:
        self.kinds = kinds
        self._graph = graph
        self._numbers = {key: number for number, key in enumerate(graph.keys)}
        self._client = client
        self._blocks: dict[int, Any] = {}
        self._seen: dict[int, Any] = {}
        self._orders: dict[int, list[Any]] = {}

    def write(self, program: Program, node: int, tools: Tools) -> None:
        """Add the steps of a node to a program."""
        scope = _Scope(self, program, tools, node)
        program.finish(node, scope.value(self._graph.nodes[node]))

    def node_of(self, key: Any) -> int:
        """Give the number of the node that a key means."""
        return self._numbers[self._graph.aliases.get(key, key)]

    def view_of(self, key: Any) -> tuple[Any, Any]:
        """Give the key that a key means, and its node if each call that needs it runs it."""
        key = self._graph.aliases.get(key, key)
        return key, self._graph.views.get(key)

    def block_of(self, value: Any) -> Any:
        """Give the future of a large constant, the same for the same object."""
        future = self._blocks.get(id(value))
        if future is None:
            future = self._blocks[id(value)] = self._client.put(value)
        return future

    def is_at_home(self, piece: Any) -> bool:
        """Whether a block, or the one that rows are of, is in this cluster."""
        future = future_of(piece)
        return isinstance(future, Future) and future.client is self._client

    def is_shared(self, value: Any) -> bool:
        """Whether this very object was met before."""
        if id(value) in self._seen:
            return True
        self._seen[id(value)] = value
        return False

    def inner_order(self, inner: Mapping[Any, Any], last: Any) -> list[Any]:
        """Order the keys of a fused task's own graph, `last` at the end."""
        known = self._orders.get(id(inner))
        if known is None:
            known = self._orders[id(inner)] = _inner_order(inner, last)
        return known


def _inner_order(inner: Mapping[Any, Any], last: Any) -> list[Any]:
    order: list[Any] = []
    done: set[Any] = set()
    stack = [(last, False)]
    while stack:
        key, ready = stack.pop()
        if key in done or key not in inner:
            continue
        if ready:
            done.add(key)
            order.append(key)
            continue
        stack.append((key, True))
        stack += [(need, False) for need in getattr(inner[key], "dependencies", ())]
    return order


class _Scope:
    """Where keys are looked up: in the graph, or in a fused task's own graph first."""

    def __init__(
        self,
        compiler: Compiler,
        program: Program,
        tools: Tools,
        owner: int,
        local: dict[Any, int] | None = None,
    ) -> None:
        self._compiler, self._program, self._tools = compiler, program, tools
        self._owner, self._local = owner, local

    def lookup(self, key: Any) -> int:
        """Give the slot of a key."""
        if self._local is not None:
            return self._local[key]
        key, view = self._compiler.view_of(key)
        if view is None:
            return self._program.slot_of(self._compiler.node_of(key))
        slot = self._program.views.get(key)
        if slot is None:
            slot = self._program.views[key] = self.value(view)
        return slot

    def value(self, node: Any) -> int:
        """Write what gives the value of a node; its slot."""
        kind, spec = type(node), task_spec()
        if kind is spec.Alias:
            return self.lookup(node.target)
        if kind is spec.TaskRef:
            return self.lookup(node.key)
        if kind is spec.DataNode:
            return self._constant(node.value)
        if node.func is spec._execute_subgraph:
            return self._fused(node)
        piece = held_in(node)
        if piece is not None and self._compiler.is_at_home(piece):
            return self._program.constant(piece)
        return self._call(node)

    def _fused(self, node: Any) -> int:
        inner, out, inside, *outside = node.args
        local: dict[Any, int] = {}
        for key, given in zip(inside, outside, strict=True):
            is_node = hasattr(given, "dependencies") or type(given).__name__ == "TaskRef"
            local[key] = self.value(given) if is_node else self._constant(given)
        scope = _Scope(self._compiler, self._program, self._tools, self._owner, local)
        for key in self._compiler.inner_order(inner, out):
            if key not in local:
                local[key] = scope.value_of(inner[key])
        return local[out]

    def value_of(self, thing: Any) -> int:
        """Write what gives the value of a node, or of anything else as it is."""
        spec = task_spec()
        if isinstance(thing, (spec.TaskRef, spec.GraphNode)):
            return self.value(thing)
        return self._constant(thing)

    def _constant(self, value: Any) -> int:
        if _is_large(value):
            return self._program.constant(self._compiler.block_of(value))
        if _may_be_shared(value) and self._compiler.is_shared(value):
            return self._program.add(self._owner, [self._tools.constant(value), None, (), None])
        number = self._tools.number(_same)
        return self._program.add(self._owner, [number, (value,), (), None])

    def _call(self, node: Any) -> int:
        values: list[Any] = []
        references: list[tuple[int, int]] = []
        for argument in node.args:
            self._argument(argument, values, references)
        names = None
        if node.kwargs:
            for argument in node.kwargs.values():
                self._argument(argument, values, references)
            names = tuple(node.kwargs)
        number = self._tools.number(node.func)
        kind = None if node.key is None else self._compiler.kinds.of(node.key, node)
        step = [number, tuple(values), tuple(references), names]
        if len(references) == len(values):
            step[1:3] = None, tuple(slot for _, slot in references)
        return self._program.add(self._owner, step, kind)

    def _argument(
        self, argument: Any, values: list[Any], references: list[tuple[int, int]]
    ) -> None:
        if type(argument) in _PLAIN:
            values.append(argument)
            return
        spec = task_spec()
        if isinstance(argument, (spec.TaskRef, spec.GraphNode)):
            slot = self.value(argument)
        elif _is_large(argument):
            slot = self._program.constant(self._compiler.block_of(argument))
        elif _may_be_shared(argument) and self._compiler.is_shared(argument):
            number = self._tools.constant(argument)
            slot = self._program.add(self._owner, [number, None, (), None])
        else:
            values.append(argument)
            return
        references.append((len(values), slot))
        values.append(None)


def _may_be_shared(value: Any) -> bool:
    """Whether a reference to a tool is shorter than the value itself."""
    if isinstance(value, tuple | list | dict | str | bytes):
        return len(value) > _SHORT
    return not isinstance(value, type)


def _is_large(value: Any) -> bool:
    nbytes = getattr(value, "nbytes", None)
    return type(nbytes) is int and nbytes > _LARGE_NBYTES


def _same(value: Any) -> Any:
    return value
