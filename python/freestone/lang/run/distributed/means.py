"""Means and variances of matrices in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.types.types import DTYPES, Type, scalar
from freestone.lang.run.distributed.split import Split

if TYPE_CHECKING:
    from freestone.lang.run.distributed.running import DistributedRun

__all__ = ["mean"]


def mean(run: DistributedRun, op: Op, value: Split) -> Any:
    """Compute a mean, a variance or a standard deviation, of all cells or of each column.

    Notes
    -----
    A variance takes two rounds over the blocks, as it does in NumPy: the mean first, and then what
    is left of the squares.
    """
    count = value.shape[0] * (value.columns if op.kind == "agg_all" else 1)
    if not count:
        raise ValueError(f"there is no {op.attrs['name']} of no cells")
    total = _summed(run, op, value)
    number = np.dtype(DTYPES[op.results[0].type.cell]).type
    average = total / number(count)
    if op.attrs["name"] != "mean":
        spread = _spread(run, op, value, average) / number(count)
        average = spread if op.attrs["name"] == "var" else np.sqrt(spread)
    return float(average) if op.kind == "agg_all" else average


def _summed(run: DistributedRun, op: Op, value: Split) -> Any:
    key = op, "sum"
    if key not in run.derived:
        result = op.results[0].type
        run.derived[key] = _aggregate(op, Value(Type("matrix", value.cell)), result)
    found = run.apply(run.derived[key], [value], value.offsets)
    assert found is not None
    return found[0]


def _spread(run: DistributedRun, op: Op, value: Split, average: Any) -> Any:
    """Sum the squares of what is left when the mean is taken away."""
    key = op, "spread"
    if key not in run.derived:
        run.derived[key] = _spread_op(op, value)
    if op.kind == "agg_all":
        average = float(average)
    found = run.apply(run.derived[key], [value, average], value.offsets)
    assert found is not None
    return found[0]


def _spread_op(op: Op, value: Split) -> Op:
    result = op.results[0].type
    cells = Type("matrix", result.cell)
    given = Value(Type("matrix", value.cell))
    average = Value(scalar(result.cell) if op.kind == "agg_all" else cells)
    left = _binary(op, "sub", given, average, cells)
    square = _binary(op, "mul", left.results[0], left.results[0], cells)
    total = _aggregate(op, square.results[0], result)
    body = Block([], [left, square, total], list(total.results))
    attrs = {"reads": [given, average]}
    return Op("pipeline", [given, average], list(total.results), attrs, op.place, [body])


def _binary(op: Op, name: str, left: Value, right: Value, type: Type) -> Op:
    made = Op("binary", [left, right], [], {"name": name, "cell": type.cell}, op.place)
    made.results = [Value(type, made)]
    return made


def _aggregate(op: Op, value: Value, type: Type) -> Op:
    made = Op(op.kind, [value], [], op.attrs | {"name": "sum"}, op.place)
    made.results = [Value(type, made)]
    return made
