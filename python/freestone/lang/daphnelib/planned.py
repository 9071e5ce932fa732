"""Values that have a plan and are computed again: its operations are functions, found once.

See docs/decisions/093-small-lazy-values-are-computed-without-a-plan.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from freestone.lang.daphnelib import small
from freestone.lang.front.graph.graph import Op, Program, Value
from freestone.lang.front.types.types import DTYPES
from freestone.lang.run.kernels import kernel_of
from freestone.lang.run.kernels.pipeline import prepared_for
from freestone.lang.run.kernels.quiet import quietly
from freestone.lang.run.local import Run, lifetimes
from freestone.lang.settings import Settings

__all__ = ["Planned"]


class Line(NamedTuple):
    """An operation of a program.

    Attributes
    ----------
    call : callable
        Takes the operands.
    reads, makes, dying : tuple of int
        The numbers of its operands, of its results, and of what nobody reads after it.
    """

    call: Callable[..., Any]
    reads: tuple[int, ...]
    makes: tuple[int, ...]
    dying: tuple[int, ...]


class Lines(NamedTuple):
    """The operations of a program without branches.

    Attributes
    ----------
    known : list
        What is there before they run.
    lines : list of Line
        What is done, in order.
    out : int
        The number of what is handed out.
    is_apart : bool
        Whether that shares no memory with what Python gave.
    """

    known: list[Any]
    lines: list[Line]
    out: int
    is_apart: bool

    def run(self) -> Any:
        """Run them in order."""
        values = self.known.copy()
        for call, reads, makes, dying in self.lines:
            operands = [values[at] for at in reads]
            for at in dying:
                values[at] = None
            found = call(*operands)
            if len(makes) == 1:
                values[makes[0]] = found
            else:
                for at, one in zip(makes, found, strict=True):
                    values[at] = one
        return values[self.out]


class Planned:
    """The program that computes a value.

    Parameters
    ----------
    program : Program
        It.
    data : list
        What Python gave, by slots.
    settings : Settings
        How it runs.
    """

    __slots__ = ("_lines", "_runs", "data", "program", "settings")

    def __init__(self, program: Program, data: list[Any], settings: Settings) -> None:
        self.program = program
        self.data = data
        self.settings = settings
        self._lines: Lines | None = None
        self._runs = 0

    def run(self) -> tuple[Any, list[Any]]:
        """Compute the value; from the third time on without looking at what is known by then.

        Returns
        -------
        pair
            What it is, and what Python gave that it may share memory with.
        """
        if self._lines is not None:
            try:
                return quietly(self._lines.run), [] if self._lines.is_apart else self.data
            except Exception:
                # Again, by the way that says what failed, and where.
                self._lines = None
        found = Run(self.settings, given=self.data).block(self.program.main, {})[0]
        self._runs += 1
        if self._runs == 2 and not self.settings.has_to_be_planned:
            self._lines = _lines(self.program, self.data, self.settings)
        return found, self.data


def _lines(program: Program, data: Sequence[Any], settings: Settings) -> Lines | None:
    """Return a program that has run as functions; None if it has an operation that is none."""
    block = program.main
    last_reads = lifetimes(block).last_reads
    numbers: dict[Value, int] = {}
    known: list[Any] = []
    lines = []

    def number(value: Value, content: Any = None) -> int:
        if value not in numbers:
            numbers[value] = len(known)
            known.append(value.const if value.const is not None else content)
        return numbers[value]

    run = Run(settings, given=data)
    for op in block.ops:
        if op.kind == "given":
            number(op.results[0], data[op.attrs["slot"]])
            continue
        reads = tuple(number(value) for value in op.operands)
        call = _call(run, op, [_stand_in(value, known[numbers[value]]) for value in op.operands])
        if call is None:
            return None
        makes = tuple(number(value) for value in op.results)
        dying = tuple(numbers[value] for value in last_reads[op] if value in numbers)
        lines.append(Line(call, reads, makes, dying))
    out = block.outs[0]
    # A pipeline stores into new memory.
    is_apart = out.op is not None and out.op.kind == "pipeline"
    return Lines(known, lines, number(out), is_apart)


def _stand_in(value: Value, content: Any) -> Any:
    """Return what an operand is, or, if another operation makes it, one that is like it."""
    type = value.type
    if content is not None or type.form:
        return content
    if type.data == "scalar":
        return 0.0
    known = type.data == "matrix" and type.rows is not None and type.columns is not None
    return np.empty((type.rows, type.columns), DTYPES[type.cell]) if known else None


KERNELS = frozenset({"gemv", "syrk", "cross", "sum_product", "eigen", "triangle", "seq", "ctable"})
"""What a plan runs of dense matrices as it is, beside what small values know."""


def _alone(run: Run, op: Op) -> Callable[..., Any] | None:
    """Return what an operation in no pipeline does to dense matrices, however large."""
    types = [*(value.type for value in op.operands), *(value.type for value in op.results)]
    if op.kernel is not None or any(type.data not in ("matrix", "scalar") for type in types):
        return None
    if any(type.form for type in types):
        return None
    if op.kind in KERNELS:
        return partial(kernel_of(op.kind), run, op)
    return small.function_of(run, op)


def _call(run: Run, op: Op, operands: list[Any]) -> Callable[..., Any] | None:
    """Return what an operation does to such operands, if that is always the same."""
    if any(result.type.form for result in op.results):
        return None
    if op.kind != "pipeline":
        return _alone(run, op)
    reads = op.attrs["reads"]
    prepared = prepared_for(op.regions[0], dict(zip(reads, operands, strict=True)))
    if prepared is None:
        return None

    def pipeline(*operands: Any) -> Any:
        results = prepared.run(run, dict(zip(reads, operands, strict=True)))
        return results if len(results) > 1 else results[0]

    return pipeline
