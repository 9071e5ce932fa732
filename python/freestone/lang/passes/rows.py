"""How an operation works on some rows of all: which operands it takes by rows, and what it gives.

Its operands are taken by ``"rows"``, the rows of the strip, or ``"whole"``. A result is rows as
well, or a part of a ``"sum"``, a ``"min"`` or a ``"max"``; rows that a filter ``"kept"``, however
many there are in a strip; or rows that are ``"placed"`` among those that an index chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from freestone.lang.distributed.roles import ROWS, WHOLE, Shape, roles_of
from freestone.lang.plan.graph import Op, Value

__all__ = ["ENDS", "KEPT", "PLACED", "Member", "heights_of", "members_of", "shape_of"]

KEPT, PLACED = "kept", "placed"
ENDS = frozenset({"append_rows", "print_rows", "chosen_rows"})
"""What is done strip by strip only where the rows are not there as a whole."""
FILES = frozenset({".csv", ".dbdf", ".npy"})
"""Files of which some rows can be read, or written, at a time."""
_OF_KEPT = frozenset({"unary", "binary", "cast", "choose", "cbind", "matmul", "index", "cumulate"})
_OF_KEPT |= {"agg_all", "agg_row", "agg_col", "syrk", "gemv", "cross", "sum_product"}
_OF_KEPT |= {"filter_rows", "shape", "print"}
"""Operations that take the rows that a filter kept, though a strip may have none."""

Paths = frozenset[str] | None
"""The files that a script writes; None if they are not known."""


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
        For each operand, ``"rows"`` or ``"whole"``.
    ways : tuple of str
        For each result, ``"rows"``, ``"sum"``, ``"min"``, ``"max"``, ``"kept"`` or ``"placed"``.
    kind : str
        What is done in a strip: the operation's own kind, or one of `freestone.lang.kernels.strips`
        such as ``"rows"`` for what makes matrices of nothing.
    """

    op: Op
    operands: tuple[Value, ...]
    roles: tuple[str, ...]
    ways: tuple[str, ...]
    kind: str

    def taken(self, role: str) -> list[Value]:
        """Return the operands that are taken in one way, without constants."""
        pairs = zip(self.operands, self.roles, strict=True)
        return [value for value, own in pairs if own == role and value.const is None]


def members_of(ops: Sequence[Op], rows: int, paths: Paths) -> dict[Op, Member | None]:
    """Tell how operations work on strips of so many rows in all; None for those that can't.

    Parameters
    ----------
    ops : sequence of Op
        The operations of a block, in order.
    rows : int
        Rows of the matrices that are cut.
    paths : frozenset of str or None
        The files that the script writes; None if they are not known.
    """
    heights = heights_of(ops, rows)
    filters: dict[Value, Value] = {}
    found: dict[Op, Member | None] = {}
    for op in ops:
        member = _of_kept(op, filters)
        for height in heights:
            member = member or _member_of(op, height, heights, paths)
        found[op] = member
        if member is not None and KEPT in member.ways:
            known = [filters[value] for value in op.operands if value in filters]
            filters[op.results[0]] = op.operands[1] if op.kind == "filter_rows" else known[0]
    return found


def heights_of(ops: Sequence[Op], rows: int) -> list[int]:
    """Return `rows`, and multiples of it that matrices are reshaped to and from."""
    pairs = [
        {op.operands[0].type.rows, op.results[0].type.rows} for op in ops if op.kind == "reshape"
    ]
    heights = {rows}
    while True:
        near = {each for pair in pairs if not heights.isdisjoint(pair) for each in pair}
        more = {each for each in near - heights if each and each % rows == 0}
        if not more:
            return sorted(heights)
        heights |= more


def _member_of(op: Op, rows: int, heights: Sequence[int], paths: Paths) -> Member | None:
    """Tell how an operation works on strips of matrices of so many rows, or None if it can't."""
    if op.kernel is not None or any(value.type.coo for value in (*op.operands, *op.results)):
        return None
    if _is_source(op, rows, paths):
        return Member(op, tuple(op.operands), (WHOLE,) * len(op.operands), (ROWS,), "rows")
    found = _formed(op, rows, heights) if op.kind in _FORMS else None
    if found is None:
        found = _pipeline(op, rows) if op.kind == "pipeline" else _alone(op, rows)
    if found is None or not any(role == ROWS for role in found.roles):
        return None
    for value, way in zip(op.results, found.ways, strict=True):
        if way == ROWS and value.type.rows != rows:
            return None
        if way in (ROWS, KEPT) and value.type.columns is None:
            return None
    return found


def _of_kept(op: Op, filters: dict[Value, Value]) -> Member | None:
    """Tell how an operation works on rows that a filter kept; `filters` has the bits of each."""
    if len({filters[value] for value in op.operands if value in filters}) != 1:
        return None
    if op.kernel is not None or op.kind not in _OF_KEPT or any(v.type.coo for v in op.operands):
        return None
    if op.kind.startswith("agg_") and op.attrs["name"] != "sum":
        # A strip of which nothing is left has no least cell.
        return None
    if op.kind in _FORMS_OF_KEPT:
        kind, way = _FORMS_OF_KEPT[op.kind]
        roles = (ROWS, *(WHOLE for _ in op.operands[1:]))
        return Member(op, tuple(op.operands), roles, (way,), kind)
    found = roles_of(op, [shape_of(value) for value in op.operands], None)
    if found is None:
        return None
    pairs = zip(op.operands, found.operands, strict=True)
    if any(role == ROWS and value not in filters for value, role in pairs):
        return None
    way = KEPT if found.result == ROWS else found.result
    return Member(op, tuple(op.operands), found.operands, (way,), op.kind)


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
    "write": ("append_rows", WHOLE),
    "print": ("print_rows", WHOLE),
    "index": ("chosen_rows", PLACED),
    "cumulate": ("cumulate_rows", ROWS),
    "reshape": ("reshape_rows", ROWS),
}
"""What is done otherwise in a strip than with all rows, and what its result is."""
_FORMS_OF_KEPT = {
    "print": ("print_rows", WHOLE),
    "cumulate": ("cumulate_rows", KEPT),
    "shape": ("shape", "sum"),
}


def _formed(op: Op, rows: int, heights: Sequence[int]) -> Member | None:
    """Take the rows of the first operand; they have to be dense, but for printing."""
    type, result = op.operands[0].type, op.results[0].type
    if type.data != "matrix" or not type.columns or type.cell == "str":
        return None
    if type.form and op.kind != "print":
        return None
    fits = type.rows == rows
    if op.kind == "reshape":
        fits = type.rows in heights and result.rows == rows and bool(result.columns)
    elif op.kind == "index":
        fits = fits and op.attrs["kinds"][0] != "all"
    elif op.kind == "write":
        fits = fits and type.cell != "bool" and _is_here(op.operands[1].const)
    if not fits:
        return None
    kind, way = _FORMS[op.kind]
    return Member(op, tuple(op.operands), (ROWS, *(WHOLE for _ in op.operands[1:])), (way,), kind)


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
    from freestone.lang.kernels.files import describe

    if not _is_here(path) or paths is None or path in paths:
        return False
    try:
        return describe(str(path)).data == "matrix"
    except (OSError, ValueError):
        return False


def shape_of(value: Value) -> Shape:
    """Return rows and columns, as far as they are known; nothing for scalars."""
    return (value.type.rows, value.type.columns) if value.type.data == "matrix" else ()
