"""Histograms: the counts of each block, summed up."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freestone.lang.arrays.nodes import Node, refusal, value
from freestone.lang.arrays.totals import reduction, small

__all__ = ["histogram"]


def histogram(
    arg: Node, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Node, Any]:
    """Make the nodes of `numpy.histogram`: counts, and edges.

    Notes
    -----
    Edges that depend on the data, because neither they nor a range are given, take one more pass.
    """
    if weights is not None or isinstance(bins, str):
        word = "weights" if weights is not None else f"bins={bins!r}"
        raise refusal("np.histogram", f"takes no {word} here")
    if arg.dtype.kind not in "biuf":
        raise refusal("np.histogram", f"takes no {arg.dtype}")
    edges, shown = _edges(arg, bins, range)
    options = {"bins": bins, "range": None if np.ndim(bins) else range}
    if arg.rows is None:
        counts = small(lambda array, edges: np.histogram(array, edges)[0], arg, edges)
    else:
        attrs = {"name": "sum", "axes": None, "function": functools.partial(_counts, options)}
        shape = (int(edges.shape[0] or 0) - 1,)
        counts = Node("total", (arg, edges), shape, np.dtype(np.intp), None, attrs)
    return (small(_density, counts, edges) if density else counts), shown


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


def _counts(options: dict[str, Any], block: NDArray[Any], edges: NDArray[Any]) -> NDArray[Any]:
    """Count a block as NumPy counts the whole: by width where bins are of one, or by edges."""
    if np.ndim(options["bins"]):
        return np.histogram(block, options["bins"])[0]
    return np.histogram(block, options["bins"], (edges[0], edges[-1]))[0]


def _density(counts: NDArray[Any], edges: NDArray[Any]) -> Any:
    return counts / np.diff(edges) / counts.sum()
