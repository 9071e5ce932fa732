"""What polars says of columns that don't fit, as errors of freestone's."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import exceptions

from freestone.collections.tables.naming import from_arrow
from freestone.errors import ColumnClashError, ColumnTypeError, MissingColumnError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from freestone.collections.tables.plan import Node

__all__ = ["empty_of", "explained", "refuse_names", "without_rows"]

_NO_OPTIMIZATION = pl.QueryOptFlags.none()


def explained(
    step: Callable[[], pl.LazyFrame], method: str, inputs: Sequence[Node]
) -> pl.DataFrame:
    """Do a step to tables without rows, and say clearly why it can't be done.

    Notes
    -----
    Some types are checked by polars only when the step runs. What it then says of values, of which
    there are none, does not count.
    """
    columns = [*dict.fromkeys(name for node in inputs for name in node.schema)]
    try:
        lazy = step()
        schema = lazy.collect_schema()
        refuse_names(schema)
    except (exceptions.ColumnNotFoundError, exceptions.SchemaFieldNotFoundError) as error:
        raise MissingColumnError(method, reason=_reason(error), columns=columns) from None
    except exceptions.DuplicateError as error:
        raise ColumnClashError(method, reason=_reason(error)) from None
    except (exceptions.SchemaError, exceptions.InvalidOperationError) as error:
        raise _misfit(error, method, inputs) from None
    except pl.exceptions.PanicException as error:
        raise ColumnTypeError(method, reason=_reason(error)) from None
    except exceptions.ComputeError as error:
        if method != "concat":
            raise
        raise _misfit(error, method, inputs) from None
    try:
        lazy.collect(engine="in-memory", optimizations=_NO_OPTIMIZATION)
    except (exceptions.SchemaError, exceptions.InvalidOperationError) as error:
        raise _misfit(error, method, inputs) from None
    except exceptions.ShapeError as error:
        # Of other steps it may be one of rows, of which there are none here.
        if method == "concat":
            raise _misfit(error, method, inputs) from None
    except exceptions.ComputeError as error:
        if _reason(error).startswith("cannot compare"):
            raise ColumnTypeError(method, reason=_reason(error)) from None
    except (Exception, pl.exceptions.PanicException):
        # What needs rows, as item() does, is checked where there are some.
        pass
    return without_rows(schema)


def refuse_names(names: Iterable[str]) -> None:
    """Say which name no column can have: those of Arrow end at a NUL byte."""
    for name in names:
        if "\0" in name:
            raise UsageError(
                f"a column can't be called {name!r}: Arrow's names have no NUL bytes; replace "
                "them, in values that become names by pl.col('x').str.replace_all('\\0', '')"
            )


def _misfit(error: Exception, method: str, inputs: Sequence[Node]) -> ColumnTypeError:
    differs = _difference([node.schema for node in inputs]) if method == "concat" else None
    return ColumnTypeError(method, reason=differs or _reason(error) + _unfit(error, inputs))


def _unfit(error: Exception, inputs: Sequence[Node]) -> str:
    """Return which columns an aggregate is not for: polars names the type alone."""
    reason = _reason(error)
    found = re.match(r"`(\w+)` operation not supported for dtype", reason)
    method = getattr(pl.Expr, found[1], None) if found else None
    columns = [(node.empty.lazy(), name) for node in inputs for name in node.schema if method]
    names = [name for table, name in columns if _refusal(table, name, method) == reason]
    plural = "s" if len(names) > 1 else ""
    return f", that of column{plural} {', '.join(map(repr, names))}" if names else ""


def _refusal(table: pl.LazyFrame, name: str, method: Any) -> str | None:
    try:
        table.select(method(pl.col(name))).collect()
    except (TypeError, exceptions.PolarsError) as error:
        return _reason(error)
    return None


def _difference(schemas: Sequence[pl.Schema]) -> str | None:
    """Say in what tables that are to be below each other differ first: names go before types."""
    first = schemas[0]
    for number, schema in enumerate(schemas[1:], 2):
        if list(schema) != list(first):
            return (
                f"frame {number} has the columns {list(schema)}, and the first {list(first)}: "
                "select the same of both, or give how='diagonal'"
            )
    for number, schema in enumerate(schemas[1:], 2):
        for name, dtype in schema.items():
            if dtype != first[name]:
                return f"column {name!r} is {dtype} in frame {number}, and {first[name]} before"
    return None


def without_rows(schema: pl.Schema) -> pl.DataFrame:
    """Return a table without rows, of some columns; the same one for the same columns."""
    return _made(tuple(schema.items()))


@functools.lru_cache(maxsize=1024)
def _made(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(columns))


def empty_of(schema: pa.Schema, collection: str) -> pl.DataFrame:
    """Return a table without rows of the types that polars has for those of Arrow.

    Raises
    ------
    ColumnTypeError
        For a type that polars has none for.
    """
    try:
        return from_arrow(schema.empty_table())
    except (exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ColumnTypeError(f"read {collection!r}", reason=_reason(error)) from None


def _reason(error: BaseException) -> str:
    """Return the first sentence of what polars says; the rest shows its plan."""
    return str(error).split("\n")[0].split("; valid columns")[0].strip()
