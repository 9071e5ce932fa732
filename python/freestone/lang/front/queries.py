"""The text of SQL queries: as DuckDB takes them, and which labels their results have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

__all__ = ["divides", "expanded", "in_input_order", "labels_of", "translated"]

_QUOTED = r"'(?:[^'\\]|''|\\.)*'" r'|"(?:[^"\\]|""|\\.)*"'
_TEXT = re.compile(_QUOTED, re.DOTALL)
_ESCAPE = re.compile(r"\\([bfnrt\"'\\])")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BLANKS = re.compile(rf"({_QUOTED})|(?<!\w)\s+|\s+(?!\w)", re.DOTALL)
_PIECE = re.compile(rf"{_QUOTED}|[()]|\w+|\s+|.", re.DOTALL)
_NAME = r"(?:\w+|\"(?:[^\"]|\"\")*\")"
_LABEL = re.compile(rf"\s*({_NAME})(?:\s*\.\s*({_NAME}))?\s*")
_ALIAS = re.compile(rf".*[\s)]({_NAME})\s*", re.DOTALL)


UNORDERED = frozenset({"order", "distinct", "union", "except", "intersect", "rollup", "cube"})
UNORDERED |= {"grouping"}
"""Words of queries whose groups can't be put in order by their keys, or are so already."""


GROUPING = frozenset({"group", "distinct", "union", "except", "intersect"})
"""Words of queries whose rows are none of their tables."""
AFTER_TABLES = frozenset({"where", "group", "having", "order", "limit", "offset", ";"})
NO_ALIASES = AFTER_TABLES | {"join", "inner", "left", "right", "full", "cross", "natural", "on"}
NO_ALIASES |= {"using", "semi", "anti", "outer", "positional", "asof"}
MERGING = frozenset({"using", "natural", "semi", "anti", "union", "except", "intersect"})
"""Words of queries in which a star stands for something else than all columns of all tables."""
_STAR = re.compile(rf"\s*(?:({_NAME})\s*\.\s*)?\*\s*")
_SELECT = re.compile(r"\s*select\s+(?:distinct\s+)?", re.IGNORECASE)
_AGGREGATE = re.compile(r"\b(sum|count|avg|min|max)\s*\(", re.IGNORECASE)


def translated(query: str) -> str:
    r"""Return a query for DuckDB: texts may be in double quotes, and groups are in order.

    Examples
    --------
    >>> translated('SELECT f.a FROM f WHERE f.b = "it\'s"')
    "SELECT f.a FROM f WHERE f.b = 'it\'\'s'"
    """
    return _ordered(_by_alias(_TEXT.sub(_as_text, query)))


def expanded(query: str, columns: Mapping[str, Sequence[str]]) -> str:
    """Write out the columns that the stars of a query stand for: of groups, they are the keys.

    Examples
    --------
    >>> expanded("SELECT * FROM f, g", {"f": ["a", "b c"], "g": ["a"]})
    'SELECT f.a, f."b c", g.a FROM f, g'
    >>> expanded("SELECT *, SUM(b) FROM f GROUP BY a", {"f": ["a", "b"]})
    'SELECT a, SUM(b) FROM f GROUP BY a'
    """
    clauses, tables = _clauses(query), _tables(query)
    known = all(name in columns for name, _ in tables)
    if not tables or not known or not MERGING.isdisjoint(clauses):
        return query
    every = [(alias, f"{alias}.{_name(at)}") for name, alias in tables for at in columns[name]]
    others = {name: alias for name, alias in tables}
    chosen = every
    if "group" in clauses:
        begin, end = clauses["group"], _end_of_keys(query, clauses)
        word = re.match(r"\s*group\s+by\s+", query[begin:], re.IGNORECASE)
        if word is not None:
            keys = _written(_split(query[begin + word.end() : end]), every, others)
            chosen = [(key.partition(".")[0].strip(), key.strip()) for key in keys]
            query = f"{query[:begin]}{word.group()}{','.join(keys)}{query[end:]}"
    items = _items(query)
    select = _SELECT.match(query)
    if select is None or not any(_STAR.fullmatch(item) for item in items):
        return query
    made = ", ".join(item.strip() for item in _written(items, chosen, others))
    return f"{select.group()}{made} {query[_clauses(query)['from'] :]}"


def _written(
    items: list[str], columns: list[tuple[str, str]], others: Mapping[str, str]
) -> list[str]:
    """Return what is selected, with the columns of tables in the place of stars."""
    found = []
    for item in items:
        star = _STAR.fullmatch(item)
        if star is None:
            found.append(item)
        else:
            table = others.get(star.group(1), star.group(1))
            found += [column for alias, column in columns if table in (None, alias)]
    return found


def _name(label: str) -> str:
    """Return a label as a query may write it."""
    if re.fullmatch(r"[A-Za-z_]\w*", label):
        return label
    return '"' + label.replace('"', '""') + '"'


def divides(query: str) -> bool:
    """Tell whether a query divides: of whole numbers, that depends on a setting of DuckDB."""
    return "/" in _TEXT.sub("", query)


def in_input_order(query: str) -> str:
    """Return a translated query whose rows are in the order of the rows of its tables.

    It reads the row ids of tables; views have none. A query that groups its rows, or whose tables
    are not plain names, stays as it is.

    Examples
    --------
    >>> in_input_order("SELECT x.a, y.b FROM x JOIN y ON x.a = y.a")
    'SELECT x.a, y.b FROM x JOIN y ON x.a = y.a ORDER BY x.rowid, y.rowid'
    >>> in_input_order("SELECT f.a FROM f")
    'SELECT f.a FROM f'
    """
    clauses, tables = _clauses(query), _tables(query)
    sorts = "order" in clauses
    if not GROUPING.isdisjoint(clauses) or len(tables) < 2 - sorts:
        return query
    if _AGGREGATE.search(_TEXT.sub("", query)):
        return query
    end = _end(query, clauses)
    keys = ", ".join(f"{alias}.rowid" for _, alias in tables)
    return f"{query[:end].rstrip()}{',' if sorts else ' ORDER BY'} {keys} {query[end:]}".rstrip()


def _by_alias(query: str) -> str:
    """Have columns of a table that has another name in this query be found by both names."""
    tables = _tables(query)
    known = {alias for _, alias in tables}
    names = [name for name, _ in tables]
    others = {n: a for n, a in tables if n not in known and names.count(n) == 1}
    pieces = [piece.group() for piece in _PIECE.finditer(query)]
    for at, piece in enumerate(pieces[:-1]):
        if piece in others and pieces[at + 1] == "." and pieces[at - 1] != ".":
            pieces[at] = others[piece]
    return "".join(pieces)


def _tables(query: str) -> list[tuple[str, str]]:
    """Return the tables of a query, and what it calls them; none where they are queries."""
    begin = _clauses(query).get("from")
    if begin is None:
        return []
    words = [piece.group() for piece in _PIECE.finditer(query[begin:]) if piece.group().strip()]
    found: list[tuple[str, str]] = []
    for at, word in enumerate(words[:-1]):
        if word.lower() in AFTER_TABLES:
            break
        if word == "," or word.lower() in ("from", "join"):
            if not re.fullmatch(_NAME, words[at + 1]):
                return []
            found.append((words[at + 1], _alias_at(words, at + 2)))
    return found


def _alias_at(words: list[str], at: int) -> str:
    """Return what a table is called whose name is right before a word."""
    if words[at : at + 1] and words[at].lower() == "as":
        at += 1
    is_name = at < len(words) and re.fullmatch(_NAME, words[at])
    return words[at] if is_name and words[at].lower() not in NO_ALIASES else words[at - 1]


def _as_text(found: re.Match[str]) -> str:
    text, before = found.group(), found.string[: found.start()].rstrip()
    # After these it can only be a name.
    is_name = before.endswith(".") or re.search(r"\bas$", before, re.IGNORECASE)
    if is_name:
        return text
    mark = text[0]
    inner = _ESCAPE.sub(_unescaped, text[1:-1].replace(2 * mark, mark)).replace("'", "''")
    # What is left of backslashes are characters of the text.
    return f"E'{inner.replace(chr(92), 2 * chr(92))}'" if "\\" in inner else f"'{inner}'"


def _unescaped(found: re.Match[str]) -> str:
    return _ESCAPED.get(found.group(1), found.group(1))


def _ordered(query: str) -> str:
    """Put groups in the order of their keys, where the query says no order."""
    clauses = _clauses(query)
    if "distinct" in clauses and clauses.keys().isdisjoint(UNORDERED - {"distinct"}):
        end = _end(query, clauses)
        return f"{query[:end].rstrip()} ORDER BY ALL {query[end:]}".rstrip()
    if "group" not in clauses or not UNORDERED.isdisjoint(clauses):
        return query
    begin, end = clauses["group"], _end(query, clauses)
    keys = re.sub(
        r"^\s*group\s+by", "", query[begin : _end_of_keys(query, clauses)], flags=re.IGNORECASE
    )
    return f"{query[:end].rstrip()} ORDER BY {keys.strip()} {query[end:]}"


def _end_of_keys(query: str, clauses: dict[str, int]) -> int:
    """Return where the keys of the groups of a query end."""
    behind = [clauses[word] for word in ("having", "qualify", "window", "order") if word in clauses]
    return min([*behind, _end(query, clauses)])


def _end(query: str, clauses: dict[str, int]) -> int:
    """Return where a query can be put in order."""
    return clauses.get("limit", clauses.get("offset", clauses.get(";", len(query))))


def _clauses(query: str) -> dict[str, int]:
    """Return where the words of a query that are in no brackets first stand."""
    found: dict[str, int] = {}
    depth = 0
    for piece in _PIECE.finditer(query):
        depth += (piece.group() == "(") - (piece.group() == ")")
        if depth == 0:
            found.setdefault(piece.group().lower(), piece.start())
    return found


def labels_of(query: str, names: list[str]) -> list[str]:
    """Return the labels of a result: those that a query gives, or else what it asks for.

    `names` are those of DuckDB; what stands for several columns has theirs.

    Raises
    ------
    ValueError
        If two columns have the same label.
    """
    items = _items(query)
    stars = [
        at for at, item in enumerate(items) if re.fullmatch(r"(.*\.)?\s*\*.*", item, re.DOTALL)
    ]
    labels = names
    if not stars and len(items) == len(names):
        labels = list(map(_label, items, names))
    elif len(stars) == 1:
        (at,) = stars
        end = len(names) - (len(items) - at - 1)
        before, behind = map(_label, items[:at], names), map(_label, items[at + 1 :], names[end:])
        labels = [*before, *names[at:end], *behind]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"SQL: two columns have the label {label!r}: write {label} AS ...")
    return labels


def _label(item: str, name: str) -> str:
    """Return the label of what is selected, which DuckDB gives a name."""
    alone = _LABEL.fullmatch(item)
    if alone is not None:
        return ".".join(_bare(part) for part in alone.groups() if part is not None)
    alias = _ALIAS.fullmatch(item)
    if alias is not None and _bare(alias.group(1)) == name:
        return name
    return _BLANKS.sub(lambda found: found.group(1) or "", item)


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[0] == '"' else name


def _items(query: str) -> list[str]:
    """Return what a query selects."""
    return _split(_SELECT.sub("", query, count=1))


def _split(text: str) -> list[str]:
    """Return the parts of a list, up to the tables of the query."""
    items, depth, current = [], 0, ""
    for found in _PIECE.finditer(text):
        piece = found.group()
        depth += (piece == "(") - (piece == ")")
        if depth == 0 and piece.lower() in ("from", ";"):
            break
        if piece == "," and depth == 0:
            items.append(current)
            current = ""
        else:
            current += piece
    return [*items, current]
