"""Windows in SQL with an order and no keys that begin or end with all rows, such as running sums.

Rows are cut by the first key of the order, so that equal ones are in one part. Each part is asked
what it adds to the others, a row, and gets what those before it, after it or all of them add up to:
a table of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from freestone.collections.tables.sql_orders import (
    RowsInOrder,
    is_window,
    sense_of,
    taken_apart,
    whole_number,
)
from freestone.collections.tables.sql_trees import (
    Tree,
    aggregate_of,
    column_of,
    each_node,
    parsed,
    replaced,
    text_of,
    types_of,
)

__all__ = ["ADDED", "BEFORE", "PLACE", "RUNNING", "Running", "running"]

ADDED, BEFORE, RUNNING = "__added", "__before", "__running"
"""The tables of what each part adds, of what is before a part, and of all rows."""
PLACE = "__place"
"""The column of the first that says which part it is."""

_NUMBERS = {"WINDOW_ROW_NUMBER", "WINDOW_RANK"}
_SHARES = {"WINDOW_CUME_DIST", "WINDOW_NTILE", "WINDOW_PERCENT_RANK"}
"""Windows of a row's number among all."""
_ENDS = {"WINDOW_FIRST_VALUE", "WINDOW_LAST_VALUE"}
_OWN = {"CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS"}
MAX_PLACE = 10_000
"""So many values of each part are kept for `nth_value`, at most."""
_FRAMES = """
WINDOW earlier AS (ORDER BY {place} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
later AS (ORDER BY {place} ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING),
whole AS (ORDER BY {place} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
"""
_KNOWN = {
    *("class", "type", "alias", "query_location", "query_location_length", "start", "end"),
    *("function_name", "qualified_name", "arguments", "filter_expr", "orders"),
    *("start_expr", "end_expr", "ignore_nulls", "has_ignore_nulls"),
}
"""What such a window may have."""


@dataclass(frozen=True)
class Running:
    """A query by parts in order.

    Attributes
    ----------
    column : str
        The column of the table in parts by which rows are cut.
    descending, nulls_last : bool
        As for `sort`.
    added : str
        The query of a part that says what it adds to those after it.
    before : str
        The query of all that is added that says what is before each part.
    part : str
        The query of each part, with what is before it.
    rest : str or None
        The query of what the parts give, if that is not all.
    """

    column: str
    descending: bool
    nulls_last: bool
    added: str
    before: str
    part: str
    rest: str | None


def running(
    connection: Any, query: str, tables: Mapping[str, pl.DataFrame], large: str
) -> Running | None:
    """Return how to answer a query by parts in the order of its windows; None if that is not known.

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
    """
    return taken_apart(lambda: _Query.of(connection, query, tables, large).split())


@dataclass
class _Query(RowsInOrder):
    """A query whose windows are running ones."""

    added: list[tuple[str, str]] = field(default_factory=list)
    """What each part adds, and how that is put together: ``sum({}) OVER earlier``, say."""

    def split(self) -> Running:
        """Return the queries."""
        self.check()
        windows = [one for one in each_node(self.node["select_list"]) if is_window(one)]
        firsts = [sense_of(one["orders"][0]) for one in windows]
        if len(set(firsts)) != 1:
            raise ValueError("it has no windows, or some in several orders")
        _, descending, nulls_last = firsts[0]
        items = [replaced(item, self._replaced) for item in self.node["select_list"]]
        labels = list(types_of(self.connection, text_of(self.connection, self.node)))
        if len(labels) == len(items):
            pairs = zip(items, labels, strict=True)
            items = [{**item, "alias": label} for item, label in pairs]
        elif any(self._has_no_name(item) for item in self.node["select_list"]):
            raise ValueError("it is not known what its columns are called")
        modifiers = self.node.get("modifiers", [])
        part = {**self.node, "select_list": items, "modifiers": []}
        # A part may need nothing of others.
        added = self.added or [("count(*)", "sum({}) OVER earlier")]
        shown = ", ".join(f"{text} AS p{place}" for place, (text, _) in enumerate(added))
        before = ", ".join(
            f"{how.format(f'p{place}')} AS p{place}" for place, (_, how) in enumerate(added)
        )
        return Running(
            column=self.column(windows[0]),
            descending=descending,
            nulls_last=nulls_last,
            added=text_of(self.connection, self.of_rows(shown)),
            before=(f"SELECT {before} FROM {ADDED} {_FRAMES.format(place=PLACE)} ORDER BY {PLACE}"),
            part=text_of(self.connection, part),
            rest=self._rest(modifiers, {label.lower() for label in labels}),
        )

    def _has_no_name(self, item: Tree) -> bool:
        is_plain = item.get("class") in ("STAR", "COLUMN_REF") or item.get("alias")
        return not is_plain

    def _rest(self, modifiers: list[Tree], labels: set[str]) -> str | None:
        """Return the query that puts rows in order, or takes some of them."""
        for one in modifiers:
            for order in one.get("orders", []):
                tree = order["expression"]
                is_label = tree.get("class") == "COLUMN_REF" and tree["column_names"][-1].lower()
                is_own = is_label in labels and len(tree["column_names"]) == 1
                if not is_own and tree.get("class") not in ("STAR", "CONSTANT"):
                    raise ValueError("rows are put in order by what is not selected")
            if one.get("distinct_on_targets"):
                raise ValueError("rows are distinct by what may not be selected")
        if not modifiers:
            return None
        # The table of that name is there when the query is asked.
        node = {**parsed(self.connection, f"SELECT * FROM {RUNNING}"), "modifiers": modifiers}
        return text_of(self.connection, node)

    # -- windows --------------------------------------------------------------------------

    def _replaced(self, tree: Tree) -> Tree | None:
        """Return a window of all rows, in terms of one of a part and what is before it."""
        if not is_window(tree):
            return None
        if set(tree) - _KNOWN or column_of(tree["orders"][0]["expression"]) is None:
            raise ValueError("it has keys, or an order by what is no column")
        text = f"CAST({self._whole(tree)} AS {self.type_of(tree)})"
        (found,) = parsed(self.connection, f"SELECT {text}")["select_list"]
        return {**found, "alias": tree.get("alias", "")}

    def _whole(self, window: Tree) -> str:
        kind, side = window["type"], _side_of(window)
        is_usual = side == "earlier" and window["end"] in _OWN
        if kind in _ENDS:
            return self._end(window, side)
        if kind == "WINDOW_NTH_VALUE" and is_usual:
            return self._nth(window)
        if kind == "WINDOW_AGGREGATE" and not window.get("ignore_nulls"):
            return self._aggregated(window, side)
        if not is_usual or window.get("ignore_nulls"):
            raise ValueError("it is not known what parts add to it")
        if kind in _NUMBERS:
            return f"{self._text(window)} + {self._number('count(*)')}"
        if kind in _SHARES:
            return self._share(window)
        if kind == "WINDOW_RANK_DENSE":
            keys = ", ".join(self._text(one["expression"]) for one in window["orders"])
            return f"{self._text(window)} + {self._number(f'count(DISTINCT row({keys}))')}"
        raise ValueError("it is not known what parts add to it")

    def _aggregated(self, window: Tree, side: str) -> str:
        name = window["function_name"]
        if len(window.get("arguments", [])) > 1:
            raise ValueError("it is not known what parts add to it")
        if name in ("count", "count_star"):
            return self._count(window, side)
        if name in ("min", "max"):
            found = self._of_others(
                self._text(self._aggregate(window)), f"{name}({{}}) OVER {side}"
            )
            how = "least" if name == "min" else "greatest"
            return found if side == "whole" else f"{how}({self._text(window)}, {found})"
        if name == "sum":
            return self._sum(window, side)
        if name in ("avg", "mean"):
            count = self._count(_called(window, "count"), side)
            return f"{self._sum(_called(window, 'sum'), side)} / nullif({count}, 0)"
        raise ValueError("it is not known what parts add to it")

    def _sum(self, window: Tree, side: str) -> str:
        others = self._of_others(self._text(self._aggregate(window)), f"sum({{}}) OVER {side}")
        text = self._text(window)
        return others if side == "whole" else f"coalesce({text} + {others}, {text}, {others})"

    def _count(self, window: Tree, side: str) -> str:
        others = self._number(self._text(self._aggregate(window)), side)
        return others if side == "whole" else f"({self._text(window)} + {others})"

    def _share(self, window: Tree) -> str:
        """Return what a row's number is among those of all rows."""
        total = f"CAST({self._number('count(*)', 'whole')} AS BIGINT)"
        before = self._number("count(*)")
        if window["type"] == "WINDOW_NTILE":
            (groups,) = [whole_number(one["expression"]) for one in window["arguments"]]
            if groups is None or groups < 1:
                raise ValueError("the number of groups is no constant")
            number = f"({self._like(window, 'row_number')} + CAST({before} AS BIGINT) - 1)"
            return _group_of(number, f"least({groups}, {total})", total)
        if window["type"] == "WINDOW_PERCENT_RANK":
            rank = f"({self._like(window, 'rank')} + {before} - 1)"
            return f"CASE WHEN {total} > 1 THEN {rank} / CAST({total} - 1 AS DOUBLE) ELSE 0 END"
        return f"({self._like(window, 'count(*)')} + {before}) / CAST({total} AS DOUBLE)"

    def _like(self, window: Tree, function: str) -> str:
        """Return another function of the same rows in the same order."""
        called = function if function.endswith(")") else f"{function}()"
        (found,) = parsed(self.connection, f"SELECT {called} OVER (ORDER BY 1)")["select_list"]
        return self._text({**found, "orders": window["orders"]})

    def _end(self, window: Tree, side: str) -> str:
        """Return the first or the last value of rows that begin or end with all."""
        is_first = window["type"] == "WINDOW_FIRST_VALUE"
        skips, own = bool(window.get("ignore_nulls")), self._text(window)
        is_own = window["start" if side == "later" else "end"] in _OWN
        if window.get("filter_expr") or not (is_own or side == "whole"):
            raise ValueError("its rows may be none")
        if side == ("later" if is_first else "earlier"):
            # These rows begin, or end, with the row itself.
            if not skips:
                return own
            others = self._value_of(window, f"{'first' if is_first else 'last'}_value", side)
            return f"coalesce({own}, {others})"
        found = self._value_of(window, f"{'first' if is_first else 'last'}_value", "whole")
        if side == "whole" or not skips:
            return found
        others = self._value_of(window, "any_value", side)
        return f"CASE WHEN {own} IS NOT NULL OR {others} IS NOT NULL THEN {found} END"

    def _nth(self, window: Tree) -> str:
        """Return the value at a place among all rows, once so many rows have come."""
        place = whole_number(window["arguments"][1]["expression"])
        if place is None or not 0 < place <= MAX_PLACE:
            raise ValueError("the place is no constant, or too far")
        if window.get("filter_expr") or window.get("ignore_nulls"):
            raise ValueError("some rows do not count")
        orders = ", ".join(map(self._ordered, window["orders"]))
        value = self._text(window["arguments"][0]["expression"])
        added = f"list({{'v': {value}}} ORDER BY {orders})[:{place}]"
        first = self._of_others(added, "flatten(list({}) OVER whole)")
        (count,) = parsed(self.connection, "SELECT count(*) OVER (ORDER BY 1)")["select_list"]
        kept = {word: window[word] for word in ("orders", "start", "end")}
        own, before = self._text({**count, **kept}), self._number("count(*)")
        return (
            f"CASE WHEN {own} + {before} >= {place} THEN struct_extract({first}[{place}], 'v') END"
        )

    def _value_of(self, window: Tree, how: str, side: str) -> str:
        """Return the first or last value of other parts in their order, or any."""
        (value,) = [self._text(one["expression"]) for one in window["arguments"]]
        end = "last" if how == "last_value" else "first"
        orders = ", ".join(map(self._ordered, window["orders"]))
        only = f" FILTER ({value} IS NOT NULL)" if window.get("ignore_nulls") else ""
        # A part without rows has no struct, and one whose value is null has one.
        text = f"{end}({{'v': {value}}} ORDER BY {orders}){only}"
        nulls = "{}" if how == "any_value" else "{} IGNORE NULLS"
        return f"struct_extract({self._of_others(text, f'{how}({nulls}) OVER {side}')}, 'v')"

    def _ordered(self, order: Tree) -> str:
        _, descending, nulls_last = sense_of(order)
        sense = f"{'DESC' if descending else 'ASC'} NULLS {'LAST' if nulls_last else 'FIRST'}"
        return f"{self._text(order['expression'])} {sense}"

    def _aggregate(self, window: Tree) -> Tree:
        return aggregate_of(self.connection, window)

    def _number(self, text: str, side: str = "earlier") -> str:
        return f"coalesce({self._of_others(text, f'sum({{}}) OVER {side}')}, 0)"

    def _of_others(self, text: str, how: str) -> str:
        """Return what other parts, or all, make of something that each adds."""
        if (text, how) not in self.added:
            self.added.append((text, how))
        return f"(SELECT p{self.added.index((text, how))} FROM {BEFORE})"


def _side_of(window: Tree) -> str:
    """Return which other parts a window reaches over: all rows of these, or none of them."""
    start, end = window.get("start"), window.get("end")
    is_before = end == "EXPR_PRECEDING_ROWS" and whole_number(window["end_expr"]) == 1
    is_after = start == "EXPR_FOLLOWING_ROWS" and whole_number(window["start_expr"]) == 1
    if start == "UNBOUNDED_PRECEDING" and (end in _OWN or is_before):
        return "earlier"
    if end == "UNBOUNDED_FOLLOWING" and (start in _OWN or is_after):
        return "later"
    if (start, end) == ("UNBOUNDED_PRECEDING", "UNBOUNDED_FOLLOWING"):
        return "whole"
    raise ValueError("it begins and ends near its row")


def _group_of(number: str, groups: str, total: str) -> str:
    """Return in which of some groups of all rows a row is, the first of which have one more."""
    size, more = f"({total} // {groups})", f"({total} % {groups})"
    large = f"({more} * ({size} + 1))"
    return (
        f"CASE WHEN {number} < {large} THEN 1 + {number} // ({size} + 1) "
        f"ELSE 1 + {more} + ({number} - {large}) // {size} END"
    )


def _called(window: Tree, name: str) -> Tree:
    return {**window, "function_name": name, "qualified_name": {"path": [name]}}
