"""Histograms: the counts of each block, summed up."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.lang.arrays.cells import same_rows
from freestone.lang.arrays.nodes import Node, cut_up, refusal, value
from freestone.lang.arrays.totals import reduction, small

__all__ = ["histogram", "histogram2d", "histogramdd"]


def histogram(
    arg: Node, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Node, Any]:
    """Make the nodes of `numpy.histogram`: counts, and edges.

    Notes
    -----
    Edges that depend on the data, because neither they nor a range are given, take one more pass.
    """
    if isinstance(bins, str):
        raise refusal("np.histogram", f"takes no bins={bins!r} here")
    if arg.dtype.kind not in "biuf":
        raise refusal("np.histogram", f"takes no {arg.dtype}")
    edges, shown = _edges(arg, bins, range)
    options = {"bins": bins, "range": None if np.ndim(bins) else range}
    weighed: tuple[Node, ...] = () if weights is None else (_weights_of(arg, weights),)
    function = functools.partial(_counts, options)
    if arg.rows is None:
        counts = small(function, arg, edges, *weighed)
    else:
        attrs = {"name": "sum", "axes": None, "function": function}
        # No edge makes no bin, and neither does one.
        shape = (max(int(edges.shape[0] or 0) - 1, 0),)
        dtype = np.dtype(np.intp) if weights is None else weighed[0].dtype
        counts = Node("total", (arg, edges, *weighed), shape, dtype, None, attrs)
    return (small(_density, counts, edges) if density else counts), shown


def _weights_of(arg: Node, weights: Any) -> Node:
    """Return the node of weights, cut like what they weigh; sums of them are of their type."""
    node = weights if isinstance(weights, Node) else value(np.asarray(weights))
    if node.shape != arg.shape:
        raise ValueError(
            f"np.histogram: weights should have the same shape as a: {node.shape}, not {arg.shape}"
        )
    if node.dtype.kind not in "iufc" or node.kind == "turned" or arg.kind == "turned":
        raise refusal("np.histogram", f"takes no weights of {node.dtype} here")
    if arg.rows is None:
        return node
    if node.kind == "value":
        return cut_up(np.asarray(node.attrs["data"]), arg.rows)
    if node.rows is None:
        raise refusal("np.histogram", "takes no whole weights that are not computed")
    same_rows(node, arg.rows, "histogram")
    return node


def _edges(arg: Node, bins: Any, range: Any) -> tuple[Node, Any]:
    """Return the node of the edges, and what the caller gets: the edges, if they are known."""
    if np.ndim(bins) or range is not None or 0 in arg.shape:
        sample = np.ones(0, arg.dtype)
        known = np.histogram_bin_edges(sample, bins, range)
        return value(known), known
    ends = [reduction(name, arg, None) for name in ("min", "max")]
    made = small(functools.partial(_between, bins), *ends)
    return made, made


def _between(bins: Any, low: Any, high: Any) -> NDArray[Any]:
    return np.histogram_bin_edges(np.array([low, high]), bins)


def _counts(
    options: dict[str, Any], block: NDArray[Any], edges: NDArray[Any], weights: Any = None
) -> NDArray[Any]:
    """Count a block as NumPy counts the whole: by width where bins are of one, or by edges."""
    ends = None if np.ndim(options["bins"]) else (edges[0], edges[-1])
    return np.histogram(block, options["bins"], ends, weights=weights)[0]


def _density(counts: NDArray[Any], edges: NDArray[Any]) -> Any:
    return counts / np.diff(edges) / counts.sum()


# -- of several dimensions --------------------------------------------------------------------


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, ...]:
    """Make the nodes of `numpy.histogram2d`: counts, and the edges along both axes."""
    is_pair = _length(bins) in (1, 2)
    counts, edges = histogramdd([x, y], bins if is_pair else [bins] * 2, range, density, weights)
    return counts, *edges


def _length(bins: Any) -> int:
    return len(bins) if hasattr(bins, "__len__") else 1


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """Make the nodes of `numpy.histogramdd`: counts of float64, and the edges along each axis.

    Notes
    -----
    Edges that depend on the data take one more pass. Each call holds all counts.
    """
    columns = _of_rows([sample] if isinstance(sample, Node) else sample, weights)
    points = columns if weights is None else columns[:-1]
    count = len(points) if len(points) > 1 or points[0].ndim == 1 else int(points[0].shape[1] or 0)
    edges, shown = _edges_along(points, count, bins, range)
    shape = tuple(int(one.shape[0] or 0) - 1 for one in edges)
    function = functools.partial(_counts_in, len(points), len(columns))
    attrs = {"name": "sum", "axes": None, "function": function}
    args = (*columns, *edges)
    counts = Node("total", args, shape, np.dtype(np.float64), None, attrs)
    return (small(_density_in, counts, *edges) if density else counts), shown


def _of_rows(points: Sequence[Any], weights: Any) -> list[Node]:
    """Return nodes of the coordinates, and of weights at last, whose rows go together."""
    given = [*points] if weights is None else [*points, weights]
    nodes = [one if isinstance(one, Node) else value(one) for one in given]
    rows = next((one.rows for one in nodes if one.rows is not None), None)
    if rows is None or any(one.kind == "turned" for one in nodes):
        raise refusal("np.histogramdd", "takes rows in blocks")
    if any(one.dtype.kind not in "iuf" for one in nodes):
        kinds = ", ".join(str(one.dtype) for one in nodes)
        raise refusal("np.histogramdd", f"takes whole numbers and reals, not {kinds}")
    is_matrix = len(points) == 1 and nodes[0].ndim == 2 and bool(nodes[0].shape[1])
    if any(one.ndim != 1 for one in nodes[is_matrix:]) or not points:
        shapes = ", ".join(str(one.shape) for one in nodes)
        raise refusal("np.histogramdd", f"takes vectors, or one matrix, not {shapes}")
    counts = {one.shape[0] for one in nodes}
    if None not in counts and len(counts) > 1:
        raise ValueError(f"np.histogramdd of {' and '.join(map(str, counts))} rows")
    cut = [
        cut_up(np.asarray(one.attrs["data"]), rows)
        if one.kind == "value" and rows.count is not None
        else one
        for one in nodes
    ]
    for one in cut:
        same_rows(one, rows, "histogramdd")
        if one.rows is None:
            raise refusal("np.histogramdd", "takes no whole array beside rows in blocks")
    return cut


def _edges_along(
    points: Sequence[Node], count: int, bins: Any, range: Any
) -> tuple[list[Node], Any]:
    """Return nodes of the edges along each axis, and what the caller gets: those that are known."""
    function = functools.partial(_edges_between, bins, range)
    wanted = bins if hasattr(bins, "__len__") else [bins] * count
    ranges = [None] * count if range is None else range
    dtype = np.result_type(*[one.dtype for one in points])
    is_known = all(np.ndim(n) or r is not None for n, r in zip(wanted, ranges, strict=False))
    if is_known or points[0].shape[0] == 0:
        known = function(np.ones((0, count), dtype))
        return [value(one) for one in known], known
    axis = 0 if points[0].ndim == 2 else None
    ends = [reduction(name, one, axis) for name in ("min", "max") for one in points]
    function = functools.partial(_edges_along_axis, function, count)
    axes = builtins.range(count)
    made = [small(functools.partial(function, axis), *ends) for axis in axes]
    return made, made


def _edges_between(bins: Any, range: Any, ends: NDArray[Any]) -> Any:
    return np.histogramdd(ends, bins, range)[1]


def _edges_along_axis(function: Any, count: int, axis: int, *ends: Any) -> NDArray[Any]:
    found: NDArray[Any] = function(np.array(ends).reshape(2, count))[axis]
    return found


def _counts_in(points: int, columns: int, *args: Any) -> NDArray[Any]:
    """Count the points of a block, or sum up their weights; edges come last."""
    block = args[0] if points == 1 else np.stack(args[:points], axis=1)
    weights = args[points] if columns > points else None
    counts: NDArray[Any] = np.histogramdd(block, args[columns:], weights=weights)[0]
    return counts


def _density_in(counts: NDArray[Any], *edges: NDArray[Any]) -> Any:
    """Divide counts as NumPy does: by the widths along each axis, and by the sum of all."""
    found = counts
    for axis, one in enumerate(edges):
        sides = [1] * counts.ndim
        sides[axis] = -1
        found = np.divide(found, np.diff(one).reshape(sides))
    return np.divide(found, counts.sum())
