"""How an operation works on some rows of all: which operands it takes by rows, and what it gives.

Its operands are taken by ``"rows"``, the rows of the strip, or ``"whole"``. A result is rows as
well, or a part of a ``"sum"``, a ``"min"`` or a ``"max"``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freestone.lang.distributed.roles import ROWS, WHOLE, Shape, roles_of
from freestone.lang.plan.graph import Op, Value
from freestone.lang.types.types import Type, scalar

__all__ = ["Member", "expanded", "member_of", "shape_of"]

FILES = frozenset({".csv", ".dbdf", ".npy"})
"""Files of which some rows can be read, or written, at a time."""
_SPREAD = ("mean", "var", "stddev")


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
        For each result, ``"rows"``, ``"sum"``, ``"min"`` or ``"max"``.
    kind : str
        What is done in a strip: the operation's own kind; ``"rows"`` for what makes matrices of
        nothing, ``"append_rows"`` for what writes them.
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


def member_of(op: Op, rows: int, paths: frozenset[str] | None) -> Member | None:
    """Tell how an operation works on strips of so many rows in all, or None if it can't.

    Parameters
    ----------
    op : Op
        The operation.
    rows : int
        Rows of the matrices that are cut.
    paths : frozenset of str or None
        The files that the script writes; None if they are not known.
    """
    if op.kernel is not None or any(value.type.coo for value in (*op.operands, *op.results)):
        return None
    if _is_source(op, rows, paths):
        return Member(op, tuple(op.operands), (WHOLE,) * len(op.operands), (ROWS,), "rows")
    if op.kind == "write":
        return _written(op, rows)
    found = _pipeline(op, rows) if op.kind == "pipeline" else _alone(op, rows)
    if found is None or not any(role == ROWS for role in found.roles):
        return None
    for value, way in zip(op.results, found.ways, strict=True):
        if way == ROWS and (value.type.rows != rows or value.type.columns is None):
            return None
    return found


def _alone(op: Op, rows: int) -> Member | None:
    if op.regions or len(op.results) != 1:
        return None
    if op.kind == "ctable" and None in shape_of(op.results[0]):
        return None
    roles = roles_of(op, [shape_of(value) for value in op.operands], rows)
    if roles is None:
        return None
    return Member(op, tuple(op.operands), roles.operands, (roles.result,), op.kind)


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


def _written(op: Op, rows: int) -> Member | None:
    value, path = op.operands
    type, name = value.type, path.const
    known = type.rows == rows and type.columns is not None and not type.form
    if type.data != "matrix" or not known or type.cell in ("bool", "str") or not _is_here(name):
        return None
    return Member(op, (value, path), (ROWS, WHOLE), (WHOLE,), "append_rows")


def _is_here(path: object) -> bool:
    """Tell whether a file is of this machine, and in rows."""
    return isinstance(path, str) and "://" not in path and Path(path).suffix in FILES


def _is_source(op: Op, rows: int, paths: frozenset[str] | None) -> bool:
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


def _is_read_by_rows(path: object, paths: frozenset[str] | None) -> bool:
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


def expanded(op: Op, rows: int) -> Iterable[Op]:
    """Return what gives the same by sums alone: means and variances of matrices that are cut."""
    spread = op.kind in ("agg_all", "agg_col") and op.attrs["name"] in _SPREAD
    if not spread or op.kernel is not None:
        return [op]
    (value,), (result,) = op.operands, op.results
    height, width = value.type.rows, value.type.columns
    if height != rows or not width:
        return [op]
    made = _Made(op, height * (width if op.kind == "agg_all" else 1))
    cell = result.type.cell
    same = value.type.cell == cell
    cells = value if same else made.emit("cast", [value], value.type.of(cell))
    average = made.mean(cells)
    if op.attrs["name"] != "mean":
        left = made.binary("sub", cells, average, cells)
        average = made.mean(made.binary("mul", left, left, cells))
    if op.attrs["name"] == "stddev":
        average = made.emit("unary", [average], result.type, name="sqrt")
    assert average.op is not None
    average.op.results = [result]
    return made.ops


class _Made:
    """The operations that take the place of an aggregation."""

    def __init__(self, op: Op, count: int) -> None:
        self._op = op
        self._cell = op.results[0].type.cell
        self._count = Value(scalar(self._cell), None, float(count))
        self.ops: list[Op] = []

    def emit(self, kind: str, operands: list[Value], type: Type, **attrs: Any) -> Value:
        op = Op(kind, operands, [], attrs, self._op.place)
        op.results = [Value(type, op)]
        self.ops.append(op)
        return op.results[0]

    def binary(self, name: str, left: Value, right: Value, like: Value) -> Value:
        return self.emit("binary", [left, right], like.type, name=name, cell=self._cell)

    def mean(self, value: Value) -> Value:
        attrs = self._op.attrs | {"name": "sum"}
        total = self.emit(self._op.kind, [value], self._op.results[0].type, **attrs)
        return self.binary("div", total, self._count, total)
