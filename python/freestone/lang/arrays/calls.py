"""Plans of NumPy's functions alone, for what the engine has no types for.

The engine knows matrices of whole and real numbers. Complex numbers, dates, texts, numbers in
another byte order and arrays of three dimensions and more are NumPy's, block by block.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone.collections import Array
from freestone.collections.rows import describe_type, is_sparse, portable, same_dtype
from freestone.lang.arrays.nodes import Node

__all__ = ["CallLowering", "Calls", "Expected"]

Operand = int | tuple[Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the blocks of an array have to be: a plan is made for the first one's type."""

    array: str
    dtype: np.dtype[Any]
    columns: tuple[int, ...]
    sparse: bool

    @classmethod
    def of(cls, array: Array) -> Expected:
        """Return what is known of an array."""
        return cls(array.name, array.dtype, array._row_shape(), array._first().sparse)

    def check(self, block: Any, number: int | None) -> None:
        """Raise the error for a block of another type."""
        # The engine takes the machine's byte order; NumPy's functions take any.
        fits = block.dtype.isnative or not self.dtype.isnative
        same_columns = block.shape[1:] == self.columns
        alike = same_dtype(block.dtype, self.dtype) and is_sparse(block) == self.sparse
        if fits and alike and same_columns:
            return
        which = "a block" if number is None else f"block {number}"
        form = "sparse" if self.sparse else "dense"
        wanted = "" if same_columns else f" of columns {self.columns},"
        advice = "give dtype= where the array is made" if same_columns else "return what fits"
        raise TypeError(
            f"{which} of {self.array!r} is {describe_type(block)}, where block 0 is{wanted} {form} "
            f"and of dtype {self.dtype}; {advice}"
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A call; operands are numbers of inputs and results, or constants in a tuple."""

    label: str
    function: Any
    operands: tuple[Operand, ...]


@dataclass(slots=True)
class Calls:
    """Functions of NumPy's that are called with the rows of a block, one after the other."""

    blocks: list[Expected] = field(default_factory=list)
    inputs: int = 0
    steps: list[Step] = field(default_factory=list)
    outs: list[int] = field(default_factory=list)
    calls_numpy = True

    def encoded(self) -> bytes:
        """Return what `run_plan` decodes."""
        return pickle.dumps(self, protocol=5)

    def run(self, blocks: Sequence[Any], whole: Sequence[Any]) -> list[Any]:
        """Call all functions, and forget what no later one needs."""
        values: list[Any] = [block.toarray() if is_sparse(block) else block for block in blocks]
        values += whole
        dying = self._dying()
        with np.errstate(all="ignore"):
            for number, step in enumerate(self.steps):
                given = [one[0] if isinstance(one, tuple) else values[one] for one in step.operands]
                values.append(step.function(*given))
                for one in dying[number]:
                    values[one] = None
        return [portable(values[out]) for out in self.outs]

    def _dying(self) -> list[list[int]]:
        """Return for each step the values that are needed by none after it."""
        last: dict[int, int] = {}
        for number, step in enumerate(self.steps):
            last |= {one: number for one in step.operands if isinstance(one, int)}
        found: list[list[int]] = [[] for _ in self.steps]
        for value, number in last.items():
            if value not in self.outs:
                found[number].append(value)
        return found

    def lines(self) -> Iterator[str]:
        """Yield a line for each call."""
        for number, step in enumerate(self.steps, self.inputs):
            shown = [f"%{one}" if isinstance(one, int) else str(one[0]) for one in step.operands]
            yield f"%{number} = numpy {step.label} {' '.join(shown)}"
        yield f"-> {' '.join(f'%{out}' for out in self.outs)}"


class CallLowering:
    """Makes calls of nodes; beside `Lowering`, with the same attributes."""

    def __init__(self, roots: Sequence[Node], order: Sequence[Node], sources: list[Node]) -> None:
        self.plan: Calls = Calls()
        self.sources = sources
        self.plan.blocks = [Expected.of(node.attrs["data"]) for node in sources]
        places = {id(node.attrs["data"]): number for number, node in enumerate(sources)}
        needed = dict.fromkeys(arg for node in order for arg in node.args if arg.rows is None)
        values = [arg for arg in needed if not arg.attrs.get("weak")]
        self.wholes: list[tuple[Node, str]] = [(arg, "natural") for arg in values]
        made: dict[Node, Operand] = {
            node: places[id(node.attrs["data"])] for node in order if node.kind == "source"
        }
        made |= {arg: (arg.attrs["data"],) for arg in needed if arg.attrs.get("weak")}
        made |= {arg: len(sources) + number for number, arg in enumerate(values)}
        self.plan.inputs = len(sources) + len(values)
        for node in order:
            if node.kind != "source":
                made[node] = self._emit(node, tuple(made[arg] for arg in node.args))
        self.plan.outs = [int(made[node]) for node in roots]  # type: ignore[arg-type]

    def _emit(self, node: Node, operands: tuple[Operand, ...]) -> int:
        label = str(node.attrs.get("ufunc") or node.attrs.get("name") or node.kind)
        self.plan.steps.append(Step(label, node.attrs["function"], operands))
        return self.plan.inputs + len(self.plan.steps) - 1
