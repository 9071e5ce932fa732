"""Aggregations, with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels.elementwise import converted

Array = np.ndarray[Any, Any]
MEANS: dict[str, Callable[..., Any]] = {"mean": np.mean, "var": np.var, "stddev": np.std}
EXTREMES: dict[str, Callable[..., Any]] = {"min": np.min, "max": np.max}


def reduced(name: str, value: Array, cell: str, axis: int | None) -> Array:
    """Aggregate all cells, or along an axis of NumPy's."""
    if name != "sum":
        check_cells(name, value.size if axis is None else value.shape[axis])
    with np.errstate(all="ignore"):
        if name in MEANS:
            return np.asarray(MEANS[name](converted(value, cell), axis=axis, dtype=DTYPES[cell]))
        if name == "sum":
            return np.asarray(np.sum(value, axis=axis, dtype=DTYPES[cell]))
        return np.asarray(EXTREMES[name](value, axis=axis))


def check_cells(name: str, count: int) -> None:
    """Refuse to aggregate nothing to one number."""
    if not count:
        raise ValueError(f"there is no {name} of no cells")


def agg_all(run: Any, op: Op, value: Array) -> Any:
    """Aggregate all cells."""
    return reduced(op.attrs["name"], value, op.results[0].type.cell, None).item()


def agg_row(run: Any, op: Op, value: Array) -> Array:
    """Aggregate every row."""
    return reduced(op.attrs["name"], value, op.results[0].type.cell, 1).reshape(-1, 1)


def agg_col(run: Any, op: Op, value: Array) -> Array:
    """Aggregate every column."""
    return reduced(op.attrs["name"], value, op.results[0].type.cell, 0).reshape(1, -1)


def average(run: Any, op: Op, total: Any, count: int) -> Any:
    """Divide sums by how many cells they are of."""
    check_cells(op.attrs["name"], count)
    type = op.results[0].type
    with np.errstate(all="ignore"):
        mean = np.asarray(total, DTYPES[type.cell]) / np.dtype(DTYPES[type.cell]).type(count)
    return mean.item() if type.data == "scalar" else mean


def places_of(name: str, value: Array, axis: int) -> Array:
    """Tell where along an axis of NumPy's the first least or greatest cells are."""
    check_cells(name, value.shape[axis])
    find = np.argmin if name == "min" else np.argmax
    return np.asarray(find(value, axis=axis)).astype("u8")


def index_row(run: Any, op: Op, value: Array) -> Array:
    """Tell where in its row the least or greatest cell is."""
    return places_of(op.attrs["name"], value, 1).reshape(-1, 1)


def index_col(run: Any, op: Op, value: Array) -> Array:
    """Tell where in its column the least or greatest cell is."""
    return places_of(op.attrs["name"], value, 0).reshape(1, -1)


def agg_group(run: Any, op: Op, value: Array, groups: Array, count: Any) -> Array:
    """Aggregate the cells of every group."""
    name, cell, number = op.attrs["name"], op.results[0].type.cell, int(count)
    if value.shape != groups.shape or value.shape[1] != 1:
        raise ValueError(f"values {value.shape} and groups {groups.shape} have to be one column")
    ids = groups.ravel().astype("i8", copy=False)
    if ids.size and not 0 <= ids.min() <= ids.max() < number:
        raise IndexError(f"groups are from {ids.min()} to {ids.max()}, and numGroups is {number}")
    counts = np.bincount(ids, minlength=number)
    if name == "count":
        return counts.astype("i8").reshape(-1, 1)
    cells = value.ravel()
    if name in ("min", "max"):
        return _extreme(name, cells, ids, number).reshape(-1, 1)
    out = _sums(cells.astype(DTYPES[cell], copy=False), ids, number)
    if name == "sum":
        return out.reshape(-1, 1)
    with np.errstate(all="ignore"):
        mean = out / counts
        if name == "mean":
            return mean.reshape(-1, 1)
        left = cells - mean[ids]
        left *= left
        variance = _sums(left.astype(DTYPES[cell], copy=False), ids, number) / counts
    return (variance if name == "var" else np.sqrt(variance)).reshape(-1, 1)


def _sums(cells: Array, ids: Array, number: int) -> Array:
    """Sum the cells of every group, in their own type."""
    if cells.dtype == np.float64:
        return np.bincount(ids, cells, number)
    out = np.zeros(number, cells.dtype)
    np.add.at(out, ids, cells)
    return out


def _extreme(name: str, cells: Array, ids: Array, number: int) -> Array:
    bounds = np.finfo(cells.dtype) if cells.dtype.kind == "f" else np.iinfo(cells.dtype)
    least = -np.inf if cells.dtype.kind == "f" else bounds.min
    most = np.inf if cells.dtype.kind == "f" else bounds.max
    out = np.full(number, most if name == "min" else least, cells.dtype)
    (np.minimum if name == "min" else np.maximum).at(out, ids, cells)
    return out


CUMULATIVE: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def cumulate(run: Any, op: Op, value: Array) -> Array:
    """Aggregate each column from its first row to every row."""
    return accumulated(op.attrs["name"], value)


def accumulated(name: str, value: Array, before: Array | None = None) -> Array:
    """Aggregate each column from its first row to every row, going on from the row `before`."""
    rows = value if before is None else np.concatenate([before, value])
    with np.errstate(all="ignore"):
        made: Array = CUMULATIVE[name].accumulate(rows, axis=0, dtype=value.dtype)
    return made if before is None else made[1:]


def sparsity(run: Any, op: Op, value: Array) -> float:
    """Tell the share of cells that are not zero."""
    return float(np.count_nonzero(value)) / value.size if value.size else 0.0


def is_symmetric(run: Any, op: Op, value: Array) -> bool:
    """Tell whether a square matrix is its own transpose."""
    if value.shape[0] != value.shape[1]:
        raise ValueError(f"isSymmetric takes a square matrix, not {value.shape}")
    return bool(np.array_equal(value, value.T))
