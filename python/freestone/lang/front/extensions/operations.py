"""What DAPHNE's kernel catalogs call the operations of a graph."""

from __future__ import annotations

from itertools import product

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.scalars import BINARY, UNARY

__all__ = ["MNEMONICS", "operation_of"]

_SIDES = {"agg_all": "All", "agg_row": "Row", "agg_col": "Col", "agg_group": "Grp"}
_NAMES = {
    "matmul": "matMul",
    "transpose": "transpose",
    "reshape": "reshape",
    "reverse": "reverse",
    "cbind": "colBind",
    "rbind": "rowBind",
    "order": "order",
    "eigen": "eigen",
    "solve": "solve",
    "syrk": "syrk",
    "gemv": "gemv",
    "diag_matrix": "diagMatrix",
    "diag_vector": "diagVector",
    "replace": "replace",
    "ctable": "ctable",
    "fill": "fill",
    "seq": "seq",
    "rand": "randMatrix",
    "sample": "sample",
    "one_hot": "oneHot",
    "recode": "recode",
    "bin": "bin",
    "quantize": "quantize",
    "choose": "cond",
    "cartesian": "cartesian",
    "inner_join": "innerJoin",
    "semi_join": "semiJoin",
    "filter_rows": "filterRow",
    "filter_columns": "filterCol",
    "softmax": "softmax",
    "bias_add": "biasAddForward",
}

_AGGREGATIONS = ("sum", "min", "max", "mean", "var", "stddev")


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


MNEMONICS = frozenset(
    {
        *_NAMES.values(),
        *(f"ew{_capital(name)}" for name in (*BINARY, *UNARY)),
        *(f"outer{_capital(name)}" for name in BINARY),
        *("".join(pair) for pair in product(_AGGREGATIONS, _SIDES.values())),
        "countGrp",
        *("".join(words) for words in product(["idx"], ["Min", "Max"], ["Row", "Col"])),
        *("cumSum", "cumProd", "cumMin", "cumMax"),
    }
)
"""All that kernels may be for."""


def operation_of(op: Op) -> str:
    """Return the mnemonic of an operation, such as ``ewAdd``; "" if catalogs have none for it."""
    name = str(op.attrs.get("name", ""))
    capital = _capital(name)
    if op.kind in ("binary", "unary"):
        return f"ew{capital}"
    if op.kind == "outer":
        return f"outer{capital}"
    if op.kind in _SIDES:
        return f"{name}{_SIDES[op.kind]}"
    if op.kind in ("index_row", "index_col"):
        return f"idx{capital}{'Row' if op.kind == 'index_row' else 'Col'}"
    if op.kind == "cumulate":
        return f"cum{capital}"
    return _NAMES.get(op.kind, "")
