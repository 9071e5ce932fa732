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
    "aggregate_of",
    "all_of",
    "as_text",
    "by_function",
    "called",
    "column_of",
    "column_ref",
    "conjuncts",
    "each_node",
    "elements",
    "equal",
    "errors_of_duckdb",
    "functions_of",
    "is_function",
    "is_window",
    "parsed",
    "quoted",
    "replaced",
    "require_alone",
    "table_of",
    "tables_in",
    "text_of",
    "types_of",
    "unqualified",
    "volatile_functions",
    "whole_number_of",
    "with_each",
    "without_alias",
    "without_entries",
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


def require_alone(connection: Any, node: Tree) -> None:
    """Raise DuckDB's error if a query names what is outside of it."""
    types_of(connection, text_of(connection, node))


def errors_of_duckdb() -> tuple[type[Exception]]:
    """Return what DuckDB raises, to be caught."""
    import duckdb

    return (duckdb.Error,)


def functions_of(connection: Any, kind: str) -> set[str]:
    """Return the names of DuckDB's functions of a kind, such as ``aggregate``."""
    call = "SELECT function_name FROM duckdb_functions() WHERE function_type = ?"
    return {name for (name,) in connection.execute(call, [kind]).fetchall()}


def volatile_functions(connection: Any) -> set[str]:
    """Return the names of DuckDB's functions that may give something else each time."""
    call = "SELECT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    return {name for (name,) in connection.execute(call).fetchall()}


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


def called(leaf: Tree) -> str:
    """Return the name, in lower case, by which a query names what is joined; empty if by none."""
    return str(leaf.get("alias") or leaf.get("table_name", "")).lower()


def table_of(leaf: Tree) -> str:
    """Return the name of the table that is joined, in lower case; empty if it is none."""
    return str(leaf["table_name"]).lower() if leaf["type"] == "BASE_TABLE" else ""


def elements(
    source: Tree,
    sides_of: Callable[[Tree], Sequence[str]],
    links_of: Callable[[Tree, list[Tree], list[Tree]], list[Tree]],
) -> tuple[list[Tree], list[Tree]]:
    """Return what is joined in ``FROM``, and the conditions by which it is.

    Parameters
    ----------
    source
        What ``FROM`` says.
    sides_of
        The sides of a join that are gone into, of both or ``left``; without any it is an element.
    links_of
        Conditions of a join besides that of its ``ON``, of what both sides are made of.
    """
    sides = sides_of(source) if source["type"] == "JOIN" else ()
    if not sides:
        return [source], []
    found = [elements(source[side], sides_of, links_of) for side in sides]
    known = [condition for _, conditions in found for condition in conditions]
    if len(found) == 2:
        (left, _), (right, _) = found
        known += [*conjuncts([source.get("condition")]), *links_of(source, left, right)]
    return [leaf for leaves, _ in found for leaf in leaves], known


def aggregate_of(connection: Any, window: Tree) -> Tree:
    """Return the aggregate of the rows of a table of which a window is one of some."""
    (found,) = parsed(connection, "SELECT sum(1)")["select_list"]
    words = ("function_name", "qualified_name", "arguments", "distinct")
    made: Tree = found | {word: window[word] for word in words if word in window}
    if "arguments" not in window:
        made.pop("arguments")
    if "filter_expr" in window:
        made["filter"] = window["filter_expr"]
    return made


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


def with_each(modifier: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Return what is done to rows at the end with other expressions in it."""
    found = dict(modifier)
    if "orders" in modifier:
        found["orders"] = [
            {**one, "expression": change(one["expression"])} for one in modifier["orders"]
        ]
    if "distinct_on_targets" in modifier:
        found["distinct_on_targets"] = list(map(change, modifier["distinct_on_targets"]))
    return found


def without_entries(tree: Tree, *words: str) -> Tree:
    """Return a tree without some of its entries."""
    return {word: one for word, one in tree.items() if word not in words}


def without_alias(tree: Tree) -> Tree:
    """Return an expression without its alias."""
    return without_entries(tree, "alias")


def by_function(tree: Tree, name: str, alias: str) -> Tree:
    """Return an aggregate of the same rows by another function."""
    made = {**tree, "function_name": name, "alias": alias}
    return {**made, "qualified_name": {"path": [name]}} if "qualified_name" in tree else made


def unqualified(tree: Tree) -> Tree:
    """Return a column without the name of its table; any other expression as it is."""
    is_column = tree.get("class") == "COLUMN_REF"
    return {**tree, "column_names": tree["column_names"][-1:]} if is_column else tree


def is_function(tree: Tree) -> bool:
    """Tell whether an expression is a call of a function."""
    return tree.get("class") == "FUNCTION"


def is_window(tree: Tree) -> bool:
    """Tell whether an expression is a window."""
    return tree.get("class") == "WINDOW"


def whole_number_of(tree: Tree) -> int | None:
    """Return the whole number that an expression is."""
    if tree.get("class") != "CONSTANT":
        return None
    literal = tree.get("literal", {})
    if literal.get("kind") == "INTEGER":
        return int(literal["text"])
    value = tree.get("value", {}).get("value")
    return value if type(value) is int else None
