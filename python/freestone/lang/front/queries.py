"""The text of SQL queries: as DuckDB takes them, and which labels their results have."""

from __future__ import annotations

import re

__all__ = ["labels_of", "translated"]

_QUOTED = r"'(?:[^']|'')*'" r'|"(?:[^"]|"")*"'
_TEXT = re.compile(_QUOTED)
_PIECE = re.compile(rf"{_QUOTED}|[()]|\w+|\s+|.", re.DOTALL)
_NAME = r"(?:\w+|\"(?:[^\"]|\"\")*\")"
_LABEL = re.compile(rf"\s*({_NAME})(?:\s*\.\s*({_NAME}))?\s*")
_ALIAS = re.compile(rf".*[\s)]({_NAME})\s*", re.DOTALL)


UNORDERED = frozenset({"order", "distinct", "union", "except", "intersect", "rollup", "cube"})
UNORDERED |= {"grouping"}
"""Words of queries whose groups can't be put in order by their keys, or are so already."""


def translated(query: str) -> str:
    r"""Return a query for DuckDB: texts may be in double quotes, and groups are in order.

    Examples
    --------
    >>> translated('SELECT f.a FROM f WHERE f.b = "it\'s"')
    "SELECT f.a FROM f WHERE f.b = 'it\'\'s'"
    """
    return _ordered(_TEXT.sub(_as_text, query))


def _as_text(found: re.Match[str]) -> str:
    text, before = found.group(), found.string[: found.start()].rstrip()
    # After these it can only be a name.
    is_name = before.endswith(".") or re.search(r"\bas$", before, re.IGNORECASE)
    if text[0] == "'" or is_name:
        return text
    inner = text[1:-1].replace('""', '"').replace("'", "''")
    return f"'{inner}'"


def _ordered(query: str) -> str:
    """Put groups in the order of their keys, where the query says no order."""
    clauses = _clauses(query)
    if "group" not in clauses or not UNORDERED.isdisjoint(clauses):
        return query
    begin = clauses["group"]
    ends = [clauses[word] for word in ("having", "qualify", "window") if word in clauses]
    end = clauses.get("limit", clauses.get("offset", clauses.get(";", len(query))))
    keys = re.sub(r"^\s*group\s+by", "", query[begin : min([*ends, end])], flags=re.IGNORECASE)
    return f"{query[:end].rstrip()} ORDER BY {keys.strip()} {query[end:]}"


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
    return name if alias is not None and _bare(alias.group(1)) == name else item.strip()


def _bare(name: str) -> str:
    return name[1:-1].replace('""', '"') if name[0] == '"' else name


def _items(query: str) -> list[str]:
    """Return what a query selects."""
    items, depth, current = [], 0, ""
    rest = re.sub(r"^\s*select\s+(distinct\s+)?", "", query, flags=re.IGNORECASE)
    for piece in _PIECE.finditer(rest):
        text = piece.group()
        depth += (text == "(") - (text == ")")
        if depth == 0 and text.lower() in ("from", ";"):
            break
        if text == "," and depth == 0:
            items.append(current)
            current = ""
        else:
            current += text
    return [*items, current]
