"""Random graphs beside NumPy: all cells, shapes and forms, fused and not, on every schedule."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freestone.lang.daphnelib import DaphneContext
from freestone.lang.settings import Settings
from tests.lang.schedules import schedules
from tests.lang.test_sparse import coo, densely

sparse = pytest.importorskip("scipy.sparse")
Array = np.ndarray[Any, Any]
CONTEXT = DaphneContext()
LONG = 400 if os.environ.get("CI") else 120
GENERALITY = ["i1", "u1", "i4", "u4", "i8", "u8", "f4", "f8"]
"""From the least to the most general: what the language makes of two types of cells."""
SHAPES = [(1, 1), (0, 3), (1, 7), (9, 1), (5, 4), (33, 6), (300, 11)]
ways = st.sampled_from([Settings(vec=False), Settings(vec=False, physical=False)]) | schedules


@dataclass(frozen=True)
class Pair:
    """A lazy value, and what it has to be."""

    lazy: Any
    known: Array


def leaf(draw: Any, shape: tuple[int, int], least: int = -4) -> Pair:
    """Draw a matrix of small whole numbers, held in any way."""
    dtype = draw(st.sampled_from(GENERALITY))
    form = draw(st.sampled_from(["dense", "dense", "csr", "coo"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = rng.integers(max(least, 0) if dtype[0] == "u" else least, 5, shape)
    if form != "dense":
        cells = cells * (rng.random(shape) < 0.2)
    known = cells.astype(dtype)
    if form == "csr":
        return Pair(CONTEXT.from_scipy(sparse.csr_array(known)), known)
    return Pair(coo(known) if form == "coo" else CONTEXT.from_numpy(known), known)


def common(one: Array, two: Array) -> tuple[Array, Array]:
    """Convert both sides to the more general of their types."""
    dtype = max(one.dtype.str[1:], two.dtype.str[1:], key=GENERALITY.index)
    return one.astype(dtype), two.astype(dtype)


BINARY = {
    "add": (lambda x, y: x + y, np.add),
    "sub": (lambda x, y: x - y, np.subtract),
    "mul": (lambda x, y: x * y, np.multiply),
    "min": (lambda x, y: x.min(y), np.minimum),
    "max": (lambda x, y: x.max(y), np.maximum),
    "eq": (lambda x, y: x == y, np.equal),
    "ne": (lambda x, y: x != y, np.not_equal),
    "lt": (lambda x, y: x < y, np.less),
    "ge": (lambda x, y: x >= y, np.greater_equal),
}
UNARY = {
    "abs": (lambda x: x.abs(), np.abs),
    "minus": (lambda x: x.minus(), np.negative),
    "sign": (lambda x: x.sign(), np.sign),
    "floor": (lambda x: x.floor(), lambda x: x),
    "transposes": (lambda x: x.t().t(), lambda x: x),
    "reverse": (lambda x: x.reverse(), lambda x: x[::-1]),
    "cumSum": (lambda x: x.cumSum(), lambda x: np.cumsum(x, axis=0, dtype=x.dtype)),
    "as f64": (lambda x: x.asType("f64"), lambda x: x.astype("f8")),
    "as si32": (lambda x: x.asType("si32"), lambda x: x.astype("i8").astype("i4")),
}


MOST = 2000.0
"""Up to this sum of all cells, products and sums of f32 are exact in any order."""


def calmed(pair: Pair) -> Pair:
    """Take the signs of large numbers."""
    if np.abs(pair.known.astype("f8")).sum() <= MOST:
        return pair
    lazy, known = UNARY["sign"]
    return Pair(lazy(pair.lazy), known(pair.known))


def grown(draw: Any, pair: Pair, others: list[Pair]) -> Pair:
    """Apply an operation that keeps the shape."""
    if draw(st.booleans()):
        lazy, known = UNARY[draw(st.sampled_from(sorted(UNARY)))]
        return Pair(lazy(pair.lazy), known(pair.known))
    name = draw(st.sampled_from(sorted(BINARY)))
    lazy, known = BINARY[name]
    rows, columns = pair.known.shape
    shape = draw(st.sampled_from([(rows, columns), (1, columns), (rows, 1)]))
    other = draw(st.sampled_from(others)) if draw(st.integers(0, 2)) == 0 else leaf(draw, shape)
    one, two = common(pair.known, other.known)
    return Pair(lazy(pair.lazy, other.lazy), known(one, two).astype(one.dtype))


ENDS = {
    "all cells": (lambda x: x, lambda x: x),
    "sum": (lambda x: x.sum(), lambda x: np.sum(x, dtype=x.dtype)),
    "sum of rows": (lambda x: x.sum(0), lambda x: np.sum(x, 1, x.dtype, keepdims=True)),
    "sum of columns": (lambda x: x.sum(1), lambda x: np.sum(x, 0, x.dtype, keepdims=True)),
    "largest": (lambda x: x.aggMax(), np.max),
    "least of rows": (lambda x: x.aggMin(0), lambda x: np.min(x, 1, keepdims=True)),
    "largest of columns": (lambda x: x.aggMax(1), lambda x: np.max(x, 0, keepdims=True)),
    "transpose": (lambda x: x.t(), lambda x: x.T),
    "products": (lambda x: x.t() @ x, lambda x: x.T @ x),
    "first rows": (lambda x: x[0:1, :], lambda x: x[0:1]),
    "other shape": (lambda x: x.reshape(x.ncell(), 1), lambda x: x.reshape(-1, 1)),
}


@st.composite
def graphs(draw: Any) -> Pair:
    """Draw a graph and what NumPy makes of it."""
    shape = draw(st.sampled_from(SHAPES))
    pair = leaf(draw, shape)
    made = [pair]
    for _ in range(draw(st.integers(0, 6))):
        pair = calmed(grown(draw, pair, [other for other in made if other.known.shape == shape]))
        made.append(pair)
    names = sorted(ENDS) if 0 not in shape else ["all cells", "sum", "transpose", "products"]
    lazy, known = ENDS[draw(st.sampled_from(names))]
    return Pair(lazy(pair.lazy), np.asarray(known(pair.known)))


@settings(max_examples=LONG, deadline=None)
@given(graphs(), ways)
def test_a_graph_is_what_numpy_makes_of_it(graph: Pair, way: Settings) -> None:
    found = densely(graph.lazy.compute(way))
    assert found.shape == graph.known.shape
    if found.ndim:
        # Scalars come back as Python's.
        assert found.dtype == graph.known.dtype
    np.testing.assert_array_equal(found, graph.known)
