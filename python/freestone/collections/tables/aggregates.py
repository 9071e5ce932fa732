"""Aggregates of parts, and how those make the aggregate of all rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from freestone.collections.tables.expressions import from_tree, is_row_wise, names_of, tree_of
from freestone.collections.tables.ranks import may_rank
from freestone.collections.tables.remembering import key_of, remembered

__all__ = ["Aggregates", "Ranked", "decomposed"]


@dataclass(frozen=True)
class Ranked:
    """A column of one row: a quantile of the values of an expression of rows, by polars' rules.

    Those of the same values have the same `key`.
    """

    name: str
    values: pl.Expr
    key: str
    fraction: float
    interpolation: str


@dataclass
class Aggregates:
    """Aggregates in two steps.

    Attributes
    ----------
    empty : polars.DataFrame
        A table without rows, of the columns that there are.
    keyed : bool
        Whether there are groups, none of which is empty then.
    partial : list of polars.Expr
        What is computed of each part.
    final : list of polars.Expr
        What is computed of those, in the same groups.
    ranked : list of Ranked
        What is computed of all rows by the ranks of their values; only if there are no groups.
    tail : list of polars.Expr
        The columns that were asked for, of what is final or ranked.
    types : dict
        The types of what is final or ranked.
    """

    empty: pl.DataFrame
    keyed: bool
    partial: list[pl.Expr] = field(default_factory=list)
    final: list[pl.Expr] = field(default_factory=list)
    ranked: list[Ranked] = field(default_factory=list)
    tail: list[pl.Expr] = field(default_factory=list)
    types: dict[str, pl.DataType] = field(default_factory=dict)

    def part(self, expr: pl.Expr) -> pl.Expr:
        """Have an expression computed of each part; return its column."""
        name = f"__partial_{len(self.partial)}"
        self.partial.append(expr.alias(name))
        return pl.col(name)

    def whole(self, expr: pl.Expr, final: pl.Expr) -> dict[str, str]:
        """Compute `final` of the parts for the aggregate `expr`; return the tree of its column."""
        name = f"__final_{len(self.final)}"
        (dtype,) = self.empty.lazy().select(expr).collect_schema().dtypes()
        self.types[name] = dtype
        self.final.append(final.cast(dtype).alias(name))
        return {"Column": name}

    def quantile(self, expr: pl.Expr, of: Any, fraction: float, interpolation: str) -> Any:
        """Have a quantile of a tree's values computed by ranks; return the tree of its column."""
        values = from_tree(of)
        dtypes = [
            self.empty.lazy().select(each).collect_schema().dtypes() for each in (values, expr)
        ]
        (dtype,), (made,) = dtypes
        if self.keyed or not (0 <= fraction <= 1 and may_rank(dtype)):
            raise _NeedsAllRows
        name = f"__ranked_{len(self.ranked)}"
        self.types[name] = made
        self.ranked.append(Ranked(name, values, json.dumps(of), fraction, interpolation))
        return {"Column": name}

    def is_of_rows(self, tree: Any, *, filtered: bool = True) -> bool:
        """Tell whether a tree is of rows, each by itself, or of those that a filter leaves."""
        while filtered and isinstance(tree, dict) and set(tree) == {"Filter"}:
            if not is_row_wise(self.empty, [from_tree(tree["Filter"]["by"]).alias("by")]):
                return False
            tree = tree["Filter"]["input"]
        return is_row_wise(self.empty, [from_tree(tree)])


_REPEATED = frozenset({"Max", "Min", "Sum"})
_ENDS = frozenset({"First", "Last"})
"""Aggregates that are made of those of parts in the same way."""


class _NeedsAllRows(Exception):  # noqa: N818 (never leaves this module)
    """An aggregate that can't be made of aggregates of parts."""


def decomposed(empty: pl.DataFrame, exprs: Sequence[pl.Expr], *, keyed: bool) -> Aggregates | None:
    """Write aggregates as aggregates of parts and of those.

    Parameters
    ----------
    empty
        A table without rows, of the columns that there are.
    exprs
        Of an ``agg``, or a ``select`` that makes one row.
    keyed
        Whether there are groups, none of which is empty then.

    Returns
    -------
    Aggregates or None
        None if one of them needs all rows of a group at once, as a median does.
    """
    key = key_of("decomposed", empty.schema, exprs, keyed)
    return remembered(key, lambda: _decomposed(empty, exprs, keyed=keyed))


def _decomposed(empty: pl.DataFrame, exprs: Sequence[pl.Expr], *, keyed: bool) -> Aggregates | None:
    found = Aggregates(empty, keyed)
    try:
        for expr in exprs:
            before = len(found.types)
            if expr.meta.has_multiple_outputs():
                return None
            tail = from_tree(_replaced(tree_of(expr), found))
            if len(found.types) == before:
                return None
            (name,) = names_of(empty, expr)
            found.tail.append(tail.alias(name))
    except (_NeedsAllRows, pl.exceptions.PolarsError):
        return None
    finals = pl.DataFrame(schema=found.types)
    return found if found.tail and is_row_wise(finals, found.tail) else None


def _replaced(tree: Any, found: Aggregates) -> Any:
    """Return a tree with columns in place of the aggregates in it."""
    if tree == "Len":
        return _summed(tree, found)
    if isinstance(tree, list):
        return [_replaced(value, found) for value in tree]
    if not isinstance(tree, dict):
        return tree
    match tree:
        case {"Agg": {"Count": {"input": child}}}:
            return _of_rows(child, found) and _summed(tree, found)
        case {"Agg": {**aggregate}} if set(aggregate) <= _REPEATED:
            return _repeated(tree, found)
        # A filter may leave no row of a part, which then has no first one.
        case {"Agg": {**aggregate}} if found.keyed and set(aggregate) <= _ENDS:
            return _repeated(tree, found, filtered=False)
        case {"Agg": {"Mean": child}}:
            return _of_rows(child, found) and _mean(tree, child, found)
        case {"Agg": {"Median": child}}:
            return _of_rows(child, found) and found.quantile(from_tree(tree), child, 0.5, "linear")
        case {
            "Function": {
                "input": [child, {"Literal": {"Dyn": {"Float": fraction} | {"Int": fraction}}}],
                "function": {"Quantile": {"method": method}},
            }
        }:
            _of_rows(child, found)
            return found.quantile(from_tree(tree), child, float(fraction), method.lower())
        case {"Agg": {"Std": [child, ddof]} | {"Var": [child, ddof]}}:
            return _of_rows(child, found) and _variance(tree, child, ddof, found)
        case {"Agg": {"NUnique": child}}:
            return _of_rows(child, found) and _unique(tree, child, found)
        case {"Function": {"input": [child], "function": "NullCount"}}:
            return _of_rows(child, found) and _summed(tree, found)
        case {"Function": {"input": [child], "function": {"Boolean": {**name}} as how}} if set(
            name
        ) <= {"Any", "All"}:
            return _of_rows(child, found) and _alike(
                tree, found, lambda of: {"Function": {"input": [of], "function": how}}
            )
        case (
            {"Agg": _} | {"Over": _} | {"Column": _} | {"Selector": _} | {"Literal": {"Series": _}}
        ):
            raise _NeedsAllRows
    if set(tree) == {"Literal"}:
        return tree
    return {key: _replaced(value, found) for key, value in tree.items()}


def _of_rows(child: Any, found: Aggregates, *, filtered: bool = True) -> bool:
    if not found.is_of_rows(child, filtered=filtered):
        raise _NeedsAllRows
    return True


def _summed(tree: Any, found: Aggregates) -> Any:
    """Count in each part, and add."""
    counts = found.part(from_tree(tree).cast(pl.UInt64))
    return found.whole(from_tree(tree), counts.sum())


def _repeated(tree: Any, found: Aggregates, *, filtered: bool = True) -> Any:
    """Aggregate each part, and what that gives in the same way."""
    ((kind, given),) = tree["Agg"].items()
    has_options = isinstance(given, dict) and "input" in given
    _of_rows(given["input"] if has_options else given, found, filtered=filtered)
    return _alike(
        tree, found, lambda of: {"Agg": {kind: {**given, "input": of} if has_options else of}}
    )


def _alike(tree: Any, found: Aggregates, again: Callable[[Any], Any]) -> Any:
    """Do the same to what it gives for the parts."""
    column = found.part(from_tree(tree))
    return found.whole(from_tree(tree), from_tree(again({"Column": column.meta.output_name()})))


def _mean(tree: Any, child: Any, found: Aggregates) -> Any:
    values, whole = from_tree(child), from_tree(tree)
    (dtype,) = found.empty.lazy().select(values.alias("of")).collect_schema().dtypes()
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        raise _NeedsAllRows
    total = found.part(values.cast(pl.Float64).sum()).sum()
    count = found.part(values.count().cast(pl.UInt64)).sum()
    return found.whole(whole, pl.when(count > 0).then(total / count))


def _variance(tree: Any, child: Any, ddof: int, found: Aggregates) -> Any:
    """Have the squares of parts around their means, and put them around the mean of all.

    References
    ----------
    Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm for computing sample
    variances, Stanford STAN-CS-79-773 (1979), equation 2.1.
    """
    values, whole = from_tree(child), from_tree(tree)
    (dtype,) = found.empty.lazy().select(values.alias("of")).collect_schema().dtypes()
    if not dtype.is_numeric():
        raise _NeedsAllRows
    values = values.cast(pl.Float64)
    count = found.part(values.count().cast(pl.UInt64))
    mean = found.part(values.mean())
    squares = found.part(values.var(ddof=0) * values.count())
    total = count.sum()
    around = (count * (mean - (count * mean).sum() / total).pow(2)).sum()
    variance = pl.when(total > ddof).then((squares.sum() + around) / (total - ddof))
    return found.whole(whole, variance.sqrt() if "Std" in tree["Agg"] else variance)


def _unique(tree: Any, child: Any, found: Aggregates) -> Any:
    """Have the values of each part once, and count those of all."""
    values = found.part(from_tree(child).unique().implode())
    return found.whole(from_tree(tree), values.explode(empty_as_null=False).n_unique())
