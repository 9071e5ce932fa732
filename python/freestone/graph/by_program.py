"""Graphs as a manager without retention runs them: every value goes back to the program."""

from __future__ import annotations

from typing import Any

from freestone import _native
from freestone.client.future import Future
from freestone.client.interface import Client
from freestone.graph.callbacks import Callbacks
from freestone.graph.durations import key_label
from freestone.graph.reading import Graph
from freestone.graph.stack import Stack

__all__ = ["run_by_program"]

_POLL_INTERVAL_S = 0.05


def run_by_program(
    client: Client, graph: Graph, stack: Stack, callbacks: Callbacks
) -> dict[int, Any]:
    """Run a graph task by task, every result fetched and sent along with each call on it.

    Parameters
    ----------
    client, graph, stack, callbacks
        As for `run_graph`; nothing is fused, and wide tasks stay as they are.

    Returns
    -------
    dict of int to object
        The values of the nodes that are wanted.

    Notes
    -----
    The step before the paper's TaskVine, Work Queue, for comparison: each value crosses the
    program once for the task that makes it and once for each that needs it.
    """
    waiting = [len(needs) for needs in graph.needs]
    dependents: list[list[int]] = [[] for _ in graph.nodes]
    for node, needs in enumerate(graph.needs):
        for need in needs:
            dependents[need].append(node)
    left = [*graph.users]
    values: dict[int, Any] = {}
    futures: dict[int, Future] = {}
    watch = _native.manager.Watch()

    def submit(node: int) -> None:
        if node < len(graph.held):
            futures[node] = graph.held[node]
            watch.add(futures[node], node)
            return
        given = {graph.keys[need]: values[need] for need in graph.needs[node]}
        futures[node] = _submit(client, graph, stack, node, given)
        watch.add(futures[node], node)

    def fulfil(node: int) -> None:
        values[node] = futures.pop(node).result()
        callbacks.done(graph.keys[node], values[node])
        for user in dependents[node]:
            waiting[user] -= 1
            if not waiting[user]:
                submit(user)
        for need in graph.needs[node]:
            left[need] -= 1
            if not left[need]:
                del values[need]

    try:
        for node in [node for node, count in enumerate(waiting) if not count]:
            submit(node)
        while futures:
            for node in watch.take(_POLL_INTERVAL_S):
                fulfil(node)
    except BaseException:
        client.cancel(list(futures.values()))
        raise
    return {node: values[node] for node in graph.wanted.values()}


def _submit(client: Client, graph: Graph, stack: Stack, node: int, given: dict[Any, Any]) -> Future:
    key = graph.keys[node]
    needs = graph.nodes[node].dependencies
    aliases = {need: graph.aliases[need] for need in needs if need in graph.aliases}
    options = stack.call_options()
    options |= {"name": key_label(key), "hoist": stack.hoist}
    future: Future = client.submit(run_task, (graph.nodes[node], aliases, given), {}, options)
    return future


def run_task(task: Any, aliases: dict[Any, Any], given: dict[Any, Any]) -> Any:
    """Run one Dask task on the values that it needs."""
    return task(given | {alias: given[target] for alias, target in aliases.items()})
