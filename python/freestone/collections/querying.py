"""SQL on frames."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from freestone.collections.frame import Frame
from freestone.collections.rows import describe_type
from freestone.errors import QueryError

__all__ = ["sql"]


def sql(
    query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None, **frames: Any
) -> Frame:
    """Ask a query of frames, in DuckDB's SQL, lazily.

    Parameters
    ----------
    query
        One ``SELECT``.
    parameters
        Values for its ``?`` and ``$1`` as a list, for its ``$name`` as a dict: numbers, texts,
        times, None, and lists of these, bound to the types that DuckDB binds them to.
    **frames
        The tables by their names in the query: frames, or tables of Arrow, polars (lazy or not)
        and pandas, which are copied to the open cluster. Without any they are the frames among the
        caller's variables that the query names.

    Returns
    -------
    Frame
        Lazy; its columns and types are known at once.

    Raises
    ------
    QueryError
        When the query is wrong, or names what is no frame; when there are fewer or more values
        than parameters.
    ExplodingJoinError
        When its rows are asked for, and a join would make far too many.
    TypeError
        When what is given is no table, or a value of a type that SQL does not have.
    ImportError
        Without DuckDB: ``pip install 'freestone[sql,tables]'``.

    Notes
    -----
    Of one ``SELECT`` of rows, or of groups with aggregates such as ``sum``, ``count``, ``avg``,
    ``min``, ``max`` and ``stddev``, a call for each part of the largest table does the joins and
    aggregates, with all rows of the other tables; one more call puts together what those give. If
    the others have more than 256 MiB, rows of the largest two are moved by the hash of the columns
    by which they are joined; of more than two such tables, two are joined before the others. Rows
    are moved, too, so that those of a group are together, for aggregates of distinct values, for
    medians of groups, and for windows with ``PARTITION BY``; to be in order for running windows and
    for those of some rows, such as ``lag``, without. Queries in ``WITH``, and those in expressions
    that name nothing outside of them, are answered one by one, and so are those of ``UNION``,
    ``EXCEPT`` and ``INTERSECT``, whose rows are then counted where their hash says. A table that is
    named twice is taken for two. Of any other query one call, on one worker, gets all rows of the
    columns that DuckDB's plan reads, and needs memory for them; a ``RuntimeWarning`` says so above
    256 MiB. What a frame does before, such as a filter, is done by its parts in either case. A
    column whose name is empty is called ``column_0`` in a query, with its number, as in polars.

    Examples
    --------
    >>> import freestone as fs
    >>> rain = fs.Frame.from_table({"station": [1, 1, 2], "mm": [2.0, 3.0, 7.0]}, 2)
    >>> fs.sql("select station, sum(mm) mm from rain group by 1 order by 1").to_arrow().to_pydict()
    {'station': [1, 2], 'mm': [5.0, 7.0]}
    >>> fs.sql("select sum(mm) mm from rain where station = ?", [1]).to_arrow().to_pydict()
    {'mm': [5.0]}
    """
    if not isinstance(query, str):
        raise TypeError(
            f"sql() takes a query as text, as in sql('select a from t', t=frame), not {query!r:.80}"
        )
    if parameters is not None:
        from freestone.collections.tables.sql_parameters import with_values

        query = with_values(query, parameters)
    code = _without_texts(query)
    if not frames:
        caller = sys._getframe(1)
        words = set(re.findall(r"\w+", code))
        variables = {**caller.f_globals, **caller.f_locals}
        frames = {n: v for n, v in variables.items() if n in words and isinstance(v, Frame)}
    if not frames:
        raise QueryError(query, reason="it names no frame: give them, as in sql(query, name=frame)")
    # What a query does not name is not moved for it.
    named = {name: table for name, table in frames.items() if name.lower() in code.lower()}
    found = {name: _named(_as_frame(name, table)) for name, table in (named or frames).items()}
    first, *others = found.values()
    tables = {name: frame._as_node().empty for name, frame in found.items()}
    return first._then("sql", query, tables, others=others)


def _named(frame: Frame) -> Frame:
    """Return a frame whose columns all have names, since SQL has none without."""
    names = frame.columns
    if "" not in names:
        return frame
    from freestone.collections.tables import free_name

    return frame.rename({"": free_name(names.index(""), names)})


_QUOTED = re.compile(
    r""""(?:[^"]|"")*"|'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|(\$\w*\$).*?\1""", re.DOTALL
)
"""Quoted names, texts and comments."""


def _without_texts(query: str) -> str:
    """Return a query without texts and comments, whose words are no names."""
    return _QUOTED.sub(lambda found: found[0] if found[0].startswith('"') else " ", query)


def _as_frame(name: str, table: Any) -> Frame:
    """Return a frame as it is, and a table that is here as one, on the open cluster."""
    if isinstance(table, Frame):
        return table
    if hasattr(table, "lazy") and hasattr(table, "collect_schema"):
        return Frame.from_polars(table, name=name)
    if hasattr(table, "__arrow_c_stream__"):
        return Frame.from_arrow(table, name=name)
    raise TypeError(
        f"sql() takes frames and tables of Arrow, polars and pandas, and {name!r} is "
        f"{describe_type(table)}; make it a frame by one of fs.Frame.from_dask, from_blocks, "
        "from_table or fs.read"
    )
