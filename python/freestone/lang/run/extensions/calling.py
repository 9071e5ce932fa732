"""Calls of kernels that others wrote, with what an operation is given."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.lang.front.extensions.functions import CompiledFunction
from freestone.lang.front.extensions.kernel import Kernel, Parameter
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.scalars import wrapped
from freestone.lang.front.types.types import DTYPES, Type
from freestone.lang.run.extensions.libraries import NUMBERS, call_compiled
from freestone.lang.run.extensions.tiles import by_rows
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.memory import workers
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["called"]


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
        results: Sequence[Any] = _listed(kernel.function(*dense), op)
    else:
        given = [
            _fitting(parameter, value)
            for parameter, value in zip(kernel.arguments, operands, strict=True)
        ]
        results = _run(run, kernel, op, given)
    return tuple(
        _checked(op, value, result.type) for value, result in zip(results, op.results, strict=True)
    )


def _run(run: Any, kernel: Kernel, op: Op, given: list[Any]) -> Sequence[Any]:
    if kernel.library:
        if run.settings.isolate:
            from freestone.lang.run.extensions.isolated import call_isolated

            return call_isolated(kernel, given, workers(run))
        return by_rows(run, op, given, lambda rows, threads: call_compiled(kernel, rows, threads))
    if isinstance(kernel.function, CompiledFunction):
        address = kernel.function.address
        return by_rows(run, op, given, lambda rows, threads: _flat(kernel, address, rows))
    sides = [value.to_scipy() if isinstance(value, Csr) else value for value in given]
    assert callable(kernel.function)
    return _listed(kernel.function(*sides), op)


def _listed(made: Any, op: Op) -> Sequence[Any]:
    return made if len(op.results) > 1 else (made,)


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


def _flat(kernel: Kernel, address: int, given: list[Any]) -> list[Any]:
    """Call a compiled function of pointers, rows and columns."""
    results: list[Any] = []
    arguments: list[Any] = []
    like = next((value.shape for value in given if isinstance(value, np.ndarray)), (1, 1))
    for parameter in kernel.results:
        shape = (1, 1) if parameter.data == "scalar" else like
        results.append(np.zeros(shape, DTYPES[parameter.cell]))
        arguments += _pointers(results[-1], parameter)
    for parameter, value in zip(kernel.arguments, given, strict=True):
        if parameter.data == "scalar":
            arguments.append(NUMBERS[parameter.cell](value))
        else:
            arguments += _pointers(np.ascontiguousarray(value), parameter)
    ctypes.CFUNCTYPE(None)(address)(*arguments)
    scalars = [parameter.data == "scalar" for parameter in kernel.results]
    return [m.item() if alone else m for m, alone in zip(results, scalars, strict=True)]


def _pointers(array: Any, parameter: Parameter) -> list[Any]:
    address = array.ctypes.data_as(ctypes.c_void_p)
    if parameter.data == "scalar":
        return [address]
    return [address, *map(ctypes.c_int64, array.shape)]


def _checked(op: Op, value: Any, type: Type) -> Any:
    if type.data == "scalar":
        return value if type.cell == "str" else np.asarray(value, DTYPES[type.cell]).item()
    if type.data != "matrix":
        return value
    if not hasattr(value, "indptr"):
        value = np.asarray(value, DTYPES[type.cell])
    elif not isinstance(value, Csr):
        value = Csr.of_scipy(value)
    rows, columns = (*value.shape, 0, 0)[:2]
    fits = type.rows in (None, rows) and type.columns in (None, columns)
    if len(value.shape) != 2 or not fits:
        problem = f"the kernel {op.kernel!r} returns cells of shape {value.shape}"
        raise ValueError(f"{problem}, where {op.name} makes a {type}")
    return value
