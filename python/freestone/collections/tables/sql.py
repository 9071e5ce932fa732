"""SQL: by parts of the largest table where that is known to be the same, or else by one call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.answering import as_text, connection_to_duckdb
from freestone.collections.tables.lowering import LIMITS, lower, rule
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.sql_parts import PARTS, by_parts
from freestone.collections.tables.stages import Stage
from freestone.errors import QueryError

__all__: list[str] = []


@rule("sql")
def _sql(step: Op, needed: Columns) -> Stage:
    query, tables = step.args
    connection = _connection(tables)
    wanted = _columns(connection, query, tables)
    stages = {
        name: lower(node, wanted[name]).trimmed(wanted[name])
        for name, node in zip(tables, step.inputs, strict=True)
    }
    found = _by_parts(connection, step, stages)
    if found is None:
        found = Stage.together([one.one() for one in stages.values()], "sql", *step.args)
    return found


def _by_parts(connection: Any, step: Op, stages: Mapping[str, Stage]) -> Stage | None:
    """Return the stage of a query that is answered by parts; None if that can't be."""
    query, tables = step.args
    if all(stage.is_one for stage in stages.values()):
        return None
    large = max(stages, key=lambda name: (not stages[name].is_one, stages[name].nbytes()))
    queries = by_parts(connection, query, large, tables)
    if queries is None:
        return None
    sent = {name: one if name == large else one.done() for name, one in stages.items()}
    if sum(sent[name].nbytes() for name in sent if name != large) > LIMITS.broadcast_nbytes:
        return None
    inputs = [one if name == large else one.one() for name, one in sent.items()]
    try:
        stage = Stage.together(inputs, "sql", queries.part, tables)
        if queries.whole is not None:
            empty = {PARTS: stage.plan.empty}
            stage = stage.one().then("sql", queries.whole, empty)
    except QueryError:
        return None
    if stage.columns != list(step.schema):
        return None
    types = {n: t for n, t in step.schema.items() if t != stage.plan.schema[n]}
    return stage.then("cast", types) if types else stage


def _connection(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Connect to a DuckDB that has tables without rows."""
    connection = connection_to_duckdb()
    # Of tables without rows it knows that there is nothing to read.
    connection.execute("SET disabled_optimizers = 'statistics_propagation,empty_result_pullup'")
    for name, empty in tables.items():
        connection.register("__table", as_text(empty).to_arrow())
        connection.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM __table")
        connection.unregister("__table")
    return connection


def _columns(connection: Any, query: str, tables: Mapping[str, pl.DataFrame]) -> dict[str, Columns]:
    """Return the columns that DuckDB's plan of a query reads of each table; None are all."""
    ((_, text),) = connection.execute(f"EXPLAIN (FORMAT json) {query}").fetchall()
    read: dict[str, set[str]] = {}
    for scan in _scans(json.loads(text)):
        name = str(scan["Table"]).removeprefix("memory.main.")
        if name in tables:
            texts = [*_listed(scan.get("Projections")), *_listed(scan.get("Filters"))]
            read.setdefault(name, set()).update(_named(texts, tables[name].columns))
    return {name: read.get(name) for name in tables}


def _named(texts: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """Yield the columns that texts of a plan may be about: rather one too many than too few.

    A field of a struct stands there as ``struct.field``, and in filters there are expressions.
    """
    for text in texts:
        found = [name for name in columns if name in text or _quoted(name) in text]
        yield from found or columns


def _scans(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if "Table" in node.get("extra_info", {}):
            yield node["extra_info"]
        yield from _scans(node.get("children", []))


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
