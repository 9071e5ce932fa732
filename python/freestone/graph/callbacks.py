"""Dask's callbacks: `dask.diagnostics.ProgressBar` and its like see graphs that run here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from freestone import _native
from freestone.client.future import Future
from freestone.graph.reading import Graph

__all__ = ["Callbacks", "callbacks_of"]

_POLL_INTERVAL_S = 0.05
_WORKER = "freestone"
"""What stands for the worker's id: which one ran a call is in the trace."""


@contextmanager
def callbacks_of(graph: Any) -> Iterator[Callbacks]:
    """Tell the callbacks that are active of a run; they are not active inside it.

    Parameters
    ----------
    graph
        As Dask gives it. If a callback is active, it is copied, since a callback may put values
        into it that it knows.
    """
    from dask.callbacks import local_callbacks, unpack_callbacks

    with local_callbacks() as active:
        this = Callbacks(graph, unpack_callbacks([*active]) if active else None)
        errored = True
        try:
            yield this
            errored = False
        finally:
            this.finish(errored)


class Callbacks:
    """The callbacks of one run, and what they are told.

    Attributes
    ----------
    graph
        The graph to run.

    Notes
    -----
    `pretask` is called when a task is submitted and `posttask` when the call has ended that it
    shares with others; so a profiler sees how long tasks were under way, not how long they ran.
    `posttask` gets None for a value that stays with the workers.
    """

    def __init__(self, graph: Any, callbacks: Any) -> None:
        self.graph = graph
        self._state: dict[str, Any] = {}
        self._has_any = callbacks is not None
        self._start, self._begin, self._pretask, self._posttask, self._finish = (
            callbacks or [()] * 5
        )
        if self._has_any:
            if hasattr(graph, "__dask_graph__"):
                graph = graph.__dask_graph__()
            self.graph = dict(graph)
            _call(self._start, self.graph)

    def __bool__(self) -> bool:
        return self._has_any

    def begin(self, graph: Graph) -> None:
        """Tell of all tasks of a graph; they count as submitted."""
        if not self:
            return
        needs = {
            key: {graph.keys[need] for need in found}
            for key, found in zip(graph.keys, graph.needs, strict=True)
        }
        keys = graph.keys[len(graph.held) :]
        users: dict[Any, set[Any]] = {key: set() for key in graph.keys}
        for key, found in needs.items():
            for need in found:
                users[need].add(key)
        self._state = {
            "dependencies": needs,
            "dependents": users,
            "waiting": {},
            "waiting_data": {},
            "ready": [],
            "running": set(keys),
            "finished": set(),
            "released": set(),
            "cache": {},
        }
        _call(self._begin, self.graph, self._state)
        for key in keys:
            _call(self._pretask, key, self.graph, self._state)

    def done(self, key: Any, *value: Any) -> None:
        """Tell that a task has ended; its value, if it is here."""
        if not self or key not in self._state["running"]:
            return
        self._state["running"].remove(key)
        self._state["finished"].add(key)
        for callback in self._posttask:
            if value or not _keeps_values(callback):
                callback(key, *(value or (None,)), self.graph, self._state, _WORKER)

    def follow(
        self, calls: Sequence[tuple[Future, Sequence[int]]], end: Callable[[Sequence[int]], None]
    ) -> None:
        """Wait for calls and hand the nodes of each that ends to `end`, until one fails."""
        watch, left = _native.manager.Watch(), len(calls)
        for number, (future, _) in enumerate(calls):
            watch.add(future, number)
        while left:
            for number in watch.take(_POLL_INTERVAL_S):
                future, nodes = calls[number]
                if future.status == "failed":
                    return
                left -= 1
                end(nodes)

    def finish(self, errored: bool) -> None:
        """Tell that the run has ended."""
        _call(self._finish, self.graph, self._state, errored)


def _call(callbacks: Iterable[Callable[..., Any]], *arguments: Any) -> None:
    for callback in callbacks:
        callback(*arguments)


def _keeps_values(callback: Callable[..., Any]) -> bool:
    """Whether a callback would take the None of a value that is elsewhere for the value."""
    from dask.cache import Cache

    return isinstance(getattr(callback, "__self__", None), Cache)
