"""Calls of functions that numba has compiled: of pointers, rows and columns."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from freestone.lang.front.extensions.kernel import Kernel, Parameter
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.extensions.libraries import NUMBERS
from freestone.lang.run.extensions.objects import ArrayMover, as_it_is

__all__ = ["call_flat"]


def call_flat(kernel: Kernel, operands: Sequence[Any], place: ArrayMover = as_it_is) -> list[Any]:
    """Call a compiled function of pointers, rows and columns.

    Parameters
    ----------
    kernel : Kernel
        Which; its function is a `CompiledFunction`.
    operands : sequence
        Numbers and dense arrays, of the types of its arguments.
    place : callable
        Moves arrays to where the function reads, or writes, them.

    Returns
    -------
    list
        Its results; matrices have the shape of the first matrix that it was given.
    """
    results: list[Any] = []
    arguments: list[Any] = []
    given: list[Any] = []
    like = next((value.shape for value in operands if isinstance(value, np.ndarray)), (1, 1))
    for parameter in kernel.results:
        shape = (1, 1) if parameter.data == "scalar" else like
        results.append(place(np.zeros(shape, DTYPES[parameter.cell]), writable=True))
        arguments += _pointers(results[-1], parameter)
    for parameter, value in zip(kernel.arguments, operands, strict=True):
        if parameter.data == "scalar":
            arguments.append(NUMBERS[parameter.cell](value))
        else:
            given.append(place(np.ascontiguousarray(value)))
            arguments += _pointers(given[-1], parameter)
    ctypes.CFUNCTYPE(None)(kernel.function.address)(*arguments)
    scalars = [parameter.data == "scalar" for parameter in kernel.results]
    return [m.item() if alone else m for m, alone in zip(results, scalars, strict=True)]


def _pointers(array: Any, parameter: Parameter) -> list[Any]:
    address = array.ctypes.data_as(ctypes.c_void_p)
    if parameter.data == "scalar":
        return [address]
    return [address, *map(ctypes.c_int64, array.shape)]
