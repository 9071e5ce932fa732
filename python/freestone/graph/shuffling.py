"""Shuffles of Dask's through files, with blocks in place of the files.

On one machine Dask shuffles by side effects: tasks append to a folder of `partd`, later tasks read
from it, and no edge of the graph says which. A task that runs twice would then append twice, and a
folder is gone with the process that made it. So each task that uses such a folder gets one of its
own, in memory. What it appended is part of its value, and goes to the tasks that read it.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from freestone.graph.durations import key_label
from freestone.graph.partd_store import MemoryStore, merge, part_name, piece_of, written
from freestone.graph.specs import task_spec

__all__ = ["route_shuffles"]

_MAX_PIECES = 64
"""What a task appended is cut into so many pieces. More readers than that share pieces, so that the
edges of a shuffle grow with its tasks and not with their square."""

_READERS = frozenset({("dask.dataframe.shuffle", "collect"), ("dask.bag.core", "collect")})
"""Functions that read only the part that their second argument names."""


def route_shuffles(specs: dict[Any, Any]) -> dict[Any, Any]:
    """Replace `partd` folders that tasks share by values that go from task to task.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`; changed in place.

    Returns
    -------
    dict
        The same.

    Notes
    -----
    Any task that uses a folder reads what those appended that come before it in the graph. Linear
    in nodes and edges; looks at nothing if `partd` was never imported.
    """
    if "partd" not in sys.modules:
        return specs
    found = {key: encoder for key, node in specs.items() if (encoder := _encoder_of(node))}
    for folder, encoder in found.items():
        _Shuffle(specs, folder, encoder).route()
    return specs


def _encoder_of(node: Any) -> Callable[[Any], Any] | None:
    """Give what makes a folder of a store of bytes, if a node makes a folder."""
    from partd.core import Interface

    function: Any = getattr(node, "func", None)
    if type(function).__name__ == "maybe_buffered_partd":
        encoder: Callable[[Any], Any] = function.encode_cls
        return encoder
    kind = getattr(function, "func", function)
    if not isinstance(kind, type) or not issubclass(kind, Interface):
        return None
    # What encodes values has a store under it; the others are stores of bytes themselves.
    return function if "partd" in inspect.signature(function).parameters else _as_it_is


def _as_it_is(store: Any) -> Any:
    return store


class _Shuffle:
    """One folder, and the tasks that use it."""

    def __init__(self, specs: dict[Any, Any], folder: Any, encoder: Callable[[Any], Any]) -> None:
        spec = task_spec()

        self._specs, self._folder, self._encoder = specs, folder, encoder
        self._users = {
            key: place
            for place, (key, node) in enumerate(specs.items())
            if folder in node.dependencies and type(node) is not spec.Alias
        }
        self._before = self._users_before()
        self._merged: dict[tuple[frozenset[Any], int], Any] = {}
        parts = [_part_read(specs[key], folder) for key, found in self._before.items() if found]
        known = dict.fromkeys(part for part in parts if part is not None)
        if None in parts:
            known = {}
        # Where each part is; without any, all that is appended is one piece.
        self._places = {part: index % _MAX_PIECES for index, part in enumerate(known)}

    def route(self) -> None:
        """Rewrite all users."""
        writers = set().union(*self._before.values())
        for key in self._users:
            node = self._specs[key]
            given = self._given(self._before[key], _part_read(node, self._folder))
            if key in writers:
                self._write(key, node, given)
            else:
                self._specs[key] = _fused(*self._opened(key, node, given), key=key)

    def _opened(self, key: Any, node: Any, given: Sequence[Any]) -> list[Any]:
        """Give a task with a folder of its own, in which is what was `given`."""
        spec = task_spec()

        store, folder, inside = (_inner(part, key) for part in ("store", "folder", "inside"))
        return [
            spec.Task(store, MemoryStore, *map(spec.TaskRef, given)),
            spec.Task(folder, self._encoder, spec.TaskRef(store)),
            node.substitute({self._folder: folder}, key=inside),
        ]

    def _write(self, key: Any, node: Any, given: Sequence[Any]) -> None:
        """Make a task's value a pair with what it appended."""
        spec = task_spec()

        pair, store, inside = (_inner(part, key) for part in ("written", "store", "inside"))
        places = spec.DataNode(None, self._places)
        end = spec.Task(pair, written, spec.TaskRef(inside), spec.TaskRef(store), places)
        self._specs[pair] = _fused(*self._opened(key, node, given), end, key=pair)
        self._specs[key] = spec.Task(key, operator.itemgetter(0), spec.TaskRef(pair))
        for place in set(self._places.values()) or {0}:
            piece = _inner(f"piece-{place}", key)
            self._specs[piece] = spec.Task(piece, piece_of, spec.TaskRef(pair), place)

    def _given(self, writers: frozenset[Any], part: Any) -> list[Any]:
        """Give the keys of the pieces in which is what a task may read."""
        spec = task_spec()

        in_order = sorted(writers, key=self._users.__getitem__)
        if part is None or not self._places:
            places: Iterable[int] = sorted(set(self._places.values()) or {0})
            return [_inner(f"piece-{place}", key) for place in places for key in in_order]
        place = self._places[part]
        pieces = [_inner(f"piece-{place}", key) for key in in_order]
        if len(self._places) <= _MAX_PIECES or not pieces:
            return pieces
        merged = self._merged.get((writers, place))
        if merged is None:
            merged = _inner(f"merged-{place}", in_order[0])
            self._merged[writers, place] = merged
            self._specs[merged] = spec.Task(merged, merge, *map(spec.TaskRef, pieces))
        return [merged]

    def _users_before(self) -> dict[Any, frozenset[Any]]:
        """Find for each user those that come before it."""
        specs, users = self._specs, self._users
        found: dict[Any, frozenset[Any]] = {}
        begun: set[Any] = set()
        stack = [*users]
        while stack:
            key = stack[-1]
            needs = specs[key].dependencies if key in specs else ()
            if key in begun:
                stack.pop()
                found[key] = _union(found, users, needs)
            else:
                begun.add(key)
                # A cycle is not followed here; it is found where the graph is ordered.
                stack += [need for need in needs if need not in begun]
        return {user: found[user] for user in users}


def _union(
    found: Mapping[Any, frozenset[Any]], users: Mapping[Any, int], needs: Iterable[Any]
) -> frozenset[Any]:
    """Join what comes before all that a node needs; the same object where only one has any."""
    before: frozenset[Any] = frozenset()
    for need in needs:
        above = found.get(need, frozenset())
        if above and above is not before:
            before = before | above if before else above
    direct = [need for need in needs if need in users]
    return before.union(direct) if direct else before


def _inner(part: str, key: Any) -> tuple[str, Any]:
    """Name what a task is made of."""
    return f"{key_label(key)}-{part}", key


def _fused(*nodes: Any, key: Any) -> Any:
    spec = task_spec()

    return spec.GraphNode.fuse(*nodes, key=key)


def _part_read(node: Any, folder: Any) -> str | None:
    """Give the part that a task reads; None if it may read any."""
    users = _users_inside(node, folder)
    name = getattr(users[0].func, "__module__", ""), getattr(users[0].func, "__name__", "")
    if len(users) > 1 or name not in _READERS:
        return None
    part = users[0].args[1]
    return part_name(getattr(part, "value", part))


def _users_inside(node: Any, folder: Any) -> list[Any]:
    """Give the tasks that use a folder among those that were fused to one, or that one."""
    spec = task_spec()

    if node.func is not spec._execute_subgraph:
        return [node]
    inner, _, inside, *outside = node.args
    names = {
        name
        for name, given in zip(inside, outside, strict=True)
        if folder in (getattr(given, "key", None), getattr(given, "target", None))
    }
    return [one for one in inner.values() if names & {*one.dependencies}]
