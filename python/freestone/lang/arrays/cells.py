"""Functions of cells: NumPy's ufuncs, and other functions that work on each cell by itself."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.collections.protocols import NoLoopError
from freestone.lang.arrays.nodes import (
    Function,
    Node,
    NotLazyError,
    Shape,
    broadcast,
    cut_up,
    refusal,
    unknown_rows,
)
from freestone.lang.front.ufuncs import COMPARISONS, EXTREMES, NUMBERS, REALS

CELLS = {
    "bool": "ui8",
    "int8": "si8",
    "uint8": "ui8",
    "int32": "si32",
    "uint32": "ui32",
    "int64": "si64",
    "uint64": "ui64",
    "float32": "f32",
    "float64": "f64",
}
"""The engine's types of cells for NumPy's; truth values are bytes in it."""

_TRUTH = {
    "add": "or",
    "multiply": "and",
    "minimum": "and",
    "maximum": "or",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "neq",
    "logical_xor": "neq",
}
_BOOLS = {**COMPARISONS, **_TRUTH}
_INTEGERS = {**COMPARISONS, **NUMBERS, **EXTREMES}
_FLOATS = {**COMPARISONS, **NUMBERS, **REALS, "fabs": "abs"}


@functools.lru_cache(maxsize=256)
def name_of(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name, which NumPy puts together anew each time."""
    return str(dtype.name)


def engine_name(ufunc: str, dtypes: Sequence[np.dtype[Any]]) -> str | None:
    """Return what the engine calls a ufunc's loop for certain types; None if it has none.

    The engine's own rules differ for integers that are divided and for NaN in extremes.
    """
    names = {name_of(dtype) for dtype in dtypes[:-1]}
    (kind,) = names if len(names) == 1 else ("",)
    if kind not in CELLS or name_of(dtypes[-1]) not in CELLS:
        return None
    if kind == "bool":
        return _BOOLS.get(ufunc)
    return (_FLOATS if kind[0] == "f" else _INTEGERS).get(ufunc)


def ufunc(function: np.ufunc, args: Sequence[Node], options: dict[str, Any]) -> Node:
    """Make the node of a ufunc's cells."""
    name = function.__name__
    if function.nout != 1 or function.signature is not None:
        raise refusal(f"np.{name}", "is not computed lazily")
    if options.pop("where", True) is not True or set(options) - {"dtype", "casting"}:
        raise refusal(f"np.{name}", f"takes no {', '.join(sorted(options) or ['where'])} here")
    given = [_type_of(arg) for arg in args]
    wanted = options.get("dtype")
    if wanted is not None:
        options["dtype"] = np.dtype(wanted)
    loop = _loop(function, given, options)
    if any(kind is int for kind in given):
        # NumPy's error for numbers that the type does not hold comes at once, not with a block.
        with np.errstate(all="ignore"):
            function(*[_sample(arg, 0) for arg in args], **options)
    call = functools.partial(function, **options) if options else function
    return _made(call, args, loop[-1], {"ufunc": name, "loop": loop})


def _loop(
    function: np.ufunc, given: Sequence[Any], options: dict[str, Any]
) -> tuple[np.dtype[Any], ...]:
    types = (*given, None)
    named: dict[str, Any] = {word: what for word, what in options.items() if word == "casting"}
    if "dtype" in options:
        named["signature"] = (*[None] * len(given), options["dtype"])
    try:
        return function.resolve_dtypes(types, **named)
    except TypeError as error:
        kinds = {kind.kind for kind in given if isinstance(kind, np.dtype)}
        if kinds & {"M", "m"} and kinds & {"U", "S", "T"}:
            raise TypeError(
                f"np.{function.__name__} of times and texts: NumPy reads no times out of "
                "texts here; write np.datetime64('2024-01-31'), or x.astype('M8[s]') for an array"
            ) from None
        if function not in (np.equal, np.not_equal):
            raise
        # NumPy's scalars take its own kind of error for an answer: that all elements differ.
        raise NoLoopError(f"{error}; == and != with the Array on the left take any types") from None


def elementwise(function: Function, args: Sequence[Node], name: str) -> Node:
    """Make the node of another function of cells; its type is that of a trial."""
    samples = [_sample(arg) for arg in args]
    with np.errstate(all="ignore"):
        dtype = np.asarray(function(*samples)).dtype
    return _made(function, args, dtype, {"ufunc": name})


def _made(function: Function, args: Sequence[Node], dtype: Any, attrs: dict[str, Any]) -> Node:
    name = attrs["ufunc"]
    shape = broadcast([arg.shape for arg in args])
    rows = next((arg.rows for arg in args if arg.rows is not None), None)
    attrs = {"function": function, **attrs}
    if any(arg.kind == "turned" for arg in args):
        raise refusal(f"np.{name} of the transpose", "has no rows that are in blocks")
    if rows is None:
        return Node("small", tuple(args), shape, dtype, None, attrs)
    for arg in args:
        if arg.rows is not None and (arg.ndim != len(shape) or arg.shape[0] != shape[0]):
            raise refusal(f"np.{name}", f"of shape {arg.shape} does not go by rows with {shape}")
    fitted = tuple(_fitted(arg, shape, rows, name) for arg in args)
    return Node("cells", fitted, shape, dtype, rows, attrs)


def _fitted(arg: Node, shape: Shape, rows: Any, name: str) -> Node:
    """Check that a side goes with the rows; what is here and is as long is cut up like them."""
    if arg.rows is None:
        long = arg.ndim == len(shape) and shape[0] != 1 and arg.shape[0] == shape[0]
        if not long:
            return arg
        if arg.kind != "value":
            raise refusal(f"np.{name}", "takes no whole array of all its rows that is not computed")
        return cut_up(np.asarray(arg.attrs["data"]), rows)
    if arg.rows != rows:
        same_rows(arg, rows, name)
    return arg


def same_rows(arg: Node, rows: Any, name: str) -> None:
    """Raise the error for arrays whose rows do not go together."""
    if arg.rows is None or arg.rows == rows:
        return
    if arg.rows.count is None or rows.count is None:
        reason = "takes arrays whose rows are chosen by one and the same mask"
        raise unknown_rows(f"np.{name}", reason)
    raise NotLazyError(
        f"np.{name} of arrays that are cut into blocks differently: {len(arg.rows.offsets) - 1} "
        f"and {len(rows.offsets) - 1} blocks; call rechunk() on one of them first"
    )


def _type_of(arg: Node) -> Any:
    if not arg.attrs.get("weak"):
        return arg.dtype
    kind = type(arg.attrs["data"])
    return arg.dtype if kind is bool else kind


def _sample(arg: Node, length: int = 1) -> Any:
    if arg.attrs.get("weak"):
        return arg.attrs["data"]
    return np.ones((length,) * arg.ndim, arg.dtype)
