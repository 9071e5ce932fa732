"""NumPy's reductions of lazy matrices: axes, what they are of no cells, and ``out=``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from freestone.lang.daphnelib import graph
from freestone.lang.daphnelib.lazy import Lazy, called, operated, wrapped
from freestone.lang.front.builtins import elementwise
from freestone.lang.front.builtins.aggregation import MEANS
from freestone.lang.front.builtins.meta import counted
from freestone.lang.front.types.types import Type, floating

__all__ = ["REDUCTIONS", "copied", "is_taken", "mean_method", "reduced"]

REDUCTIONS = {"sum": "sum", "amin": "aggMin", "amax": "aggMax", "min": "aggMin", "max": "aggMax"}
REDUCTIONS |= {"mean": "mean", "var": "var", "std": "stddev"}
REDUCTIONS |= {"any": "any", "all": "all"}
"""NumPy's reductions; its axis 1 is axis 0 here: one result for each row."""

BOOLEANS = {"any": "aggMax", "all": "aggMin"}
"""Those of truth values, as extremes of 0 and 1."""

COUNTS = {(): "ncell", (0,): "ncol", (1,): "nrow"}
"""What counts the elements of each result, by the language's axes."""


def is_taken(keywords: dict[str, Any]) -> bool:
    """Tell whether a reduction takes keywords as they are given."""
    out = keywords.get("out")
    return keywords.keys() <= {"axis", "keepdims", "out"} and isinstance(out, np.ndarray | None)


def reduced(
    name: str, value: Any, axis: Any = None, *, keepdims: bool = False, out: Any = None
) -> Any:
    """Append a reduction; of an axis its result is a row or a column, as with ``keepdims=True``.

    Parameters
    ----------
    name : str
        NumPy's name of it.
    value : Matrix
        What is reduced.
    axis : int or tuple of int, optional
        NumPy's axes; all by default.
    keepdims : bool
        Whether the result has two dimensions: here one of all elements, into `out` any.
    out : ndarray, optional
        An array of NumPy's that is computed into at once, and returned.

    Raises
    ------
    ValueError
        If a matrix has no such axis, or `out` is not of the shape that NumPy's result has.

    Notes
    -----
    What may have no elements is reduced as NumPy does: none of them is true, all are, and their
    mean is NaN. Methods are the language's, which refuses a mean of what a mask leaves nothing of.
    """
    axes = _axes(axis)
    made = _made(REDUCTIONS[name], value, axes)
    if not axes and keepdims:
        made = wrapped(elementwise.cast(graph.emitter(), made._value, "matrix", None))
    if out is None:
        return made
    found = np.asarray(made)
    # What is a row or a column here has one dimension there.
    return copied(out, found if keepdims or not axes else found.ravel())


def copied(out: np.ndarray[Any, Any], data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Write a result into an array of its shape, and return the array."""
    if out.shape != data.shape:
        raise ValueError(f"out= has the shape {out.shape}, and the result {data.shape}")
    np.copyto(out, data, casting="same_kind")
    return out


def _axes(axis: Any) -> tuple[int, ...]:
    """Return the language's axis of one of NumPy's; none of all."""
    given = axis if isinstance(axis, tuple) else (axis,)
    if given == (None,):
        return ()
    wrong = not given or any(not isinstance(each, int | np.integer) for each in given)
    if wrong or not all(-2 <= each < 2 for each in given):
        raise ValueError(f"axis={axis!r}: a matrix has the axes 0 and 1")
    places = {int(each) % 2 for each in given}
    if len(places) < len(given):
        raise ValueError(f"axis={axis!r} names an axis twice")
    return () if len(places) == 2 else (1 - places.pop(),)


def _made(name: str, value: Any, axes: tuple[int, ...]) -> Any:
    is_empty = not _has_cells(value._value.type)
    if name in BOOLEANS:
        return _of_truth(name, value, axes, is_empty=is_empty)
    if name in MEANS and is_empty:
        if _is_of_nothing(value._value.type, axes):
            # NumPy's warning.
            text = "Mean of empty slice" if name == "mean" else "Degrees of freedom <= 0 for slice"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        return _mean(name, value, axes)
    return called(name, (value, *axes), {})


def mean_method(name: str, value: Any, *args: Any, **keywords: Any) -> Any:
    """Append a mean by the language's axes, of a matrix that is known to have no elements."""
    if keywords or args not in ((), (0,), (1,)):
        return called(name, (value, *args), keywords)
    return _made(name, value, args)


def _is_of_nothing(type: Type, axes: tuple[int, ...]) -> bool:
    """Tell whether each result along the language's axes is known to be of no elements."""
    return 0 in {(): (type.rows, type.columns), (0,): (type.columns,), (1,): (type.rows,)}[axes]


def _has_cells(type: Type) -> bool:
    """Tell whether a matrix is known to have elements."""
    return bool(type.rows and type.columns)


def _of_truth(name: str, value: Any, axes: tuple[int, ...], *, is_empty: bool) -> Any:
    if not is_empty:
        made = called(BOOLEANS[name], (value != 0, *axes), {})
    else:
        # Of nothing there is no extreme, but a count.
        wanted = _cast(value != 0 if name == "any" else value == 0, "bool")
        count = called("sum", (wanted, *axes), {})
        made = count > 0 if name == "any" else count == 0
    return _cast(made, "bool")


def _mean(name: str, value: Any, axes: tuple[int, ...]) -> Any:
    """Divide sums by how many elements they are of, which is known when they are computed."""
    cell = floating(value._value.type.cell)
    cells = _cast(value, cell)
    count = _cast(wrapped(counted(graph.emitter(), COUNTS[axes], cells._value)), cell)
    made = called("sum", (cells, *axes), {}) / count
    if name == "mean":
        return made
    left = cells - made
    variance = called("sum", (left * left, *axes), {}) / count
    return variance if name == "var" else operated("sqrt", variance)


def _cast(value: Lazy, cell: str) -> Any:
    return wrapped(elementwise.cast(graph.emitter(), value._value, None, cell))
