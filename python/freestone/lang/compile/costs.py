"""What each step of a plan costs, estimated before it runs: bytes and seconds.

A step takes as long as its bytes take to be read and written, or as its arithmetic takes, whichever
is longer. Both rates are measured on this machine when somebody asks, in some hundredths of a
second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.types.types import Type

__all__ = ["Rates", "Step", "rates", "steps_of"]

_LONG = frozenset({"exp", "ln", "log", "pow", "sin", "cos", "tan", "asin", "acos", "atan"})
_LONG |= {"sinh", "cosh", "tanh"}
"""Functions of elements that take about ten times as long as an addition."""
_CONTROL = frozenset({"if", "while", "for", "call", "strips"})
STEP_S = 5e-6
"""What a step takes before its first element."""
READING = 2.5e8
"""Bytes of text that are parsed in a second."""


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second.

    Parameters
    ----------
    nbytes : float
        Bytes that are read and written by one core.
    products : float
        Multiplications and additions of a product of matrices.
    elements : float
        Additions of elements in the nearest caches.
    """

    nbytes: float
    products: float
    elements: float


@dataclass(frozen=True)
class Step:
    """A step of a plan.

    Parameters
    ----------
    op : Op
        What is done.
    depth : int
        How many loops, branches and functions it is inside of.
    kernel : str
        What does it: ``fused``, ``sparse``, ``numpy``, or the name of a kernel of others'.
    place : str
        Where it runs.
    nbytes : int or None
        Bytes of its operands and results; None if a shape is not known yet.
    seconds : float or None
        How long it takes each time.
    """

    op: Op
    depth: int
    kernel: str
    place: str
    nbytes: int | None
    seconds: float | None

    @property
    def name(self) -> str:
        """What people read: of a pipeline, its operations."""
        if self.op.kind != "pipeline":
            return self.op.name
        return ", ".join(inner.name for inner in self.op.regions[0].ops)


@cache
def rates() -> Rates:
    """Measure what this machine does in a second."""
    import numpy as np

    source, left, few = np.ones(1 << 22), np.ones((512, 512)), np.ones(1 << 12)
    return Rates(
        # Results are new memory, as a rule, which the system clears first.
        nbytes=2 * source.nbytes / _shortest(source.copy),
        products=2 * 512**3 / _shortest(lambda: np.matmul(left, left)),
        elements=few.size / _shortest(lambda: np.add(few, few, out=few)),
    )


def _shortest(call: Callable[[], object]) -> float:
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return max(min(taken), 1e-9)


def steps_of(program: Program) -> Iterator[Step]:
    """Yield the steps of a program, in order; functions come first."""
    known = rates()
    for function in program.functions:
        yield from _steps(function.block, 1, known)
    yield from _steps(program.main, 0, known)


def _steps(block: Block, depth: int, known: Rates) -> Iterator[Step]:
    for op in block.ops:
        if op.kind in _CONTROL:
            for region in op.regions:
                yield from _steps(region, depth + 1, known)
            continue
        nbytes = _nbytes([*op.operands, *op.results])
        seconds = None if nbytes is None else _seconds(op, nbytes, known)
        yield Step(op, depth, _kernel(op), op.where or "here", nbytes, seconds)


def _kernel(op: Op) -> str:
    if op.kernel is not None:
        return op.kernel
    if op.kind == "pipeline":
        return "fused"
    return "sparse" if any(value.type.form for value in (*op.operands, *op.results)) else "numpy"


def _nbytes(values: list[Value]) -> int | None:
    total = 0
    for value in dict.fromkeys(values):
        nbytes = value.type.nbytes if value.type.data in ("matrix", "frame") else 0
        if nbytes is None:
            return None
        total += nbytes
    return total


def _seconds(op: Op, nbytes: int, known: Rates) -> float | None:
    inside = op.regions[0].ops if op.kind == "pipeline" else [op]
    work = 0.0
    for inner in inside:
        counted = _work(inner, known)
        if counted is None:
            return None
        work += counted
    rate = READING if op.kind in ("read", "write") else known.nbytes
    return STEP_S + max(nbytes / rate, work)


def _work(op: Op, known: Rates) -> float | None:
    """Return the seconds of an operation's arithmetic."""
    types = [value.type for value in (*op.operands, *op.results)]
    elements = max((_elements(type) for type in types), default=0.0)
    if math.isnan(elements):
        return None
    first = types[0] if types else Type("nothing")
    rows, columns = first.rows or 1, first.columns or 1
    if op.kind == "matmul":
        return 2.0 * rows * columns * (types[1].columns or 1) / known.products
    if op.kind in ("syrk", "cross", "gemv"):
        return 2.0 * rows * columns * columns / known.products
    if op.kind in ("solve", "eigen"):
        return (1.0 if op.kind == "solve" else 20.0) * rows**3 / known.products
    if op.kind in ("order", "recode", "bin", "one_hot"):
        return elements * 8 * math.log2(elements + 2) / known.elements
    if op.kind in ("rand", "sample"):
        return 8 * elements / known.elements
    return elements * (10 if op.attrs.get("name") in _LONG else 1) / known.elements


def _elements(type: Type) -> float:
    if type.data != "matrix":
        return 0.0
    if type.rows is None or type.columns is None:
        return math.nan
    share = type.sparsity if type.form and type.sparsity is not None else 1.0
    return type.rows * type.columns * share
