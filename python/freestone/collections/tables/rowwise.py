"""Which steps look at one row alone, so that parts and samples of rows may do them."""

from __future__ import annotations

from typing import Any

import polars as pl

from freestone.collections.tables.expressions import each_expr, is_row_wise
from freestone.collections.tables.plan import Op

__all__ = ["row_wise"]

_ALWAYS = {"cast", "drop", "drop_nans", "drop_nulls", "explode", "rename", "unnest", "unpivot"}
"""Steps that look at one row alone, whatever their arguments are."""


def row_wise(step: Op) -> bool:
    """Tell whether a step looks at one row alone, and may be done part by part."""
    if step.method in _ALWAYS:
        return True
    if step.method in ("fill_nan", "fill_null"):
        return step.options.get("strategy") is None and not isinstance(step.args[0], pl.Expr)
    if step.method not in ("filter", "remove", "select", "with_columns"):
        return False
    has_tests = step.method in ("filter", "remove")
    exprs = list(each_expr(step.args, {} if has_tests else step.options))
    if has_tests:
        if any(_is_mask(arg) for arg in step.args):
            return False
        exprs += [pl.col(name) == value for name, value in step.options.items()]
        # The tests of a filter need no names, and may have the same one.
        exprs = [expr.alias(f"{place}") for place, expr in enumerate(exprs)]
        exprs.append(pl.nth(0).alias("kept"))
    return is_row_wise(step.input.empty, exprs, adds=step.method == "with_columns")


def _is_mask(predicate: Any) -> bool:
    """Tell whether a predicate is a boolean for each row, which goes with all rows alone."""
    if isinstance(predicate, bool | str | pl.Expr):
        return False
    return not isinstance(predicate, list) or not all(
        isinstance(each, str | pl.Expr) for each in predicate
    )
