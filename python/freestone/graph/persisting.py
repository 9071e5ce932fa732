"""Dask collections whose blocks stay on the workers."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from freestone.client.future import Future
from freestone.collections.held import node_of

__all__ = ["as_nodes", "is_to_persist", "persist"]

_MAX_FRAMES = 4
"""So near is the caller of Dask's, if it is Dask that calls."""


def persist(get: Callable[..., Any], *collections: Any, **options: Any) -> Any:
    """Compute Dask collections and leave their blocks on the workers; see `Cluster.persist`."""
    import dask

    traverse = options.get("traverse", True)
    if not dask.base.unpack_collections(*collections, traverse=traverse)[0]:
        shown = ", ".join(type(one).__name__ for one in collections) or "nothing"
        raise TypeError(
            f"persist() takes collections of Dask's, and there is none in {shown}; blocks of "
            "freestone's own collections are on the workers as they are"
        )
    # Newer versions of Dask call the method `persist` of whatever owns a scheduler's method.
    found = dask.persist(*collections, scheduler=functools.partial(get), **options)
    return found[0] if len(collections) == 1 else found


def is_to_persist() -> bool:
    """Tell whether `dask.persist` asks for results, so that they are to stay where they are.

    Notes
    -----
    Dask calls a scheduler for `compute` and for `persist` alike; only the caller differs.
    """
    base: Any = sys.modules.get("dask.base")
    if base is None:
        return False
    frame = sys._getframe(1)
    for _ in range(_MAX_FRAMES):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code is base.persist.__code__:
            return True
        if frame.f_code is base.compute.__code__:
            return False
    return False


def as_nodes(results: Mapping[Any, Any]) -> dict[Any, Any]:
    """Make results the nodes of a graph: futures of blocks that are held, or values.

    Notes
    -----
    Arrays, frames and the like are in the graph as they are, where programs look for them. Values
    of Python's own types could be taken for keys or calls there.
    """
    return {key: _as_node(key, result) for key, result in results.items()}


def _as_node(key: Any, result: Any) -> Any:
    from dask._task_spec import DataNode

    if isinstance(result, Future):
        return node_of(key, result)
    return DataNode(key, result) if type(result).__module__ == "builtins" else result
