"""Pipelines that are put together: all that the engine is given, but for the elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from freestone._native.vector import run_pipeline
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types import scalars
from freestone.lang.front.types.types import is_float
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.memory import empty, plain
from freestone.lang.run.kernels.sparse import Csr

__all__ = ["Input", "Output", "Prepared"]

Array = np.ndarray[Any, Any]


class Input(NamedTuple):
    """What a pipeline reads: a number that is known, or what is found in a value when it runs.

    Attributes
    ----------
    code : int
        The engine's number of its type.
    form : str
        Its shape, as the engine calls it; "vector" is a row that is converted and laid flat.
    source : Value or None
        Where it is found; None if it is known.
    cell : str
        Its type.
    number : int or float
        What is known.
    """

    code: int
    form: str
    source: Value | None
    cell: str
    number: Any = 0

    def given(self, values: dict[Value, Any], is_flat: bool) -> tuple[Any, ...]:
        """Return what the engine is given."""
        if self.source is None:
            return _number_given(self.code, self.cell, self.number)
        value = values[self.source]
        if self.form == "scalar":
            return _number_given(self.code, self.cell, scalars.wrapped(self.cell, value))
        if self.form == "vector":
            return self.code, "row", plain(converted(value, self.cell)).ravel(), 0.0, 0
        if isinstance(value, Csr):
            return self.code, self.form, value.cells, 0.0, 0
        cells = plain(value)
        return self.code, self.form, cells.reshape(-1, 1) if is_flat else cells, 0.0, 0


def _number_given(code: int, cell: str, number: Any) -> tuple[Any, ...]:
    if is_float(cell):
        return code, "scalar", None, float(number), 0
    return code, "scalar", None, 0.0, scalars.wrapped("si64", number)


class Output(NamedTuple):
    """What a pipeline keeps: a register's elements, or what they are reduced to.

    Attributes
    ----------
    kind, name : str
        As the engine calls it.
    register : int
        Of what.
    shape : tuple of int, or None
        That of the array that it becomes; None of a number.
    dtype : str
        Its type.
    """

    kind: str
    name: str
    register: Any
    shape: tuple[int, ...] | None
    dtype: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """A pipeline put together for operands of certain shapes and types, whatever their elements.

    Attributes
    ----------
    rows, columns : int
        The shape that the engine works on.
    shape : tuple of int, or None
        That of results, where all matrices are laid flat.
    structure : Value or None
        The CSR matrix whose places all have.
    takers : list of int
        Which output each result is.
    """

    rows: int
    columns: int
    shape: tuple[int, int] | None
    inputs: list[Input]
    structure: Value | None
    instructions: list[tuple[Any, ...]]
    outputs: list[Output]
    takers: list[int]

    def run(self, run: Any, values: dict[Value, Any]) -> tuple[Any, ...]:
        """Run it on operands."""
        is_flat = self.shape is not None
        structure = None if self.structure is None else values[self.structure]
        made = [self._target(run, out) for out in self.outputs]
        numbers = run_pipeline(
            (self.rows, self.columns),
            [item.given(values, is_flat) for item in self.inputs],
            None if structure is None else structure.structure,
            self.instructions,
            [
                (out.kind, out.name, out.register, array)
                for out, array in zip(self.outputs, made, strict=True)
            ],
            run.settings,
        )
        found = iter(numbers)
        results = [
            next(found) if out.shape is None else self._result(out, array, structure)
            for out, array in zip(self.outputs, made, strict=True)
        ]
        return tuple(results[at] for at in self.takers)

    def _target(self, run: Any, out: Output) -> Array | None:
        return None if out.shape is None else empty(run, out.shape, out.dtype)

    def _result(self, out: Output, array: Any, structure: Csr | None) -> Any:
        if self.shape is not None:
            return array.reshape(self.shape)
        if structure is not None and out.kind == "store" and array.ndim == 1:
            return structure.with_cells(array)
        return array
