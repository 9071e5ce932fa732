"""Shared libraries of kernels, and calls of their functions."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from freestone.lang.front.extensions.kernel import Kernel, Parameter
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.extensions.objects import (
    ABI,
    ArrayMover,
    Context,
    Object,
    SharedObject,
    as_it_is,
    taken,
)

__all__ = ["NUMBERS", "KernelError", "call_compiled", "loaded"]

NUMBERS: dict[str, Any] = {
    "si8": ctypes.c_int8,
    "si32": ctypes.c_int32,
    "si64": ctypes.c_int64,
    "ui8": ctypes.c_uint8,
    "ui32": ctypes.c_uint32,
    "ui64": ctypes.c_uint64,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
    "bool": ctypes.c_bool,
    "str": ctypes.c_char_p,
}
_REGISTERS = {"x86_64": 6, "aarch64": 8}.get(platform.machine(), 0)
_FLOATS, _STACK, _MESSAGE = 8, 16, 1024


class KernelError(ValueError):
    """A kernel failed; the message says which, and why."""


@cache
def loaded(path: str) -> ctypes.CDLL:
    """Load a shared library.

    Raises
    ------
    KernelError
        If it is none, or was made for another version of the interface.
    """
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as error:
        raise KernelError(f"the library {path} can't be loaded: {error}") from error
    try:
        version = ctypes.c_uint32.in_dll(library, "freestone_kernel_abi").value
    except ValueError:
        problem = "it was not compiled with freestone's headers: add $(freestone config --cflags)"
        raise KernelError(f"the library {path} can't be used: {problem}") from None
    if version != ABI:
        problem = f"it was compiled for version {version} of the interface, and this has {ABI}"
        raise KernelError(f"the library {path} can't be used: {problem}; compile it again")
    return library


def call_compiled(
    kernel: Kernel, operands: Sequence[Any], threads: int, place: ArrayMover = as_it_is
) -> list[Any]:
    """Call a function of a shared library.

    Parameters
    ----------
    kernel : Kernel
        Which.
    operands : sequence
        Numbers, texts, dense arrays, `Csr` and frames, of the types of its arguments.
    threads : int
        How many threads it may use.
    place : callable
        Moves arrays to where the kernel reads them.

    Returns
    -------
    list
        Its results.

    Raises
    ------
    KernelError
        If the library or the function is not there, it fails, or makes nothing.
    """
    library = loaded(kernel.library)
    try:
        function = getattr(library, kernel.name)
    except AttributeError:
        problem = f'has no function {kernel.name!r}; is it declared extern "C"?'
        raise KernelError(f"the library {kernel.library} {problem}") from None
    shared = [SharedObject(v, place) if hasattr(v, "shape") else v for v in operands]
    results = [_room(parameter, place) for parameter in kernel.results]
    context = Context(abi=ABI, threads=threads)
    arguments = [ctypes.pointer(room) for room in results]
    for parameter, value in zip(kernel.arguments, shared, strict=True):
        arguments.append(_argument(parameter, value))
    _call(library, function, [*arguments, ctypes.pointer(context)], kernel.name)
    if context.message:
        raise KernelError(f"the kernel {kernel.name!r} failed: {_text(context.message)}")
    return [_result(kernel, *pair) for pair in zip(kernel.results, results, strict=True)]


def _room(parameter: Parameter, place: ArrayMover) -> Any:
    """Return what a kernel writes a result to: a number, or the address of what it makes."""
    if parameter.data != "scalar":
        return ctypes.POINTER(Object)()
    if parameter.cell == "str":
        return ctypes.c_char_p()
    room: Any = place(np.zeros(1, DTYPES[parameter.cell]), writable=True)
    return NUMBERS[parameter.cell].from_buffer(room)


def _argument(parameter: Parameter, value: Any) -> Any:
    if isinstance(value, SharedObject):
        return ctypes.pointer(value.object)
    kind = NUMBERS[parameter.cell]
    return kind(value.encode() if isinstance(value, str) else value)


def _result(kernel: Kernel, parameter: Parameter, room: Any) -> Any:
    if parameter.data == "scalar":
        return _text(room.value or b"") if parameter.cell == "str" else room.value
    if not room:
        raise KernelError(f"the kernel {kernel.name!r} has made no result")
    try:
        return taken(room)
    except ValueError as error:
        raise KernelError(f"the kernel {kernel.name!r} failed: {error}") from error


def _text(message: Any) -> str:
    return bytes(message).decode(errors="replace")


def _call(library: ctypes.CDLL, function: Any, arguments: list[Any], name: str) -> None:
    guard = getattr(library, "freestone_call", None)
    if guard is None or not _REGISTERS:
        # C throws nothing.
        function.restype = None
        function(*arguments)
        return
    integers: list[int] = []
    floats: list[float] = []
    stack: list[int] = []
    for argument in arguments:
        _pass(argument, integers, floats, stack)
    if len(stack) > _STACK:
        raise KernelError(f"the kernel {name!r} has {len(arguments)} parameters, which is too many")
    message = ctypes.create_string_buffer(_MESSAGE)
    failed = guard(
        ctypes.cast(function, ctypes.c_void_p),
        (ctypes.c_uint64 * _REGISTERS)(*integers),
        (ctypes.c_double * _FLOATS)(*floats),
        (ctypes.c_uint64 * _STACK)(*stack),
        message,
        ctypes.c_size_t(_MESSAGE),
    )
    if failed:
        raise KernelError(f"the kernel {name!r} failed: {_text(message.value)}")


def _pass(argument: Any, integers: list[int], floats: list[float], stack: list[int]) -> None:
    """Put an argument where the calling convention has it; see ``freestone_kernel.hpp``."""
    word = _word(argument)
    if isinstance(argument, ctypes.c_float | ctypes.c_double):
        if len(floats) < _FLOATS:
            floats.append(ctypes.c_double.from_buffer(ctypes.c_uint64(word)).value)
        else:
            stack.append(word)
    elif len(integers) < _REGISTERS:
        integers.append(word)
    else:
        stack.append(word)


def _word(argument: Any) -> int:
    """Return the 8 bytes that stand for an argument; narrow integers keep their sign."""
    if isinstance(argument, ctypes.c_double):
        return ctypes.c_uint64.from_buffer(argument).value
    if isinstance(argument, ctypes.c_float):
        return ctypes.c_uint32.from_buffer(argument).value
    if isinstance(argument, ctypes.c_char_p | ctypes._Pointer):
        return ctypes.cast(argument, ctypes.c_void_p).value or 0
    return int(argument.value) & 0xFFFF_FFFF_FFFF_FFFF
