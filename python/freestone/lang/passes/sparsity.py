"""Which matrices are held as compressed rows: those estimated to have few cells that are not 0."""

from __future__ import annotations

from dataclasses import replace

from freestone.lang.plan.graph import Program, Value
from freestone.lang.settings import Settings

MADE = frozenset({"rand", "read"})
"""Operations that make matrices of which something is known."""


def choose(program: Program, settings: Settings) -> None:
    """Mark the results that are held as compressed rows."""
    if not settings.select_matrix_repr:
        return
    for block in program.blocks():
        for op in block.ops:
            result = op.results[0] if op.results else None
            if result is None or result.type.data != "matrix" or result.type.cell == "str":
                continue
            if op.kind in MADE and _few(result, settings.sparsity_threshold):
                result.type = replace(result.type, csr=True)
            if op.kind == "binary" and op.attrs["name"] == "mul":
                sides = [value.type for value in op.operands]
                if sides[0].csr and not sides[1].csr and sides[1].data in ("scalar", "matrix"):
                    result.type = replace(result.type, csr=True, sparsity=sides[0].sparsity)


def _few(value: Value, threshold: float) -> bool:
    share = value.type.sparsity
    return share is not None and share < threshold
