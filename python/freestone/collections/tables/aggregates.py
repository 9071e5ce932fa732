"""Aggregates of parts, and how those make the aggregate of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from freestone.collections.tables.expressions import from_tree, is_row_wise, names_of, tree_of

__all__ = ["Aggregates", "decomposed"]


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
    tail : list of polars.Expr
        The columns that were asked for, of what is final.
    types : dict
        The types of what is final.
    """

    empty: pl.DataFrame
    keyed: bool
    partial: list[pl.Expr] = field(default_factory=list)
    final: list[pl.Expr] = field(default_factory=list)
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
    found = Aggregates(empty, keyed)
    try:
        for expr in exprs:
            before = len(found.final)
            if expr.meta.has_multiple_outputs():
                return None
            tail = from_tree(_replaced(tree_of(expr), found))
            if len(found.final) == before:
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
    if not (dtype.is_integer() or dtype.is_float() or dtype == pl.Boolean):
        raise _NeedsAllRows
    total = found.part(values.cast(pl.Float64).sum()).sum()
    count = found.part(values.count().cast(pl.UInt64)).sum()
    return found.whole(whole, pl.when(count > 0).then(total / count))


def _unique(tree: Any, child: Any, found: Aggregates) -> Any:
    """Have the values of each part once, and count those of all."""
    values = found.part(from_tree(child).unique().implode())
    return found.whole(from_tree(tree), values.explode(empty_as_null=False).n_unique())
