"""Queries with named ones, `WITH`: each is answered by itself, and is a table to those after it.

So are queries in `FROM (...)` and in expressions of groups, with windows, an order or a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.plan import Node, Op, known_op
from freestone.collections.tables.sql_ranks import fractions_of
from freestone.collections.tables.sql_trees import (
    SELECT,
    Tree,
    aggregate_of,
    as_text,
    column_of,
    each_node,
    errors_of_duckdb,
    functions_of,
    parsed,
    quoted,
    replaced,
    require_alone,
    tables_in,
    text_of,
    types_of,
    volatile_functions,
)
from freestone.errors import FreestoneError

__all__ = ["query_of", "tabled", "with_named_as_inputs"]

_ANSWERED = ("SELECT_NODE", "SET_OPERATION_NODE")
"""Queries that may be answered by themselves."""


def tabled(connection: Any, name: str, empty: pl.DataFrame) -> None:
    """Make a table of DuckDB's that has the columns of a table, and no rows."""
    connection.register("__table", as_text(empty).to_arrow())
    connection.execute(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT * FROM __table")
    connection.unregister("__table")


def with_named_as_inputs(connection: Any, step: Op) -> Op:
    """Return a query whose named queries are inputs; it itself if that is not known to be the same.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows; it gets one for each named query.
    step
        The query.
    """
    try:
        return _Named(connection, step).split()
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        return step
    except (FreestoneError, *errors_of_duckdb()):
        return step


def query_of(
    node: Tree, text: str, inputs: Mapping[str, Node], tables: Mapping[str, pl.DataFrame]
) -> Op:
    """Return the step of a query, of those tables that it names; raises if it names none."""
    named = tables_in(node)
    used = [name for name in tables if name.lower() in named]
    if not used:
        raise ValueError("it is of no table")
    known = {name: tables[name] for name in used}
    return known_op("sql", [inputs[name] for name in used], text, known)


class _Named:
    """A query that is taken apart at its names."""

    def __init__(self, connection: Any, step: Op) -> None:
        query, tables = step.args
        self.connection, self.step = connection, step
        self.node = parsed(connection, query)
        self.empty: dict[str, pl.DataFrame] = dict(tables)
        self.inputs: dict[str, Node] = dict(zip(tables, step.inputs, strict=True))
        # Of tables whose types polars has none for: the columns as DuckDB has them.
        self.restored: dict[str, str] = {}

    def split(self) -> Op:
        for one in self.node.get("cte_map", {}).get("map", []):
            self._add(one["key"], one["value"])
        main = self._without_windows_of_all({**self.node, "cte_map": {}})
        main = self._without_quantiles_of_all(main)
        if "from_table" in main:
            main["from_table"] = replaced(main["from_table"], self._as_table)
        main = replaced(main, self._as_value)
        if len(self.inputs) == len(self.step.inputs):
            return self.step
        found = self._made(main)
        if found.schema != self.step.schema:
            raise ValueError("other types come out of it")
        return found

    def _add(self, name: str, value: Tree) -> None:
        """Have a named query be a table."""
        is_known = name.lower() in {known.lower() for known in self.empty}
        if is_known or value["query_node"]["type"] not in _ANSWERED:
            raise ValueError(f"{name!r} stands for another table, or for itself")
        aliases = value.get("aliases", [])
        made = self._made(value["query_node"], aliases)
        kinds = types_of(self.connection, made.args[0])
        tabled(self.connection, name, made.empty)
        has = types_of(self.connection, f"SELECT * FROM {quoted(name)}")
        if list(has) != list(kinds):
            raise ValueError("its columns have other names")
        casts = [
            f"CAST({quoted(column)} AS {kind}) AS {quoted(column)}"
            for column, kind in kinds.items()
            if kind != has[column]
        ]
        if casts:
            self.restored[name.lower()] = (
                f"SELECT * REPLACE ({', '.join(casts)}) FROM {quoted(name)}"
            )
        self.empty[name], self.inputs[name] = made.empty, made

    def _without_windows_of_all(self, node: Tree) -> Tree:
        """Return a query with one of its own for each window of all rows, `sum(x) over ()`."""
        if node["type"] != "SELECT_NODE" or self._has_groups(node) or node.get("qualify"):
            return node
        source: Tree = {word: node[word] for word in ("from_table", "where_clause") if word in node}
        called = {one.get("function_name") for one in each_node(source)}
        if node.get("sample") or called & volatile_functions(self.connection):
            return node

        def aggregate(tree: Tree) -> Tree | None:
            if tree.get("class") != "WINDOW" or set(tree) - _OF_ALL or not _is_of_all(tree):
                return None
            return aggregate_of(self.connection, tree)

        return self._with_values(node, source, aggregate)

    def _without_quantiles_of_all(self, node: Tree) -> Tree:
        """Return a query with one of its own for each quantile of all rows, `median(x)`."""
        words = ("group_expressions", "having", "qualify", "modifiers", "sample")
        if node["type"] != "SELECT_NODE" or any(map(node.get, words)):
            return node
        source: Tree = {word: node[word] for word in ("from_table", "where_clause") if word in node}
        items = node["select_list"]
        is_alone = len(items) == 1 and fractions_of(items[0]) is not None
        called = {one.get("function_name") for one in each_node(node)}
        is_volatile = not called.isdisjoint(volatile_functions(self.connection))
        is_other = source["from_table"]["type"] != "BASE_TABLE" or not self._has_groups(node)
        if is_alone or is_volatile or is_other or node["aggregate_handling"] == "FORCE_AGGREGATES":
            return node
        found = self._with_values(
            node, source, lambda one: one if fractions_of(one) is not None else None
        )
        if self._has_groups(found):
            return found
        alone = {word: one for word, one in found.items() if word != "where_clause"}
        return {**alone, "from_table": {"type": "EMPTY"}}

    def _with_values(
        self, node: Tree, source: Tree, aggregate: Callable[[Tree], Tree | None]
    ) -> Tree:
        """Return a query that asks others of the same rows for some aggregates of them."""

        def changed(tree: Tree) -> Tree | None:
            if tree.get("class") == "SUBQUERY":
                return tree
            function = aggregate(tree)
            if function is None:
                return None
            value: Tree
            (value,) = parsed(self.connection, "SELECT (SELECT 1)")["select_list"]
            value["subquery"]["node"] = {**SELECT, **source, "select_list": [function]}
            return value

        items = []
        for item in node["select_list"]:
            made = replaced(item, changed)
            if made != item:
                alone = text_of(self.connection, {**node, "select_list": [item], "modifiers": []})
                (made["alias"],) = types_of(self.connection, alone)
            items.append(made)
        return {**node, "select_list": items}

    def _has_groups(self, node: Tree) -> bool:
        words = ("group_expressions", "having")
        if any(map(node.get, words)) or node.get("aggregate_handling") == "FORCE_AGGREGATES":
            return True
        shown = each_node(node["select_list"], ("SUBQUERY", "WINDOW"))
        called = {one["function_name"] for one in shown if one.get("class") == "FUNCTION"}
        return not called.isdisjoint(functions_of(self.connection, "aggregate"))

    def _as_table(self, tree: Tree) -> Tree | None:
        """Have a query of all rows in `FROM (...)` be a table, too."""
        # An expression that is a query has a class.
        if tree.get("type") != "SUBQUERY" or "class" in tree or tree.get("sample"):
            return None
        node = tree["subquery"]["node"]
        if node["type"] not in _ANSWERED or not self._is_of_all_rows(node):
            return None
        name = f"__from{len(self.inputs)}"
        self._add(name, {"query_node": node, "aliases": tree.get("column_name_alias", [])})
        table: Tree = parsed(self.connection, f"SELECT * FROM {quoted(name)}")["from_table"]
        return {**table, "alias": tree.get("alias", "")}

    def _as_value(self, tree: Tree) -> Tree | None:
        """Have a query in an expression be a table, too, if it names nothing outside of it."""
        if tree.get("class") != "SUBQUERY":
            return None
        node = tree["subquery"]["node"]
        if node["type"] not in _ANSWERED or not self._is_of_all_rows(node):
            return None
        name = f"__value{len(self.inputs)}"
        try:
            require_alone(self.connection, node)
            self._add(name, {"query_node": node})
        except (ValueError, *errors_of_duckdb()):
            return None
        source = parsed(self.connection, f"SELECT * FROM {quoted(name)}")
        child = {"child": replaced(tree["child"], self._as_value)} if "child" in tree else {}
        return {**tree, "subquery": {**tree["subquery"], "node": source}, **child}

    def _is_of_all_rows(self, node: Tree) -> bool:
        """Tell whether a query gives something else of all rows than of parts of them, together."""
        if node["type"] != "SELECT_NODE" or node["from_table"]["type"] == "PIVOT":
            return True
        if node.get("modifiers") or node.get("qualify") or self._has_groups(node):
            return True
        shown = each_node(node["select_list"], ("SUBQUERY",))
        return any(one.get("class") == "WINDOW" for one in shown)

    def _made(self, node: Tree, aliases: Sequence[str] = ()) -> Op:
        """Return the step of a query of the tables that it names."""
        text = text_of(self.connection, _aliased(replaced(node, self._as_it_was), aliases))
        return query_of(node, text, self.inputs, self.empty)

    def _as_it_was(self, tree: Tree) -> Tree | None:
        """Return a table whose columns have the types again that they have in DuckDB."""
        name = str(tree.get("table_name"))
        query = self.restored.get(name.lower())
        if tree.get("type") != "BASE_TABLE" or query is None:
            return None
        if tree.get("sample"):
            raise ValueError("a sample is of a table")
        found = {"type": "SUBQUERY", "alias": tree.get("alias") or name}
        return {**found, "subquery": {"node": parsed(self.connection, query)}}


_OF_ALL = {
    *("class", "type", "alias", "query_location", "query_location_length", "start", "end"),
    *("function_name", "qualified_name", "arguments", "distinct", "filter_expr"),
}
"""What a window of all rows may have."""


def _is_of_all(window: Tree) -> bool:
    """Tell whether a window without keys and order is an aggregate of all rows."""
    ends = window.get("start"), window.get("end")
    known = [("UNBOUNDED_PRECEDING", end) for end in ("CURRENT_ROW_RANGE", "UNBOUNDED_FOLLOWING")]
    return window["type"] == "WINDOW_AGGREGATE" and ends in known


def _aliased(node: Tree, aliases: Sequence[str]) -> Tree:
    """Return a query whose columns have other names; nothing else in it may name them."""
    if not aliases:
        return node
    items = node["select_list"]
    if len(aliases) != len(items) or any(one["class"] == "STAR" for one in items):
        raise ValueError("it is not known which columns get the names")
    used = {column_of(one) for one in each_node(node)}
    pairs = list(zip(items, aliases, strict=True))
    changed = {alias.lower() for one, alias in pairs if column_of(one) != alias.lower()}
    changed |= {one["alias"].lower() for one in items if one.get("alias")}
    if changed & used:
        raise ValueError("names of columns stand for others, too")
    named = [{**one, "alias": alias} for one, alias in pairs]
    return {**node, "select_list": named}
