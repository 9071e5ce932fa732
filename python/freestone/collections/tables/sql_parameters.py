"""Values for the parameters of a query: written into its text, as DuckDB would bind them.

A query is taken apart, and its parts are asked elsewhere: values in its text go with each of them.
DuckDB's own tree of the query says where the parameters are.
"""

from __future__ import annotations

import datetime
import json
import uuid
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from freestone.collections.tables.answering import connection_to_duckdb
from freestone.collections.tables.sql_trees import Tree, each_node
from freestone.errors import QueryError

__all__ = ["with_values"]

# Types of DuckDB, and the powers of two that their integers are below.
SIGNED = {"INTEGER": 31, "BIGINT": 63, "HUGEINT": 127}
UNSIGNED = {"UBIGINT": 64, "UHUGEINT": 128}
MAX_DIGITS = 38


def with_values(query: str, parameters: Any) -> str:
    """Return a query that has values where it had parameters.

    Parameters
    ----------
    query
        In DuckDB's SQL, with ``?``, ``$1`` or ``$name``.
    parameters
        A list or tuple, or a mapping by name.

    Raises
    ------
    QueryError
        When there are fewer or more values than parameters, or none may be where one is.
    TypeError
        When a value is of a type that SQL does not have.
    """
    values = _by_name(parameters)
    tree = _tree(query)
    if tree is None:
        # It is wrong, which DuckDB says of it without values, too.
        return query
    found = {
        node["query_location"]: (node["query_location_length"], node["identifier"].lower())
        for node in each_node(tree)
        if node.get("class") == "PARAMETER"
    }
    _check_names(query, {name for _, name in found.values()}, {*values})
    _check_positions(query, tree)
    text = query.encode()
    for start in sorted(found, reverse=True):
        length, name = found[start]
        text = (
            text[:start]
            + _literal(f"parameter {name}", values[name]).encode()
            + text[start + length :]
        )
    return text.decode()


def _by_name(parameters: Any) -> dict[str, Any]:
    if isinstance(parameters, Mapping):
        return {str(name).lower(): value for name, value in parameters.items()}
    if isinstance(parameters, list | tuple):
        return {str(number): value for number, value in enumerate(parameters, 1)}
    raise TypeError(
        "sql() takes parameters as a list, for ? and $1, or as a dict, for $name, not "
        f"{parameters!r:.80}; tables are given by name, as in sql(query, t=frame)"
    )


def _tree(query: str) -> Tree | None:
    call = "SELECT json_serialize_sql(?)"
    ((text,),) = connection_to_duckdb().execute(call, [query]).fetchall()
    tree: Tree = json.loads(text)
    return None if tree["error"] else tree


def _check_names(query: str, wanted: set[str], given: set[str]) -> None:
    """Raise `QueryError` unless each parameter has a value, and each value a parameter."""
    for names, what in ((wanted - given, "has no value"), (given - wanted, "is not in the query")):
        if names:
            shown = ", ".join(f"${name}" for name in sorted(names, key=lambda n: (len(n), n)))
            known = ", ".join(f"${name}" for name in sorted(wanted, key=lambda n: (len(n), n)))
            plural = "s" if len(names) > 1 else ""
            verb = what if not plural else what.replace("has", "have").replace("is", "are")
            has = f"the query has {known} (each ? is the next number)" if known else "it has none"
            raise QueryError(query, reason=f"parameter{plural} {shown} {verb}; {has}")


def _check_positions(query: str, tree: Tree) -> None:
    """Raise `QueryError` where a number would be that of a column."""
    for node in each_node(tree):
        orders = node["orders"] if node.get("type") == "ORDER_MODIFIER" else []
        keys = [one["expression"] for one in orders] + node.get("group_expressions", [])
        if any(one.get("class") == "PARAMETER" for one in keys):
            reason = "GROUP BY and ORDER BY take no parameter; write the column into the query"
            raise QueryError(query, reason=reason)


def _literal(what: str, value: Any) -> str:
    """Return what stands in SQL for a value, of the type as which DuckDB binds it."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        kind = "FLOAT" if isinstance(value, np.float16 | np.float32) else None
        plain = _literal(what, value.item())
        return f"CAST({plain} AS {kind})" if kind else plain
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, int):
        return _integer(what, value)
    if isinstance(value, float):
        return _cast(value, "DOUBLE")
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes | bytearray):
        return _cast("".join(f"\\x{one:02X}" for one in value), "BLOB")
    if isinstance(value, Decimal):
        return _decimal(what, value)
    if isinstance(value, uuid.UUID):
        return _cast(value, "UUID")
    if isinstance(value, np.ndarray):
        return _literal(what, list(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(_literal(what, one) for one in value)}]"
    if isinstance(value, Mapping) and value:
        fields = (f"{_literal(what, str(key))}: {_literal(what, value[key])}" for key in value)
        return f"{{{', '.join(fields)}}}"
    return _time(what, value)


def _cast(text: object, kind: str) -> str:
    return f"CAST('{text}' AS {kind})"


def _integer(what: str, value: int) -> str:
    if 0 <= value < 1 << 63:
        return str(value)
    for kind, bits in SIGNED.items() if value < 0 else UNSIGNED.items():
        if -(1 << bits) <= value < 1 << bits:
            # That of 64 to 127 bits is HUGEINT, as without a sign.
            is_huge = kind == "UHUGEINT" and value < 1 << 127
            return _cast(value, "HUGEINT" if is_huge else kind)
    raise _no_type(what, value)


def _decimal(what: str, value: Decimal) -> str:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise _no_type(what, value)
    scale = max(-exponent, 0)
    width = len(digits) + max(exponent, 0)
    # One more for the zero in front of the point.
    width = width if width >= scale else scale + 1
    if width > MAX_DIGITS:
        raise _no_type(what, value)
    return _cast(format(value, "f"), f"DECIMAL({width},{scale})")


def _time(what: str, value: Any) -> str:
    times = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    if not isinstance(value, times):
        raise _no_type(what, value)
    if value != value:
        # The missing time of NumPy and pandas.
        return "NULL"
    if isinstance(value, np.timedelta64):
        micros = value.astype("m8[us]")
        if micros != value:
            raise _no_type(what, value)
        value = micros.item()
    if isinstance(value, datetime.timedelta):
        parts = f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        return _cast(parts, "INTERVAL")
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value)[0]
        is_date = unit in ("Y", "M", "W", "D")
        day = value.astype("M8[D]") if is_date else value
        return _cast(day, "DATE" if is_date else "TIMESTAMP_NS" if unit == "ns" else "TIMESTAMP")
    if isinstance(value, datetime.datetime):
        kind = "TIMESTAMP_NS" if getattr(value, "nanosecond", 0) else "TIMESTAMP"
        return _cast(value.isoformat(" "), kind if value.tzinfo is None else "TIMESTAMPTZ")
    return _cast(value.isoformat(), "TIME" if isinstance(value, datetime.time) else "DATE")


def _no_type(what: str, value: Any) -> TypeError:
    if hasattr(value, "compute"):
        return TypeError(
            f"{what} is a {type(value).__name__}, whose value is not known yet; write x.compute() "
            "for x, as in sql(query, [x.compute()])"
        )
    return TypeError(
        f"{what} is {value!r:.80}, of type {type(value).__name__}, for which SQL has no value; "
        "give a number, text, time, list of them, or None"
    )
