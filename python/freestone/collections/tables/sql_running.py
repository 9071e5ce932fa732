"""Windows in SQL that have an order and no keys, such as running sums, by parts in this order.

Rows are cut by the first key of the order, so that equal ones are in one part. Each part is asked
what it adds to those after it, a row, and gets what those before it add up to: a table of a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from freestone.collections.tables.sql_orders import (
    RowsInOrder,
    bare,
    is_window,
    sense_of,
    taken_apart,
)
from freestone.collections.tables.sql_trees import (
    SELECT,
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
_FRAMES = {"CURRENT_ROW_RANGE", "CURRENT_ROW_ROWS"}
_KNOWN = {
    *("class", "type", "alias", "query_location", "query_location_length", "start", "end"),
    *("function_name", "qualified_name", "arguments", "filter_expr", "orders"),
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

    added: dict[str, str] = field(default_factory=dict)
    """How what the parts add is put together, by the texts of it."""

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
        names = [f"p{place}" for place in range(len(self.added))]
        shown = ", ".join(map("{} AS {}".format, self.added, names))
        before = ", ".join(
            f"{how}({name}) OVER earlier AS {name}"
            for how, name in zip(self.added.values(), names, strict=True)
        )
        return Running(
            column=self.column(windows[0]),
            descending=descending,
            nulls_last=nulls_last,
            added=text_of(self.connection, self.of_rows(shown)),
            before=(
                f"SELECT {before} FROM {ADDED} WINDOW earlier AS (ORDER BY {PLACE} "
                f"ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) ORDER BY {PLACE}"
            ),
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
        is_running = (tree.get("start"), tree.get("end") in _FRAMES) == (
            "UNBOUNDED_PRECEDING",
            True,
        )
        if (
            set(tree) - _KNOWN
            or not is_running
            or column_of(tree["orders"][0]["expression"]) is None
        ):
            raise ValueError("it is no running window, or has keys")
        text = f"CAST({self._whole(tree)} AS {self.type_of(tree)})"
        (found,) = parsed(self.connection, f"SELECT {text}")["select_list"]
        return {**found, "alias": tree.get("alias", "")}

    def _whole(self, window: Tree) -> str:
        text = self._text(window)
        if window["type"] in _NUMBERS:
            return f"{text} + {self._number('count(*)')}"
        if window["type"] == "WINDOW_RANK_DENSE":
            keys = ", ".join(self._text(one["expression"]) for one in window["orders"])
            return f"{text} + {self._number(f'count(DISTINCT row({keys}))')}"
        if window["type"] != "WINDOW_AGGREGATE":
            raise ValueError("it is not known what parts add to it")
        name = window["function_name"]
        if name in ("count", "count_star"):
            return f"{text} + {self._number(self._text(self._aggregate(window)))}"
        if name in ("min", "max"):
            found = self._before(self._text(self._aggregate(window)), name)
            return f"{'least' if name == 'min' else 'greatest'}({text}, {found})"
        if name == "sum":
            return self._sum(window)
        if name in ("avg", "mean"):
            return f"{self._sum(_called(window, 'sum'))} / nullif({self._count(window)}, 0)"
        raise ValueError("it is not known what parts add to it")

    def _sum(self, window: Tree) -> str:
        text, before = self._text(window), self._before(self._text(self._aggregate(window)), "sum")
        return f"coalesce({text} + {before}, {text}, {before})"

    def _count(self, window: Tree) -> str:
        count = _called(window, "count")
        return f"({self._text(count)} + {self._number(self._text(self._aggregate(count)))})"

    def _aggregate(self, window: Tree) -> Tree:
        return aggregate_of(self.connection, window)

    def _number(self, text: str) -> str:
        return f"coalesce({self._before(text, 'sum')}, 0)"

    def _before(self, text: str, how: str) -> str:
        """Return what is before a part, of something that each part adds."""
        self.added.setdefault(text, how)
        return f"(SELECT p{list(self.added).index(text)} FROM {BEFORE})"

    def _text(self, tree: Tree) -> str:
        node = {**SELECT, "from_table": {"type": "EMPTY"}, "select_list": [bare(tree)]}
        return text_of(self.connection, node).removeprefix("SELECT ")


def _called(window: Tree, name: str) -> Tree:
    return {**window, "function_name": name, "qualified_name": {"path": [name]}}
