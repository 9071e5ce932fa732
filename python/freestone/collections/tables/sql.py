"""SQL: one call gets the columns that a query needs of each table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.answering import as_text, connection_to_duckdb
from freestone.collections.tables.lowering import lower, rule
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage

__all__: list[str] = []


@rule("sql")
def _sql(step: Op, needed: Columns) -> Stage:
    query, tables = step.args
    wanted = _columns(query, tables)
    stages = [
        lower(node, wanted[name]).trimmed(wanted[name]).one()
        for name, node in zip(tables, step.inputs, strict=True)
    ]
    return Stage.together(stages, "sql", *step.args)


def _columns(query: str, tables: Mapping[str, pl.DataFrame]) -> dict[str, Columns]:
    """Return the columns that DuckDB's plan of a query reads of each table; None are all."""
    connection = connection_to_duckdb()
    # Of tables without rows it knows that there is nothing to read.
    connection.execute("SET disabled_optimizers = 'statistics_propagation,empty_result_pullup'")
    for name, empty in tables.items():
        connection.register("__table", as_text(empty).to_arrow())
        connection.execute(f"CREATE TABLE {_quoted(name)} AS SELECT * FROM __table")
        connection.unregister("__table")
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
