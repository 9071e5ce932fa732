"""Small values: to plan their operations takes longer than to do them one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.local import Run
from freestone.lang.settings import Settings

__all__ = ["MAX_BYTES", "computed", "is_small"]

MAX_BYTES = 1 << 17
"""The bytes of the largest matrix; of larger ones NumPy's intermediate results leave the caches."""
MAX_OPERATIONS = 64

_FUNCTIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}

_KINDS = frozenset({"given", "binary", "unary", "cast", "choose", "agg_all", "agg_row", "agg_col"})
_KINDS |= {"matmul", "transpose", "to_scalar", "to_matrix", "index_row", "index_col", "outer"}
"""Operations on dense matrices that no pass stores, or has run, in another way."""


def is_small(ops: Sequence[Op], settings: Settings) -> bool:
    """Tell whether operations are run at once, without a plan."""
    if len(ops) > MAX_OPERATIONS or not settings.vec or _has_to_be_planned(settings):
        return False
    for op in ops:
        if op.kind not in _KINDS or op.kernel is not None or op.regions:
            return False
        type = op.results[0].type
        if type.data == "matrix":
            nbytes = type.nbytes
            if nbytes is None or nbytes > MAX_BYTES or type.form:
                return False
        elif type.data != "scalar":
            return False
    return True


def _has_to_be_planned(settings: Settings) -> bool:
    """Tell whether somebody asks how a plan runs, or for one on a cluster."""
    if settings.distributed or settings.kernels or settings.memory_bytes:
        return True
    reports = (
        settings.statistics or settings.timing or settings.tell_pipelines or settings.profiling
    )
    return bool(reports or settings.explain or settings.record or settings.insert)


def computed(ops: Sequence[Op], out: Value, settings: Settings) -> Any:
    """Run operations, each after those that it needs, and return what one of their results is."""
    # All intermediate results stay until the end, so that none is written over.
    values: dict[Value, Any] = {}
    run: Run | None = None
    with np.errstate(all="ignore"):
        for op in ops:
            result = op.results[0]
            if op.kind == "given":
                values[result] = op.attrs["data"]
                continue
            operands = [values[v] if v.const is None else v.const for v in op.operands]
            found = _of_floats(op, operands)
            if found is None:
                run = run or Run(settings)
                (found,) = run.checked(op, operands)
            values[result] = found
    return values[out]


def _of_floats(op: Op, operands: Sequence[Any]) -> Any:
    """Return what NumPy itself makes of floating-point matrices of one type; None elsewhere."""
    result = op.results[0].type
    if op.kind == "binary":
        function = _FUNCTIONS.get(op.attrs["name"])
        cell = op.attrs["cell"]
        if function is None or cell not in ("f64", "f32") or result.data != "matrix":
            return None
        dtype = DTYPES[cell]
        for value in operands:
            # Python's numbers take the type of the other side.
            if value.__class__ is not float and getattr(value, "dtype", None) != dtype:
                return None
        found = function(*operands)
        return found if found.shape == (result.rows, result.columns) else None
    if op.kind == "agg_all" and op.attrs["name"] == "sum" and result.cell == "f64":
        return np.add.reduce(operands[0], axis=None).item()
    return None
