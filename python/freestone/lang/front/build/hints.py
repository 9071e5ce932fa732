"""Kernels by DAPHNE's own names, such as ``sum::_sumAll__double__DenseMatrix_double(x)``.

A name has the operation, the types of its results and those of its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from freestone.lang.front.builtins.elementwise import SIGNS
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import PRINTED

__all__ = ["is_hint", "problem_of"]

_NAME = re.compile(r"(?P<backend>[A-Za-z]*)_(?P<operation>[A-Za-z0-9]+)__(?P<types>\w+)")
_MATRIX = re.compile(r"(?:DenseMatrix|CSRMatrix|Matrix)_(\w+)")
_ELEMENTWISE = "minus abs sign exp ln sqrt round floor ceil sin cos tan sinh cosh tanh asin acos"
_ELEMENTWISE += " atan isNan lower upper pow mod log min max concat"
_AGGREGATES = {name: name for name in ("sum", "mean", "var", "stddev", "idxMin", "idxMax")}
_AGGREGATES |= {"aggMin": "min", "aggMax": "max"}
_OTHERS = {
    "@": ("matMul", "gemv", "syrk"),
    "cbind": ("colBind",),
    "rbind": ("rowBind",),
    "t": ("transpose",),
    "rand": ("randMatrix",),
    "eigen": ("eigenCal",),
    "nrow": ("numRows",),
    "ncol": ("numCols",),
    "ncell": ("numCells",),
    "readMatrix": ("read",),
    "readFrame": ("read",),
    "writeMatrix": ("write",),
    "writeFrame": ("write",),
    "ctable": ("cTable", "ctable"),
    **{
        f"cum{name}": (f"cum{name}", f"{name.lower()}Cum") for name in ("Sum", "Prod", "Min", "Max")
    },
}
_SEVERAL = frozenset({"eigen", "recode", "semiJoin", "groupJoin", "conv2d", "remove"})
"""Functions of several results, whose types come first."""


def is_hint(name: str) -> bool:
    """Tell whether a kernel has a name as DAPHNE's own have."""
    return _NAME.fullmatch(name) is not None


def problem_of(name: str, operation: str, operands: Sequence[Value]) -> str | None:
    """Say why an operation can't run by a kernel of DAPHNE's; None if it can.

    Parameters
    ----------
    name : str
        Of the kernel.
    operation : str
        The operator, or the name of the function, as the script has it.
    operands : sequence of Value
        What it is given.
    """
    found = _NAME.fullmatch(name)
    assert found is not None
    if found["backend"] not in ("", "CPP"):
        return f"the kernel {name!r} is for {found['backend']}, which is not there"
    known = _kernels(operation)
    if found["operation"] not in known:
        return f"the kernel {name!r} is not for {operation}: that has {', '.join(known)}"
    words = found["types"].split("__")[1:]
    if operation not in _SEVERAL:
        for word, value in zip(words, operands, strict=False):
            if not _fits(word, value):
                return f"the kernel {name!r} takes a {word}, not a {value.type}"
    return None


def _kernels(operation: str) -> tuple[str, ...]:
    """Return the operations in DAPHNE's kernels that an operation of a script may be."""
    short = SIGNS.get(operation, operation)
    if operation in SIGNS or operation in _ELEMENTWISE.split():
        return (f"ew{short[0].upper()}{short[1:]}",)
    if operation in _AGGREGATES:
        return tuple(f"{_AGGREGATES[operation]}{side}" for side in ("All", "Row", "Col", "Grp"))
    return _OTHERS.get(operation, (operation,))


def _fits(word: str, value: Value) -> bool:
    """Tell whether a kernel's argument takes a value; scalars are cast."""
    cells = _MATRIX.fullmatch(word)
    if cells is not None:
        return value.type.data == "matrix" and _printed(value.type.cell) == cells[1]
    if word == "Frame":
        return value.type.data == "frame"
    return value.type.data not in ("matrix", "frame")


def _printed(cell: str) -> str:
    return PRINTED[cell].replace("std::", "")
