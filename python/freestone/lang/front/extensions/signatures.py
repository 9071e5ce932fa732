"""Signatures of functions that numba has compiled, compared with the types of a kernel."""

from __future__ import annotations

from typing import Any

from freestone.lang.front.extensions.kernel import Kernel, Parameter
from freestone.lang.front.types.types import DTYPES

__all__ = ["check_signature"]

_SIZES = frozenset({"int64", "uint64"})
_NOTHING = frozenset({"none", "void"})


def check_signature(kernel: Kernel, signature: Any) -> None:
    """Compare a signature of numba's with the results and arguments of a kernel.

    Raises
    ------
    ValueError
        If they differ: a call would read or write other memory than it should.
    """
    wanted: list[frozenset[str]] = []
    written: list[str] = []
    for parameter in kernel.results:
        _add(kernel, parameter, wanted, written, is_result=True)
    for parameter in kernel.arguments:
        _add(kernel, parameter, wanted, written, is_result=False)
    have = [str(each) for each in signature.args]
    fits = len(have) == len(wanted) and all(map(frozenset.__contains__, wanted, have))
    if fits and str(signature.return_type) in _NOTHING:
        return
    compiled = f"{signature.return_type}({', '.join(have)})"
    problem = f"the kernel {kernel.name!r} is compiled as {compiled}, which its types do not fit"
    raise ValueError(f"{problem}: write types.void({', '.join(written)}), results first")


def _add(
    kernel: Kernel,
    parameter: Parameter,
    wanted: list[frozenset[str]],
    written: list[str],
    *,
    is_result: bool,
) -> None:
    """Add what numba calls the parameters that a value is passed by, and how they are written."""
    if parameter.data == "frame" or parameter.form or parameter.cell == "str":
        problem = f"{parameter.name} can't be passed to a function that numba has compiled"
        raise ValueError(f"the kernel {kernel.name!r}: {problem}; leave @numba.cfunc out")
    # Programs without kernels need no NumPy.
    from numpy import dtype

    name = dtype(DTYPES[parameter.cell]).name
    attribute = "boolean" if name == "bool" else name
    if parameter.data == "scalar" and not is_result:
        wanted.append(frozenset({name}))
        written.append(f"types.{attribute}")
        return
    wanted.append(frozenset({f"{name}*", "void*"}))
    written.append(f"types.CPointer(types.{attribute})")
    if parameter.data == "matrix":
        wanted += [_SIZES, _SIZES]
        written += ["types.int64", "types.int64"]
