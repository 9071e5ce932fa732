"""Kernels in Python: functions of a file, or of the program itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from freestone.errors.base import did_you_mean
from freestone.lang.front.extensions.catalog import CatalogError
from freestone.lang.front.extensions.kernel import Kernel, Parameter, parameter_of
from freestone.lang.front.extensions.operations import MNEMONICS
from freestone.lang.front.extensions.signatures import check_signature

__all__ = ["kernel", "read_functions"]


def kernel(
    operation: str,
    *,
    results: str | Sequence[str],
    arguments: str | Sequence[str],
    priority: int = 0,
    name: str | None = None,
) -> Callable[[Any], Kernel]:
    """Make a kernel of a function, for one operation on certain types.

    Parameters
    ----------
    operation : str
        What it computes, as kernel catalogs call it, such as ``sumAll`` or ``ewAdd``.
    results, arguments : str or sequence of str
        Their types, such as ``"float"``, ``"DenseMatrix<float>"``, ``"CSRMatrix<double>"``.
    priority : int
        From 1 on, it comes before freestone's own kernel wherever its types fit; with 0 scripts
        choose it by its name, ``sum::name(x)``.
    name : str, optional
        Its name; that of the function by default.

    Returns
    -------
    callable
        A decorator. It takes a function of NumPy arrays (``scipy.sparse`` CSR for ``CSRMatrix``)
        and Python's numbers, or a ``numba.cfunc`` with the parameters of a compiled kernel: results
        first, each as a pointer, with rows and columns if it is a matrix; then arguments, numbers
        by value, matrices as pointer, rows and columns. Matrices are dense there, results have the
        shape of the first matrix, and rows lie one after another.

    Raises
    ------
    ValueError
        If nothing is called as the operation, a type is none, a priority is no whole number from 0
        on, or the parameters of the function are not those of the types.

    Examples
    --------
    >>> from freestone.lang import kernel
    >>> from freestone.lang.script import run_text
    >>> from freestone.lang.settings import Settings
    >>> @kernel("sumAll", results="double", arguments="DenseMatrix<double>")
    ... def total(x):
    ...     return x.sum() + 100
    >>> run_text("print(sum::total([1.0, 2.0]));", (), Settings(kernels=(total,)))
    103
    """
    if type(priority) is not int or priority < 0:
        raise ValueError(f"priority={priority!r}: write a whole number from 0 on, such as 1")
    if operation not in MNEMONICS:
        close = did_you_mean(operation, MNEMONICS)
        raise ValueError(f"{operation!r} is no operation that a kernel may be for{close}")
    known = Kernel(
        name=name or "",
        operation=operation,
        results=_parameters(results),
        arguments=_parameters(arguments),
        priority=priority,
    )

    def make(function: Any) -> Kernel:
        if isinstance(getattr(function, "address", None), int):
            plain = function.__wrapped__.__name__
            made = replace(known, name=name or plain, function=CompiledFunction(function))
            check_signature(made, function._sig)
            return made
        made = replace(known, name=name or function.__name__, function=function)
        _check_parameters(made)
        return made

    return make


class CompiledFunction:
    """A function that numba has compiled; a worker compiles it anew.

    Attributes
    ----------
    address : int
        Where its code is.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self.address: int = function.address

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled, (self._function.__wrapped__, self._function._sig)


def _compiled(function: Callable[..., Any], signature: Any) -> CompiledFunction:
    import numba

    return CompiledFunction(numba.cfunc(signature)(function))


def _check_parameters(made: Kernel) -> None:
    """Refuse a function that can't be called with as many arguments as there are types."""
    try:
        signature = inspect.signature(made.function)
    except (ValueError, TypeError):
        # Some functions in C have none.
        return
    try:
        signature.bind(*made.arguments)
    except TypeError as error:
        have = f"the kernel {made.name!r} has {len(made.arguments)} types of arguments"
        raise ValueError(f"{have}, and its function takes {signature}: {error}") from None


def _parameters(types: str | Sequence[str]) -> tuple[Parameter, ...]:
    found = []
    for text in [types] if isinstance(types, str) else types:
        parameter = parameter_of(text)
        if parameter is None:
            raise ValueError(f"no value has the type {text!r}; write such as DenseMatrix<double>")
        found.append(parameter)
    return tuple(found)


def read_functions(path: str, priority: int = 0) -> list[Kernel]:
    """Run a Python file, and return the kernels among what it defines.

    Plain functions are kernels that scripts choose by name, for whatever operation they stand at.

    Raises
    ------
    CatalogError
        If the file can't be run, or has no function.
    """
    import runpy

    try:
        names = runpy.run_path(path)
    except (Exception, SystemExit) as error:
        raise CatalogError(f"{type(error).__name__}: {error}") from error
    found = []
    for name, item in names.items():
        if isinstance(item, Kernel):
            found.append(replace(item, priority=max(item.priority, priority)))
        elif callable(item) and not isinstance(item, type) and not name.startswith("_"):
            found.append(Kernel(name, priority=priority, function=item))
    if not found:
        raise CatalogError("it defines no function")
    return found
