"""A kernel that is not freestone's: what it computes, of which types, and where it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freestone.lang.front.extensions.operations import operation_of
from freestone.lang.front.graph.graph import Op, Value
from freestone.lang.front.types.types import CELLS, PRINTED, Type, common_type

__all__ = ["CPP", "Kernel", "Parameter", "choose", "parameter_of"]

CPP = "CPP"
"""The backend of kernels that run on this machine's processors."""

_FORMS = {"DenseMatrix": "", "Matrix": "", "CSRMatrix": "csr"}
_NAMES = {name: cell for cell, name in PRINTED.items() if cell != "index"}
_NAMES |= {cell: cell for cell in CELLS if cell != "index"}
_NAMES |= {"size_t": "ui64", "char": "str", "long": "si64", "int": "si32"}
_MATRIX = re.compile(r"(\w+)<(.+)>")


@dataclass(frozen=True)
class Parameter:
    """The type of a result or an argument.

    Parameters
    ----------
    data : {"scalar", "matrix", "frame"}
        What it is.
    cell : str
        The type of its elements; of a frame, "".
    form : str
        "csr" for a matrix in CSR, else "".
    name : str
        As the catalog has it.
    """

    data: str
    cell: str
    form: str
    name: str

    def takes(self, type: Type, cell: str, *, exactly: bool = False) -> bool:
        """Tell whether it takes a value whose elements become `cell`; numbers may be widened."""
        if type.data != self.data:
            return False
        if self.data == "frame":
            return True
        have = "ui64" if cell == "index" else cell
        if exactly or self.data == "matrix" or "str" in (have, self.cell):
            return have == self.cell
        return common_type([have, self.cell]) == self.cell


def parameter_of(text: str) -> Parameter | None:
    """Read a type of C++, such as ``DenseMatrix<float>``, or of the language; None if it is none.

    Examples
    --------
    >>> parameter_of("const CSRMatrix<double> *").form
    'csr'
    """
    words = re.sub(r"\bconst\b|\bstruct\b|[*&]|\s", "", text.replace("std::", ""))
    if words == "Frame":
        return Parameter("frame", "", "", text)
    matrix = _MATRIX.fullmatch(words)
    name = matrix[2] if matrix else words
    cell = "str" if name == "string" else _NAMES.get(name)
    if cell is None or (matrix and matrix[1] not in _FORMS):
        return None
    if matrix:
        return Parameter("matrix", cell, _FORMS[matrix[1]], text)
    return Parameter("scalar", cell, "", text)


@dataclass(frozen=True)
class Kernel:
    """A kernel that a catalog, a Python file or a program adds.

    Parameters
    ----------
    name : str
        By which scripts choose it: ``sum::name(x)``.
    operation : str
        What it computes, as catalogs call it, such as ``sumAll``; "" for a function that takes
        whatever the script gives it.
    results, arguments : tuple of Parameter
        Their types.
    priority : int
        From 1 on it comes before freestone's own kernel.
    backend : str
        ``CPP``, or the accelerator that it is for.
    library : str
        The path of the shared library; "" if it is a function of Python's.
    function : callable or CompiledFunction, optional
        The function of Python's, or one that was compiled from it.
    """

    name: str
    operation: str = ""
    results: tuple[Parameter, ...] = ()
    arguments: tuple[Parameter, ...] = ()
    priority: int = 0
    backend: str = CPP
    library: str = ""
    function: Any = None

    @property
    def is_typed(self) -> bool:
        """Whether its operation and types are known."""
        return bool(self.operation)

    @property
    def is_compiled(self) -> bool:
        """Whether it is machine code, which can crash the process."""
        return bool(self.library) or hasattr(self.function, "address")

    def problem_with(self, op: Op) -> str | None:
        """Say why it can't run an operation; None if it can."""
        if self.backend != CPP:
            return f"the kernel {self.name!r} is for {self.backend}, which is not there"
        if not self.is_typed:
            return None
        have = operation_of(op)
        if self.operation != have:
            return f"the kernel {self.name!r} is for {self.operation}, not for {have or op.name}"
        return _misfit(self, "takes", self.arguments, op.operands, op) or _misfit(
            self, "makes", self.results, op.results, op
        )


def choose(kernels: Mapping[str, Sequence[Kernel]], op: Op, asked: str | None) -> str | None:
    """Return the name of the kernel that runs an operation; None for freestone's own.

    Parameters
    ----------
    kernels : mapping
        Kernels by their names.
    op : Op
        The operation.
    asked : str or None
        The kernel that the script asks for. If it is for other operations, it is left for one that
        follows: conversions come before what is meant.

    Raises
    ------
    ValueError
        If it is for this operation, and can't run it.
    """
    if asked is None:
        found = _preferred(kernels, op)
        return None if found is None else found.name
    named = kernels.get(asked, [])
    typed = {kernel.operation for kernel in named if kernel.is_typed}
    if typed and operation_of(op) not in typed:
        return None
    problems = [kernel.problem_with(op) for kernel in named]
    if problems and all(problems):
        raise ValueError(problems[0])
    return asked


def _preferred(kernels: Mapping[str, Sequence[Kernel]], op: Op) -> Kernel | None:
    fitting = [
        kernel
        for named in kernels.values()
        for kernel in named
        if kernel.is_typed and kernel.priority > 0 and kernel.problem_with(op) is None
    ]
    return max(fitting, key=lambda kernel: kernel.priority, default=None)


def _misfit(
    kernel: Kernel, verb: str, parameters: tuple[Parameter, ...], values: list[Value], op: Op
) -> str | None:
    if len(parameters) != len(values):
        kind = "arguments" if verb == "takes" else "results"
        what = f"{verb} {len(parameters)} {kind}, where {operation_of(op)} has {len(values)}"
        return f"the kernel {kernel.name!r} {what}"
    for parameter, value in zip(parameters, values, strict=True):
        # Both sides of an operation are converted to what it works in.
        cell = op.attrs.get("cell", value.type.cell) if verb == "takes" else value.type.cell
        if not parameter.takes(value.type, cell, exactly=verb == "makes"):
            return f"the kernel {kernel.name!r} {verb} a {parameter.name}, not a {value.type}"
    return None
