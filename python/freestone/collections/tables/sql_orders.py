"""Queries of the rows of one table whose windows have an order: what can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import polars as pl

from freestone.collections.tables.sql_trees import (
    SELECT,
    Tree,
    called,
    column_of,
    each_node,
    errors_of_duckdb,
    functions_of,
    parsed,
    table_of,
    text_of,
    types_of,
    volatile_functions,
)

__all__ = [
    "RowsInOrder",
    "bare",
    "is_window",
    "same_tree",
    "sense_of",
    "taken_apart",
    "whole_number",
]


Parts = TypeVar("Parts")


def taken_apart(take: Callable[[], Parts]) -> Parts | None:
    """Return what a query is taken apart into; None where it can't be, or is of an unknown form."""
    try:
        return take()
    except (KeyError, TypeError, ValueError, *errors_of_duckdb()):
        # Other versions of DuckDB may have trees of another form.
        return None


@dataclass
class RowsInOrder:
    """A query of the rows of one table, which is taken apart."""

    connection: Any
    node: Tree
    empty: pl.DataFrame
    large: str

    @classmethod
    def of(
        cls, connection: Any, query: str, tables: Mapping[str, pl.DataFrame], large: str
    ) -> Self:
        """Return a query of the large one of some tables; DuckDB raises where it is none."""
        return cls(connection, parsed(connection, query), tables[large], large)

    def check(self, *also: str) -> None:
        """Raise `ValueError` unless it is of rows of one table; it may have what `also` says."""
        node = self.node
        refused = {"group_expressions", "having", "qualify", "sample"} - {*also}
        is_one = table_of(node["from_table"]) == self.large.lower()
        if node["type"] != "SELECT_NODE" or not is_one or any(map(node.get, refused)):
            raise ValueError("it is no SELECT of the rows of one table")
        leaf = node["from_table"]
        if leaf.get("sample") or leaf.get("column_name_alias") or node["cte_map"].get("map"):
            raise ValueError("it is not as its table is")
        called = {str(one.get("function_name")) for one in each_node(node) if _is_function(one)}
        if any(one.get("class") == "SUBQUERY" for one in each_node(node)):
            raise ValueError("it has queries in it")
        known = functions_of(self.connection, "scalar") - volatile_functions(self.connection)
        if not called <= known or node.get("aggregate_handling") == "FORCE_AGGREGATES":
            raise ValueError("it has aggregates, or what is another each time")

    @property
    def alias(self) -> str:
        """The name by which the query names its table."""
        return called(self.node["from_table"])

    def column(self, window: Tree) -> str:
        """Return the column by which rows are cut."""
        path = window["orders"][0]["expression"]["column_names"]
        names = {name.lower(): name for name in self.empty.columns}
        return str(names[path[-1].lower()])

    def of_rows(self, text: str) -> Tree:
        """Return the query of something of the same rows."""
        words = ("from_table", "where_clause")
        source = {word: self.node[word] for word in words if word in self.node}
        items = parsed(self.connection, f"SELECT {text}")["select_list"]
        return {**SELECT, **source, "select_list": items}

    def type_of(self, window: Tree) -> str:
        """Return the type, in DuckDB, of a window."""
        node = {**self.of_rows("1"), "select_list": [bare(window)]}
        (kind,) = types_of(self.connection, text_of(self.connection, node)).values()
        return kind

    def _text(self, tree: Tree) -> str:
        """Return the text of an expression."""
        node = {**SELECT, "from_table": {"type": "EMPTY"}, "select_list": [bare(tree)]}
        return text_of(self.connection, node).removeprefix("SELECT ")

    def labelled_items(self) -> list[Tree]:
        """Return what is selected, a column each, by the names that come out of the query.

        Raises
        ------
        ValueError
            When it is not known what its columns are called.
        """
        items = [one for item in self.node["select_list"] for one in self._columns_of(item)]
        labels = list(types_of(self.connection, text_of(self.connection, self.node)))
        if len(labels) != len(items):
            raise ValueError("it is not known what its columns are called")
        return [{**one, "alias": label} for one, label in zip(items, labels, strict=True)]

    def _columns_of(self, item: Tree) -> list[Tree]:
        """Return the columns that ``*`` stands for; what is anything else as it is."""
        if item.get("class") != "STAR":
            return [item]
        known = {"class", "type", "query_location", "query_location_length", "relation_name"}
        if set(item) - known:
            raise ValueError("it leaves out columns, or has others in their place")
        return [
            {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [self.alias, name]}
            for name in self.empty.columns
        ]


def bare(tree: Tree) -> Tree:
    """Return an expression without its name."""
    return {word: one for word, one in tree.items() if word != "alias"}


def same_tree(tree: Any) -> Any:
    """Return a tree without names and places: equal ones say the same."""
    if isinstance(tree, list):
        return [same_tree(one) for one in tree]
    if not isinstance(tree, dict):
        return tree
    dropped = ("alias", "query_location", "query_location_length")
    return {word: same_tree(one) for word, one in tree.items() if word not in dropped}


def is_window(tree: Tree) -> bool:
    """Tell whether an expression is a window."""
    return tree.get("class") == "WINDOW"


def whole_number(tree: Tree) -> int | None:
    """Return the whole number that an expression is; None if it is none."""
    literal = tree.get("literal", {})
    is_whole = tree.get("class") == "CONSTANT" and literal.get("kind") == "INTEGER"
    return int(literal["text"]) if is_whole else None


def sense_of(order: Tree) -> tuple[str | None, bool, bool]:
    """Return the column of an order, whether it is descending, and whether nulls are last."""
    return (
        column_of(order["expression"]),
        order["type"] == "DESCENDING",
        "FIRST" not in order["null_order"],
    )


def _is_function(tree: Tree) -> bool:
    return tree.get("class") == "FUNCTION"
