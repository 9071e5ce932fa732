"""Which operations may fail when they run: those do, though nobody uses what they make."""

from __future__ import annotations

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import Type, is_float

__all__ = ["may_fail"]

SAFE = frozenset({"given", "literal", "shape", "type_of", "sparsity", "to_matrix", "unary"})
SAFE |= {"transpose", "reverse", "cumulate", "create_list", "length", "append"}
SAFE |= {"finite_end", "distinct", "encode"}
"""Operations that take whatever they are given."""
OF_SHAPES = frozenset(
    {"choose", "cbind", "rbind", "reshape", "to_scalar", "matmul", "syrk", "gemv"}
)
OF_SHAPES |= {
    "sum_product",
    "diag_vector",
    "diag_matrix",
    "triangle",
    "fill",
    "seq",
    "create_frame",
}
"""Operations whose shapes were checked, where they are known."""
EXTREMES = frozenset({"agg_all", "agg_row", "agg_col", "index_row", "index_col"})


def may_fail(op: Op) -> bool:
    """Tell whether an operation may fail for another reason than a lack of memory."""
    if op.kind == "pipeline":
        return any(map(may_fail, op.regions[0].ops))
    if op.kernel is not None or op.regions:
        return True
    if op.kind in SAFE:
        return False
    types = [value.type for value in op.operands]
    if op.kind == "cast":
        return any(type.cell == "str" for type in types)
    if op.kind in ("binary", "outer"):
        divides = op.attrs["name"] in ("div", "mod") and not is_float(op.attrs["cell"])
        return divides or (not any(t.data == "scalar" for t in types) and not _known(*types))
    if op.kind in EXTREMES:
        shapes = {n for type in types for n in (type.rows, type.columns)}
        return op.attrs["name"] != "sum" and (not _known(*types) or 0 in shapes)
    if op.kind == "index":
        # Positions that are known were checked.
        return not _known(*types) or any(value.const is None for value in op.operands[1:])
    if op.kind == "rand":
        return not _known(op.results[0].type) or _is_bad_range(op)
    return op.kind not in OF_SHAPES or not _known(*types, *(v.type for v in op.results))


def _known(*types: Type) -> bool:
    """Tell whether the shapes of matrices and frames are known."""
    tables = [type for type in types if type.data in ("matrix", "frame")]
    return not any(None in (type.rows, type.columns) for type in tables)


def _is_bad_range(op: Op) -> bool:
    low, high, sparsity = (value.const for value in op.operands[2:5])
    if not all(isinstance(each, int | float) for each in (low, high, sparsity)):
        return True
    return not (low <= high and 0 <= sparsity <= 1) or (low == high == 0)  # type: ignore[operator]
