"""SQL: by parts of the largest table where that is known to be the same, or else by one call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.answering import connection_to_duckdb
from freestone.collections.tables.lowering import LIMITS, lower, may_hash, rule, shuffled, slots_of
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.sql_named import quoted, tabled, with_named_as_inputs
from freestone.collections.tables.sql_parts import PARTS, ByParts, by_parts
from freestone.collections.tables.stages import Stage
from freestone.errors import QueryError

__all__: list[str] = []


@rule("sql")
def _sql(step: Op, needed: Columns) -> Stage:
    connection = _connection(step.args[1])
    step = with_named_as_inputs(connection, step)
    query, tables = step.args
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
    if all(stage.is_one for stage in stages.values()):
        return None
    large, *others = sorted(stages, key=lambda n: (stages[n].is_one, -stages[n].nbytes()))
    sent = {name: stages[name].done() for name in others}
    others.sort(key=lambda name: -sent[name].nbytes())
    if sum(one.nbytes() for one in sent.values()) <= LIMITS.broadcast_nbytes:
        found = _together(connection, step, {**stages, **sent}, [large])
        if found is not None:
            return found
    if others and sum(sent[name].nbytes() for name in others[1:]) <= LIMITS.broadcast_nbytes:
        return _together(connection, step, {**stages, **sent}, [large, others[0]])
    return None


def _together(
    connection: Any, step: Op, stages: Mapping[str, Stage], large: Sequence[str]
) -> Stage | None:
    """Return the stage of a query by the parts of one table, or of two that are joined."""
    query, tables = step.args
    queries = by_parts(connection, query, large, tables)
    moved = None if queries is None else _moved(stages, large, queries)
    if queries is None or moved is None:
        return None
    inputs = [
        moved.get(name) or (one if name in large else one.one()) for name, one in stages.items()
    ]
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


def _moved(
    stages: Mapping[str, Stage], large: Sequence[str], queries: ByParts
) -> dict[str, Stage] | None:
    """Have rows of the same keys be in the same part, where need be; None if that can't be."""
    if len(large) == 1:
        return _by_keys(large[0], stages[large[0]], queries.together)
    sides = [stages[name] for name in large]
    known = []
    for pair in queries.keys:
        types = [side.plan.schema.get(key) for side, key in zip(sides, pair, strict=True)]
        common = _common(*types)
        known += [(pair, common)] if common is not None else []
    if not known:
        return None
    parts = LIMITS.parts(sum(one.nbytes() for one in sides), max(map(slots_of, sides)))
    columns = zip(*[pair for pair, _ in known], strict=True)
    return {
        name: shuffled(side, [pl.col(key) for key in found], [kind for _, kind in known], parts)
        for name, side, found in zip(large, sides, columns, strict=True)
    }


def _by_keys(name: str, stage: Stage, columns: Sequence[str]) -> dict[str, Stage] | None:
    """Have rows of a table with the same values in some columns be in the same part."""
    if not columns:
        return {}
    parts = LIMITS.parts(stage.nbytes(), slots_of(stage))
    if parts == 1:
        return None
    types = [stage.plan.schema[key] for key in columns]
    return {name: shuffled(stage, [pl.col(key) for key in columns], types, parts)}


def _common(one: pl.DataType | None, other: pl.DataType | None) -> pl.DataType | None:
    """Return the type as which equal values of two types have equal hashes; None if not known."""
    if one is None or other is None:
        return None
    texts = (pl.String, pl.Categorical, pl.Enum)
    if isinstance(one, texts) and isinstance(other, texts):
        return pl.String()
    unsigned = pl.UInt64() in (one, other)
    if one.is_integer() and other.is_integer() and not unsigned:
        return pl.Int64()
    return one if one == other and may_hash(one) and not one.is_float() else None


def _connection(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Connect to a DuckDB that has tables without rows."""
    connection = connection_to_duckdb()
    # Of tables without rows it knows that there is nothing to read.
    connection.execute("SET disabled_optimizers = 'statistics_propagation,empty_result_pullup'")
    for name, empty in tables.items():
        tabled(connection, name, empty)
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
        found = [name for name in columns if name in text or quoted(name) in text]
        yield from found or columns


def _scans(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if "Table" in node.get("extra_info", {}):
            yield node["extra_info"]
        yield from _scans(node.get("children", []))


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value] if value else []
