"""Operations on transposes of matrices in blocks: the same ones, on the matrices, the other way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.run.distributed.split import Split, Transposed, transposed

if TYPE_CHECKING:
    from freestone.lang.run.distributed.running import DistributedRun

__all__ = ["derive", "on_transposed", "transposed_value"]


def derive(
    run: DistributedRun, op: Op, name: str, kind: str, operands: Sequence[Value], **attrs: Any
) -> Op:
    """Make an operation of another kind, with the place and results of `op`, once.

    An operand that is there twice becomes two: `B @ B` takes a transpose as it is, and turned.
    """
    key = op, name
    if key not in run.derived:
        given = [
            Value(value.type, None, value.const) if value in operands[:at] else value
            for at, value in enumerate(operands)
        ]
        made = replace(op, kind=kind, operands=given, attrs=op.attrs | attrs, results=[])
        made.results = [Value(value.type, made) for value in op.results]
        run.derived[key] = made
    return run.derived[key]


def transposed_value(value: Any) -> Any:
    """Transpose what is here or in blocks; a scalar stays as it is."""
    if isinstance(value, Transposed):
        return value.split
    if isinstance(value, Split):
        return Transposed(value)
    return transposed(value) if np.ndim(value) or hasattr(value, "indptr") else value


def on_transposed(run: DistributedRun, op: Op, operands: list[Any]) -> Sequence[Any] | None:
    """Run an operation on a transpose, or return None where that can't be done."""
    rule = _RULES.get(op.kind)
    if rule is None or any(isinstance(value, Split) for value in operands):
        return None
    return rule(run, op, operands)


def _cells(run: DistributedRun, op: Op, operands: list[Any]) -> Sequence[Any] | None:
    other = derive(run, op, "turned", op.kind, op.operands)
    split = next(value.split for value in operands if isinstance(value, Transposed))
    found = run.apply(other, [transposed_value(value) for value in operands], split.offsets)
    return None if found is None else [transposed_value(value) for value in found]


def _aggregate(kind: str) -> Callable[[DistributedRun, Op, list[Any]], Sequence[Any]]:
    def rule(run: DistributedRun, op: Op, operands: list[Any]) -> Sequence[Any]:
        other = derive(run, op, "turned", kind, op.operands)
        return [transposed_value(value) for value in run.kernel(other, [operands[0].split])]

    return rule


_RULES = {
    **dict.fromkeys(("unary", "cast", "binary", "choose"), _cells),
    "agg_row": _aggregate("agg_col"),
    "agg_col": _aggregate("agg_row"),
    "agg_all": _aggregate("agg_all"),
}
