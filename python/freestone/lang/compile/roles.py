"""How an operation takes its operands when its rows are in blocks.

Each operand is taken by ``"rows"``, the rows that go with a block, or ``"whole"``. What comes back
is rows as well, or a part of a ``"sum"``, a ``"min"`` or a ``"max"``. The compiler asks this to
tell what will happen, and the run to make it happen; shapes that are not known hold None.

See docs/decisions/054-placement-of-script-operations-is-decided-at-run-time.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freestone.lang.front.graph.graph import Block, Op, nested

__all__ = ["ROWS", "WHOLE", "Roles", "roles_of"]

ROWS, WHOLE = "rows", "whole"
Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Roles:
    """How an operation takes its operands, and what it gives.

    Parameters
    ----------
    operands : tuple of str
        ``"rows"`` or ``"whole"`` for each.
    result : str
        ``"rows"``, ``"sum"``, ``"min"`` or ``"max"``.
    columns : int or None
        The columns of a result.
    """

    operands: tuple[str, ...]
    result: str
    columns: int | None


Rule = Callable[[Op, Sequence[Shape], int | None], Roles | None]


def roles_of(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    """Tell how an operation works on blocks of a matrix of so many rows, or None if it can't.

    Parameters
    ----------
    op : Op
        The operation.
    shapes : sequence
        Rows and columns of each operand; nothing for scalars.
    rows : int or None
        How many rows the matrix in blocks has.
    """
    rule = _RULES.get(op.kind)
    found = None if rule is None else rule(op, shapes, rows)
    if found is None or ROWS not in found.operands:
        return None
    for role, shape in zip(found.operands, shapes, strict=True):
        if role == ROWS and (not shape or shape[0] != rows):
            return None
    return found


def _aligned(shape: Shape, rows: int | None) -> str:
    return ROWS if shape and shape[0] == rows else WHOLE


def _first(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles:
    """Take the rows of the first operand, and give as many."""
    roles = (ROWS, *(WHOLE for _ in shapes[1:]))
    return Roles(roles, ROWS, shapes[0][1] if shapes[0] else None)


def _column(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles:
    return Roles((ROWS,), ROWS, 1)


def _cells(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    """Take rows where there are as many, and one row or a scalar as it is."""
    roles = tuple(_aligned(shape, rows) for shape in shapes)
    largest = next((shape for shape in shapes if shape), (None, None))
    if any(shape and shape[0] not in (1, rows) for shape in shapes):
        return None
    if shapes[0] and roles[0] == WHOLE:
        return None
    if any(not _agree(shape[1], largest[1]) and shape[1] != 1 for shape in shapes if shape):
        return None
    return Roles(roles, ROWS, largest[1])


def _agree(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def _right(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    left, right = shapes[0], shapes[1]
    inner = left[1] if op.kind == "matmul" else 1
    if not right or not left or not _agree(inner, right[0]):
        return None
    return Roles((ROWS, WHOLE), ROWS, shapes[1][1] if shapes[1] else None)


def _map(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    return _first(op, shapes, rows) if _repeatable(op.attrs["function"].block) else None


def _repeatable(block: Block) -> bool:
    allowed = ("binary", "unary", "cast", "if", "for", "while")
    return all(op.kind in allowed for inner in nested(block) for op in inner.ops)


def _side_by_side(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    if not all(len(shape) == 2 for shape in shapes) or op.results[0].type.data != "matrix":
        return None
    left, right = shapes[0][1], shapes[1][1]
    return Roles((ROWS, ROWS), ROWS, None if left is None or right is None else left + right)


def _aggregate(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    name = op.attrs["name"]
    if name not in ("sum", "min", "max"):
        return None
    columns = 1 if op.kind == "agg_all" or not shapes[0] else shapes[0][1]
    return Roles((ROWS,), name, columns)


def _summed(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    """Give parts of a sum over all rows; every operand goes by rows."""
    columns = shapes[-1][1] if shapes[-1] else None
    return Roles(tuple(ROWS for _ in shapes), "sum", columns)


def _columns_of_all_rows(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    kinds = op.attrs["kinds"]
    if kinds[0] != "all" or op.results[0].type.data != "matrix":
        return None
    return Roles((ROWS, *(WHOLE for _ in shapes[1:])), ROWS, None)


def _written_columns(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    """Write whole columns: each block its rows of them."""
    kinds, width = op.attrs["kinds"], shapes[0][1] if len(shapes[0]) == 2 else None
    if kinds[0] != "all" or kinds[1] not in ("all", "at") or len(shapes[1]) != 2:
        return None
    if width is None or shapes[1][1] != (1 if kinds[1] == "at" else width):
        return None
    return Roles((ROWS, ROWS, *(WHOLE for _ in shapes[2:])), ROWS, width)


def _filtered(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    if op.results[0].type.data != "matrix" or not _agree(shapes[1][1], 1):
        return None
    return Roles((ROWS, ROWS), ROWS, shapes[0][1])


def _table(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    if len(shapes) != 5 or shapes[2]:
        return None
    return Roles((ROWS, ROWS, WHOLE, WHOLE, WHOLE), "sum", None)


def _groups(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    merged = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}.get(op.attrs["name"])
    return None if merged is None else Roles((ROWS, ROWS, WHOLE), merged, 1)


def _binned(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles | None:
    """Sort rows into bins whose ends are given."""
    return _first(op, shapes, rows) if len(shapes) == 4 else None


def _finite_end(op: Op, shapes: Sequence[Shape], rows: int | None) -> Roles:
    return Roles((ROWS,), op.attrs["name"], 1)


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("unary", "cast", "quantize", "replace", "softmax", "bias_add"), _first),
    **dict.fromkeys(("agg_row", "index_row"), _column),
    **dict.fromkeys(("binary", "choose"), _cells),
    **dict.fromkeys(("matmul", "outer"), _right),
    **dict.fromkeys(("agg_all", "agg_col"), _aggregate),
    **dict.fromkeys(("syrk", "gemv", "sum_product", "cross"), _summed),
    "encode": _first,
    "bin": _binned,
    "finite_end": _finite_end,
    "ctable": _table,
    "agg_group": _groups,
    "filter_rows": _filtered,
    "map": _map,
    "cbind": _side_by_side,
    "index": _columns_of_all_rows,
    "insert": _written_columns,
}
