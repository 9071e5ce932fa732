"""Calls of kernels that others wrote, with what an operation is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.lang.front.extensions.kernel import Kernel, Parameter
from freestone.lang.front.extensions.operations import operation_of
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.scalars import wrapped
from freestone.lang.front.types.types import DTYPES, Type
from freestone.lang.run.extensions.flat import call_flat
from freestone.lang.run.extensions.libraries import KernelError, call_compiled
from freestone.lang.run.extensions.python import call_python
from freestone.lang.run.extensions.reported import reported
from freestone.lang.run.extensions.tiles import by_rows
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.frames import Frame
from freestone.lang.run.kernels.memory import workers
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["ROWS_LIKE", "called"]

ROWS_LIKE = "rows like"
"""The attribute that says which operand of an operation on a block has as many rows as it makes."""


def called(run: Any, kernels: Sequence[Kernel], op: Op, operands: list[Any]) -> tuple[Any, ...]:
    """Call the first of some kernels that fits an operation.

    Raises
    ------
    ValueError
        If it fails, or returns something else than the operation makes.
    """
    kernel = next(one for one in kernels if one.problem_with(op) is None)
    if not kernel.is_typed:
        dense = [value.toarray() if hasattr(value, "toarray") else value for value in operands]
        results: Sequence[Any] = call_python(kernel, dense, len(op.results))
    else:
        given = [
            _fitting(parameter, value)
            for parameter, value in zip(kernel.arguments, operands, strict=True)
        ]
        results = _run(run, kernel, op, given)
    types = [_expected(op, result.type, operands) for result in op.results]
    return tuple(_checked(op, *pair) for pair in zip(results, types, strict=True))


def _run(run: Any, kernel: Kernel, op: Op, given: list[Any]) -> Sequence[Any]:
    if not kernel.is_compiled:
        return call_python(kernel, given, len(op.results))
    if run.settings.isolate:
        from freestone.lang.run.extensions.isolated import call_isolated

        return call_isolated(kernel, given, workers(run))
    with reported(kernel, op):
        if kernel.library:
            return by_rows(run, op, given, lambda rows, each: call_compiled(kernel, rows, each))
        return by_rows(run, op, given, lambda rows, _: call_flat(kernel, rows))


def _fitting(parameter: Parameter, value: Any) -> Any:
    """Convert an operand to the elements and the form that a kernel takes."""
    if parameter.data == "scalar":
        return wrapped(parameter.cell, value)
    if parameter.data == "frame":
        return value
    if parameter.form:
        stored = value.tocsr() if hasattr(value, "tocsr") else value
        csr = stored if isinstance(stored, Csr) else Csr.of(np.asarray(stored))
        return csr.with_cells(csr.cells.astype(DTYPES[parameter.cell], copy=False))
    dense = value.toarray() if hasattr(value, "toarray") else value
    return converted(dense, parameter.cell)


def _expected(op: Op, type: Type, operands: Sequence[Any]) -> Type:
    """Return the type of a result; of a block, its rows are those of the block."""
    like = op.attrs.get(ROWS_LIKE)
    return type if like is None else type.shaped(operands[like].shape[0], type.columns)


def _checked(op: Op, value: Any, type: Type) -> Any:
    if type.data == "frame":
        return _checked_frame(op, value)
    if type.data not in ("matrix", "scalar") or (type.data == "scalar" and type.cell == "str"):
        return value
    if not hasattr(value, "indptr"):
        value = _array(op, value, type)
    elif not isinstance(value, Csr):
        value = Csr.of_scipy(value)
    if type.data == "scalar":
        if value.size != 1:
            raise KernelError(_other(op, f"an array of shape {value.shape}", type))
        return value.item()
    rows, columns = (*value.shape, 0, 0)[:2]
    fits = type.rows in (None, rows) and type.columns in (None, columns)
    if len(value.shape) != 2 or not fits:
        raise KernelError(_other(op, f"elements of shape {value.shape}", type))
    return value


def _array(op: Op, value: Any, type: Type) -> Any:
    try:
        return np.asarray(value, DTYPES[type.cell])
    except (ValueError, TypeError, OverflowError) as error:
        kind = value.__class__.__name__
        raise KernelError(f"{_other(op, f'a {kind}', type)}: {error}") from error


def _checked_frame(op: Op, value: Any) -> Frame:
    if not isinstance(value, Frame):
        kind = value.__class__.__name__
        raise KernelError(f"the kernel {op.kernel!r} returns a {kind}, which is no frame")
    twice = [label for at, label in enumerate(value.labels) if label in value.labels[:at]]
    if twice:
        problem = f"returns a frame with the label {twice[0]!r} twice; a frame needs one of each"
        raise KernelError(f"the kernel {op.kernel!r} {problem}")
    return value


def _other(op: Op, made: str, type: Type) -> str:
    name = operation_of(op) or op.name
    return f"the kernel {op.kernel!r} returns {made}, where {name} makes a {type}"
