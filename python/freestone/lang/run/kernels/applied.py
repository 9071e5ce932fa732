"""Functions of NumPy's on whole matrices, for what the engine does not have."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op

Array = np.ndarray[Any, Any]


def apply(run: Any, op: Op, *operands: Any) -> Any:
    """Call the function; bytes that stand for truth values are truth values in it."""
    with np.errstate(all="ignore"):
        out = op.attrs["function"](*map(_typed, operands, op.attrs["dtypes"]))
    if isinstance(out, np.ndarray) and out.dtype == np.bool_:
        return np.ascontiguousarray(out).view(np.uint8)
    return out


def _typed(operand: Any, dtype: str | None) -> Any:
    if isinstance(operand, np.ndarray):
        return operand.view(np.bool_) if dtype == "|b1" else operand
    return operand if dtype is None else np.dtype(dtype).type(operand)
