"""Queries in SQL, answered by DuckDB where the tables are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from freestone.collections.tables.computing import in_order
from freestone.collections.tables.naming import from_arrow
from freestone.collections.tables.sql_guarding import check_query
from freestone.collections.tables.sql_trees import as_text
from freestone.errors import QueryError, did_you_mean

__all__ = ["answer", "connection_to_duckdb"]


def answer(query: str, tables: Mapping[str, pl.DataFrame], frames: Sequence[Any]) -> pl.LazyFrame:
    """Ask a query of some tables, here.

    Parameters
    ----------
    query
        In DuckDB's SQL.
    tables
        By name, tables without rows of all columns that there are.
    frames
        Those with rows, of the columns that the query needs; the others are nulls.

    Raises
    ------
    QueryError
        When DuckDB can't do it.
    ExplodingJoinError
        When a join would make too many rows.
    """
    import duckdb

    connection = connection_to_duckdb()
    if re.search(r"\basof\b", query, re.IGNORECASE):
        # One thread alone never ends an ASOF RIGHT or FULL JOIN whose left side has no rows.
        connection.execute("SET threads = greatest(2, current_setting('threads'))")
    rows = {}
    for (name, empty), frame in zip(tables.items(), frames, strict=True):
        known = frame.collect_schema()
        columns = [
            pl.col(column) if column in known else pl.lit(None, dtype).alias(column)
            for column, dtype in empty.schema.items()
        ]
        table = in_order(frame)
        rows[name] = table
        connection.register(name, as_text(table.select(columns)).to_arrow())
    try:
        statements = [one.type for one in connection.extract_statements(query)]
        if statements != [duckdb.StatementType.SELECT]:
            raise QueryError(query, reason=_refusal(query))
        check_query(connection, query, rows)
        table = connection.sql(query).to_arrow_table()
    except duckdb.Error as error:
        raise QueryError(query, reason=_reason(str(error), tables)) from None
    _refuse_intervals(query, table)
    return from_arrow(table).lazy()


def _reason(error: str, tables: Mapping[str, pl.DataFrame]) -> str:
    """Return what DuckDB says is wrong, and the names that it suggests, in one line."""
    wrong = error.split("\n")[0]
    suggested = re.search(r"\n(?:Candidate bindings:|Did you mean)[\s:]*(.*)", error)
    if suggested:
        return f"{wrong} Closest: {suggested[1].rstrip('?')}"
    misspelt = re.search(r'column named "(.*)"', wrong)
    if misspelt:
        columns = [column for table in tables.values() for column in table.columns]
        return wrong + did_you_mean(misspelt[1], columns)
    if "zero-length delimited" in wrong:
        return f"{wrong}; a column without a name is called column_0, after its place from 0"
    if "Values were not provided" in wrong:
        return f"{wrong}; give them, as in sql(query, [3]), or sql(query, {{'name': 3}})"
    return wrong


def _refusal(query: str) -> str:
    if not re.match(r"\s*(from\s.*\s)?pivot", query, re.IGNORECASE | re.DOTALL):
        return "it is not one SELECT"
    return (
        "the columns of a PIVOT without IN are known only with the rows; name the values, as in "
        "PIVOT t ON kind IN ('a', 'b') USING sum(x)"
    )


def _refuse_intervals(query: str, table: Any) -> None:
    """Raise `QueryError` for what DuckDB makes of durations, too; polars would panic."""
    import pyarrow as pa

    for field in table.schema:
        if pa.types.is_interval(field.type):
            reason = (
                f"column {field.name!r} is an INTERVAL, for which polars has no type; select "
                "epoch_us() of it, which is its microseconds"
            )
            raise QueryError(query, reason=reason)


def connection_to_duckdb() -> Any:
    """Connect to a DuckDB that sees no files, no network and no variables of the program."""
    try:
        import duckdb
    except ImportError:
        raise ImportError("SQL on frames needs DuckDB: pip install 'freestone[sql]'") from None
    threads = os.environ.get("POLARS_MAX_THREADS", "1")
    options = {"enable_external_access": "false", "threads": threads}
    connection = duckdb.connect(config=options)
    connection.execute("SET python_enable_replacements = false")
    return connection
