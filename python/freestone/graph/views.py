"""Slices of blocks that are cut out by the calls that need them, on a cluster of one worker.

All its executors map its blocks, so that a slice costs no more than the copy that its user makes
anyway. Of several workers whole blocks would travel for some of their rows: there, slices are
results, cut where the block is.

See docs/decisions/089-slices-are-cut-by-the-calls-that-need-them.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from freestone.graph.rewriting import Reduction

__all__ = ["part_of_whole", "views_of"]


def views_of(
    specs: Mapping[Any, Any],
    wanted: Iterable[Any],
    resolve: Callable[[Any], Any],
    is_block: Callable[[Any], bool],
) -> dict[Any, Any]:
    """Find tasks that cut slices out of blocks, or out of what joins blocks.

    Parameters
    ----------
    specs
        Keys and their `GraphNode`.
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
        slices of these, so that the whole is not made, unless something else needs it.

    Notes
    -----
    Linear in nodes and edges.
    """
    slices = {key: node for key, node in specs.items() if _is_slice(node)}
    if not slices:
        return {}
    needed = {resolve(key) for key in wanted}
    needed |= {part for node in specs.values() if type(node) is Reduction for part in node.parts}
    wholes = _wholes(specs, slices, resolve, is_block) - needed
    found = {}
    for key, node in slices.items():
        (need,) = node.dependencies
        source = resolve(need)
        if key in needed:
            continue
        if is_block(source):
            found[key] = node
        elif source in wholes:
            found[key] = _of_whole(key, specs[source], node.args[1])
    return found


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


def _wholes(
    specs: Mapping[Any, Any],
    slices: Mapping[Any, Any],
    resolve: Callable[[Any], Any],
    is_block: Callable[[Any], bool],
) -> set[Any]:
    """Return the keys of joined blocks that only slices need."""
    from dask.array.core import concatenate_shaped

    found = {
        key
        for key, node in specs.items()
        if getattr(node, "func", None) is concatenate_shaped
        and len(node.args) == 2
        and all(is_block(resolve(need)) for need in node.dependencies)
    }
    if found:
        found -= {
            resolve(need)
            for key, node in specs.items()
            if key not in slices and not _is_alias(node)
            for need in node.dependencies
        }
    return found


def _is_alias(node: Any) -> bool:
    from dask._task_spec import Alias

    return type(node) is Alias


def _of_whole(key: Any, whole: Any, index: tuple[slice, ...]) -> Any:
    from dask._task_spec import Task

    return Task(key, part_of_whole, *whole.args, index)


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
