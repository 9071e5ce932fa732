"""SQL by parts: one query of each part of a table, and one of what those give.

Two tables are in parts together if rows that are joined have the same values in some columns.

DuckDB parses the query into a tree and makes text of the trees that are made of it here. Aggregates
are computed of each part, and combined by the second query, which does all that is said of groups:
``HAVING``, ``ORDER BY``, ``LIMIT``. Windows, aggregates of distinct values and aggregates that need
all rows of a group are those of the parts if rows with the same values in some column are together.
What is not known to be the same by parts is no query by parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import polars as pl

from freestone.collections.tables.lowering import may_hash
from freestone.collections.tables.sql_aggregates import kinds_of, of_parts
from freestone.collections.tables.sql_trees import (
    Tree,
    by_function,
    column_of,
    conjuncts,
    each_node,
    errors_of_duckdb,
    functions_of,
    is_function,
    is_window,
    parsed,
    require_alone,
    tables_in,
    text_of,
    unqualified,
    whole_number_of,
    with_each,
    without_alias,
    without_entries,
)

__all__ = ["PARTS", "ByParts", "by_parts"]

PARTS = "__parts"
"""The table of what the parts give, in the second query."""

_COMPUTED = frozenset(
    {
        *("BETWEEN", "CASE", "CAST", "COMPARISON", "CONJUNCTION", "CONSTANT"),
        *("FUNCTION", "OPERATOR", "TYPE"),
    }
)
_BY_KEYS = frozenset({"INNER", "LEFT", "RIGHT", "OUTER", "FULL", "SEMI", "ANTI"})
"""Joins that are those of rows with the same keys, together."""
_MODIFIERS = frozenset({"DISTINCT_MODIFIER", "LIMIT_MODIFIER", "ORDER_MODIFIER"})
_IN_ORDER = {"left": {"INNER", "LEFT", "SEMI", "ANTI"}, "right": {"INNER", "RIGHT"}}
"""Joins that are those of the parts of the table on this side, together."""


@dataclass(frozen=True)
class ByParts:
    """A query of each part, and one of all that those give; none if that is the answer."""

    part: str
    whole: str | None
    keys: tuple[tuple[str, str], ...] = ()
    """If two tables are in parts: the columns of both that are equal in rows that are joined."""
    together: tuple[str, ...] = ()
    """Columns of the table in parts: rows with the same values of them have to be in one part."""
    values: tuple[str, ...] = ()
    """Tables that the second query needs, too."""


class _NotByPartsError(Exception):
    """Some of the query needs all rows."""


def by_parts(
    connection: Any, query: str, large: Sequence[str], tables: Mapping[str, pl.DataFrame]
) -> ByParts | None:
    """Return how to answer a query by parts of a table; None if that is not known.

    Parameters
    ----------
    connection
        DuckDB's, which has the tables, without rows.
    query
        The query, which is one ``SELECT``.
    large
        The table that is in parts, or two; each call gets all of the others.
    tables
        All, without rows.
    """
    for kind in (_Query, _OfDistinctValues, _OfKeys):
        try:
            return kind(connection, query, large, tables).by_parts()
        except (_NotByPartsError, KeyError, TypeError, *errors_of_duckdb()):
            # Other versions of DuckDB may have trees of another form.
            continue
    return None


@dataclass
class _Query:
    """A query that is taken apart."""

    connection: Any
    query: str
    large: Sequence[str]
    tables: Mapping[str, pl.DataFrame]
    partials: dict[str, list[Tree]] = field(default_factory=dict)
    keys: list[tuple[str, str]] = field(default_factory=list)
    together: tuple[str, ...] = ()
    values: set[str] = field(default_factory=set)

    def by_parts(self) -> ByParts:
        """Return both queries; raises if they would not be the same as of all rows."""
        self.node = self._parsed(self.query)
        used = tables_in(self.node)
        tables = [table for name, table in self.tables.items() if name.lower() in used]
        self.names = [name.lower() for table in tables for name in table.columns]
        made = [one["alias"] for one in each_node(self.node["from_table"]) if one.get("alias")]
        self.names += [str(name).lower() for name in made]
        self.aggregates = functions_of(self.connection, "aggregate")
        # A macro may be an aggregate, too.
        known = self.aggregates | functions_of(self.connection, "scalar")
        called = [one["function_name"] for one in each_node(self.node) if is_function(one)]
        if not known.issuperset(called):
            raise _NotByPartsError
        self._check()
        self.items: list[Tree] = self.node["select_list"]
        self.aliases = {
            one["alias"].lower(): without_alias(one) for one in self.items if one.get("alias")
        }
        return self._apart()

    def _apart(self) -> ByParts:
        return self._of_groups() if self._has_groups() else self._of_rows()

    def _has_groups(self) -> bool:
        grouped = bool(self.node.get("group_expressions"))
        return grouped or self._is_aggregated(self.node) or self._takes_all_groups(self.node)

    # -- the tree -------------------------------------------------------------------------

    def _parsed(self, query: str) -> Tree:
        """Return DuckDB's tree of a ``SELECT``."""
        node = parsed(self.connection, query)
        if node["type"] != "SELECT_NODE":
            raise _NotByPartsError
        return node

    def _text(self, node: Tree) -> str:
        return text_of(self.connection, node)

    def _expression(self, text: str, alias: str = "") -> Tree:
        (found,) = self._parsed(f"SELECT {text}")["select_list"]
        return {**found, "alias": alias}

    def _check(self) -> None:
        node = self.node
        modifiers = node.get("modifiers", [])
        refused = (
            node.get("sample") or node.get("cte_map", {}).get("map"),
            not self._may_have_windows(),
            self._large_in(node) != sorted(name.lower() for name in self.large),
            not self._is_in_order(node["from_table"], node),
            any(one["type"] not in _MODIFIERS for one in modifiers),
            any(one.get("limit_type", "ROW_COUNT") != "ROW_COUNT" for one in modifiers),
        )
        if any(refused):
            raise _NotByPartsError

    def _may_have_windows(self) -> bool:
        return not self.node.get("qualify") and not any(map(is_window, each_node(self.node)))

    def _large_in(self, tree: Tree) -> list[str]:
        """Return the names of the tables in parts, as often as they are there."""
        tables = (one for one in each_node(tree) if one.get("type") == "BASE_TABLE")
        names = (str(one["table_name"]).lower() for one in tables)
        return sorted(name for name in names if name in {large.lower() for large in self.large})

    def _is_in_order(self, source: Tree, node: Tree) -> bool:
        """Tell whether what a query is of is that of the parts of the tables, together."""
        if source.get("sample") or source.get("column_name_alias"):
            return False
        if source["type"] == "SUBQUERY":
            return self._is_of_rows(source["subquery"]["node"])
        if source["type"] != "JOIN":
            return bool(self._large_in(source))
        if source.get("ref_type", "REGULAR") not in ("REGULAR", "CROSS", "NATURAL", "ASOF"):
            return False
        sides = [side for side in ("left", "right") if self._large_in(source[side])]
        kind = source.get("join_type", "INNER")
        is_nearest = source.get("ref_type") == "ASOF"
        if is_nearest and (sides == ["right"] or kind not in ("INNER", "LEFT")):
            return False
        if len(sides) > len(self.large):
            return False
        if len(sides) == 2:
            filtered = node if kind == "INNER" and not is_nearest else {}
            self.keys = [*self._keys_of(source, filtered)]
            joined = bool(self.keys) and kind in _BY_KEYS
        else:
            joined = bool(sides) and kind in _IN_ORDER[sides[0]]
        return joined and all(self._is_in_order(source[side], node) for side in sides)

    def _keys_of(self, join: Tree, node: Tree) -> Iterator[tuple[str, str]]:
        """Yield the columns of both tables in parts that a join, or a filter, says are equal."""
        names = join.get("using_columns", [])
        # The last one of an `ASOF` is that which is near.
        for name in names[:-1] if join.get("ref_type") == "ASOF" else names:
            if self.names.count(name.lower()) == 2:
                yield from self._pair([name], [name])
        for tree in conjuncts([join.get("condition"), node.get("where_clause")]):
            sides = tree.get("left", {}), tree.get("right", {})
            if tree["type"] == "COMPARE_EQUAL" and all(map(column_of, sides)):
                yield from self._pair(*(side["column_names"] for side in sides))

    def _pair(self, one: list[str], other: list[str]) -> Iterator[tuple[str, str]]:
        for pair in ((one, other), (other, one)):
            ours, theirs = map(self._column, self.large, pair)
            if ours and theirs:
                yield ours, theirs
                return

    def _column(self, table: str, path: list[str]) -> str | None:
        """Return the column of a table that a path names, if it is one of this table."""
        columns = {name.lower(): name for name in self.tables[table].columns}
        name = path[-1].lower()
        tables = [one for one in each_node(self.node) if one.get("type") == "BASE_TABLE"]
        called = {
            str(one.get("alias") or one["table_name"]).lower()
            for one in tables
            if str(one["table_name"]).lower() == table.lower()
        }
        is_of = len(path) == 2 and path[0].lower() in called
        is_only = len(path) == 1 and self.names.count(name) <= 2
        return columns.get(name) if is_of or is_only else None

    def _is_of_rows(self, node: Tree) -> bool:
        """Tell whether a query gives of all rows what it gives of parts of them, together."""
        refused = ("modifiers", "group_expressions", "sample", "qualify", "having")
        has_names = node.get("cte_map", {}).get("map")
        if node["type"] != "SELECT_NODE" or has_names or any(map(node.get, refused)):
            return False
        is_aggregated = self._is_aggregated(node["select_list"]) or self._takes_all_groups(node)
        return not is_aggregated and self._is_in_order(node["from_table"], node)

    def _key(self, tree: Any) -> str:
        """Return a text that is the same for the same expression, whoever names it, and where."""
        return json.dumps(self._plain(tree), sort_keys=True)

    def _plain(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self._plain(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        if tree.get("class") == "COLUMN_REF":
            path = [name.lower() for name in tree["column_names"]]
            is_only = self.names.count(path[-1]) == 1
            return {"column": path[-1:] if is_only else path}
        dropped = ("alias", "query_location", "query_location_length")
        return {key: self._plain(one) for key, one in tree.items() if key not in dropped}

    def _is_aggregate(self, tree: Tree) -> bool:
        return is_function(tree) and tree["function_name"] in self.aggregates

    def _is_aggregated(self, tree: Any) -> bool:
        return any(map(self._is_aggregate, each_node(tree, within=("SUBQUERY",))))

    def _takes_all_groups(self, node: Tree) -> bool:
        return bool(node.get("aggregate_handling") == "FORCE_AGGREGATES")

    # -- of groups ------------------------------------------------------------------------

    def _of_groups(self) -> ByParts:
        groups = self._groups()
        self.groups = {self._key(one): f"__g{place}" for place, one in enumerate(groups)}
        # What is asked of groups tells which aggregates of parts are needed; types come after.
        self.types: dict[str, str] = {}
        self._second([])
        columns = [{**one, "alias": f"__g{place}"} for place, one in enumerate(groups)]
        columns += [column for found in self.partials.values() for column in found]
        first: Tree = {
            **without_entries(self.node, "modifiers", "having"),
            "select_list": columns or [self._expression("1", "__g")],
            "group_expressions": groups,
            "group_sets": [list(range(len(groups)))] if groups else [],
            "aggregate_handling": "STANDARD_HANDLING",
        }
        part = self._text(first)
        described = self.connection.execute(f"DESCRIBE {part}").fetchall()
        self.types = {str(name): str(kind) for name, kind, *_ in described}
        labels = [column[0] for column in self.connection.execute(self.query).description]
        whole = self._text(self._second(labels))
        values = tuple(sorted(self.values))
        return ByParts(part, whole, tuple(self.keys), self.together, values)

    def _groups(self) -> list[Tree]:
        if self._takes_all_groups(self.node):
            found = [without_alias(one) for one in self.items if not self._is_aggregated(one)]
        else:
            found = [self._group(one) for one in self.node.get("group_expressions", [])]
        if any(one.get("class") == "STAR" or self._is_aggregated(one) for one in found):
            raise _NotByPartsError
        return found

    def _group_sets(self, groups: int) -> list[list[int]]:
        """Return the sets of groups, by their numbers: `ROLLUP`, `CUBE` and others have several."""
        if groups and not self._takes_all_groups(self.node):
            sets: list[list[int]] = self.node["group_sets"]
            return sets
        return [list(range(groups))] if groups else []

    def _group(self, tree: Tree) -> Tree:
        """Return the expression that a group is by: items may be named by number and by alias."""
        number = whole_number_of(tree)
        if number is not None:
            return without_alias(self.items[number - 1])
        name = column_of(tree)
        if name is not None and name not in self.names:
            return self.aliases.get(name, without_alias(tree))
        return without_alias(tree)

    def _second(self, labels: Sequence[str]) -> Tree:
        """Return the query of what the parts give."""
        items = [self._of_parts(one, named=False) for one in self.items]
        if labels:
            items = [{**one, "alias": label} for one, label in zip(items, labels, strict=True)]
        source = self._parsed(f'SELECT 1 FROM "{PARTS}"')["from_table"]
        groups = [self._expression(f'"{name}"') for name in self.groups.values()]
        made: Tree = {
            **without_entries(self.node, "where_clause", "having", "modifiers"),
            "select_list": items,
            "from_table": source,
            "group_expressions": groups,
            "group_sets": self._group_sets(len(groups)),
            "aggregate_handling": "STANDARD_HANDLING",
            "modifiers": [self._modifier(one) for one in self.node.get("modifiers", [])],
        }
        if "having" in self.node:
            made["having"] = self._of_parts(self.node["having"], named=True)
        return made

    def _modifier(self, modifier: Tree) -> Tree:
        return with_each(modifier, self._ordering)

    def _ordering(self, tree: Tree) -> Tree:
        is_place = whole_number_of(tree) is not None or not set(tree) - {"class", "type", "columns"}
        found: Tree = tree if is_place else self._of_parts(tree, named=True)
        return found

    def _of_parts(self, tree: Any, *, named: bool) -> Any:
        """Return an expression of groups in terms of what the parts give."""
        if isinstance(tree, list):
            return [self._of_parts(one, named=named) for one in tree]
        if not isinstance(tree, dict):
            return tree
        alias, key, name = tree.get("alias", ""), self._key(tree), column_of(tree)
        is_alias = named and name in self.aliases and len(tree["column_names"]) == 1
        if key in self.groups:
            if is_alias and self._key(self.aliases[name or ""]) != key:
                raise _NotByPartsError
            return self._typed(f'"{self.groups[key]}"', self.groups[key], alias)
        if is_alias:
            return tree
        if tree.get("type") == "GROUPING_FUNCTION":
            return {**tree, "children": [self._group_of_parts(one) for one in tree["children"]]}
        if tree.get("class") == "SUBQUERY":
            self._note_values(tree["subquery"]["node"])
            child = {"child": self._of_parts(tree["child"], named=named)} if "child" in tree else {}
            return {**tree, **child}
        if "class" in tree and tree["class"] not in _COMPUTED:
            raise _NotByPartsError
        if self._is_aggregate(tree):
            return self._combined(tree, key, alias)
        return {word: self._of_parts(one, named=named) for word, one in tree.items()}

    def _group_of_parts(self, tree: Tree) -> Tree:
        return self._expression(f'"{self.groups[self._key(tree)]}"')

    def _note_values(self, node: Tree) -> None:
        """Note the tables of a query that names nothing outside of it, and none in parts."""
        if self._large_in(node):
            raise _NotByPartsError
        require_alone(self.connection, node)
        named = tables_in(node)
        self.values |= {name for name in self.tables if name.lower() in named}

    def _combined(self, tree: Tree, key: str, alias: str) -> Tree:
        """Return an aggregate as one of the aggregates of parts."""
        name = tree["function_name"]
        given = tree.get("arguments") or tree.get("children") or []
        is_plain = not tree["order_bys"].get("orders") and len(given) <= 1
        if not (is_plain and self._may_combine(tree)):
            raise _NotByPartsError
        kinds = kinds_of(name)
        if key not in self.partials:
            first = sum(map(len, self.partials.values()))
            self.partials[key] = [
                by_function(tree, kind, f"__a{first + at}") for at, kind in enumerate(kinds)
            ]
        columns = [one["alias"] for one in self.partials[key]]
        return self._expression(of_parts(name, columns, self._cast), alias)

    def _may_combine(self, aggregate: Tree) -> bool:
        return not aggregate.get("distinct")

    def _typed(self, text: str, column: str, alias: str) -> Tree:
        return self._expression(self._cast(text, column), alias)

    def _cast(self, text: str, column: str) -> str:
        """Give a column of the parts the type again that it has in DuckDB."""
        kind = self.types.get(column)
        return text if kind is None else f"CAST({text} AS {kind})"

    # -- of rows --------------------------------------------------------------------------

    def _of_rows(self) -> ByParts:
        modifiers = self.node.get("modifiers", [])
        if not modifiers:
            return ByParts(self._text(self.node), None, tuple(self.keys), self.together)
        labels = {one[0].lower() for one in self.connection.execute(self.query).description}
        # What rows are put in order by, and is none of the columns that come out.
        hidden: dict[str, Tree] = {}
        shown = partial(self._shown, labels, hidden)
        after = [with_each(one, shown) for one in modifiers]
        names = ", ".join(hidden)
        star = f"* EXCLUDE ({names})" if hidden else "*"
        whole = {**self._parsed(f'SELECT {star} FROM "{PARTS}"'), "modifiers": after}
        # Of each part as many rows as are left at most, those that are skipped among them.
        first = [self._first_rows(one) for one in modifiers]
        items = [*self.items, *hidden.values()]
        part = self._text({**self.node, "select_list": items, "modifiers": first})
        return ByParts(part, self._text(whole), tuple(self.keys), self.together)

    def _shown(self, labels: set[str], hidden: dict[str, Tree], tree: Tree) -> Tree:
        """Return what rows are put in order by as one of the columns that the parts give."""
        is_all = tree.get("class") == "STAR"
        if is_all or whole_number_of(tree) is not None:
            return tree
        if self._is_label(tree, labels):
            return unqualified(tree)
        for place, item in enumerate(self.items, 1):
            is_column = column_of(tree) is not None
            if not is_column and not self._has_stars() and self._key(item) == self._key(tree):
                return self._expression(str(place))
        return self._expression(self._hidden(hidden, tree))

    def _hidden(self, hidden: dict[str, Tree], tree: Tree) -> str:
        """Return the name of a column more that the parts give; DuckDB adds one, too."""
        modifiers = self.node.get("modifiers", [])
        is_distinct = any(
            one["type"] == "DISTINCT_MODIFIER" and not one.get("distinct_on_targets")
            for one in modifiers
        )
        if is_distinct or self._takes_all_groups(self.node):
            # It would make other rows, or other groups.
            raise _NotByPartsError
        for name, known in hidden.items():
            if self._key(known) == self._key(tree):
                return name
        name = f"__o{len(hidden)}"
        hidden[name] = {**tree, "alias": name}
        return name

    def _has_stars(self) -> bool:
        return any(one.get("class") == "STAR" for one in self.items)

    def _is_label(self, tree: Tree, labels: set[str]) -> bool:
        """Tell whether rows are put in order by one of the columns that come out."""
        name = column_of(tree)
        if name not in labels:
            return False
        if len(tree["column_names"]) == 1:
            return True
        is_all = all(one.get("class") == "STAR" for one in self.items)
        shown = [one for one in self.items if (one.get("alias") or column_of(one)) == name]
        same = bool(shown) and all(self._key(one) == self._key(tree) for one in shown)
        return same or (is_all and self.names.count(name) == 1)

    def _first_rows(self, modifier: Tree) -> Tree:
        if "limit" not in modifier and "offset" not in modifier:
            return modifier
        limit, offset = (modifier.get(word) for word in ("limit", "offset"))
        if limit is None:
            return {**without_entries(modifier, "offset"), "limit": None}
        count = whole_number_of(limit), 0 if offset is None else whole_number_of(offset)
        if None in count:
            raise _NotByPartsError
        total = self._expression(str(sum(one or 0 for one in count)))
        return {**without_entries(modifier, "offset"), "limit": total}


class _OfKeys(_Query):
    """A query of groups, or with windows, whose rows are together by columns of all their keys."""

    def _may_have_windows(self) -> bool:
        return True

    def _apart(self) -> ByParts:
        self.together = self._columns_of_all()
        return self._of_rows()

    def _columns_of_all(self) -> tuple[str, ...]:
        """Return the columns of the table in parts that are among the keys of all that has keys."""
        if len(self.large) > 1:
            raise _NotByPartsError
        keys = [one.get("partitions", []) for one in each_node(self.node) if is_window(one)]
        if self._has_groups():
            groups = self._groups()
            sets = self._group_sets(len(groups)) or [[]]
            keys += [[groups[place] for place in one] for one in sets]
        found = [{name for one in each if (name := self._own_column(one))} for each in keys]
        common = set.intersection(*found) if found else set()
        if not common:
            raise _NotByPartsError
        return tuple(sorted(common))

    def _own_column(self, tree: Tree) -> str | None:
        """Return the column of the table in parts that an expression is."""
        name = column_of(tree)
        if name is None or self.names.count(name) != 1:
            return None
        schema = self.tables[self.large[0]].schema
        known = [each for each, kind in schema.items() if may_hash(kind)]
        return {each.lower(): each for each in known}.get(name)


class _OfDistinctValues(_OfKeys):
    """A query of groups with aggregates of the distinct values of one column, each in one part."""

    def _may_have_windows(self) -> bool:
        return _Query._may_have_windows(self)

    def _apart(self) -> ByParts:
        self.together = self._columns_of_all()
        return self._of_groups()

    def _columns_of_all(self) -> tuple[str, ...]:
        found = {self._only_column(one) for one in each_node(self.node) if self._is_distinct(one)}
        # Of the distinct values of groups there are none for larger ones.
        has_sets = len(self.node.get("group_sets", [])) > 1
        if len(self.large) > 1 or len(found) != 1 or None in found or has_sets:
            raise _NotByPartsError
        return tuple(name for name in found if name is not None)

    def _is_distinct(self, tree: Tree) -> bool:
        return self._is_aggregate(tree) and bool(tree.get("distinct"))

    def _only_column(self, aggregate: Tree) -> str | None:
        (argument,) = aggregate["arguments"]
        return self._own_column(argument["expression"])

    def _may_combine(self, aggregate: Tree) -> bool:
        return True
