"""Windows in SQL that reach over some rows, such as ``lag`` and ``ROWS 3 PRECEDING``, by parts.

Rows are cut by the first key of the order, so that equal ones are in one part, and are numbered,
so that all parts agree in which order equal ones are. Each part gets the first and last rows of the
others, as many as its windows reach over, and leaves them out of what it gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from freestone.collections.tables.sql_orders import (
    RowsInOrder,
    is_window,
    same_tree,
    sense_of,
    taken_apart,
    whole_number,
)
from freestone.collections.tables.sql_trees import (
    Tree,
    each_node,
    parsed,
    quoted,
    replaced,
    text_of,
)

__all__ = ["ENDS", "ID", "ROWS", "Reaching", "reach_of", "reaching"]

ROWS, ENDS, ID = "__rows", "__ends", "__id"
"""The tables of a part's rows, of the first and last rows of all parts, and of its number."""
ROW, PLACE = "__row", "__place"
"""The columns of the first two: the number of a row, and that of its part."""

MAX_REACH = 10_000
"""Windows that reach over more rows are made by one call: all parts get these rows of all."""

_SHIFTS = {"WINDOW_LAG": 1, "WINDOW_LEAD": -1}
_OF_FRAMES = {"WINDOW_AGGREGATE", "WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE", "WINDOW_NTH_VALUE"}
_KNOWN = {
    *("class", "type", "alias", "query_location", "query_location_length", "start", "end"),
    *("function_name", "qualified_name", "arguments", "orders"),
}
_KNOWN_OF_FRAMES = _KNOWN | {
    *("start_expr", "end_expr", "filter_expr", "distinct", "exclude_clause"),
    *("ignore_nulls", "has_ignore_nulls"),
}
"""What such windows may have."""


@dataclass(frozen=True)
class Reaching:
    """A query by parts in order, which get the rows around theirs.

    Attributes
    ----------
    column : str
        The column of the table in parts by which rows are cut.
    descending, nulls_last : bool
        As for `sort`.
    rows : str
        The query of the numbered rows of a part.
    ends : str
        The query of these that gives the first and the last ones.
    part : str
        The query of each part, with the ends of all.
    """

    column: str
    descending: bool
    nulls_last: bool
    rows: str
    ends: str
    part: str


def reaching(
    connection: Any,
    query: str,
    tables: Mapping[str, pl.DataFrame],
    large: str,
    columns: Sequence[str],
) -> Reaching | None:
    """Return how to answer a query by parts that reach into others; None if that is not known.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows.
    query
        The query, which is one ``SELECT`` of one table.
    tables
        All, without rows.
    large
        The one in parts.
    columns
        Those of its columns that are needed.
    """
    return taken_apart(lambda: _Query.of(connection, query, tables, large).split(columns))


def reach_of(window: Tree) -> tuple[int, int] | None:
    """Return over how many rows before and behind a row a window reaches; None if not known."""
    if not window.get("orders"):
        return None
    if window["type"] in _SHIFTS and not set(window) - _KNOWN:
        offsets = [one["expression"] for one in window["arguments"][1:2]]
        offset = whole_number(offsets[0]) if offsets else 1
        if offset is None:
            return None
        shift = offset * _SHIFTS[window["type"]]
        return max(shift, 0), max(-shift, 0)
    if window["type"] not in _OF_FRAMES or set(window) - _KNOWN_OF_FRAMES:
        return None
    if window.get("exclude_clause", "NO_OTHER") not in ("NO_OTHER", "CURRENT_ROW"):
        # Which rows are equal in the order is not the same among rows that are numbered.
        return None
    first, last = (_end_of(window, word) for word in ("start", "end"))
    if first is None or last is None:
        return None
    return max(-first, 0), max(last, 0)


def _end_of(window: Tree, word: str) -> int | None:
    """Return how many rows behind a row its window starts or ends."""
    kind = window.get(word)
    if kind == "CURRENT_ROW_ROWS":
        return 0
    sign = {"EXPR_PRECEDING_ROWS": -1, "EXPR_FOLLOWING_ROWS": 1}.get(str(kind))
    count = whole_number(window.get(f"{word}_expr", {}))
    return None if sign is None or count is None else sign * count


@dataclass
class _Query(RowsInOrder):
    """A query whose windows reach over some rows."""

    def split(self, columns: Sequence[str]) -> Reaching:
        """Return the queries."""
        self.check()
        windows = [one for one in each_node(self.node["select_list"]) if is_window(one)]
        orders = [same_tree(one["orders"]) for one in windows]
        reaches = [reach_of(one) for one in windows]
        known = [one for one in reaches if one is not None]
        if not windows or len(known) < len(reaches) or any(one != orders[0] for one in orders):
            raise ValueError("it has other windows, or some in several orders")
        before, behind = max(one for one, _ in known), max(one for _, one in known)
        if self.node.get("modifiers") or before + behind > MAX_REACH:
            raise ValueError("its rows are put in order, or its windows reach too far")
        if {ROW, PLACE} & {name.lower() for name in columns}:
            raise ValueError("columns have the names of those that are added")
        name, descending, nulls_last = sense_of(windows[0]["orders"][0])
        if name is None:
            raise ValueError("rows are in the order of what is no column")
        shown = ", ".join(quoted(each) for each in columns)
        numbers = f"row_number() OVER () AS {ROW}, (SELECT {PLACE} FROM {ID}) AS {PLACE}"
        rows = self.of_rows(f"{shown}, {numbers}")
        return Reaching(
            column=self.column(windows[0]),
            descending=descending,
            nulls_last=nulls_last,
            rows=text_of(self.connection, rows),
            ends=text_of(self.connection, self._ends(windows[0]["orders"], before, behind)),
            part=text_of(self.connection, self._part()),
        )

    def _ends(self, orders: list[Tree], before: int, behind: int) -> Tree:
        """Return the query of the last rows of a part, and of the first ones."""
        node = parsed(
            self.connection,
            f"SELECT * FROM {ROWS} AS {quoted(self.alias)} QUALIFY "
            f"row_number() OVER (ORDER BY 1) <= {behind} OR "
            f"count(*) OVER () - row_number() OVER (ORDER BY 1) < {before}",
        )

        def ordered(tree: Tree) -> Tree | None:
            return {**tree, "orders": _numbered(orders)} if tree.get("orders") else None

        return {**node, "qualify": replaced(node["qualify"], ordered)}

    def _part(self) -> Tree:
        """Return the query of a part's rows among the first and last ones of others."""
        place = f"(SELECT {PLACE} FROM {ID})"
        among = (
            f"SELECT * FROM (SELECT * FROM {ROWS} UNION ALL SELECT * FROM {ENDS} "
            f"WHERE {PLACE} <> {place}) AS {quoted(self.alias)} "
            f"QUALIFY {quoted(self.alias)}.{PLACE} = {place}"
        )
        node = parsed(self.connection, among)

        def numbered(tree: Tree) -> Tree | None:
            return {**tree, "orders": _numbered(tree["orders"])} if is_window(tree) else None

        items = [replaced(one, numbered) for one in self.labelled_items()]
        return {**node, "select_list": items}


def _numbered(orders: list[Tree]) -> list[Tree]:
    """Return an order in which no rows are equal: those that are come by their numbers."""
    number = {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [ROW]}
    last = {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": number}
    return [*orders, last]
