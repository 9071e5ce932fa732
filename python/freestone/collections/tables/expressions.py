"""What expressions need, whether they look at one row alone, and how polars writes them."""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.remembering import key_of, remembered

__all__ = ["as_expr", "each_expr", "from_tree", "is_row_wise", "names_of", "roots", "tree_of"]
__all__ += ["with_quantiles_of_days"]

_NO_OPTIMIZATION = pl.QueryOptFlags.none()
_SLICES = pl.QueryOptFlags.none(slice_pushdown=True)
_DAY_US = 86_400_000_000
_OF_VALUES = re.compile(r"\.(?:bin|list|str)\.slice\(")
"""Slices of the value of each row, which are none of the rows."""


def as_expr(value: Any) -> pl.Expr:
    """Return what polars takes a value for: a text is the name of a column."""
    if isinstance(value, pl.Expr):
        return value
    if hasattr(value, "compute"):
        raise TypeError(
            f"an expression of columns has no {type(value).__name__} in it, whose value is not "
            "known yet; write x.compute() for x"
        )
    return pl.col(value) if isinstance(value, str) else pl.lit(value)


def each_expr(args: Iterable[Any], named: Mapping[str, Any] = {}) -> Iterator[pl.Expr]:
    """Yield the expressions among the arguments of a method, lists of them flattened."""
    for arg in args:
        if isinstance(arg, Mapping):
            raise TypeError(
                f"expressions or names of columns, not a dict, {arg!r}: write "
                'pl.col("k").sum() for {"k": "sum"}, and list(...) for its keys alone'
            )
        if isinstance(arg, Iterable) and not isinstance(arg, str | bytes | pl.Series | pl.Expr):
            yield from each_expr(arg)
        else:
            yield as_expr(arg)
    for name, value in named.items():
        yield as_expr(value).alias(name)


def tree_of(expr: pl.Expr) -> Any:
    """Return an expression as lists, dicts and texts; None if it can't be read back as it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            text = expr.meta.serialize(format="json")
            tree = json.loads(text)
            return tree if from_tree(tree).meta.eq(expr) else None
        except (pl.exceptions.PolarsError, ValueError, TypeError):
            return None


def from_tree(tree: Any) -> pl.Expr:
    """Return the expression that `tree_of` gave a tree of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.Expr.deserialize(io.StringIO(json.dumps(tree)), format="json")


def with_quantiles_of_days(empty: pl.DataFrame, exprs: Sequence[pl.Expr]) -> list[pl.Expr]:
    """Return expressions whose quantiles of dates are made of the numbers of the days.

    Of no dates polars panics; of numbers there is none.
    """
    found: list[pl.Expr] = []
    for expr in exprs:
        tree = tree_of(expr) if "quantile(" in str(expr) else None
        if tree is None:
            found.append(expr)
        else:
            trees = [_quantiles_of_days(empty, each) for each in _of_each_column(empty, tree)]
            found += map(from_tree, trees)
    return found


def _of_each_column(empty: pl.DataFrame, tree: Any) -> list[Any]:
    """Return a quantile of several columns as one of each."""
    match tree:
        case {"Function": {"input": [{"Selector": _} as child, fraction], **more}}:
            columns = [{"Column": name} for name in names_of(empty, from_tree(child))]
            return [{"Function": {**more, "input": [each, fraction]}} for each in columns]
    return [tree]


def _quantiles_of_days(empty: pl.DataFrame, tree: Any) -> Any:
    if isinstance(tree, list):
        return [_quantiles_of_days(empty, value) for value in tree]
    if not isinstance(tree, dict):
        return tree
    tree = {key: _quantiles_of_days(empty, value) for key, value in tree.items()}
    match tree:
        case {"Function": {"input": [child, _], "function": {"Quantile": {"method": method}}}}:
            kinds = empty.lazy().select(from_tree(child)).collect_schema().dtypes()
            if kinds != [pl.Date]:
                return tree
            days = from_tree(child).to_physical().quantile(0.0, method.lower())
            number = tree_of(days)
            number["Function"]["input"][1] = tree["Function"]["input"][1]
            # Polars, too, cuts off what is less than a microsecond.
            moment = (from_tree(number) * _DAY_US).cast(pl.Int64).cast(pl.Datetime("us"))
            return tree_of(moment)
    return tree


def roots(exprs: Iterable[pl.Expr]) -> set[str] | None:
    """Return the columns that expressions need; None if those may be any."""
    found: set[str] = set()
    for expr in exprs:
        if _selects(expr):
            return None
        found.update(expr.meta.root_names())
    return found


def _selects(expr: pl.Expr) -> bool:
    """Tell whether an expression takes columns by what they are, such as all numbers."""
    return remembered(key_of("selects", expr), lambda: _asked_whether_selects(expr))


def _asked_whether_selects(expr: pl.Expr) -> bool:
    if expr.meta.has_multiple_outputs():
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return '"Selector"' in expr.meta.serialize(format="json")
    except (pl.exceptions.PolarsError, ValueError, TypeError):
        return True


def names_of(frame: pl.DataFrame, expr: pl.Expr) -> list[str]:
    """Return the names of the columns that an expression makes of a table."""

    def names() -> tuple[str, ...]:
        return tuple(frame.lazy().select(expr).collect_schema().names())

    return list(remembered(key_of("names", frame.schema, expr), names))


def is_row_wise(frame: pl.DataFrame, exprs: Iterable[pl.Expr], *, adds: bool = False) -> bool:
    """Tell whether what expressions make of a row depends on that row alone.

    Parameters
    ----------
    frame
        A table without rows, of the columns that they are for.
    exprs
        What is selected.
    adds
        Whether they are added to the columns that there are, so that a constant has as many rows.

    Notes
    -----
    Polars decides: its optimizer moves a slice of the rows below exactly such expressions. What it
    does not move, or says in words that this module does not know, is not taken for row-wise.
    """
    exprs = list(exprs)
    key = key_of("row-wise", frame.schema, exprs, adds)
    return remembered(key, lambda: _asked_whether_row_wise(frame, exprs, adds))


def _asked_whether_row_wise(frame: pl.DataFrame, exprs: list[pl.Expr], adds: bool) -> bool:
    lazy = frame.lazy()
    chosen = lazy.with_columns(exprs) if adds else lazy.select(exprs)
    first = "WITH_COLUMNS" if adds else "SELECT"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = chosen.explain(optimizations=_NO_OPTIMIZATION)
        sliced = chosen.slice(1, 5).explain(optimizations=_SLICES)
    return "SLICE" not in _OF_VALUES.sub("", plain).upper() and sliced.lstrip().startswith(first)
