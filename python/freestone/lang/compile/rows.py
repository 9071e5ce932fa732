"""How an operation works on some rows of all: which operands it takes by rows, and what it gives.

Its operands are taken by ``"rows"``, the rows of the strip, or ``"whole"``; what is reversed, by
the rows of the strip that is ``"mirrored"``; what is put ``"above"`` or ``"below"`` something else,
by those rows of the strip that come of it. A result is rows as well, or a part of a ``"sum"``, a
``"min"`` or a ``"max"``; rows that a filter ``"kept"``, however many there are in a strip; rows
that are ``"placed"`` among those that an index chooses; the ``"first"`` places of extremes; or the
``"distinct"`` cells of a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from freestone.lang.compile.expanding import expanded
from freestone.lang.compile.roles import ROWS, WHOLE, Shape, roles_of
from freestone.lang.front.graph.graph import Op, Value

__all__ = ["BY_ROWS", "ENDS", "KEPT", "PLACED", "Member", "bases_of", "members_of", "shape_of"]

MIRRORED, ABOVE, BELOW = "mirrored", "above", "below"
KEPT, PLACED, FIRST, DISTINCT = "kept", "placed", "first", "distinct"
BY_ROWS = (ROWS, KEPT)
"""Results of which a strip has its rows."""
ENDS = frozenset({"append_rows", "print_rows", "chosen_rows", "first_places"})
"""What is done strip by strip only where the rows are not there as a whole."""
FILES = frozenset({".csv", ".dbdf", ".npy"})
"""Files of which some rows can be read, or written, at a time."""
_OF_KEPT = frozenset({"unary", "binary", "cast", "choose", "cbind", "matmul", "index", "cumulate"})
_OF_KEPT |= {"agg_all", "agg_row", "agg_col", "syrk", "gemv", "cross", "sum_product"}
_OF_KEPT |= {"filter_rows", "shape", "print", "index_row", "index_col", "reverse"}
_OF_KEPT |= {"bin", "finite_end", "distinct", "encode"}
"""Operations that take the rows that a filter kept, though a strip may have none."""
SMALL = 16
"""What has so many times fewer rows than what it is put above, or below, is not cut."""

Paths = frozenset[str] | None
"""The files that a script writes; None if they are not known."""


@dataclass(frozen=True)
class Kept:
    """What tells rows that a filter kept from those of another one: its bits, and of how many."""

    bits: Value
    base: int


@dataclass(frozen=True)
class Member:
    """An operation that works on the rows of a strip.

    Parameters
    ----------
    op : Op
        The operation.
    operands : tuple of Value
        What it takes.
    roles : tuple of str
        For each operand, ``"rows"``, ``"whole"``, ``"mirrored"``, ``"above"`` or ``"below"``.
    ways : tuple of str
        For each result, ``"rows"``, ``"sum"``, ``"min"``, ``"max"``, ``"kept"``, ``"placed"``,
        ``"first"`` or ``"distinct"``.
    kind : str
        What is done in a strip: the operation's own kind, or one of the strips' kernels, such as
        ``"rows"`` for what makes matrices of nothing.
    base : int
        The rows of what its strips are cut from.
    """

    op: Op
    operands: tuple[Value, ...]
    roles: tuple[str, ...]
    ways: tuple[str, ...]
    kind: str
    base: int = 0

    @property
    def whole(self) -> list[Value]:
        """The operands that are taken as a whole, without constants."""
        return [value for value, role in self._taken if role == WHOLE]

    @property
    def cut(self) -> list[Value]:
        """The operands of which some rows are taken."""
        return [value for value, role in self._taken if role != WHOLE]

    @property
    def _taken(self) -> list[tuple[Value, str]]:
        pairs = zip(self.operands, self.roles, strict=True)
        return [(value, role) for value, role in pairs if value.const is None]


def members_of(
    ops: Sequence[Op], bases: Mapping[int, int], paths: Paths
) -> dict[Op, Member | None]:
    """Tell how operations work on strips of rows; None for those that can't.

    Parameters
    ----------
    ops : sequence of Op
        The operations of a block, in order.
    bases : mapping
        The numbers of rows that are cut, as `bases_of` tells them.
    paths : frozenset of str or None
        The files that the script writes; None if they are not known.

    Returns
    -------
    dict
        The operations, in order; some are replaced by others that work on strips.
    """
    kept: dict[Value, Kept] = {}
    ordered: set[Value] = set()
    found: dict[Op, Member | None] = {}
    for op in (made for each in ops for made in expanded(each, bases, kept)):
        member = _of_kept(op, kept)
        for height in bases:
            member = member or _member_of(op, height, bases, paths)
        if member is not None and MIRRORED in member.roles and op.operands[0] in ordered:
            member = None
        found[op] = member
        if member is None:
            continue
        if member.kind == "cumulate_rows" or not ordered.isdisjoint(member.cut):
            ordered.update(op.results)
        if KEPT in member.ways:
            kept[op.results[0]] = _kept_by(member, kept)
    return found


def _kept_by(member: Member, kept: Mapping[Value, Kept]) -> Kept:
    op = member.op
    if op.kind == "filter_rows":
        return Kept(op.operands[1], member.base)
    if op.kind == "reverse":
        return Kept(op.results[0], member.base)
    return next(kept[value] for value in op.operands if value in kept)


def bases_of(ops: Sequence[Op], rows: int) -> dict[int, int]:
    """Return the numbers of rows that are cut where matrices of `rows` are, and with what each is.

    Multiples of rows that matrices are reshaped to and from are cut at the same rows; what is put
    above or below something else has strips of its own.
    """
    bases = {rows: rows}
    while True:
        more = {each: base for op in ops for each, base in _near(op, bases)}
        if not more:
            return bases
        bases |= more


def _near(op: Op, bases: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return numbers of rows that are cut if those of an operation are, and with what."""
    if op.kind not in ("reshape", "rbind"):
        return []
    # 0 for what is not known, which is never cut.
    given, made = [value.type.rows or 0 for value in op.operands], op.results[0].type.rows or 0
    if op.kind == "rbind":
        if bases.get(made) != made:
            return []
        large = [side for side in given if side > 1 and SMALL * side >= made]
        return [(side, side) for side in large if side not in bases]
    return [
        (one, bases[other])
        for one, other in ((given[0], made), (made, given[0]))
        if one and one not in bases and other in bases and one % bases[other] == 0
    ]


def _member_of(op: Op, rows: int, bases: Mapping[int, int], paths: Paths) -> Member | None:
    """Tell how an operation works on strips of matrices of so many rows, or None if it can't."""
    if op.kernel is not None or any(value.type.coo for value in (*op.operands, *op.results)):
        return None
    base = bases[rows]
    if _is_source(op, rows, paths):
        return Member(op, tuple(op.operands), (WHOLE,) * len(op.operands), (ROWS,), "rows", base)
    found = _formed(op, rows, bases) if op.kind in _FORMS else None
    if found is None and op.kind == "rbind":
        found = _below_each_other(op, rows, bases)
    if found is None:
        found = _pipeline(op, rows) if op.kind == "pipeline" else _alone(op, rows)
    if found is None or all(role == WHOLE for role in found.roles):
        return None
    for value, way in zip(op.results, found.ways, strict=True):
        if way == ROWS and value.type.rows != rows:
            return None
        if way in BY_ROWS and value.type.columns is None:
            return None
    return replace(found, base=base)


def _below_each_other(op: Op, rows: int, bases: Mapping[int, int]) -> Member | None:
    """Take those rows of both sides that a strip has, or all of a side that is small."""
    sides = [value.type for value in op.operands]
    if op.results[0].type.data != "matrix" or any(side.form or not side.columns for side in sides):
        return None
    if op.results[0].type.rows != rows or bases[rows] != rows:
        return None
    if any(not side.rows or bases.get(side.rows, side.rows) != side.rows for side in sides):
        return None
    return Member(op, tuple(op.operands), (ABOVE, BELOW), (ROWS,), "rbind")


def _of_kept(op: Op, kept: Mapping[Value, Kept]) -> Member | None:
    """Tell how an operation works on rows that a filter kept."""
    filters = {kept[value] for value in op.operands if value in kept}
    if len(filters) != 1:
        return None
    if op.kernel is not None or op.kind not in _OF_KEPT or any(v.type.coo for v in op.operands):
        return None
    base = filters.pop().base
    if op.kind in _FORMS_OF_KEPT:
        kind, role, way = _FORMS_OF_KEPT[op.kind]
        roles = (role, *(WHOLE for _ in op.operands[1:]))
        return Member(op, tuple(op.operands), roles, (way,), kind, base)
    found = roles_of(op, [shape_of(value) for value in op.operands], None)
    if found is None:
        return None
    pairs = zip(op.operands, found.operands, strict=True)
    if any(role == ROWS and value not in kept for value, role in pairs):
        return None
    way = KEPT if found.result == ROWS else found.result
    # A strip of which nothing is left has no least cell.
    is_extreme = way in ("min", "max") and op.kind != "finite_end"
    kind = "extremes_of_kept" if is_extreme else op.kind
    return Member(op, tuple(op.operands), found.operands, (way,), kind, base)


def _alone(op: Op, rows: int) -> Member | None:
    if op.regions or len(op.results) != 1:
        return None
    if op.kind == "ctable" and None in shape_of(op.results[0]):
        return None
    roles = roles_of(op, [shape_of(value) for value in op.operands], rows)
    if roles is None:
        return None
    way = KEPT if op.kind == "filter_rows" else roles.result
    return Member(op, tuple(op.operands), roles.operands, (way,), op.kind)


def _pipeline(op: Op, rows: int) -> Member | None:
    """Ask all operations of a pipeline; it takes each operand in one way."""
    taken: dict[Value, str] = {}
    ways: dict[Value, str] = {}
    for inner in op.regions[0].ops:
        roles = roles_of(inner, [shape_of(value) for value in inner.operands], rows)
        if roles is None:
            return None
        for value, role in zip(inner.operands, roles.operands, strict=True):
            if value.const is not None:
                continue
            if value in ways:
                if role != ROWS or ways[value] != ROWS:
                    return None
            elif taken.setdefault(value, role) != role:
                return None
        ways[inner.results[0]] = roles.result
    roles_found = tuple(taken.get(value, WHOLE) for value in op.operands)
    ways_found = tuple(ways[value] for value in op.results)
    return Member(op, tuple(op.operands), roles_found, ways_found, "pipeline")


_FORMS = {
    "write": ("append_rows", ROWS, WHOLE),
    "print": ("print_rows", ROWS, WHOLE),
    "index": ("chosen_rows", ROWS, PLACED),
    "index_col": ("first_places", ROWS, FIRST),
    "distinct": ("distinct_in_strip", ROWS, DISTINCT),
    "cumulate": ("cumulate_rows", ROWS, ROWS),
    "reshape": ("reshape_rows", ROWS, ROWS),
    "reverse": ("reverse", MIRRORED, ROWS),
}
"""What is done otherwise in a strip than with all rows, what it takes, and what its result is."""
_FORMS_OF_KEPT = {
    "print": ("print_rows", ROWS, WHOLE),
    "cumulate": ("cumulate_rows", ROWS, KEPT),
    "shape": ("shape", ROWS, "sum"),
    "index_col": ("first_places", ROWS, FIRST),
    "distinct": ("distinct_in_strip", ROWS, DISTINCT),
    "reverse": ("reverse", MIRRORED, KEPT),
}


def _formed(op: Op, rows: int, bases: Mapping[int, int]) -> Member | None:
    """Take the rows of the first operand; they have to be dense, but for printing."""
    type, result = op.operands[0].type, op.results[0].type
    if type.data != "matrix" or not type.columns or type.cell == "str":
        return None
    if type.form and op.kind != "print":
        return None
    fits = type.rows == rows
    if op.kind == "reshape":
        fits = result.rows == rows and bool(result.columns)
        fits = fits and bases.get(type.rows or 0) == bases[rows]
    elif op.kind == "index":
        fits = fits and op.attrs["kinds"][0] != "all"
    elif op.kind == "write":
        fits = fits and type.cell != "bool" and _is_here(op.operands[1].const)
    if not fits:
        return None
    kind, role, way = _FORMS[op.kind]
    return Member(op, tuple(op.operands), (role, *(WHOLE for _ in op.operands[1:])), (way,), kind)


def _is_here(path: object) -> bool:
    """Tell whether a file is of this machine, and in rows."""
    return isinstance(path, str) and "://" not in path and Path(path).suffix in FILES


def _is_source(op: Op, rows: int, paths: Paths) -> bool:
    """Tell whether an operation makes a matrix of nothing, and could make some of its rows."""
    if len(op.results) != 1:
        return False
    type = op.results[0].type
    if type.data != "matrix" or type.rows != rows or type.columns is None or type.cell == "str":
        return False
    if op.kind == "rand":
        # Without a seed, rows that are drawn twice would differ.
        return op.operands[-1].const not in (None, -1)
    if op.kind == "read":
        return _is_read_by_rows(op.operands[0].const, paths)
    return op.kind in ("fill", "seq", "given")


def _is_read_by_rows(path: object, paths: Paths) -> bool:
    from freestone.lang.front.file_types import describe

    if not _is_here(path) or paths is None or path in paths:
        return False
    try:
        return describe(str(path)).data == "matrix"
    except (OSError, ValueError):
        return False


def shape_of(value: Value) -> Shape:
    """Return rows and columns, as far as they are known; nothing for scalars."""
    return (value.type.rows, value.type.columns) if value.type.data == "matrix" else ()
