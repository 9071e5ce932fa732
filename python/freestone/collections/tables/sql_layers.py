"""Windows in SQL of several sorts, one sort after the other.

A query whose windows have several orders or keys, and one that filters or sorts by them, is asked
in layers: the windows of one sort are columns of a table, and the rest is a query of that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from freestone.collections.tables.sql_orders import (
    RowsInOrder,
    bare,
    is_window,
    same_tree,
    sense_of,
    taken_apart,
)
from freestone.collections.tables.sql_reaching import reach_of
from freestone.collections.tables.sql_trees import (
    Tree,
    all_of,
    column_of,
    each_node,
    parsed,
    quoted,
    replaced,
    text_of,
)

__all__ = ["Layers", "layers"]


@dataclass(frozen=True)
class Layers:
    """Two queries that come to one.

    Attributes
    ----------
    table : str
        The table of what the first one gives, to the second.
    first, rest : str
        The queries.
    """

    table: str
    first: str
    rest: str


def layers(
    connection: Any,
    query: str,
    tables: Mapping[str, pl.DataFrame],
    large: str,
    columns: Sequence[str],
) -> Layers | None:
    """Return a query whose windows are of several sorts as two; None if that is not known.

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


@dataclass
class _Query(RowsInOrder):
    """A query whose windows are of several sorts."""

    def split(self, columns: Sequence[str]) -> Layers:
        """Return the queries."""
        self.check("qualify")
        node = {**self.node, "select_list": self.labelled_items()}
        if "qualify" in node:
            node["qualify"] = replaced(node["qualify"], self._as_selected)
        words = ("select_list", "qualify", "modifiers")
        windows = [one for word in words for one in each_node(node.get(word)) if is_window(one)]
        sorts = [_sort_of(one) for one in windows]
        if not windows or not (len({*sorts}) > 1 or node.get("qualify") or node.get("modifiers")):
            raise ValueError("its windows are of one sort")
        mine: list[Tree] = []
        for window, sort in zip(windows, sorts, strict=True):
            if sort == sorts[0] and same_tree(window) not in map(same_tree, mine):
                mine.append(window)
        below = re.fullmatch(r"__layer(\d+)", self.large)
        depth = int(below[1]) + 1 if below else 0
        names = [f"__w{depth}_{place}" for place in range(len(mine))]
        if {*names} & {name.lower() for name in columns}:
            raise ValueError("columns have the names of those that are added")
        known = [same_tree(one) for one in mine]

        def as_column(tree: Tree) -> Tree | None:
            if not is_window(tree) or same_tree(tree) not in known:
                return None
            place = known.index(same_tree(tree))
            text = f"CAST({quoted(names[place])} AS {self.type_of(mine[place])})"
            (found,) = parsed(self.connection, f"SELECT {text}")["select_list"]
            return {**found, "alias": tree.get("alias", "")}

        rest = {word: replaced(node[word], as_column) for word in words if word in node}
        table = f"__layer{depth}"
        source = parsed(self.connection, f"SELECT 1 FROM {table} AS {quoted(self.alias)}")
        return Layers(
            table=table,
            first=self._first(columns, mine, names),
            rest=text_of(self.connection, _filtered({**source, **rest})),
        )

    def _first(self, columns: Sequence[str], windows: list[Tree], names: list[str]) -> str:
        node = self.of_rows(", ".join(map(quoted, columns)))
        made = [{**one, "alias": name} for one, name in zip(windows, names, strict=True)]
        return text_of(self.connection, {**node, "select_list": [*node["select_list"], *made]})

    def _as_selected(self, tree: Tree) -> Tree | None:
        """Return what is selected by a name, for that name."""
        name = column_of(tree)
        if name is None or len(tree["column_names"]) > 1:
            return None
        found = [
            one for one in self.node["select_list"] if str(one.get("alias", "")).lower() == name
        ]
        if not found:
            return None
        if name in {each.lower() for each in self.empty.columns} or len(found) > 1:
            raise ValueError("a name stands for a column, and for what is selected")
        return bare(found[0])


def _filtered(node: Tree) -> Tree:
    """Return a query that filters by no window as one with ``WHERE``."""
    if "qualify" not in node or any(map(is_window, each_node(node["qualify"]))):
        return node
    if any(map(is_window, each_node(node["select_list"]))):
        # Those rows are left out after the other windows are made.
        return node
    where = all_of([node["qualify"]])
    return {word: one for word, one in node.items() if word != "qualify"} | {"where_clause": where}


def _sort_of(window: Tree) -> tuple[str, str]:
    """Return of which sort a window is: those of one are made together."""
    if window.get("partitions"):
        return "keys", json.dumps(same_tree(window["partitions"]))
    if reach_of(window) is not None:
        return "reach", json.dumps(same_tree(window["orders"]))
    if window.get("orders"):
        return "running", json.dumps(sense_of(window["orders"][0]))
    raise ValueError("it is a window of all rows")
