"""What `dask.array.store` writes into the program's memory is written by the program.

A task elsewhere would write into a copy of the target, and nobody would ever see it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from freestone.graph.durations import is_fused
from freestone.graph.rewriting import unfused
from freestone.graph.specs import task_spec

__all__ = ["run_here", "tasks_here"]

_STORES = frozenset({"store_chunk", "load_store_chunk", "load_chunk"})


def tasks_here(specs: dict[Any, Any]) -> list[Any]:
    """Find the tasks that write to what may be in the program's memory, and those after them.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`. A fused task that ends in such a one is taken apart, in place,
        so that what it computes before is computed on the cluster.

    Returns
    -------
    list
        Their keys. Arrays of zarr that are in files or elsewhere outside are not meant.
    """
    if "dask.array.core" not in sys.modules:
        return []
    storing = [node for node in specs.values() if _stores(node)]
    if not storing:
        return []
    fused = [node for node in storing if _inner(node)]
    while fused:
        node = fused.pop()
        parts = [specs[key] for key in unfused(node, specs, _stores)]
        fused += [part for part in parts if part is not node and _inner(part) and _stores(part)]
    here = {key for key, node in specs.items() if _stores(node) and not _is_outside(node, specs)}
    if here:
        here |= _after(specs, here)
    return [key for key in specs if key in here]


def run_here(
    specs: dict[Any, Any], here: Collection[Any], wanted: Iterable[Any], values: dict[Any, Any]
) -> dict[Any, Any]:
    """Run tasks in this process, given the values that they need of others."""
    import dask

    spec = task_spec()

    graph = {key: spec.DataNode(key, value) for key, value in values.items()}
    graph |= {key: specs[key] for key in here}
    keys = [key for key in wanted if key in here]
    return dict(zip(keys, dask.get(graph, keys), strict=True))


def _inner(node: Any) -> list[Any]:
    """Give the tasks that were fused to one."""
    return [*node.args[0].values()] if is_fused(node) else []


def _stores(node: Any) -> bool:
    """Whether a task, or one that was fused to it, stores."""
    function = getattr(node, "func", None)
    function = getattr(function, "func", function)
    if getattr(function, "__name__", None) in _STORES:
        return bool(function.__module__ == "dask.array.core")
    return any(map(_stores, _inner(node)))


def _is_outside(node: Any, specs: dict[Any, Any]) -> bool:
    """Whether the target of a store is an array of zarr that other processes can open."""
    targets = [_unwrapped(value) for value in _values(node, specs)]
    stores = [value.store for value in targets if type(value).__module__.startswith("zarr.")]
    return bool(stores) and not any(
        isinstance(store, dict) or "Memory" in type(store).__name__ for store in stores
    )


def _unwrapped(value: Any) -> Any:
    """Give the array of zarr that xarray writes to."""
    is_xarrays = type(value).__module__ == "xarray.backends.zarr"
    return getattr(value, "_array", value) if is_xarrays else value


def _values(node: Any, specs: dict[Any, Any]) -> Iterator[Any]:
    """Yield the arguments of a task that are values, and of those that were fused to it."""
    for one in (*getattr(node, "args", ()), *getattr(node, "kwargs", {}).values()):
        yield getattr(one, "value", one)
    for need in node.dependencies:
        yield getattr(specs.get(need), "value", None)
    for one in _inner(node):
        yield from _values(one, specs)


def _after(specs: dict[Any, Any], first: Iterable[Any]) -> set[Any]:
    """Find all that needs one of some tasks."""
    users: dict[Any, list[Any]] = {}
    for key, node in specs.items():
        for need in node.dependencies:
            users.setdefault(need, []).append(key)
    found: set[Any] = set()
    stack = [*first]
    while stack:
        new = [user for user in users.get(stack.pop(), ()) if user not in found]
        found.update(new)
        stack += new
    return found
