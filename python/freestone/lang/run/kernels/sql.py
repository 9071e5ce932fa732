"""SQL on frames, by DuckDB."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.queries import in_input_order, translated
from freestone.lang.front.sql import connection_to_duckdb, executed, problem_of, quoted


def _fetched(found: Any) -> dict[str, Any]:
    import duckdb

    try:
        columns: dict[str, Any] = found.fetchnumpy()
    except duckdb.Error as error:
        raise ValueError(problem_of(error)) from None
    return columns


def register_view(run: Any, op: Op, frame: Any) -> None:
    """Make a frame known to SQL."""
    run.views[op.attrs["view"]] = frame


def sql(run: Any, op: Op, *frames: Any) -> Any:
    """Ask a query of what the script has registered, or of the frames that are given."""
    import numpy as np

    from freestone.lang.front.types.types import DTYPES
    from freestone.lang.run.kernels.frames import Frame

    connection = connection_to_duckdb()
    views = run.views | dict(zip(op.attrs.get("given", ()), frames, strict=True))
    query = translated(op.attrs["query"])
    ordered = in_input_order(query)
    tables: dict[str, Any] = {}
    for name, frame in views.items():
        tables[name] = arrow_of(frame)
        connection.register(name, tables[name])
        if ordered != query and re.search(rf"\b{re.escape(name)}\b", query):
            _with_row_ids(connection, name)
    _refuse_explosions(connection, query, tables)
    found = _fetched(executed(connection, ordered))
    schema = op.results[0].type.schema or ()
    # A number beyond the type of its column becomes what compiled code makes of it.
    with np.errstate(invalid="ignore"):
        columns = [
            np.ascontiguousarray(filled(column, cell).astype(DTYPES[cell]))
            for column, (_, cell) in zip(found.values(), schema, strict=True)
        ]
    return Frame(columns, [label for label, _ in schema], [cell for _, cell in schema])


def _refuse_explosions(connection: Any, query: str, tables: dict[str, Any]) -> None:
    """Refuse joins that would make far too many rows, where polars is there to draw samples."""
    if importlib.util.find_spec("polars") is None:
        return
    import polars as pl

    from freestone.collections.tables.sql_guarding import check_query, may_explode

    if may_explode(table.num_rows for table in tables.values()):
        frames: dict[str, Any] = {name: pl.from_arrow(table) for name, table in tables.items()}
        check_query(connection, query, frames)


def _with_row_ids(connection: Any, name: str) -> None:
    """Copy a view to a table, whose rows have numbers."""
    connection.execute(f"CREATE TEMP TABLE copied AS SELECT * FROM {quoted(name)}")
    connection.unregister(name)
    connection.execute(f"ALTER TABLE copied RENAME TO {quoted(name)}")


def filled(column: Any, cell: str) -> Any:
    """Return a column without nulls, which are NaN; `ValueError` where the type has none."""
    import numpy as np

    if not isinstance(column, np.ma.MaskedArray) or not column.mask.any():
        return np.asarray(column)
    if cell not in ("f32", "f64"):
        raise ValueError("the result of sql has NULLs in a column that is not of f32 or f64")
    return column.filled(np.nan)


def arrow_of(frame: Any) -> Any:
    """Return a frame as a table of Arrow's."""
    import pyarrow as pa

    arrays = [pa.array(column) for column in frame.columns]
    return pa.table(dict(zip(frame.labels, arrays, strict=True)))
