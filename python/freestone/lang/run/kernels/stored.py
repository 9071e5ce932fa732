"""Operations on operands that are not all dense."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from freestone.lang.run.kernels import Kernel, coordinates, kernel_of, products

__all__ = ["stored_kernel"]


def stored_kernel(run: Any, op: Any, operands: list[Any]) -> Any:
    """Run an operation whose operands are not all dense: by their stored cells, if that goes."""
    coo = any(isinstance(value, coordinates.Coo) for value in operands)
    for kernels in (products.KERNELS, coordinates.KERNELS)[coo:]:
        kernel: Kernel | None = kernels.get(op.kind)
        if kernel is None or op.kernel is not None:
            continue
        with suppress(coordinates.DenseError):
            if kernels is products.KERNELS:
                return kernel(run, op, *operands)
            return kernel(run, op, *map(coordinates.of, operands))
    dense = [value.toarray() if hasattr(value, "toarray") else value for value in operands]
    return kernel_of(op.kind)(run, op, *dense)
