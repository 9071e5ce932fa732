"""Queries of more than two tables too large to be sent: two of them are joined first.

What they give is a table to the rest of the query, in which their columns have other names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from freestone.collections.tables.sql_trees import (
    CROSS,
    SELECT,
    Tree,
    all_of,
    called,
    column_ref,
    conjuncts,
    each_node,
    elements,
    equal,
    errors_of_duckdb,
    parsed,
    quoted,
    replaced,
    require_alone,
    table_of,
    text_of,
    types_of,
)

__all__ = ["JoinedFirst", "joined_first"]

_JOINED = frozenset({"ANTI", "FULL", "INNER", "LEFT", "OUTER", "RIGHT", "SEMI"})


@dataclass(frozen=True)
class JoinedFirst:
    """A query of two tables, and the columns of what it gives by those of the tables.

    Attributes
    ----------
    tables : tuple of str
        The two tables.
    query : str
        What is asked of them.
    """

    tables: tuple[str, str]
    query: str
    _of: _Query
    _source: Tree
    _where: tuple[Tree, ...]
    _names: dict[tuple[str, str], str]

    def rest(self, name: str) -> str:
        """Return the query that is left, with a table of a name in place of the two.

        Raises
        ------
        KeyError, TypeError, ValueError
            If it is not known to be the same.
        """
        return self._of.rest(name, self._names, self._source, self._where)


def joined_first(
    connection: Any, query: str, columns: Mapping[str, Sequence[str]], pairs: Iterable[set[str]]
) -> Iterator[JoinedFirst]:
    """Yield the ways to join two tables of a query before the others.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows.
    query
        The query, which is one ``SELECT``.
    columns
        Of each table those that the query needs.
    pairs
        Names of two tables each: the first is tried first.
    """
    try:
        found = _Query(connection, query, columns)
    except (KeyError, TypeError, ValueError, *errors_of_duckdb()):
        # Other versions of DuckDB may have trees of another form.
        return
    for pair in pairs:
        for way in (found.of_leaves, found.of_join):
            try:
                made = way(pair)
            except (KeyError, TypeError, ValueError, *errors_of_duckdb()):
                continue
            if made is not None:
                yield made


class _Query:
    """A query whose `FROM` is taken apart."""

    def __init__(self, connection: Any, query: str, columns: Mapping[str, Sequence[str]]) -> None:
        self.connection, self.query = connection, query
        self.tables = {name.lower(): name for name in columns}
        self.needed = {name.lower(): list(known) for name, known in columns.items()}
        self.node = parsed(connection, query)
        if self.node["type"] != "SELECT_NODE" or self.node.get("cte_map", {}).get("map"):
            raise ValueError("it is not one SELECT of tables")
        self.merged: dict[str, str] = {}
        self.leaves = {called(leaf): leaf for leaf in _leaves(self.node["from_table"])}
        if len(self.leaves) != len(list(_leaves(self.node["from_table"]))):
            raise ValueError("two tables have one name")
        self.columns = {name: self._columns(leaf) for name, leaf in self.leaves.items()}
        source = self.node["from_table"]
        self.elements, self.conditions = elements(source, _sides_of, self._links_of)
        self.conditions += conjuncts([self.node.get("where_clause")])
        self.labels = types_of(self.connection, query)

    def _columns(self, leaf: Tree) -> dict[str, str]:
        query = text_of(self.connection, {**SELECT, "from_table": leaf})
        return {name.lower(): name for name in types_of(self.connection, query)}

    def _links_of(self, join: Tree, left: list[Tree], right: list[Tree]) -> list[Tree]:
        """Return what ``USING`` says."""
        known = []
        for name in join.get("using_columns", []):
            one, other = (self._only(name.lower(), side) for side in (left, right))
            known.append(equal((one, name), (other, name)))
            self.merged.setdefault(name.lower(), one)
        return known

    def _only(self, column: str, elements: Sequence[Tree]) -> str:
        """Return the table, of some, that a column without a table is of."""
        names = [called(leaf) for each in elements for leaf in _leaves(each)]
        if self.merged.get(column) in names:
            return self.merged[column]
        (found,) = (name for name in names if column in self.columns[name])
        return found

    # -- two tables -----------------------------------------------------------------------

    def of_leaves(self, pair: set[str]) -> JoinedFirst | None:
        """Return how two tables of inner joins are joined first."""
        known = {name: each for each in self.elements if (name := table_of(each)) in pair}
        if set(known) != pair or len(pair) != 2:
            return None
        one, other = known.values()
        names = {called(one), called(other)}
        of_both = [each for each in self.conditions if self._tables_in(each) <= names]
        if not any(self._tables_in(each) == names for each in of_both):
            return None
        rest = tuple(each for each in self.conditions if not any(each is own for own in of_both))
        source = {**CROSS, "left": one, "right": other}
        remaining = [each for each in self.elements if each is not one and each is not other]
        after: Tree = _JOINED_TABLE
        for each in remaining:
            after = {**CROSS, "left": after, "right": each}
        return self._made((one, other), source, of_both, after, rest)

    def of_join(self, pair: set[str]) -> JoinedFirst | None:
        """Return how two tables that are joined in `FROM`, by any join, are joined first."""
        for join in each_node(self.node["from_table"]):
            if join.get("type") != "JOIN" or join.get("join_type") not in _JOINED:
                continue
            one, other = join["left"], join["right"]
            if {table_of(one), table_of(other)} != pair or join.get("using_columns"):
                continue
            if join.get("ref_type", "REGULAR") != "REGULAR":
                continue
            after = replaced(self.node["from_table"], partial(_in_place_of, join))
            where = tuple(conjuncts([self.node.get("where_clause")]))
            has_using = any(each.get("using_columns") for each in each_node(after))
            return None if has_using else self._made((one, other), join, [], after, where)
        return None

    def _tables_in(self, tree: Tree) -> set[str]:
        """Return what an expression is of; raises if that is not known."""
        found = set()
        for each in each_node(tree):
            if each.get("class") == "SUBQUERY":
                return set(self.leaves) | {""}
            if each.get("class") == "COLUMN_REF":
                resolved = self._resolved(each["column_names"])
                found.add("" if resolved is None else resolved[0])
        return found

    def _resolved(self, path: Sequence[str]) -> tuple[str, str, list[str]] | None:
        """Return the table and the column that a path names, and fields of it."""
        first = path[0].lower()
        if len(path) > 1 and path[1].lower() in self.columns.get(first, {}):
            return first, path[1].lower(), list(path[2:])
        if first in self.merged:
            return self.merged[first], first, list(path[1:])
        tables = [name for name, columns in self.columns.items() if first in columns]
        return (tables[0], first, list(path[1:])) if len(tables) == 1 else None

    def _made(
        self,
        pair: tuple[Tree, Tree],
        source: Tree,
        conditions: Sequence[Tree],
        after: Tree,
        where: tuple[Tree, ...],
    ) -> JoinedFirst:
        kept = pair[:1] if source.get("join_type") in ("SEMI", "ANTI") else pair
        counts = [name for columns in self.columns.values() for name in columns]
        names, items = {}, []
        for leaf in kept:
            name, needed = called(leaf), self.needed[table_of(leaf)]
            for column in needed:
                key = name, column.lower()
                is_only = counts.count(column.lower()) == 1
                names[key] = column if is_only else f"__{name}.{column}"
                items.append({**column_ref(name, column), "alias": names[key]})
        node: Tree = {**SELECT, "select_list": items, "from_table": source}
        if conditions:
            node["where_clause"] = all_of(conditions)
        one, other = (self.tables[table_of(leaf)] for leaf in pair)
        query = text_of(self.connection, node)
        return JoinedFirst((one, other), query, self, after, where, names)

    # -- the rest -------------------------------------------------------------------------

    def rest(
        self,
        name: str,
        names: Mapping[tuple[str, str], str],
        source: Tree,
        where: Sequence[Tree],
    ) -> str:
        """Return the query of what two tables give, and of the others."""
        gone = {table for table, _ in names}

        def changed(tree: Tree) -> Tree | None:
            if tree is _JOINED_TABLE:
                table: Tree = parsed(self.connection, f"SELECT * FROM {quoted(name)}")["from_table"]
                return table
            if tree.get("class") == "SUBQUERY":
                require_alone(self.connection, tree["subquery"]["node"])
                child = {"child": replaced(tree["child"], changed)} if "child" in tree else {}
                return {**tree, **child}
            if tree.get("class") != "COLUMN_REF":
                return None
            resolved = self._resolved(tree["column_names"])
            if resolved is None or resolved[0] not in gone:
                if resolved is not None and len(tree["column_names"]) == 1:
                    return {**tree, "column_names": [resolved[0], *tree["column_names"]]}
                return tree
            of, column, fields = resolved
            return {**tree, "column_names": [name, names[of, column], *fields]}

        items = [*self._items()]
        self._require_aliases(items)
        node = {**self.node, "select_list": items, "from_table": source}
        node.pop("where_clause", None)
        if where:
            node["where_clause"] = all_of(where)
        made = replaced(node, changed)
        labelled = zip(made["select_list"], self.labels, strict=True)
        made["select_list"] = [{**item, "alias": label} for item, label in labelled]
        query = text_of(self.connection, made)
        if types_of(self.connection, query) != self.labels:
            raise ValueError("other columns come out of it")
        return query

    def _items(self) -> Iterator[Tree]:
        """Yield what is selected, with all columns in place of a star."""
        for item in self.node["select_list"]:
            if item.get("class") != "STAR":
                yield item
                continue
            if set(item) - {"class", "type", *_PLAIN}:
                raise ValueError("it is not known what a star stands for")
            of = str(item.get("relation_name", "")).lower()
            if self.merged and not of:
                raise ValueError("some columns are those of two tables")
            for table in [of] if of else self.columns:
                yield from (column_ref(table, name) for name in self.columns[table].values())

    def _require_aliases(self, items: Sequence[Tree]) -> None:
        """Raise if a name that is used may be a column, and something else that is selected."""
        refs = (each for each in each_node(self.node) if each.get("class") == "COLUMN_REF")
        used = {each["column_names"][0].lower() for each in refs if len(each["column_names"]) == 1}
        known = used.intersection(name for each in self.columns.values() for name in each)
        for item in items:
            alias = str(item.get("alias", "")).lower()
            if alias not in known:
                continue
            resolved = (
                self._resolved(item["column_names"]) if item["class"] == "COLUMN_REF" else None
            )
            if resolved is None or resolved != self._resolved([alias]):
                raise ValueError(f"{alias!r} stands for two things")


_PLAIN = {"query_location", "query_location_length", "relation_name"}
_JOINED_TABLE: Tree = {"type": "BASE_TABLE", "table_name": ""}
"""Stands for what two tables give, until that has a name."""


def _in_place_of(join: Tree, tree: Tree) -> Tree | None:
    return _JOINED_TABLE if tree is join else None


def _leaves(source: Tree) -> Iterator[Tree]:
    """Yield what is joined in `FROM`."""
    if source["type"] == "JOIN":
        for side in ("left", "right"):
            yield from _leaves(source[side])
    elif source.get("sample") or source.get("column_name_alias") or not called(source):
        raise ValueError("it is not as its table is")
    elif source["type"] in ("BASE_TABLE", "SUBQUERY"):
        yield source
    else:
        raise ValueError("it is of what is no table")


def _sides_of(join: Tree) -> Sequence[str]:
    """Return the sides of an inner join."""
    if join.get("join_type", "INNER") != "INNER":
        return ()
    if join.get("ref_type", "REGULAR") not in ("REGULAR", "CROSS"):
        raise ValueError("it is joined by columns that are not named")
    return "left", "right"
