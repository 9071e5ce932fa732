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

__all__ = ["ENDS", "VALUE", "Ranked", "fraction_of", "ranked"]

ENDS, VALUE = "__ends", "__value"
"""The table of the values that have the ranks, and its column."""

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
    fraction : fractions.Fraction
        Which quantile it is.
    kind : str
        The type of the values in DuckDB.
    label : str
        What the column of the query is called.
    """

    values: str
    function: str
    fraction: Fraction
    kind: str
    label: str

    def ranks(self, values: int) -> list[int]:
        """Return the ranks, from 0, of the values that the quantile of so many is made of."""
        if self.function == "quantile_disc":
            return [max(values - math.floor(values - self.fraction * values), 1) - 1]
        place = (values - 1) * float(self.fraction)
        return [math.floor(place), math.ceil(place)]

    def whole(self, values: int) -> str:
        """Return the query of these values that gives the quantile of so many."""
        value = f"CAST({VALUE} AS {self.kind})"
        place = (values - 1) * float(self.fraction)
        within = place - math.floor(place)
        made = {
            "median": f"median({value})",
            "quantile_cont": f"quantile_cont({value}, CAST({within!r} AS DOUBLE))",
            "quantile_disc": f"any_value({value})",
        }
        name = self.label.replace('"', '""')
        return f'SELECT {made[self.function]} AS "{name}" FROM {ENDS}'


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
    fraction = fraction_of(item)
    if fraction is None or node.get("modifiers"):
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
    return Ranked(values, item["function_name"], fraction, kind, label)


def fraction_of(tree: Tree) -> Fraction | None:
    """Return which quantile an aggregate is; None if it is no quantile, or of an unknown one."""
    known = {"class", "type", "alias", "query_location", "query_location_length"}
    known |= {"function_name", "qualified_name", "arguments", "order_bys", "filter"}
    is_other = tree.get("class") != "FUNCTION" or tree.get("function_name") not in _QUANTILES
    if is_other or set(tree) - known or tree.get("order_bys", {}).get("orders"):
        return None
    given = [one["expression"] for one in tree["arguments"]]
    if tree["function_name"] == "median":
        return Fraction(1, 2) if len(given) == 1 else None
    literal = given[1].get("literal", {}) if len(given) == 2 else {}
    # What is written with an exponent is rounded before DuckDB counts.
    if literal.get("kind") not in ("INTEGER", "NUMERIC") or "e" in literal["text"].lower():
        return None
    found = Fraction(literal["text"])
    return found if 0 <= found <= 1 else None
