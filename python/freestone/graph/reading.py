"""Dask graphs as they are given, and as they are worked on: numbers instead of keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from freestone.client.future import Future
from freestone.client.interface import Client
from freestone.collections.held import held_in
from freestone.errors import CycleError, MissingKeyError
from freestone.graph.rewriting import rewrite
from freestone.graph.shuffling import route_shuffles
from freestone.graph.specs import task_spec
from freestone.graph.views import views_of

__all__ = ["Graph", "constant_of", "read", "specs_of"]


@dataclass(frozen=True)
class Graph:
    """What is needed of a graph.

    Attributes
    ----------
    keys : list
        The key of each node, those that are held first, then depth first: what a node needs comes
        before it.
    nodes : list
        A `dask._task_spec.GraphNode` for each; no alias of another key.
    needs : list of list of int
        The numbers of the nodes that each needs.
    users : list of int
        How many nodes need each; one more if its value is asked for.
    wanted : dict of key to int
        The nodes whose values are asked for. Two keys may be aliases of one node.
    aliases : dict of key to key
        What each alias stands for in the end.
    constants : dict of key to object
        The keys that are asked for and are values already; these are given as they are.
    held : list of Future
        The blocks that the first nodes stand for: they are in the cluster.
    views : dict of key to GraphNode
        Tasks that are no nodes, since each call that needs one runs it.
    """

    keys: list[Any]
    nodes: list[Any]
    needs: list[list[int]]
    users: list[int]
    wanted: dict[Any, int]
    aliases: dict[Any, Any]
    constants: dict[Any, Any]
    held: list[Future] = field(default_factory=list)
    views: dict[Any, Any] = field(default_factory=dict)


def read(
    graph: Any,
    keys: Iterable[Any],
    *,
    is_tree: bool = False,
    client: Client | None = None,
    has_views: bool = False,
) -> Graph:
    """Read a graph, and leave out what `keys` don't need.

    Parameters
    ----------
    graph
        A mapping of keys to tasks, old-style (tuples) or of today's `Task` and its like, or
        whatever has one as its `__dask_graph__`.
    keys
        Whose values are asked for, without nesting.
    is_tree
        Whether wide tasks of known reducers become reductions.
    client
        The cluster whose blocks are inputs, and no tasks.
    has_views
        Whether slices of these are cut out by the calls that need them, and are no tasks.

    Raises
    ------
    MissingKeyError
        When a key is asked for, or needed by a task, and is not in the graph.
    CycleError
        When tasks wait for each other.

    Notes
    -----
    Linear in nodes and edges, some microseconds each.
    """
    specs = specs_of(graph)
    if is_tree:
        specs = rewrite(specs)
    specs = route_shuffles(specs)
    aliases: dict[Any, Any] = {}
    targets = {key: _target(specs, key, aliases, None) for key in keys}
    constants = {
        key: value for key, target in targets.items() for value in constant_of(specs[target])
    }
    targets = {key: target for key, target in targets.items() if key not in constants}
    numbers: dict[Any, int] = {}
    needs: list[list[int]] = []
    views = _views(specs, targets.values(), client) if has_views else {}
    found_first = _depth_first(specs, targets.values(), aliases, views)
    order, held = _held_first(specs, found_first, client)
    for number, (key, found) in enumerate(order):
        numbers[key] = number
        needs.append([numbers[need] for need in found])
    users = [0] * len(order)
    for found in needs:
        for need in found:
            users[need] += 1
    for target in set(targets.values()):
        users[numbers[target]] += 1
    return Graph(
        keys=[key for key, _ in order],
        nodes=[specs[key] for key, _ in order],
        needs=needs,
        users=users,
        wanted={key: numbers[target] for key, target in targets.items()},
        aliases=aliases,
        constants=constants,
        held=held,
        views=views,
    )


def _views(specs: dict[Any, Any], wanted: Iterable[Any], client: Client | None) -> dict[Any, Any]:
    """Return the slices of blocks that are no tasks of their own."""

    def resolve(key: Any) -> Any:
        # What is missing, or waits for itself, is reported where it is needed, if it is.
        with suppress(MissingKeyError, CycleError):
            return _target(specs, key, {}, None)
        return None

    return views_of(
        specs, wanted, resolve, lambda key: is_block_of(client, held_in(specs.get(key)))
    )


def _held_first(
    specs: Mapping[Any, Any], order: list[tuple[Any, list[Any]]], client: Client | None
) -> tuple[list[tuple[Any, list[Any]]], list[Future]]:
    """Put the keys of whole blocks of a cluster before all others; these blocks, too."""
    held = {key: held_in(specs[key]) for key, found in order if not found}
    held = {key: block for key, block in held.items() if is_block_of(client, block)}
    if not held:
        return order, []
    first = [(key, found) for key, found in order if key in held]
    return [*first, *(one for one in order if one[0] not in held)], [*held.values()]


def is_block_of(client: Client | None, piece: Any) -> bool:
    """Whether something is a whole block that a cluster holds."""
    return type(piece) is Future and client is not None and piece.client is client


def constant_of(node: Any) -> list[Any]:
    """Give the value of a node that is one already, in a list; an empty list for others."""
    spec = task_spec()

    return [node.value] if type(node) is spec.DataNode else []


def specs_of(graph: Any) -> dict[Any, Any]:
    """Give a graph's keys and their `GraphNode`, in a dict that may be changed."""
    spec = task_spec()

    if not isinstance(graph, Mapping) and not hasattr(graph, "__dask_graph__"):
        raise TypeError(
            f"a graph is a dict of keys to tasks, as in {{'x': 1, 'y': (pow, 'x', 2)}}, and not "
            f"{graph!r:.80} ({type(graph).__name__}); for the values of futures, "
            "cluster.gather(futures)"
        )
    if hasattr(graph, "__dask_graph__"):
        graph = graph.__dask_graph__()
    specs = dict(graph)
    if all(isinstance(node, spec.GraphNode) for node in specs.values()):
        return specs
    converted: dict[Any, Any] = spec.convert_legacy_graph(
        {key: _with_whole_dicts(task) for key, task in specs.items()}
    )
    return converted


def _with_whole_dicts(task: Any) -> Any:
    """Keep dicts among the arguments of an old-style task as they are.

    Dask would make a list of items of each, and the same dict in many tasks would be many.
    """
    spec = task_spec()

    if type(task) is not tuple or not task or not callable(task[0]):
        return task

    def whole(argument: Any) -> Any:
        if type(argument) is not dict:
            return _with_whole_dicts(argument)
        if any(isinstance(value, spec.GraphNode) for value in argument.values()):
            return argument
        return spec.DataNode(None, argument)

    return (task[0], *map(whole, task[1:]))


def _target(specs: Mapping[Any, Any], key: Any, aliases: dict[Any, Any], user: Any) -> Any:
    """Give the key that a key stands for in the end, which is itself if it is no alias."""
    spec = task_spec()

    passed: list[Any] = []
    found = key
    while True:
        node = specs.get(found)
        if node is None:
            raise MissingKeyError(key=found, needed_by=passed[-1] if passed else user)
        if type(node) is not spec.Alias:
            break
        if found in passed:
            raise CycleError(passed[passed.index(found) :])
        passed.append(found)
        found = node.target
    for alias in passed:
        aliases[alias] = found
    return found


def _depth_first(
    specs: Mapping[Any, Any],
    wanted: Iterable[Any],
    aliases: dict[Any, Any],
    views: Mapping[Any, Any],
) -> list[tuple[Any, list[Any]]]:
    """Order what is wanted and what it needs; each key with the keys that it needs."""
    place = {key: index for index, key in enumerate(specs)}
    done: set[Any] = set()
    begun: dict[Any, list[Any]] = {}
    order: list[tuple[Any, list[Any]]] = []
    for root in wanted:
        stack = [root]
        while stack:
            key = stack[-1]
            if key in done:
                stack.pop()
            elif key in begun:
                stack.pop()
                done.add(key)
                order.append((key, begun[key]))
            else:
                begun[key] = _needs(specs, key, aliases, place, views)
                waiting = [need for need in reversed(begun[key]) if need not in done]
                for need in waiting:
                    if need in begun:
                        raise CycleError(_cycle(begun, need))
                stack += waiting
    return order


def _needs(
    specs: Mapping[Any, Any],
    key: Any,
    aliases: dict[Any, Any],
    place: Mapping[Any, int],
    views: Mapping[Any, Any],
) -> list[Any]:
    """Give the keys that a task needs, as the graph has them in order."""
    spec = task_spec()

    found = []
    for need in views.get(key, specs[key]).dependencies:
        node = specs.get(need)
        if node is None:
            raise MissingKeyError(key=need, needed_by=key)
        target = _target(specs, need, aliases, key) if type(node) is spec.Alias else need
        if target in views:
            found += _needs(specs, target, aliases, place, views)
        else:
            found.append(target)
    if len(found) > 1:
        found = sorted(set(found), key=place.__getitem__)
    return found


def _cycle(begun: Mapping[Any, list[Any]], start: Any) -> list[Any]:
    """Find the way from a key back to itself through what each needs."""
    came_from = {start: start}
    reached = [start]
    for key in reached:
        for need in begun.get(key, ()):
            if need == start:
                way = [key]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if need not in came_from:
                came_from[need] = key
                reached.append(need)
    return [start]
