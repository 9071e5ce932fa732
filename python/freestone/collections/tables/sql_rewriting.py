"""Queries that are others by parts: set operations, pivots, tables that are there repeatedly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.lowering import may_hash
from freestone.collections.tables.plan import Node, Op, known_op
from freestone.collections.tables.sql_named import query_of, tabled
from freestone.collections.tables.sql_trees import (
    SELECT,
    Tree,
    each_node,
    errors_of_duckdb,
    parsed,
    quoted,
    replaced,
    tables_in,
    text_of,
    types_of,
)

__all__ = ["combined", "with_copies", "without_pivot"]

_UNITED = "__united"


def _is_not_known() -> tuple[type[Exception], ...]:
    """Return what is raised where a query is not known to be the same as another."""
    # Other versions of DuckDB may have trees of another form.
    return KeyError, TypeError, ValueError, pl.exceptions.PolarsError, *errors_of_duckdb()


# -- set operations ---------------------------------------------------------------------------


def combined(connection: Any, step: Op) -> Node | None:
    """Return a `UNION`, `INTERSECT` or `EXCEPT` of queries as steps on what those give.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows; it gets one of what is combined.
    step
        The query.

    Returns
    -------
    Node or None
        None if it is no such query, or is not known to be the same.
    """
    query, tables = step.args
    try:
        node = parsed(connection, query)
        kind = node.get("setop_type")
        if kind not in _COMBINED or node["cte_map"].get("map"):
            return None
        inputs = dict(zip(tables, step.inputs, strict=True))
        by_name = kind == "UNION_BY_NAME"
        sides = [
            _side(connection, one, inputs, tables, step, by_name=by_name)
            for one in node["children"]
        ]
        made = _COMBINED[kind](sides, step.schema, is_all=node.get("setop_all", True))
        if node.get("modifiers"):
            made = _modified(connection, made, node["modifiers"])
    except _is_not_known():
        return None
    return made if made.schema == step.schema else None


def _side(
    connection: Any,
    node: Tree,
    inputs: Mapping[str, Node],
    tables: Mapping[str, pl.DataFrame],
    step: Op,
    *,
    by_name: bool,
) -> Node:
    """Return one query of several, whose columns are those of the whole."""
    text = text_of(connection, node)
    made = _of_tables(node, text, inputs, tables)
    nulls = [name for name, kind in types_of(connection, text).items() if kind == '"NULL"']
    found = {
        (name.lower() if by_name else label.lower()): name
        for name, label in zip(made.schema, made.schema if by_name else step.schema, strict=True)
    }
    columns = []
    for label, dtype in step.schema.items():
        name = found.get(label.lower())
        column = pl.lit(None, dtype)
        if name is not None:
            column = _as_in_all(name, made.schema[name], dtype, is_null=name in nulls)
        columns.append(column.alias(label))
    # Of constants alone polars would make one row.
    return known_op("select", [known_op("with_columns", [made], columns)], list(step.schema))


def _of_tables(
    node: Tree, text: str, inputs: Mapping[str, Node], tables: Mapping[str, pl.DataFrame]
) -> Op:
    """Return the step of a query; one that names no table gets one without rows."""
    if not tables_in(node):
        name, empty = next(iter(tables.items()))
        nothing = known_op("head", [inputs[name]], 0)
        return known_op("sql", [nothing], text, {name: empty})
    return query_of(node, text, inputs, tables)


def _as_in_all(name: str, dtype: pl.DataType, wanted: pl.DataType, *, is_null: bool) -> pl.Expr:
    """Return a column as the type that it has in the whole; raises where DuckDB may differ."""
    if dtype == wanted:
        return pl.col(name)
    if is_null:
        return pl.when(False).then(pl.col(name)).cast(wanted)
    if not (dtype.is_numeric() and (wanted.is_integer() or wanted == pl.Float64)):
        raise ValueError(f"it is not known how {dtype} becomes {wanted}")
    return pl.col(name).cast(wanted)


def _united(sides: Sequence[Node], schema: pl.Schema, *, is_all: bool) -> Node:
    made: Node = known_op("concat", sides, how="vertical")
    if is_all:
        return made
    _require_hashes(schema)
    return known_op("unique", [made], None, keep="any", maintain_order=False)


def _intersected(sides: Sequence[Node], schema: pl.Schema, *, is_all: bool) -> Node:
    copies = pl.min_horizontal(_SIDES) if is_all else pl.all_horizontal(pl.col(_SIDES) > 0)
    return _counted(sides, schema, copies)


def _excepted(sides: Sequence[Node], schema: pl.Schema, *, is_all: bool) -> Node:
    ours, theirs = map(pl.col, _SIDES)
    return _counted(sides, schema, ours - theirs if is_all else (ours > 0) & (theirs == 0))


def _counted(sides: Sequence[Node], schema: pl.Schema, copies: pl.Expr) -> Node:
    """Return each row that two queries give as often as follows from how often each gives it."""
    _require_hashes(schema)
    marked = [
        known_op(
            "with_columns",
            [side],
            [pl.lit(int(each == place), pl.Int64).alias(n) for each, n in enumerate(_SIDES)],
        )
        for place, side in enumerate(sides)
    ]
    both = known_op("concat", marked, how="vertical")
    keys, counts = [pl.col(name) for name in schema], [pl.col(name).sum() for name in _SIDES]
    groups = known_op("group_by", [both], keys, counts, maintain_order=False)
    counted = known_op("with_columns", [groups], copies.cast(pl.Int64).alias(_COPIES))
    there = known_op("filter", [counted], pl.col(_COPIES) > 0)
    repeated = known_op("with_columns", [there], pl.col(_COPIES).repeat_by(pl.col(_COPIES)))
    return known_op("select", [known_op("explode", [repeated], [_COPIES])], list(schema))


def _require_hashes(schema: pl.Schema) -> None:
    """Raise unless equal rows are found by their hashes."""
    if not all(map(may_hash, schema.values())):
        raise ValueError("its rows are compared by one call")


_SIDES = ["__ours", "__theirs"]
_COPIES = "__copies"
_COMBINED = {
    "EXCEPT": _excepted,
    "INTERSECT": _intersected,
    "UNION": _united,
    "UNION_BY_NAME": _united,
}


def _modified(connection: Any, made: Node, modifiers: list[Tree]) -> Node:
    """Return what is put in order, limited or without doubles."""
    tabled(connection, _UNITED, made.empty)
    whole = {**parsed(connection, f"SELECT * FROM {_UNITED}"), "modifiers": modifiers}
    return known_op("sql", [made], text_of(connection, whole), {_UNITED: made.empty})


# -- pivots -----------------------------------------------------------------------------------


def without_pivot(connection: Any, step: Op) -> Op:
    """Return a `PIVOT` with named values as a query of groups; the query itself if it is none."""
    query, tables = step.args
    try:
        node = parsed(connection, query)
        if node["type"] != "SELECT_NODE" or node["from_table"]["type"] != "PIVOT":
            return step
        found = text_of(connection, _as_groups(connection, node))
        kinds, ours = types_of(connection, query), types_of(connection, found)
        made = known_op("sql", step.inputs, found, tables)
    except _is_not_known():
        return step
    return made if list(kinds.items()) == list(ours.items()) else step


def _as_groups(connection: Any, node: Tree) -> Tree:
    source = node["from_table"]
    (pivot,) = source["pivots"]
    (on,) = pivot["pivot_expressions"]
    known = {"class", "type", "query_location", "query_location_length"}
    is_star = [one.get("class") for one in node["select_list"]] == ["STAR"]
    if not is_star or {*node["select_list"][0]} - known:
        raise ValueError("some of its columns are selected")
    if set(node) & {"where_clause", "group_expressions", "having", "qualify", "sample"}:
        raise ValueError("more is asked of it")
    if source.get("column_name_alias") or source.get("unpivot_names"):
        raise ValueError("its columns have other names")
    labels = list(types_of(connection, text_of(connection, node)))
    filled = [
        {**one, "filter": _is(connection, on, entry["star_expr"])}
        for entry in pivot["entries"]
        for one in source["aggregates"]
    ]
    keys = [_column(label) for label in labels[: len(labels) - len(filled)]]
    items = [{**one, "alias": label} for one, label in zip([*keys, *filled], labels, strict=True)]
    groups = {"group_expressions": keys, "group_sets": [[*range(len(keys))]]} if keys else {}
    kept = {word: one for word, one in node.items() if word == "modifiers"}
    return {**SELECT, "select_list": items, "from_table": source["source"], **groups, **kept}


def _is(connection: Any, on: Tree, value: Tree) -> Tree:
    """Return the expression that something is a value, which may be null."""
    (found,) = parsed(connection, "SELECT a IS NOT DISTINCT FROM b")["select_list"]
    return {**found, "left": on, "right": {w: one for w, one in value.items() if w != "alias"}}


def _column(name: str) -> Tree:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [name]}


# -- tables that are there more than once -------------------------------------------------------


def with_copies(connection: Any, step: Op, names: set[str]) -> tuple[Op, dict[str, str]] | None:
    """Return a query that names each of some tables once, and the tables that others stand for.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows; it gets the others.
    step
        The query.
    names
        The tables, in lower case.

    Returns
    -------
    tuple or None
        None if none of them is there more than once.
    """
    query, tables = step.args
    lowered = {name.lower(): name for name in tables}
    try:
        node = parsed(connection, query)
        used = Counter(_names_of_tables(node))
        if not any(used[name] > 1 for name in names):
            return None
        copies: dict[str, str] = {}
        seen: set[str] = set()

        def copied(tree: Tree) -> Tree | None:
            name = str(tree.get("table_name")).lower()
            if tree.get("type") != "BASE_TABLE" or name not in names:
                return None
            if name not in seen:
                seen.add(name)
                return tree
            copy = f"__copy{len(copies)}_{name}"
            copies[copy] = lowered[name]
            tabled(connection, copy, tables[lowered[name]])
            found = parsed(connection, f"SELECT * FROM {quoted(copy)}")["from_table"]
            return {**tree, **found, "alias": tree.get("alias") or tree["table_name"]}

        text = text_of(connection, replaced(node, copied))
        known = dict(tables) | {copy: tables[name] for copy, name in copies.items()}
        inputs = dict(zip(tables, step.inputs, strict=True))
        nodes = [*step.inputs, *(inputs[name] for name in copies.values())]
        made = known_op("sql", nodes, text, known)
    except _is_not_known():
        return None
    return (made, copies) if made.schema == step.schema else None


def _names_of_tables(node: Tree) -> Iterator[str]:
    for each in each_node(node):
        if each.get("type") == "BASE_TABLE":
            yield str(each["table_name"]).lower()
