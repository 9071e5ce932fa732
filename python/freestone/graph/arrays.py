"""Arrays of a cluster inside Dask graphs: xarray's `chunk` and Dask's `from_array` put them there.

Dask takes such an array for a value, of which tasks cut chunks. It can't be sent, and need not be:
each task gets the blocks that have its rows.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from freestone.client.interface import Client
from freestone.collections.array import Array
from freestone.collections.held import node_of
from freestone.collections.protocols import ArrayMethods
from freestone.collections.rows import concatenate
from freestone.graph.rewriting import key_of, unfused
from freestone.graph.specs import task_spec

__all__ = ["with_blocks"]


def with_blocks(specs: dict[Any, Any], client: Client) -> dict[Any, Any]:
    """Replace arrays of a cluster by their blocks.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`; changed in place.
    client
        The cluster whose arrays are meant.

    Returns
    -------
    dict
        The same.

    Notes
    -----
    Expressions are computed, once each, and stay on the workers.
    """
    getters, fused = _getters(), task_spec()._execute_subgraph

    def is_apart(node: Any) -> bool:
        function = getattr(node, "func", None)
        if function is fused:
            # Of what Dask has fused already it fuses again.
            inner, _, _, *outside = node.args
            return any(map(is_apart, [*inner.values(), *outside]))
        cuts = function in getters and _has_array(node.args[0], client)
        return cuts or _has_array(node, client) or _has_meta(node)

    fused_keys = [key for key, node in specs.items() if getattr(node, "func", None) is fused]
    while fused_keys:
        node = specs[fused_keys.pop()]
        parts = [key for key in unfused(node, specs, is_apart) if specs[key] is not node]
        fused_keys += [key for key in parts if getattr(specs[key], "func", None) is fused]
    for key in [key for key, node in specs.items() if _has_meta(node)]:
        _set_meta(specs, key)
    wholes = {key: node.value for key, node in specs.items() if _has_array(node, client)}
    cut = [key for key, node in specs.items() if getattr(node, "func", None) in getters]
    cut = [key for key in cut if _cuts(specs[key].args[0], wholes, client)]
    if not wholes and not cut:
        return specs
    arrays: dict[int, Any] = {}
    for key in cut:
        given, index = (_constant(specs, argument) for argument in specs[key].args[:2])
        _cut_out(specs, key, _with_rows(given, arrays), index)
    # Anything else that uses one gets all of it.
    used = {need for node in specs.values() for need in node.dependencies}
    for key in used.intersection(wholes):
        _cut_out(specs, key, _with_rows(wholes[key], arrays), (slice(None),))
    return specs


def _constant(specs: dict[Any, Any], argument: Any) -> Any:
    """Return the value of an argument that is one, or the key of one."""
    found = specs.get(key_of(argument), argument)
    return getattr(found, "value", found)


def _getters() -> tuple[Any, ...]:
    """Return Dask's functions that cut a chunk out of what is like an array."""
    module = sys.modules.get("dask.array.core")
    names = ("getter", "getter_nofancy", "getter_inline")
    return tuple(getattr(module, name, None) for name in names if module is not None)


def _has_array(node: Any, client: Client) -> bool:
    """Tell whether a node is a constant that is an array, or an expression, of a cluster."""
    if type(node) is not task_spec().DataNode or not isinstance(node.value, ArrayMethods):
        return False
    return any(source.client is client for source in node.value._sources())


def _has_meta(node: Any) -> bool:
    """Tell whether a task says by an array of a cluster of which type a chunk is to be."""
    function = getattr(node, "func", None)
    meta = function.keywords.get("meta") if isinstance(function, functools.partial) else None
    return isinstance(meta, ArrayMethods)


def _set_meta(specs: dict[Any, Any], key: Any) -> None:
    """Have a task say that chunks are NumPy's, as those of arrays of a cluster are."""
    task = specs[key]
    function, meta = task.func, task.func.keywords["meta"]
    words = {**function.keywords, "meta": np.empty((0,) * meta.ndim, meta.dtype)}
    function = functools.partial(function.func, *function.args, **words)
    specs[key] = task_spec().Task(key, function, *task.args, **task.kwargs)


def _cuts(given: Any, wholes: dict[Any, Any], client: Client) -> bool:
    return key_of(given) in wholes or _has_array(given, client)


def _with_rows(value: Any, arrays: dict[int, Any]) -> Any:
    """Return an array in blocks, or a value if it has none; an expression is computed once."""
    if id(value) not in arrays:
        try:
            arrays[id(value)] = value if isinstance(value, Array) else value.to_array()
        except TypeError:
            # Sums of all rows, products and transposes.
            arrays[id(value)] = value.compute()
    return arrays[id(value)]


def _cut_out(specs: dict[Any, Any], key: Any, array: Any, index: Any) -> None:
    """Make a key stand for what an index takes of an array."""
    spec = task_spec()
    rows, *others = index if isinstance(index, tuple) else (index,)
    if not isinstance(array, Array) or array.grid:
        specs[key] = spec.DataNode(key, np.asarray(array)[index])
        return
    if not isinstance(rows, slice) or rows.step not in (None, 1):
        rows, others = slice(None), [rows, *others]
        within = tuple(others)
    else:
        within = (slice(None), *others)
    pieces = array[rows].blocks
    if not pieces:
        specs[key] = spec.DataNode(key, np.asarray(array[rows])[within])
        return
    names = [("freestone-rows", key, number) for number in range(len(pieces))]
    specs.update((name, node_of(name, piece)) for name, piece in zip(names, pieces, strict=True))
    specs[key] = spec.Task(key, _taken, spec.DataNode(None, within), *map(spec.TaskRef, names))


def _taken(index: Any, *blocks: Any) -> Any:
    """Take what an index says of rows that lie in several blocks."""
    rows = blocks[0] if len(blocks) == 1 else concatenate(blocks, "array")
    return rows[index]
