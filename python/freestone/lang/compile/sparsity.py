"""How matrices are held: dense, as CSR, or as COO.

What is estimated to have few cells that are not 0 is held as CSR; what has fewer such
cells than rows, by far, as COO. Operations that keep zeros hand that on.

See docs/decisions/042-the-plan-decides-how-a-result-is-stored.md
"""

from __future__ import annotations

from dataclasses import replace

from freestone.lang.front.graph.graph import Op, Program, Value
from freestone.lang.front.types.scalars import ZERO_OF_ZERO, ZERO_OF_ZEROS
from freestone.lang.front.types.types import Type
from freestone.lang.settings import Settings

MADE = frozenset({"rand", "read"})
"""Operations that make matrices of which something is known."""

CELLS_A_ROW = 0.5
"""Below this, CSR would hold more about rows than about cells."""

MERGED = ZERO_OF_ZEROS - {"mul", "and"}


def choose(program: Program, settings: Settings) -> None:
    """Mark the results that are not held as dense matrices."""
    for block in program.blocks():
        for op in block.ops:
            result = op.results[0] if op.results else None
            if result is None or result.type.data != "matrix" or result.type.cell == "str":
                continue
            if op.kind in MADE and settings.select_matrix_repr:
                result.type = _made(op, result, settings.sparsity_threshold)
            else:
                _put_first(op)
                result.type = _handed_on(op, result.type)


def _made(op: Op, result: Value, threshold: float) -> Type:
    type = result.type
    share = type.sparsity
    if share is None or share >= threshold:
        return type
    if op.kind == "rand" and type.columns is not None and share * type.columns < CELLS_A_ROW:
        return replace(type, coo=True)
    return replace(type, csr=True)


def _put_first(op: Op) -> None:
    """Multiply what is not dense by what is, not the other way round: so its form is handed on."""
    if op.kind != "binary" or op.attrs["name"] != "mul" or op.kernel is not None:
        return
    one, other = (value.type for value in op.operands)
    same = None not in (one.rows, one.columns) and (one.rows, one.columns) == (
        other.rows,
        other.columns,
    )
    if other.form and not one.form and (same or one.data == "scalar"):
        op.operands.reverse()


def _handed_on(op: Op, type: Type) -> Type:
    """Return the type of a result with the form that its operands give it."""
    sides = [value.type for value in op.operands]
    first = sides[0] if sides else type
    if op.kind == "binary" and op.attrs["name"] == "mul" and first.form:
        other = sides[1]
        if not other.form and other.data in ("scalar", "matrix"):
            return replace(type, csr=first.csr, coo=first.coo, sparsity=first.sparsity)
        if other.form:
            coo = first.coo or other.coo
            return replace(type, coo=coo, csr=not coo, sparsity=_product(first, other))
    if op.kind == "binary" and op.attrs["name"] in MERGED and first.form and sides[1].form:
        coo = first.coo and sides[1].coo
        return replace(type, coo=coo, csr=not coo, sparsity=_sum(first, sides[1]))
    keeps = op.kind == "unary" and op.attrs["name"] in ZERO_OF_ZERO
    if keeps or op.kind in ("transpose", "cast"):
        return replace(type, csr=first.csr, coo=first.coo, sparsity=first.sparsity)
    if op.kind == "matmul" and first.csr and sides[1].csr:
        return replace(type, csr=True)
    return type


def _product(one: Type, other: Type) -> float | None:
    known = one.sparsity is not None and other.sparsity is not None
    return one.sparsity * other.sparsity if known else None  # type: ignore[operator]


def _sum(one: Type, other: Type) -> float | None:
    known = one.sparsity is not None and other.sparsity is not None
    return min(1.0, one.sparsity + other.sparsity) if known else None  # type: ignore[operator]
