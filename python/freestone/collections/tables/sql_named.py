"""Queries with named ones, `WITH`: each is answered by itself, and is a table to those after it.

So are queries in `FROM (...)` of groups, with windows, an order or a limit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.answering import as_text
from freestone.collections.tables.plan import Node, Op, known_op
from freestone.errors import FreestoneError

__all__ = [
    "column_of",
    "each_node",
    "parsed",
    "quoted",
    "tabled",
    "text_of",
    "with_named_as_inputs",
]

Tree = dict[str, Any]


def parsed(connection: Any, query: str) -> Tree:
    """Return DuckDB's tree of a query, without what is as always."""
    call = "SELECT json_serialize_sql(?, skip_default := true, skip_null := true)"
    ((text,),) = connection.execute(call, [query]).fetchall()
    (statement,) = json.loads(text)["statements"]
    node: Tree = statement["node"]
    return node


def text_of(connection: Any, node: Tree) -> str:
    """Return the query that a tree is of."""
    tree = json.dumps({"error": False, "statements": [{"node": node}]})
    ((text,),) = connection.execute("SELECT json_deserialize_sql(?::JSON)", [tree]).fetchall()
    return str(text)


def each_node(tree: Any, within: tuple[str, ...] = ()) -> Iterator[Tree]:
    """Yield what a tree is made of, and it itself; not what is within expressions of some class."""
    if isinstance(tree, list):
        for one in tree:
            yield from each_node(one, within)
    elif isinstance(tree, dict):
        yield tree
        if tree.get("class") not in within:
            for one in tree.values():
                yield from each_node(one, within)


def tabled(connection: Any, name: str, empty: pl.DataFrame) -> None:
    """Make a table of DuckDB's that has the columns of a table, and no rows."""
    connection.register("__table", as_text(empty).to_arrow())
    connection.execute(f"CREATE TABLE {quoted(name)} AS SELECT * FROM __table")
    connection.unregister("__table")


def quoted(name: str) -> str:
    """Return a name as one that may have any characters."""
    return '"' + name.replace('"', '""') + '"'


def with_named_as_inputs(connection: Any, step: Op) -> Op:
    """Return a query whose named queries are inputs; it itself if that is not known to be the same.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows; it gets one for each named query.
    step
        The query.
    """
    import duckdb

    try:
        return _Named(connection, step).split()
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        return step
    except (FreestoneError, duckdb.Error):
        return step


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
        main = {**self.node, "cte_map": {}}
        if "from_table" in main:
            main["from_table"] = _replaced(main["from_table"], self._as_table)
        if len(self.inputs) == len(self.step.inputs):
            return self.step
        found = self._made(main)
        if found.schema != self.step.schema:
            raise ValueError("other types come out of it")
        return found

    def _add(self, name: str, value: Tree) -> None:
        """Have a named query be a table."""
        is_known = name.lower() in {known.lower() for known in self.empty}
        if is_known or value["query_node"]["type"] != "SELECT_NODE":
            raise ValueError(f"{name!r} stands for another table, or for itself")
        aliases = value.get("aliases", [])
        made = self._made(value["query_node"], aliases)
        kinds = self._types(made.args[0])
        tabled(self.connection, name, made.empty)
        has = self._types(f"SELECT * FROM {quoted(name)}")
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

    def _as_table(self, tree: Tree) -> Tree | None:
        """Have a query of all rows in `FROM (...)` be a table, too."""
        # An expression that is a query has a class.
        if tree.get("type") != "SUBQUERY" or "class" in tree or tree.get("sample"):
            return None
        node = tree["subquery"]["node"]
        if node["type"] != "SELECT_NODE" or not self._is_of_all_rows(node):
            return None
        name = f"__from{len(self.inputs)}"
        self._add(name, {"query_node": node, "aliases": tree.get("column_name_alias", [])})
        table: Tree = parsed(self.connection, f"SELECT * FROM {quoted(name)}")["from_table"]
        return {**table, "alias": tree.get("alias", "")}

    def _is_of_all_rows(self, node: Tree) -> bool:
        """Tell whether a query gives something else of all rows than of parts of them, together."""
        words = ("modifiers", "group_expressions", "having", "qualify")
        shown = [*each_node(node["select_list"], ("SUBQUERY",))]
        if any(map(node.get, words)) or node.get("aggregate_handling") == "FORCE_AGGREGATES":
            return True
        if any(one.get("class") == "WINDOW" for one in shown):
            return True
        call = "SELECT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
        aggregates = {name for (name,) in self.connection.execute(call).fetchall()}
        return not aggregates.isdisjoint(one.get("function_name") for one in shown)

    def _types(self, query: str) -> dict[str, str]:
        rows = self.connection.execute(f"DESCRIBE {query}").fetchall()
        return {str(name): str(kind) for name, kind, *_ in rows}

    def _made(self, node: Tree, aliases: Sequence[str] = ()) -> Op:
        """Return the step of a query of the tables that it names."""
        named = {str(one.get("table_name")).lower() for one in each_node(node)}
        used = [name for name in self.empty if name.lower() in named]
        if not used:
            raise ValueError("it is of no table")
        text = text_of(self.connection, _aliased(_replaced(node, self._as_it_was), aliases))
        tables: Mapping[str, pl.DataFrame] = {name: self.empty[name] for name in used}
        return known_op("sql", [self.inputs[name] for name in used], text, tables)

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


def column_of(tree: Tree) -> str | None:
    """Return the name of a column; None of other expressions."""
    return str(tree["column_names"][-1]).lower() if tree.get("class") == "COLUMN_REF" else None


def _replaced(tree: Any, replace: Callable[[Tree], Tree | None]) -> Any:
    """Return a tree in which some parts are others."""
    if isinstance(tree, list):
        return [_replaced(one, replace) for one in tree]
    if not isinstance(tree, dict):
        return tree
    found = replace(tree)
    if found is not None:
        return found
    return {word: _replaced(one, replace) for word, one in tree.items()}
