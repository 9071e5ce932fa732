"""Tasks that the calls that need them run: slices of blocks on a cluster of one worker, constants.

All its executors map its blocks, so that a slice costs no more than the copy that its user makes
anyway. Of several workers whole blocks would travel for some of their rows: there, slices are
results, cut where the block is. A small constant is shorter than the name of a block with it.

See docs/decisions/089-slices-are-cut-by-the-calls-that-need-them.md
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from freestone.graph.rewriting import Reduction, key_of, unfused
from freestone.graph.specs import task_spec

__all__ = ["part_of_whole", "views_of"]

_SMALL_NBYTES = 1024
_SMALL_COUNT = 16
_MAX_DEPTH = 8


def views_of(
    specs: dict[Any, Any],
    wanted: Iterable[Any],
    resolve: Callable[[Any], Any],
    is_block: Callable[[Any], bool],
) -> dict[Any, Any]:
    """Find small constants, and tasks that cut slices out of blocks or of what several tasks need.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`. Fused tasks that begin with a slice of joined blocks are taken
        apart in it.
    wanted
        Keys whose values are asked for; these are computed.
    resolve
        Gives the key that a key stands for, if it is an alias; None if there is none.
    is_block
        Whether a key's node is a block that is in the cluster.

    Returns
    -------
    dict
        The nodes to run in each call that needs them, by key. A slice of joined blocks joins the
        slices of these, so that the whole is not made, unless something else needs it. A slice of
        what only that slice needs is a task, run in the call that makes the whole, so that the
        whole is not written.

    Notes
    -----
    Linear in nodes and edges.
    """
    joins = _joins(specs, resolve, is_block)
    if joins:
        _take_slices_apart(specs, joins, resolve)
    specs = {key: _without_aliases(node) for key, node in specs.items()}
    needed = {resolve(key) for key in wanted}
    needed |= {part for node in specs.values() if type(node) is Reduction for part in node.parts}
    found = {
        key: node
        for key, node in specs.items()
        if _is_small_constant(node) and key not in needed and not is_block(key)
    }
    slices = {key: node for key, node in specs.items() if _is_slice(node)}
    if not slices:
        return found
    wholes = _of_slices_only(joins, specs, slices, resolve) - needed
    users = _users(specs, resolve)
    sources = {}
    for key, node in slices.items():
        (need,) = node.dependencies
        source = resolve(need)
        if key in needed:
            continue
        if source in wholes:
            found[key] = _of_whole(key, specs[source], node.args[1])
        elif is_block(source) or (source in specs and users[source] > 1):
            sources[key] = source
    return found | {key: slices[key] for key in sources if _is_near(key, sources)}


def _users(specs: Mapping[Any, Any], resolve: Callable[[Any], Any]) -> Counter[Any]:
    """Count the tasks that need each key."""
    return Counter(
        resolve(need)
        for node in specs.values()
        if not _is_alias(node)
        for need in node.dependencies
    )


def _is_near(key: Any, sources: Mapping[Any, Any]) -> bool:
    """Whether a slice is one of a few slices of each other; the first is of something else."""
    for _ in range(_MAX_DEPTH):
        key = sources[key]
        if key not in sources:
            return True
    return False


def _without_aliases(node: Any) -> Any:
    """Give the only task of a fused one, if the others stand for it or for what it needs."""
    spec = task_spec()

    if getattr(node, "func", None) is not spec._execute_subgraph:
        return node
    inner, out, inside, *outside = node.args
    tasks = [one for one in inner.values() if type(one) is spec.Task]
    if len(tasks) != 1 or len(tasks) + sum(map(_is_alias, inner.values())) < len(inner):
        return node
    while _is_alias(inner[out]):
        out = inner[out].target
        if out not in inner:
            return node
    if [*inside] != [*map(key_of, outside)] or not tasks[0].dependencies <= {*inside}:
        return node
    return tasks[0].substitute({}, key=node.key)


def _is_small_constant(node: Any) -> bool:
    spec = task_spec()

    return type(node) is spec.DataNode and _is_small(node.value)


def _is_small(value: Any) -> bool:
    """Whether a value takes few bytes, as far as that can be seen at a glance."""
    if isinstance(value, tuple | list):
        return len(value) <= _SMALL_COUNT and all(map(_is_small, value))
    if isinstance(value, np.ndarray | np.generic):
        return value.nbytes <= _SMALL_NBYTES and not value.dtype.hasobject
    if isinstance(value, str | bytes):
        return len(value) <= _SMALL_NBYTES
    return value is None or isinstance(value, bool | int | float | complex | slice)


def _is_slice(node: Any) -> bool:
    """Whether a task takes a region of an array: slices only, without steps."""
    if getattr(getattr(node, "func", None), "__name__", "") != "getitem" or len(node.args) != 2:
        return False
    index = node.args[1]
    return (
        len(node.dependencies) == 1
        and not node.kwargs
        and type(index) is tuple
        and all(type(one) is slice and one.step in (None, 1) for one in index)
    )


def _joins(
    specs: Mapping[Any, Any], resolve: Callable[[Any], Any], is_block: Callable[[Any], bool]
) -> set[Any]:
    """Return the keys of blocks that are joined."""
    from dask.array.core import concatenate_shaped

    return {
        key
        for key, node in specs.items()
        if getattr(node, "func", None) is concatenate_shaped
        and len(node.args) == 2
        and all(is_block(resolve(need)) for need in node.dependencies)
    }


def _take_slices_apart(
    specs: dict[Any, Any], joins: set[Any], resolve: Callable[[Any], Any]
) -> None:
    """Make slices of joined blocks tasks of their own that are fused with what needs them."""

    def is_cut(node: Any) -> bool:
        return _is_slice(node) and any(resolve(need) in joins for need in node.dependencies)

    for node in [*specs.values()]:
        if any(resolve(need) in joins for need in node.dependencies):
            for _ in unfused(node, specs, is_cut):
                pass


def _of_slices_only(
    joins: set[Any],
    specs: Mapping[Any, Any],
    slices: Mapping[Any, Any],
    resolve: Callable[[Any], Any],
) -> set[Any]:
    """Return the keys of joined blocks that only slices need."""
    if not joins:
        return joins
    return joins - {
        resolve(need)
        for key, node in specs.items()
        if key not in slices and not _is_alias(node)
        for need in node.dependencies
    }


def _is_alias(node: Any) -> bool:
    spec = task_spec()

    return type(node) is spec.Alias


def _of_whole(key: Any, whole: Any, index: tuple[slice, ...]) -> Any:
    spec = task_spec()

    return spec.Task(key, part_of_whole, *whole.args, index)


def part_of_whole(arrays: list[Any], shape: tuple[int, ...], index: tuple[slice, ...]) -> Any:
    """Return a region of arrays that are joined: ``concatenate_shaped(arrays, shape)[index]``.

    Parameters
    ----------
    arrays
        Those of a grid, in C order.
    shape
        Of the grid.
    index
        Slices without steps.

    Returns
    -------
    ndarray
        A copy; nothing beside the region is copied.
    """
    from dask.array.core import concatenate3, concatenate_shaped, reshapelist

    first = arrays[0]
    if any(one.dtype != first.dtype or one.ndim != len(shape) for one in arrays):
        return concatenate_shaped(arrays, shape)[index]
    parts, grid = [*arrays], np.arange(len(arrays)).reshape(shape)
    for axis, region in enumerate(index):
        sides = [arrays[line.flat[0]].shape[axis] for line in np.moveaxis(grid, axis, 0)]
        cuts = _cuts(sides, region)
        if not cuts:
            return concatenate_shaped(arrays, shape)[index]
        for at, cut in cuts.items():
            for number in np.take(grid, at, axis).flat:
                parts[number] = parts[number][(slice(None),) * axis + (cut,)]
        grid = np.take(grid, [*cuts], axis)
    return concatenate3(reshapelist(grid.shape, [parts[number] for number in grid.flat]))


def _cuts(sides: list[int], region: slice) -> dict[int, slice]:
    """Return what a region takes of each of some lengths, one after the other."""
    start, stop, _ = region.indices(sum(sides))
    found, before = {}, 0
    for at, side in enumerate(sides):
        if start < before + side and stop > before and start < stop:
            found[at] = slice(max(start - before, 0), min(stop - before, side))
        before += side
    return found
