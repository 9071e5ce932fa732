"""Joins in SQL that would make more rows than a call can hold or go through, found by samples.

DuckDB takes the memory, or hours if rows are only aggregated. So before a query joins two tables
that are large enough for it, DuckDB joins some rows of both, with what the query says of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import polars as pl

from freestone.collections.tables.sampling import refuse_too_many_rows, width_of
from freestone.collections.tables.sql_trees import (
    CROSS,
    SELECT,
    Tree,
    all_of,
    as_text,
    called,
    conjuncts,
    each_node,
    elements,
    equal,
    errors_of_duckdb,
    functions_of,
    parsed,
    replaced,
    table_of,
    text_of,
)
from freestone.errors import ExplodingJoinError
from freestone.units import machine_nbytes

__all__ = ["check_query", "may_explode"]

MAX_AGGREGATED_ROWS = 10**10
"""A call goes through so many pairs of rows in a minute, and keeps none of them."""
_HOLDING = {"array_agg", "group_concat", "histogram", "list", "listagg", "string_agg"}
_HOLDING |= {"mad", "median", "mode", "quantile", "quantile_cont", "quantile_disc"}
"""Aggregates that keep all that they are of."""
_SAMPLE = "__sample"


def check_query(
    connection: Any, query: str, tables: Mapping[str, pl.DataFrame], limit_nbytes: int = 0
) -> None:
    """Refuse a query that joins two tables to far more rows than a call can hold or go through.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables.
    query
        One ``SELECT``.
    tables
        The rows, of the columns that the query needs. Joins of what is joined by outer joins or
        grouped in the query itself are not looked at.
    limit_nbytes
        So many bytes may be joined; by default those of the machine's memory.

    Raises
    ------
    ExplodingJoinError
        With the sizes.

    Notes
    -----
    Takes some milliseconds where two tables might make so many rows, and else none.
    """
    limit_nbytes = limit_nbytes or machine_nbytes()
    if not may_explode(map(len, tables.values()), limit_nbytes):
        return
    known = {name.lower(): frame for name, frame in tables.items()}
    try:
        selects = [each for each in each_node(parsed(connection, query)) if _is_select(each)]
        for node in selects:
            _Select(connection, node, known, limit_nbytes).check()
    except (KeyError, TypeError, *errors_of_duckdb()):
        # Other versions of DuckDB may have trees of another form.
        return
    finally:
        for place in range(2):
            connection.unregister(f"{_SAMPLE}{place}")


def may_explode(rows: Iterable[int], limit_nbytes: int = 0) -> bool:
    """Tell whether tables of so many rows are large enough for a join to make too many."""
    limit_nbytes = limit_nbytes or machine_nbytes()
    return max(rows, default=0) ** 2 > min(limit_nbytes // 16, MAX_AGGREGATED_ROWS)


def _is_select(tree: Tree) -> bool:
    return tree.get("type") == "SELECT_NODE" and tree["from_table"]["type"] == "JOIN"


class _Select:
    """A query of joined tables."""

    def __init__(
        self, connection: Any, node: Tree, tables: Mapping[str, pl.DataFrame], limit_nbytes: int
    ) -> None:
        self.connection, self.node = connection, node
        self.tables, self.limit_nbytes = tables, limit_nbytes
        (self.counted,) = parsed(connection, "SELECT count(*)")["select_list"]
        shown = each_node(node["select_list"], within=("SUBQUERY", "WINDOW"))
        named = {str(each.get("function_name")) for each in shown}
        self.aggregates = functions_of(connection, "aggregate") & named
        self.is_grouped = bool(node.get("group_expressions")) or bool(self.aggregates)

    def check(self) -> None:
        modifiers = {each["type"] for each in self.node.get("modifiers", [])}
        if modifiers == {"LIMIT_MODIFIER"} and not self.is_grouped:
            # DuckDB stops when there are enough rows.
            return
        leaves, conditions = elements(self.node["from_table"], _sides_of, self._links_of)
        conditions += conjuncts([self.node.get("where_clause")])
        for pair in combinations(leaves, 2):
            sides = [self.tables.get(_rows_of(leaf)) for leaf in pair]
            frames = [side for side in sides if side is not None]
            if len(frames) == 2:
                self._check_pair(pair, frames, conditions, is_all=len(leaves) == 2)

    def _links_of(self, join: Tree, left: list[Tree], right: list[Tree]) -> list[Tree]:
        """Return the columns that have to be equal by their names."""
        named = join.get("using_columns", [])
        is_natural = join.get("ref_type") == "NATURAL"
        return [
            equal((called(one), name), (called(other), name))
            for one, other in product(left, right)
            for name in (self._shared(one, other) if is_natural else named)
        ]

    def _shared(self, *leaves: Tree) -> list[str]:
        """Return the columns that two tables both have."""
        first, second = (self.tables.get(_rows_of(leaf), pl.DataFrame()) for leaf in leaves)
        return [name for name in first.columns if name in second.columns]

    def _check_pair(
        self,
        pair: Sequence[Tree],
        frames: Sequence[pl.DataFrame],
        conditions: Sequence[Tree],
        *,
        is_all: bool,
    ) -> None:
        is_held = not self.is_grouped or not _HOLDING.isdisjoint(self.aggregates)
        width = sum(map(width_of, frames))
        most = self.limit_nbytes // width if is_held else MAX_AGGREGATED_ROWS
        if len(frames[0]) * len(frames[1]) <= most:
            return
        known = [each for each in conditions if self._binds(pair, each)]
        linking = [each for each in known if not any(self._binds([leaf], each) for leaf in pair)]
        if not linking and not is_all:
            return
        refuse = partial(
            refuse_too_many_rows,
            frames,
            most=most,
            width=width if is_held else 0,
            keys=", ".join(map(self._text, linking)),
            how="inner" if linking else "cross",
        )
        try:
            refuse(partial(self._matches, self._count_of(pair, known)))
        except ExplodingJoinError:
            # What is joined with them may leave few of those rows.
            refuse(partial(self._matches, self._count_of_all(pair)))

    def _binds(self, leaves: Sequence[Tree], condition: Tree) -> bool:
        """Tell whether a condition is one of some tables alone."""
        try:
            self.connection.sql(self._count_of(leaves, [condition], is_sampled=False))
        except errors_of_duckdb():
            return False
        return True

    def _count_of(
        self, leaves: Sequence[Tree], conditions: Sequence[Tree], *, is_sampled: bool = True
    ) -> str:
        """Return the query that counts the rows of tables of which some conditions are true."""
        found = [_sampled(leaf, at) if is_sampled else leaf for at, leaf in enumerate(leaves)]
        source = found[0]
        for leaf in found[1:]:
            source = {**CROSS, "left": source, "right": leaf}
        return self._counting({**SELECT, "from_table": source}, conditions)

    def _count_of_all(self, pair: Sequence[Tree]) -> str:
        """Return the query that counts all that is joined, with samples of two tables."""

        def changed(tree: Tree) -> Tree | None:
            for place, leaf in enumerate(pair):
                if tree is leaf:
                    return _sampled(leaf, place)
            if tree.get("join_type") in ("LEFT", "RIGHT", "OUTER", "FULL"):
                # What has no partner in a sample has none there only.
                return {**replaced(_without_type(tree), changed), "join_type": "INNER"}
            return None

        words = ("from_table", "where_clause")
        node = {word: self.node[word] for word in words if word in self.node}
        return self._counting({**SELECT, **replaced(node, changed)}, [])

    def _counting(self, node: Tree, conditions: Sequence[Tree]) -> str:
        node = {**node, "select_list": [self.counted]}
        if conditions:
            node["where_clause"] = all_of(conditions)
        return text_of(self.connection, node)

    def _matches(self, count: str, samples: Sequence[pl.DataFrame]) -> int:
        for place, sample in enumerate(samples):
            self.connection.register(f"{_SAMPLE}{place}", as_text(sample).to_arrow())
        try:
            ((found,),) = self.connection.execute(count).fetchall()
        except errors_of_duckdb():
            # The query itself says what is wrong.
            return 0
        return int(found)

    def _text(self, condition: Tree) -> str:
        node = {**SELECT, "from_table": {"type": "EMPTY"}, "select_list": [condition]}
        return text_of(self.connection, node).removeprefix("SELECT ").strip("()")


def _without_type(join: Tree) -> Tree:
    return {word: one for word, one in join.items() if word != "join_type"}


def _sides_of(join: Tree) -> Sequence[str]:
    """Return the sides of a join that may add rows to the other."""
    is_usual = join.get("ref_type", "REGULAR") in ("REGULAR", "CROSS", "NATURAL")
    adds = is_usual and join.get("join_type", "INNER") not in ("SEMI", "ANTI")
    return ("left", "right") if adds else ("left",)


def _rows_of(leaf: Tree) -> str:
    """Return the name of the table whose rows one by one are joined; empty if it is not so."""
    if leaf["type"] == "SUBQUERY":
        node = leaf["subquery"]["node"]
        words = {word for word, one in node.items() if one and one != {"map": []}}
        if words - _OF_ROWS or node["aggregate_handling"] != "STANDARD_HANDLING":
            return ""
        shown = [*each_node(node["select_list"])]
        if any(each.get("class") in ("FUNCTION", "SUBQUERY", "WINDOW") for each in shown):
            return ""
        return _rows_of(node["from_table"]) if node["from_table"]["type"] != "JOIN" else ""
    return "" if leaf.get("sample") else table_of(leaf)


_OF_ROWS = {"type", "select_list", "from_table", "where_clause", "aggregate_handling"}


def _sampled(leaf: Tree, place: int) -> Tree:
    """Return what is joined of a sample."""
    name = f"{_SAMPLE}{place}"

    def changed(tree: Tree) -> Tree | None:
        if tree.get("type") != "BASE_TABLE":
            return None
        alias = tree.get("alias") or tree["table_name"]
        found = {**tree, "table_name": name, "alias": alias}
        return {**found, "qualified_name": {"path": [name]}} if "qualified_name" in tree else found

    found: Tree = replaced(leaf, changed)
    return found
