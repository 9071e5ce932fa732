"""Which values are truth values: in brackets they are masks, and other numbers are positions.

The type does not tell: comparisons give 0 and 1 of the type that they compare in.
"""

from __future__ import annotations

from freestone.lang.front.builtins.elementwise import COMPARISONS
from freestone.lang.front.graph.graph import Op, Value

__all__ = ["is_mask", "is_truth"]

ALWAYS = COMPARISONS | {"and", "or", "isNan"}
"""Operations whose results are truth values."""
OF_TRUTH = frozenset({"mul", "add", "min", "max"})
"""Operations whose results are, of truth values, as NumPy's products and sums of bool are."""
MOVES = frozenset({"transpose", "reshape", "reverse", "index", "diag_vector", "to_matrix"})
MOVES |= {"to_scalar", "filter_rows", "filter_columns"}
"""Operations whose results have elements of their first operand, and no others."""
FOLDS = frozenset({"agg_all", "agg_row", "agg_col", "cumulate"})
RUN = frozenset({"if", "for", "while"})
"""Operations whose results are what Python's function returns, which may be either."""


def is_truth(value: Value) -> bool | None:
    """Tell whether elements are truth values; None if that is not known before they are there."""
    stack, seen, is_known = [value], set[Value](), True
    while stack:
        value = stack.pop()
        if value in seen or value.type.cell == "bool":
            continue
        seen.add(value)
        op = value.op
        if value.const is None and (op is None or op.kind in RUN):
            is_known = False
        elif op is None:
            return False
        elif op.attrs.get("name") not in ALWAYS:
            parts = _parts(op)
            if not parts:
                return False
            stack += parts
    return True if is_known else None


def _parts(op: Op) -> list[Value]:
    """Return what has to be truth values for the result to be; nothing if it never is."""
    name, operands = op.attrs.get("name"), op.operands
    if op.kind in MOVES or (op.kind in FOLDS and name in ("min", "max")):
        return operands[:1]
    if op.kind in ("cbind", "rbind", "insert"):
        return operands[:2]
    if op.kind == "choose":
        return operands[1:]
    return operands if op.kind in ("binary", "outer") and name in OF_TRUTH else []


def is_mask(value: Value) -> bool:
    """Tell whether a matrix is known to have truth values."""
    return value.type.data == "matrix" and is_truth(value) is True
