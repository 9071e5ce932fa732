"""Plans: functions of the rows of a block, in the typed graph that scripts are compiled to."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from freestone.collections.rows import is_sparse
from freestone.lang.arrays.calls import Calls, Expected
from freestone.lang.compile import PASSES
from freestone.lang.front.graph.explaining import lines
from freestone.lang.front.graph.graph import Block, Op, Program, Value
from freestone.lang.front.types.types import Type
from freestone.lang.run.kernels.sparse import Csr
from freestone.lang.run.local import Run
from freestone.lang.settings import Settings

Operand = int | tuple[Any, str]


@dataclass(frozen=True, slots=True)
class Step:
    """An operation; operands are numbers of inputs and results, or constants with their type."""

    kind: str
    operands: tuple[Operand, ...]
    type: Type
    attrs: dict[str, Any]


@dataclass(slots=True)
class Plan:
    """What is done with the rows of a block.

    A list of steps and not the graph itself: it is pickled without recursion.

    Attributes
    ----------
    inputs : list of Type
        First the blocks, then what is whole.
    steps : list of Step
        In order; the result of each has the next number.
    outs : list of int
        What comes back.
    blocks : list of Expected
        What the blocks have to be.
    """

    blocks: list[Expected] = field(default_factory=list)
    inputs: list[Type] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    outs: list[int] = field(default_factory=list)

    def emit(self, kind: str, operands: Sequence[Operand], type: Type, **attrs: Any) -> int:
        """Append a step, and return the number of its result."""
        self.steps.append(Step(kind, tuple(operands), type, attrs))
        return len(self.inputs) + len(self.steps) - 1

    def type_of(self, operand: Operand) -> Type:
        """Return what is known of an operand."""
        if isinstance(operand, tuple):
            return Type("scalar", operand[1])
        whole = len(self.inputs)
        return self.inputs[operand] if operand < whole else self.steps[operand - whole].type

    @property
    def calls_numpy(self) -> bool:
        """Whether some of it is not done by the engine, which has threads and tiles of its own."""
        return any(step.kind == "apply" for step in self.steps)

    def encoded(self) -> bytes:
        """Return what `run_plan` decodes."""
        return pickle.dumps(self, protocol=5)

    def lines(self) -> Iterator[str]:
        """Yield the improved graph, a line for each operation."""
        return lines(self.program(Settings(vec=True)))

    def program(self, settings: Settings) -> Program:
        """Return the graph, improved by all passes."""
        values = [Value(type) for type in self.inputs]
        block = Block(list(values))
        for step in self.steps:
            operands = [
                Value(Type("scalar", one[1]), None, one[0])
                if isinstance(one, tuple)
                else values[one]
                for one in step.operands
            ]
            op = Op(step.kind, operands, [], dict(step.attrs))
            op.results = [Value(step.type, op)]
            block.ops.append(op)
            values.append(op.results[0])
        block.outs = [values[out] for out in self.outs]
        program = Program(block)
        for name, change in PASSES:
            # A tile's memory is the engine's business, whatever the array's size.
            if name not in ("strips", "memory"):
                change(program, settings)
        return program


@lru_cache(maxsize=64)
def _compiled(encoded: bytes) -> tuple[Program | Calls, list[Expected]]:
    plan = pickle.loads(encoded)
    ready = plan if isinstance(plan, Calls) else plan.program(Settings(vec=True))
    return ready, plan.blocks


def run_plan(
    encoded: bytes,
    threads: int,
    blocks: Sequence[Any],
    whole: Sequence[Any],
    number: int | None = None,
) -> list[Any]:
    """Run a plan on blocks that go together, and on what is whole.

    Parameters
    ----------
    encoded : bytes
        Of `Plan.encoded` or `Calls.encoded`.
    threads : int
        How many cores it uses; 0 means all.
    blocks : sequence of ndarray or SciPy CSR matrix
        Not changed.
    whole : sequence
        Matrices and scalars.
    number : int, optional
        Which blocks they are, for messages.

    Raises
    ------
    TypeError
        If a block is of another type than the first one of its array.
    """
    program, expected = _compiled(encoded)
    for block, each in zip(blocks, expected, strict=True):
        each.check(block, number)
    if isinstance(program, Calls):
        return program.run(blocks, whole)
    given = [*map(_matrix, blocks), *whole]
    values = dict(zip(program.main.args, given, strict=True))
    run = Run(Settings(vec=True, num_threads=threads))
    return run.block(program.main, values)


def _matrix(block: Any) -> Any:
    if is_sparse(block):
        return Csr.of_scipy(block)
    cells = block.reshape(-1, 1) if block.ndim == 1 else block
    return cells.view(np.uint8) if cells.dtype == bool else cells
