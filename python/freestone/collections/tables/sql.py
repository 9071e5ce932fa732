"""SQL: by parts of the largest table where that is known to be the same, or else by one call."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import polars as pl

from freestone.collections.tables.answering import connection_to_duckdb
from freestone.collections.tables.calls import ByRow, to_arrow
from freestone.collections.tables.lowering import LIMITS, lower, may_hash, rule, shuffled
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.ordering import in_ranges
from freestone.collections.tables.plan import Node, Op, known_op
from freestone.collections.tables.ranks import may_rank, values_at
from freestone.collections.tables.sql_joins import joined_first
from freestone.collections.tables.sql_layers import layers
from freestone.collections.tables.sql_named import tabled, with_named_as_inputs
from freestone.collections.tables.sql_parts import PARTS, ByParts, by_parts
from freestone.collections.tables.sql_ranks import ENDS as RANKED
from freestone.collections.tables.sql_ranks import RANK, VALUE, ranked
from freestone.collections.tables.sql_reaching import ENDS, ID, ROWS, Reaching, reaching
from freestone.collections.tables.sql_reaching import PLACE as REACHED
from freestone.collections.tables.sql_rewriting import combined, with_copies, without_pivot
from freestone.collections.tables.sql_running import (
    ADDED,
    BEFORE,
    PLACE,
    RUNNING,
    Running,
    running,
)
from freestone.collections.tables.sql_trees import errors_of_duckdb, parsed, quoted, tables_in
from freestone.collections.tables.stages import Stage
from freestone.errors import QueryError
from freestone.units import format_nbytes

__all__: list[str] = []

_RECURSIVE = '"REC_CTE"'
"""What a plan has of a recursive ``WITH``."""


@rule("sql")
def _sql(step: Op, needed: Columns) -> Stage:
    connection = _connection(step.args[1])
    step = with_named_as_inputs(connection, _without_unnamed(connection, step))
    below = combined(connection, step)
    if below is not None:
        return lower(below, needed)
    step = without_pivot(connection, step)
    query, tables = step.args
    wanted = _columns(connection, query, tables)
    stages = {
        name: lower(node, wanted[name]).trimmed(wanted[name])
        for name, node in zip(tables, step.inputs, strict=True)
    }
    found = _by_parts(connection, step, stages)
    if found is None:
        _warn_of_size(query, stages)
        found = Stage.together([one.one() for one in stages.values()], "sql", *step.args)
    return found


def _without_unnamed(connection: Any, step: Op) -> Op:
    """Leave out the tables that a query does not name."""
    query, tables = step.args
    try:
        tree = parsed(connection, query)
    except (KeyError, TypeError):
        # Other versions of DuckDB may have trees of another form.
        return step
    named = tables_in(tree)
    pairs = zip(tables.items(), step.inputs, strict=True)
    kept = [(item, node) for item, node in pairs if item[0].lower() in named]
    if len(kept) in (0, len(tables)):
        return step
    inputs = tuple(node for _, node in kept)
    return replace(step, inputs=inputs, args=(query, dict(item for item, _ in kept)))


def _warn_of_size(query: str, stages: Mapping[str, Stage]) -> None:
    """Say that one call gets more rows than would be sent to others."""
    nbytes = sum(stage.nbytes() for stage in stages.values())
    if nbytes > LIMITS.broadcast_nbytes and not all(stage.is_one for stage in stages.values()):
        text = (
            f"one call, on one worker, gets all {format_nbytes(nbytes)} of {', '.join(stages)} to "
            "answer a query that is not known to be the same by parts; docs/howto/tables.md says "
            "which are. Name some of it by WITH, filter or group the frames before, or have them "
            f"be fewer columns. The query is {query.strip()!r}"
        )
        warnings.warn(text, RuntimeWarning, stacklevel=2)


def _by_parts(connection: Any, step: Op, stages: Mapping[str, Stage]) -> Stage | None:
    """Return the stage of a query that is answered by parts; None if that can't be."""
    if all(stage.is_one for stage in stages.values()):
        return None
    large, *others = sorted(stages, key=lambda n: (stages[n].is_one, -stages[n].nbytes()))
    sent = {name: stages[name].done() for name in others}
    others.sort(key=lambda name: -sent[name].nbytes())
    stages = {**stages, **sent}
    if sum(one.nbytes() for one in sent.values()) <= LIMITS.broadcast_nbytes:
        found = _together(connection, step, stages, [large])
        if found is not None:
            return found
    if others and sum(sent[name].nbytes() for name in others[1:]) <= LIMITS.broadcast_nbytes:
        found = _together(connection, step, stages, [large, others[0]])
        if found is not None:
            return found
    return (
        _joined_first(connection, step, stages)
        or _by_copies(connection, step, stages)
        or _by_ranks(connection, step, stages, large)
        or _in_order(connection, step, stages, large)
        or _with_ends(connection, step, stages, large)
        or _in_layers(connection, step, stages, large)
    )


def _by_ranks(connection: Any, step: Op, stages: Mapping[str, Stage], large: str) -> Stage | None:
    """Return the stage of a quantile of all rows, which is found by ranks."""
    query, tables = step.args
    found = ranked(connection, query, tables, large)
    if found is None or len(stages) > 1:
        return None
    counts = [0]

    def ranks(values: int, nulls: int) -> list[int]:
        counts.append(values)
        return found.ranks(values)

    try:
        values = stages[large].then("sql", found.values, tables)
        empty = values.plan.empty.with_row_index(RANK)
        made = known_op("sql", [Node(empty)], found.whole(1), {RANKED: empty})
        if not may_rank(empty.schema[VALUE]) or made.schema != step.schema:
            return None
        rows = [[to_arrow(values_at(values, ranks).to_frame().with_row_index(RANK))]]
        ends = Stage.of(rows, empty, values.client, is_done=True)
        return ends.then("sql", found.whole(counts[-1]), {RANKED: empty})
    except (QueryError, *errors_of_duckdb()):
        return None


def _in_order(connection: Any, step: Op, stages: Mapping[str, Stage], large: str) -> Stage | None:
    """Return the stage of a query with running windows, by parts in their order."""
    query, tables = step.args
    found = running(connection, query, tables, large)
    if found is None or len(stages) > 1:
        return None
    parts = _in_order_of(found, stages[large])
    if parts is None:
        return None
    try:
        added = parts.then("sql", found.added, tables).one().then("with_row_index", PLACE)
        totals = added.then("sql", found.before, {ADDED: added.plan.empty})
        ((*rows,),) = totals.blocks(ByRow(len(parts.parts)))
        before = Stage.of([[row] for row in rows], totals.plan.empty, parts.client, is_done=True)
        known = {**tables, BEFORE: before.plan.empty}
        made = Stage.together([parts, before], "sql", found.part, known)
        if found.rest is not None:
            tabled(connection, RUNNING, made.plan.empty)
            rest = known_op("sql", [Node(made.plan.empty)], found.rest, {RUNNING: made.plan.empty})
            whole = _by_parts(connection, rest, {RUNNING: made.done()})
            made = whole or made.one().then("sql", found.rest, {RUNNING: made.plan.empty})
    except (QueryError, *errors_of_duckdb()):
        return None
    return made if made.plan.schema == step.schema else None


def _in_order_of(found: Running | Reaching, stage: Stage) -> Stage | None:
    """Return parts with the rows in the order of a query's windows; None if they have none."""
    options = {"descending": found.descending, "nulls_last": found.nulls_last}
    return in_ranges(stage.done(), pl.col(found.column), **options)


def _with_ends(connection: Any, step: Op, stages: Mapping[str, Stage], large: str) -> Stage | None:
    """Return the stage of a query whose windows reach over some rows around each."""
    query, tables = step.args
    found = reaching(connection, query, tables, large, stages[large].columns)
    if found is None or len(stages) > 1:
        return None
    parts = _in_order_of(found, stages[large])
    if parts is None:
        return None
    places = [pl.DataFrame({REACHED: [number]}) for number in range(len(parts.parts))]
    ids = [[to_arrow(one)] for one in places]
    known = {ID: places[0].clear()}
    numbers = Stage.of(ids, known[ID], parts.client, is_done=True)
    try:
        rows = Stage.together([parts, numbers], "sql", found.rows, {**tables, **known}).done()
        known[ROWS] = rows.plan.empty
        ends = rows.then("sql", found.ends, {ROWS: known[ROWS]})
        if found.is_by_values and ends.done().nbytes() > LIMITS.broadcast_nbytes:
            # Each call would get about as much as one that gets all rows.
            return None
        ends = ends.one()
        known[ENDS] = ends.plan.empty
        made = Stage.together([numbers, rows, ends], "sql", found.part, known)
    except (QueryError, *errors_of_duckdb()):
        return None
    return made if made.plan.schema == step.schema else None


def _in_layers(connection: Any, step: Op, stages: Mapping[str, Stage], large: str) -> Stage | None:
    """Return the stage of a query with windows of several sorts, one sort after the other."""
    query, tables = step.args
    if len(stages) > 1:
        return None
    found = layers(connection, query, tables, large, stages[large].columns)
    if found is None:
        return None
    try:
        first = known_op("sql", [Node(tables[large])], found.first, tables)
        tabled(connection, found.table, first.empty)
        rest = known_op("sql", [Node(first.empty)], found.rest, {found.table: first.empty})
    except (QueryError, *errors_of_duckdb()):
        return None
    below = _by_parts(connection, first, stages) if rest.schema == step.schema else None
    if below is None:
        return None
    below = below.done()
    whole = _by_parts(connection, rest, {found.table: below})
    return whole or below.one().then("sql", found.rest, {found.table: first.empty})


def _by_copies(connection: Any, step: Op, stages: Mapping[str, Stage]) -> Stage | None:
    """Return the stage of a query in which a table is there more than once."""
    names = {name.lower() for name, stage in stages.items() if not stage.is_one}
    found = with_copies(connection, step, names)
    if found is None:
        return None
    made, copies = found
    stages = {name: stage.done() for name, stage in stages.items()}
    return _by_parts(connection, made, {**stages, **{n: stages[of] for n, of in copies.items()}})


def _joined_first(connection: Any, step: Op, stages: Mapping[str, Stage]) -> Stage | None:
    """Return the stage of a query in which two tables are joined before the others."""
    query, tables = step.args
    columns = {name: stage.columns for name, stage in stages.items()}
    sizes = {name: stage.nbytes() for name, stage in stages.items()}
    pairs = sorted(combinations(sizes, 2), key=lambda pair: sizes[pair[0]] + sizes[pair[1]])
    lowered = ({name.lower() for name in pair} for pair in pairs)
    for way in joined_first(connection, query, columns, lowered):
        name = "__joined_" + "_".join(way.tables)
        sides = {each: tables[each] for each in way.tables}
        try:
            first = known_op("sql", list(map(Node, sides.values())), way.query, sides)
            tabled(connection, name, first.empty)
            known = {each: tables[each] for each in tables if each not in sides}
            known[name] = first.empty
            made = known_op("sql", list(map(Node, known.values())), way.rest(name), known)
        except (KeyError, TypeError, ValueError, *errors_of_duckdb()):
            continue
        both = {each: stages[each] for each in sides}
        joined = _together(connection, first, both, way.tables)
        if joined is not None and made.schema == step.schema:
            rest = {each: stages[each] for each in stages if each not in sides}
            return _by_parts(connection, made, {**rest, name: joined.done()})
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
            empty = {PARTS: stage.plan.empty} | {name: tables[name] for name in queries.values}
            values = [stages[name].one() for name in queries.values]
            stage = Stage.together([stage.one(), *values], "sql", queries.whole, empty)
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
    parts = LIMITS.parts(sum(one.nbytes() for one in sides), *(one.client for one in sides))
    columns = zip(*[pair for pair, _ in known], strict=True)
    return {
        name: shuffled(side, [pl.col(key) for key in found], [kind for _, kind in known], parts)
        for name, side, found in zip(large, sides, columns, strict=True)
    }


def _by_keys(name: str, stage: Stage, columns: Sequence[str]) -> dict[str, Stage] | None:
    """Have rows of a table with the same values in some columns be in the same part."""
    if not columns:
        return {}
    parts = LIMITS.parts(stage.nbytes(), stage.client)
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
    return one if one == other and may_hash(one) else None


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
    if _RECURSIVE in text:
        # Scans in such a plan do not show all columns that they read.
        return dict.fromkeys(tables)
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
