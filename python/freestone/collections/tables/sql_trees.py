"""DuckDB's trees of queries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

__all__ = [
    "CROSS",
    "SELECT",
    "Tree",
    "all_of",
    "as_text",
    "column_of",
    "column_ref",
    "conjuncts",
    "each_node",
    "equal",
    "errors_of_duckdb",
    "functions_of",
    "parsed",
    "quoted",
    "replaced",
    "tables_in",
    "text_of",
    "types_of",
]

Tree = dict[str, Any]

SELECT: Tree = {
    "type": "SELECT_NODE",
    "cte_map": {},
    "aggregate_handling": "STANDARD_HANDLING",
    "select_list": [{"class": "STAR", "type": "STAR"}],
}
"""All columns of what ``from_table`` says."""
CROSS: Tree = {"type": "JOIN", "join_type": "INNER", "ref_type": "CROSS"}
"""All pairs of ``left`` and ``right``."""


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


def quoted(name: str) -> str:
    """Return a name as one that may have any characters."""
    return '"' + name.replace('"', '""') + '"'


def tables_in(tree: Tree) -> set[str]:
    """Return the names of the tables that a query is of, in lower case."""
    return {str(node["table_name"]).lower() for node in each_node(tree) if "table_name" in node}


def types_of(connection: Any, query: str) -> dict[str, str]:
    """Return the types, in DuckDB, of the columns that come out of a query."""
    rows = connection.execute(f"DESCRIBE {query}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in rows}


def errors_of_duckdb() -> tuple[type[Exception]]:
    """Return what DuckDB raises, to be caught."""
    import duckdb

    return (duckdb.Error,)


def functions_of(connection: Any, kind: str) -> set[str]:
    """Return the names of DuckDB's functions of a kind, such as ``aggregate``."""
    call = "SELECT function_name FROM duckdb_functions() WHERE function_type = ?"
    return {name for (name,) in connection.execute(call, [kind]).fetchall()}


def column_of(tree: Tree) -> str | None:
    """Return the name of a column; None of other expressions."""
    return str(tree["column_names"][-1]).lower() if tree.get("class") == "COLUMN_REF" else None


def replaced(tree: Any, replace: Callable[[Tree], Tree | None]) -> Any:
    """Return a tree in which some parts are others."""
    if isinstance(tree, list):
        return [replaced(one, replace) for one in tree]
    if not isinstance(tree, dict):
        return tree
    found = replace(tree)
    if found is not None:
        return found
    return {word: replaced(one, replace) for word, one in tree.items()}


def conjuncts(trees: Sequence[Tree | None]) -> Iterator[Tree]:
    """Yield what is true of all rows if some expressions are."""
    for tree in trees:
        if tree is not None and tree["type"] == "CONJUNCTION_AND":
            yield from conjuncts(tree["children"])
        elif tree is not None:
            yield tree


def as_text(frame: pl.DataFrame) -> pl.DataFrame:
    """Have categories be text: DuckDB's have to be known before there are rows."""
    coded = {
        n: pl.String for n, t in frame.schema.items() if isinstance(t, pl.Categorical | pl.Enum)
    }
    return frame.cast(coded)


def column_ref(table: str, name: str) -> Tree:
    """Return the expression that is a column of a table."""
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [table, name]}


def equal(one: tuple[str, str], other: tuple[str, str]) -> Tree:
    """Return the expression that columns of two tables are equal."""
    sides = {"left": column_ref(*one), "right": column_ref(*other)}
    return {"class": "COMPARISON", "type": "COMPARE_EQUAL", **sides}


def all_of(conditions: Sequence[Tree]) -> Tree:
    """Return the expression that all of some are true."""
    if len(conditions) == 1:
        return conditions[0]
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": list(conditions)}
