"""Medians and other quantiles of all rows of one table in SQL, by the ranks of their values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import polars as pl

from freestone.collections.tables.sql_orders import RowsInOrder, taken_apart
from freestone.collections.tables.sql_trees import Tree, parsed, text_of, types_of

__all__ = ["ENDS", "RANK", "VALUE", "Ranked", "fractions_of", "ranked"]

ENDS, VALUE, RANK = "__ends", "__value", "__rank"
"""The table of the values that have the ranks, and its columns: which of the ranks, from 0."""

_QUANTILES = {"median", "quantile_cont", "quantile_disc"}


@dataclass(frozen=True)
class Ranked:
    """A query of a quantile of all rows.

    Attributes
    ----------
    values : str
        The query of a part that gives the values, one column.
    function : str
        ``median``, ``quantile_cont`` or ``quantile_disc``.
    fractions : tuple of fractions.Fraction
        Which quantiles they are.
    is_list : bool
        Whether the query asks for a list of them.
    kind : str
        The type of the values in DuckDB.
    label : str
        What the column of the query is called.
    """

    values: str
    function: str
    fractions: tuple[Fraction, ...]
    is_list: bool
    kind: str
    label: str

    def ranks(self, values: int) -> list[int]:
        """Return the ranks, from 0, of the values that the quantiles of so many are made of."""
        return [rank for fraction in self.fractions for rank in self._ranks(fraction, values)]

    def _ranks(self, fraction: Fraction, values: int) -> list[int]:
        if self.function == "quantile_disc":
            return [max(values - math.floor(values - fraction * values), 1) - 1]
        place = (values - 1) * float(fraction)
        return [math.floor(place), math.ceil(place)]

    def whole(self, values: int) -> str:
        """Return the query of these values that gives the quantiles of so many."""
        made = ", ".join(self._made(place, values) for place in range(len(self.fractions)))
        if self.is_list:
            made = f"CASE WHEN count(*) > 0 THEN [{made}] END"
        name = self.label.replace('"', '""')
        return f'SELECT {made} AS "{name}" FROM {ENDS}'

    def _made(self, place: int, values: int) -> str:
        """Return one of the quantiles, of its one or two values."""
        fraction, value = self.fractions[place], f"CAST({VALUE} AS {self.kind})"
        at = (values - 1) * float(fraction)
        within = at - math.floor(at)
        count = 1 if self.function == "quantile_disc" else 2
        only = f" FILTER ({RANK} // {count} = {place})"
        made = {
            "median": f"median({value})",
            "quantile_cont": f"quantile_cont({value}, CAST({within!r} AS DOUBLE))",
            "quantile_disc": f"any_value({value})",
        }
        return made[self.function] + only


def ranked(
    connection: Any, query: str, tables: Mapping[str, pl.DataFrame], large: str
) -> Ranked | None:
    """Return how to find a quantile of all rows; None if the query is another.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows.
    query
        The query, which is one ``SELECT`` of one table.
    tables
        All, without rows.
    large
        The one in parts.
    """
    return taken_apart(lambda: _ranked(RowsInOrder.of(connection, query, tables, large)))


def _ranked(query: RowsInOrder) -> Ranked:
    connection, node = query.connection, query.node
    (item,) = node["select_list"]
    found = fractions_of(item)
    if found is None or node.get("modifiers"):
        raise ValueError("it is another query")
    value = item["arguments"][0]["expression"]
    if "filter" in item:
        (case,) = parsed(connection, "SELECT CASE WHEN true THEN 1 END")["select_list"]
        (check,) = case["case_checks"]
        check = {**check, "when_expr": item["filter"], "then_expr": value}
        value = {**case, "case_checks": [check]}
    (label,) = types_of(connection, text_of(connection, node))
    rows = replace(query, node={**node, "select_list": [{**value, "alias": VALUE}]})
    rows.check()
    values = text_of(connection, rows.node)
    (kind,) = types_of(connection, values).values()
    fractions = tuple(found) if isinstance(found, list) else (found,)
    return Ranked(values, item["function_name"], fractions, isinstance(found, list), kind, label)


def fractions_of(tree: Tree) -> Fraction | list[Fraction] | None:
    """Return which quantile an aggregate is, or a list; None if it is none, or an unknown one."""
    known = {"class", "type", "alias", "query_location", "query_location_length"}
    known |= {"function_name", "qualified_name", "arguments", "order_bys", "filter"}
    is_other = tree.get("class") != "FUNCTION" or tree.get("function_name") not in _QUANTILES
    if is_other or set(tree) - known or tree.get("order_bys", {}).get("orders"):
        return None
    given = [one["expression"] for one in tree["arguments"]]
    if tree["function_name"] == "median":
        return Fraction(1, 2) if len(given) == 1 else None
    if len(given) != 2:
        return None
    if given[1].get("function_name") == "list_value":
        items = [_fraction(one["expression"]) for one in given[1].get("arguments", [])]
        found = [one for one in items if one is not None]
        return found if found and len(found) == len(items) else None
    return _fraction(given[1])


def _fraction(tree: Tree) -> Fraction | None:
    literal = tree.get("literal", {})
    # What is written with an exponent is rounded before DuckDB counts.
    if literal.get("kind") not in ("INTEGER", "NUMERIC") or "e" in literal["text"].lower():
        return None
    found = Fraction(literal["text"])
    return found if 0 <= found <= 1 else None
