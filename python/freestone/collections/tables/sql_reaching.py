"""Windows in SQL that reach over some rows, such as ``lag`` and ``ROWS 3 PRECEDING``, by parts.

So do those that reach over some values, ``RANGE 3 PRECEDING``, or over groups of equal rows.

Rows are cut by the first key of the order, so that equal ones are in one part, and are numbered,
so that all parts agree in which order equal ones are. Each part gets the first and last rows of the
others, as many as its windows reach over, and leaves them out of what it gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

__all__ = ["ENDS", "ID", "ROWS", "Reach", "Reaching", "reach_of", "reaching"]

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
class Reach:
    """How far windows reach: over rows, over groups of equal rows, and over values.

    Attributes
    ----------
    rows, groups : tuple of int
        How many before and behind a row.
    before, behind : tuple of dict
        The distances in the order's column before and behind it, as DuckDB's trees.
    """

    rows: tuple[int, int] = (0, 0)
    groups: tuple[int, int] = (0, 0)
    before: tuple[Tree, ...] = ()
    behind: tuple[Tree, ...] = ()


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
    is_by_values : bool
        Whether it is known with the rows alone how many of them are ends.
    """

    column: str
    descending: bool
    nulls_last: bool
    rows: str
    ends: str
    part: str
    is_by_values: bool


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


def reach_of(window: Tree) -> Reach | None:
    """Return how far a window reaches; None if that is not known."""
    if not window.get("orders"):
        return None
    unit = _unit_of(window)
    if unit != "ROWS":
        return _reach_over(window, unit)
    found = _rows_of(window)
    return None if found is None else Reach(rows=found)


def _unit_of(window: Tree) -> str:
    """Return what the ends of a window count: ROWS, RANGE or GROUPS."""
    ends = [str(window.get(word)) for word in ("start", "end")]
    is_of_frame = window["type"] in _OF_FRAMES and not any("UNBOUNDED" in end for end in ends)
    return ends[0].rpartition("_")[2] if is_of_frame else "ROWS"


def _reach_over(window: Tree, unit: str) -> Reach | None:
    """Return the reach of a window whose ends count values or groups of equal rows."""
    # Which of equal rows is the first is open, but it has to be the same one in all parts.
    is_refused = set(window) - _KNOWN_OF_FRAMES or window["type"] != "WINDOW_AGGREGATE"
    if is_refused or unit not in ("RANGE", "GROUPS"):
        return None
    before = window.get("start_expr") if "PRECEDING" in window["start"] else None
    behind = window.get("end_expr") if "FOLLOWING" in window["end"] else None
    if unit == "GROUPS":
        counts = [0 if one is None else whole_number(one) for one in (before, behind)]
        known = [one for one in counts if one is not None]
        return Reach(groups=(known[0], known[1])) if len(known) == 2 else None
    trees = [one for one in each_node([before, behind])]
    if any(one.get("class") == "COLUMN_REF" for one in trees) or len(window["orders"]) != 1:
        return None
    return Reach(
        before=() if before is None else (before,), behind=() if behind is None else (behind,)
    )


def _rows_of(window: Tree) -> tuple[int, int] | None:
    """Return over how many rows before and behind a row a window reaches; None if not known."""
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
        far = [
            max(one[side] for one in counts)
            for counts in ([one.rows for one in known], [one.groups for one in known])
            for side in (0, 1)
        ]
        reach = Reach(
            rows=(far[0], far[1]),
            groups=(far[2], far[3]),
            before=tuple(tree for one in known for tree in one.before),
            behind=tuple(tree for one in known for tree in one.behind),
        )
        if self.node.get("modifiers") or sum(far) > MAX_REACH:
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
            ends=text_of(self.connection, self._ends(windows[0]["orders"], reach)),
            part=text_of(self.connection, self._part()),
            is_by_values=bool(reach.before or reach.behind or any(reach.groups)),
        )

    def _ends(self, orders: list[Tree], reach: Reach) -> Tree:
        """Return the query of the last rows of a part, and of the first ones."""
        # The constants stand for the order, and for the reverse one.
        conditions = [
            f"row_number() OVER (ORDER BY 1) <= {reach.rows[1]}",
            f"count(*) OVER () - row_number() OVER (ORDER BY 1) < {reach.rows[0]}",
            f"dense_rank() OVER (ORDER BY 2) <= {reach.groups[1]}",
            f"dense_rank() OVER (ORDER BY 3) <= {reach.groups[0]}",
            *self._within(orders[0], reach),
        ]
        node = parsed(
            self.connection,
            f"SELECT * FROM {ROWS} AS {quoted(self.alias)} QUALIFY {' OR '.join(conditions)}",
        )
        found = {1: _numbered(orders), 2: orders, 3: list(map(_reversed, orders))}

        def ordered(tree: Tree) -> Tree | None:
            number = whole_number(tree["orders"][0]["expression"]) if tree.get("orders") else None
            return None if number is None else {**tree, "orders": found[number]}

        return {**node, "qualify": replaced(node["qualify"], ordered)}

    def _within(self, order: Tree, reach: Reach) -> Iterator[str]:
        """Yield which rows are within a distance of the last one of a part, or of the first."""
        key, (_, descending, _) = self._text(order["expression"]), sense_of(order)
        for side, trees in (("last", reach.before), ("first", reach.behind)):
            is_largest = (side == "last") != descending
            for tree in trees:
                distance = self._text(tree)
                yield (
                    f"{key} >= max({key}) OVER () - {distance}"
                    if is_largest
                    else f"{key} <= min({key}) OVER () + {distance}"
                )

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
            by_rows = is_window(tree) and _unit_of(tree) == "ROWS"
            return {**tree, "orders": _numbered(tree["orders"])} if by_rows else None

        items = [replaced(one, numbered) for one in self.labelled_items()]
        return {**node, "select_list": items}


def _reversed(order: Tree) -> Tree:
    _, descending, nulls_last = sense_of(order)
    return {
        **order,
        "type": "ASCENDING" if descending else "DESCENDING",
        "null_order": f"NULLS {'FIRST' if nulls_last else 'LAST'}",
    }


def _numbered(orders: list[Tree]) -> list[Tree]:
    """Return an order in which no rows are equal: those that are come by their numbers."""
    number = {"class": "COLUMN_REF", "type": "COLUMN_REF", "column_names": [ROW]}
    last = {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": number}
    return [*orders, last]
