"""Queries in SQL: the types of their results, found with empty tables, by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from freestone.lang.front.queries import labels_of, translated
from freestone.lang.front.types.types import Type

__all__ = ["connection_to_duckdb", "executed", "problem_of", "quoted", "result_schema"]

CELLS = {
    "BOOLEAN": "bool",
    "TINYINT": "si8",
    "SMALLINT": "si32",
    "INTEGER": "si32",
    "BIGINT": "si64",
    "HUGEINT": "si64",
    "UTINYINT": "ui8",
    "UINTEGER": "ui32",
    "UBIGINT": "ui64",
    "FLOAT": "f32",
    "DOUBLE": "f64",
    "VARCHAR": "str",
}
NAMES = {cell: name for name, cell in CELLS.items() if name not in ("SMALLINT", "HUGEINT")}
NAMES["index"] = "UBIGINT"


def connection_to_duckdb() -> Any:
    """Connect to a DuckDB that sees no files and no network."""
    try:
        import duckdb
    except ImportError:
        raise ValueError("sql needs DuckDB: pip install 'freestone[sql]'") from None
    # Nothing outside of the registered frames: no files, no network.
    connection = duckdb.connect(config={"enable_external_access": "false", "threads": "2"})
    # As everywhere in the language, two whole numbers make a whole one.
    connection.execute("SET integer_division = true")
    return connection


def result_schema(query: str, views: dict[str, Type]) -> tuple[tuple[str, str], ...]:
    """Find the labels and types of a query's result, with empty tables.

    Raises
    ------
    ValueError
        If the query is wrong, or DuckDB is not installed.
    """
    connection = connection_to_duckdb()
    for name, type in views.items():
        columns = ", ".join(f"{quoted(label)} {NAMES[cell]}" for label, cell in type.schema or ())
        connection.execute(f"CREATE TABLE {quoted(name)} ({columns})")
    try:
        found = executed(connection, translated(query))
    except ValueError as error:
        raise ValueError(f"{error}{_unknown_frame(str(error), views)}") from None
    labels = labels_of(query, [column[0] for column in found.description])
    return tuple(
        (label, _cell(label, str(column[1])))
        for label, column in zip(labels, found.description, strict=True)
    )


def _unknown_frame(problem: str, views: Iterable[str]) -> str:
    """Say how a frame becomes known, if a problem is that one is not."""
    absent = re.search(r"Table with name (\S+) does not exist", problem)
    if absent is None:
        return ""
    known = ", ".join(views) or "none"
    name = absent.group(1)
    return f' registerView("{name}", frame) makes a frame known; known are: {known}'


def _cell(label: str, name: str) -> str:
    base = name.split("(")[0]
    if base != "DECIMAL" and base not in CELLS:
        problem = f"the column {label!r} of sql is of {name}: cast it to a number or to VARCHAR"
        raise ValueError(problem)
    return CELLS.get(base, "f64")


def executed(connection: Any, query: str) -> Any:
    """Run one translated query; `ValueError` says what is wrong with it."""
    import duckdb

    if not re.match(r"\s*select\b", query, re.IGNORECASE):
        raise ValueError("sql takes a query that begins with SELECT")
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1:
            raise ValueError(f"sql takes one query, not {len(statements)}")
        return connection.execute(statements[0])
    except duckdb.Error as error:
        raise ValueError(problem_of(error)) from None


def problem_of(error: Exception) -> str:
    """Return the first line of what DuckDB says."""
    return f"SQL: {(str(error).splitlines() or [type(error).__name__])[0]}"


def quoted(name: str) -> str:
    """Return a name as a query may write it."""
    return '"' + name.replace('"', '""') + '"'
