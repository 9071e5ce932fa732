"""Calls of kernels that are functions of Python's.

A function is given read-only views: in place it would change a matrix of the script, or an array of
the program, that others read. What it returns of them is copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from freestone.lang.front.extensions.kernel import Kernel
from freestone.lang.run.extensions.libraries import KernelError
from freestone.lang.run.kernels.frames import Frame
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["call_python"]


def call_python(kernel: Kernel, operands: Sequence[Any], count: int) -> Sequence[Any]:
    """Call a function of Python's.

    Parameters
    ----------
    kernel : Kernel
        Which.
    operands : sequence
        Numbers, texts, dense arrays, `Csr` and frames.
    count : int
        How many results it has to return.

    Returns
    -------
    sequence
        Its results, which share no memory with its operands.

    Raises
    ------
    KernelError
        If it raises anything, or returns another number of results.
    """
    sides = [_read_only(value) for value in operands]
    try:
        made = kernel.function(*sides)
    except MemoryError:
        raise
    except Exception as error:
        raise KernelError(f"the kernel {kernel.name!r} failed: {_reported(error)}") from error
    results = made if count > 1 else (made,)
    if not isinstance(results, tuple | list) or len(results) != count:
        have = len(results) if isinstance(results, tuple | list) else f"a {type(made).__name__}"
        problem = f"returns {have}, where {count} results are due: return them as a tuple"
        raise KernelError(f"the kernel {kernel.name!r} {problem}")
    return [_owned(value) for value in results]


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, Csr):
        csr = value.to_scipy()
        csr.data, csr.indices, csr.indptr = map(_read_only, (csr.data, csr.indices, csr.indptr))
        return csr
    if isinstance(value, Frame):
        return Frame([*map(_read_only, value.columns)], value.labels, value.cells, value.rows)
    return value


def _owned(value: Any) -> Any:
    """Copy what may be an argument, or a part of one."""
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, Frame):
        return Frame([*map(_owned, value.columns)], value.labels, value.cells, value.rows)
    if hasattr(value, "indptr"):
        parts = value.data, value.indices, value.indptr
        return value if all(part.flags.writeable for part in parts) else value.copy()
    return value


def _reported(error: Exception) -> str:
    """Say what a function raised, and in which of its lines."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    inside = error.__traceback__.tb_next if error.__traceback__ else None
    if inside is not None:
        text += f" ({Path(inside.tb_frame.f_code.co_filename).name}:{inside.tb_lineno})"
    if "read-only" in text or "readonly" in text:
        return f"{text}; arguments can't be changed: write x = x + 100, or begin with x = x.copy()"
    return text
