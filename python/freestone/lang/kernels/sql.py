"""SQL on frames, by DuckDB."""

from __future__ import annotations

import re
from typing import Any

from freestone.lang.kernels.queries import labels_of, translated
from freestone.lang.plan.graph import Op
from freestone.lang.types.types import Type

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


def _connection() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ValueError("sql needs DuckDB: pip install 'freestone[sql]'") from None
    # Nothing outside of the registered frames: no files, no network.
    return duckdb.connect(config={"enable_external_access": "false", "threads": "2"})


def result_schema(query: str, views: dict[str, Type]) -> tuple[tuple[str, str], ...]:
    """Find the labels and types of a query's result, with empty tables.

    Raises
    ------
    ValueError
        If the query is wrong, or DuckDB is not installed.
    """
    connection = _connection()
    for name, type in views.items():
        columns = ", ".join(f"{_quoted(label)} {NAMES[cell]}" for label, cell in type.schema or ())
        connection.execute(f"CREATE TABLE {_quoted(name)} ({columns})")
    found = _executed(connection, query)
    labels = labels_of(query, [column[0] for column in found.description])
    return tuple(
        (label, _cell(label, str(column[1])))
        for label, column in zip(labels, found.description, strict=True)
    )


def _cell(label: str, name: str) -> str:
    base = name.split("(")[0]
    if base != "DECIMAL" and base not in CELLS:
        problem = f"the column {label!r} of sql is of {name}: cast it to a number or to VARCHAR"
        raise ValueError(problem)
    return CELLS.get(base, "f64")


def _executed(connection: Any, query: str) -> Any:
    import duckdb

    if not re.match(r"\s*select\b", query, re.IGNORECASE):
        raise ValueError("sql takes a query that begins with SELECT")
    try:
        statements = connection.extract_statements(translated(query))
        if len(statements) != 1:
            raise ValueError(f"sql takes one query, not {len(statements)}")
        return connection.execute(statements[0])
    except duckdb.Error as error:
        raise ValueError(_said(error)) from None


def _fetched(found: Any) -> dict[str, Any]:
    import duckdb

    try:
        columns: dict[str, Any] = found.fetchnumpy()
    except duckdb.Error as error:
        raise ValueError(_said(error)) from None
    return columns


def _said(error: Exception) -> str:
    return f"SQL: {(str(error).splitlines() or [type(error).__name__])[0]}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def register_view(run: Any, op: Op, frame: Any) -> None:
    """Make a frame known to SQL."""
    run.views[op.attrs["view"]] = frame


def sql(run: Any, op: Op, *frames: Any) -> Any:
    """Ask a query of what the script has registered, or of the frames that are given."""
    import numpy as np

    from freestone.lang.kernels.frames import Frame
    from freestone.lang.types.types import DTYPES

    connection = _connection()
    views = run.views | dict(zip(op.attrs.get("given", ()), frames, strict=True))
    for name, frame in views.items():
        connection.register(name, _arrow(frame))
    found = _fetched(_executed(connection, op.attrs["query"]))
    schema = op.results[0].type.schema or ()
    # A number beyond the type of its column becomes what compiled code makes of it.
    with np.errstate(invalid="ignore"):
        columns = [
            np.ascontiguousarray(_filled(column, cell).astype(DTYPES[cell]))
            for column, (_, cell) in zip(found.values(), schema, strict=True)
        ]
    return Frame(columns, [label for label, _ in schema], [cell for _, cell in schema])


def _filled(column: Any, cell: str) -> Any:
    import numpy as np

    if not isinstance(column, np.ma.MaskedArray) or not column.mask.any():
        return np.asarray(column)
    if cell not in ("f32", "f64"):
        raise ValueError("the result of sql has NULLs in a column that is not of f32 or f64")
    return column.filled(np.nan)


def _arrow(frame: Any) -> Any:
    import pyarrow as pa

    arrays = [pa.array(column) for column in frame.columns]
    return pa.table(dict(zip(frame.labels, arrays, strict=True)))
