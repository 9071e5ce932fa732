"""Random scripts print the same plain, fused, by strips and on a cluster; so do their errors."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from freestone import Cluster
from freestone.errors.lang import ScriptCompileError, ScriptError
from tests.lang.scripts import printed, printed_on

LONG = 150 if os.environ.get("CI") else 30
CELLS = ["f64", "f64", "f32", "si64", "si32", "ui8"]


@dataclass(frozen=True)
class Shape:
    """What is known of a variable: rows, columns and the type of its cells."""

    rows: int
    columns: int
    cell: str


class Writer:
    """Writes a script of matrices of small whole numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.shapes: dict[str, Shape] = {}
        self.lines: list[str] = []

    def script(self, length: int) -> str:
        """Return a script of so many statements that prints all of its variables."""
        for _ in range(2):
            self._source()
        for _ in range(length):
            self.random.choice(self._kinds)(self)
        self.lines += [f"print({name});" for name in self.shapes]
        return "\n".join(self.lines)

    def _new(self, text: str, shape: Shape) -> None:
        name = f"v{len(self.shapes)}"
        self.lines.append(f"{name} = {text};")
        self.shapes[name] = shape

    def _any(self) -> tuple[str, Shape]:
        return self.random.choice(list(self.shapes.items()))

    def _source(self) -> None:
        rows, columns = self.random.choice([1, 2, 7, 40]), self.random.choice([1, 3, 5])
        cell, seed = self.random.choice(CELLS), self.random.randint(1, 99)
        share = self.random.choice([1.0, 1.0, 0.2, 0.01])
        low = 1.0 if share < 1 else -4.0
        drawn = f"floor(rand({rows}, {columns}, {low}, 6.0, {share}, {seed}))"
        if cell == "ui8":
            drawn = f"abs({drawn})"
        self._new(f"as.matrix<{cell}>({drawn})", Shape(rows, columns, cell))

    def _unary(self) -> None:
        name, shape = self._any()
        call = self.random.choice(["abs", "sign", "round", "floor", "minus", "cumSum", "reverse"])
        self._new(f"{call}({name})", shape)

    def _binary(self) -> None:
        name, shape = self._any()
        fits = [(1, 1), (1, shape.columns), (shape.rows, 1), (shape.rows, shape.columns)]
        others = [
            other
            for other, its in self.shapes.items()
            if (its.rows, its.columns) in fits and its.cell == shape.cell
        ]
        other = self.random.choice([*others, f"as.{shape.cell}(2)"])
        sign = self.random.choice(["+", "-", "*", ">", "==", "&&", "<="])
        cell = shape.cell if sign != "&&" or shape.cell[0] != "f" else "si64"
        text = (
            f"as.matrix<{cell}>({name} {sign} {other})"
            if sign == "&&"
            else f"{name} {sign} {other}"
        )
        self._new(f"sign({text}) * {name}" if sign == "*" else text, replace_cell(shape, cell))

    def _aggregate(self) -> None:
        name, shape = self._any()
        call = self.random.choice(["sum", "aggMin", "aggMax"])
        axis = self.random.choice([0, 1])
        made = (
            Shape(shape.rows, 1, shape.cell) if axis == 0 else Shape(1, shape.columns, shape.cell)
        )
        self._new(f"{call}({name}, {axis})", made)

    def _transpose(self) -> None:
        name, shape = self._any()
        self._new(f"t({name})", Shape(shape.columns, shape.rows, shape.cell))

    def _product(self) -> None:
        name, shape = self._any()
        if shape.rows < 50:
            self._new(f"sign(t({name}) @ {name})", Shape(shape.columns, shape.columns, shape.cell))

    def _rows(self) -> None:
        name, shape = self._any()
        first = self.random.randrange(shape.rows)
        last = self.random.randint(first + 1, shape.rows)
        self._new(f"{name}[{first}:{last}, ]", Shape(last - first, shape.columns, shape.cell))

    def _column(self) -> None:
        name, shape = self._any()
        at = self.random.randrange(shape.columns)
        self._new(f"{name}[, {at}]", Shape(shape.rows, 1, shape.cell))

    def _written(self) -> None:
        name, shape = self._any()
        at = self.random.randrange(shape.columns)
        self.lines.append(f"{name}[, {at}] = abs({name}[, {shape.columns - 1}]);")

    def _filtered(self) -> None:
        name, shape = self._any()
        self.lines += [
            f"print(sum({name}[[{name}[, 0] > as.{shape.cell}(1), ]]));",
            f"print({name}[[{name}[, 0] > as.{shape.cell}(1), ]]);",
        ]

    def _printed(self) -> None:
        name, _shape = self._any()
        calls = ["sum({})", "aggMax({})", "mean({})", "nrow({})", "typeOf({})", "idxMax({}, 0)"]
        calls += ["order({}, 0, true, false)", "reshape({}, 1, ncell({}))", "cbind({}, {})"]
        calls += ["rbind({}, {})", "sparsity({})", "mean({}, 1)"]
        self.lines.append(f"print({self.random.choice(calls).replace('{}', name)});")

    def _loop(self) -> None:
        name, _shape = self._any()
        body = self.random.choice(
            [f"{name} = sign({name} + {name});", f"{name} = {name} - aggMin({name}, 1);"]
        )
        self.lines.append(f"for (i in 1:{self.random.randint(1, 3)}) {{ {body} }}")

    def _branch(self) -> None:
        name, _ = self._any()
        self.lines.append(f"if (as.f64(sum({name})) > 3.0) {{ {name} = -{name}; }}")

    def _wrong(self) -> None:
        name, shape = self._any()
        if self.random.random() < 0.2 and shape.cell[0] != "f":
            self._new(f"{name} / ({name} - {name})", shape)

    _kinds = (_source, _unary, _binary, _aggregate, _transpose, _product, _rows, _column)
    _kinds += (_written, _filtered, _printed, _loop, _branch, _wrong, _binary, _printed)


def replace_cell(shape: Shape, cell: str) -> Shape:
    """Return a shape with other cells."""
    return Shape(shape.rows, shape.columns, cell)


def outcome(run: object) -> str:
    """Return what a script prints, or what its error says."""
    try:
        return str(run())  # type: ignore[operator]
    except ScriptError as error:
        return f"{error}"


@pytest.mark.parametrize("csr", [False, True], ids=["dense", "sparse"])
@settings(
    max_examples=LONG, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 14))
def test_any_script(two_workers: Cluster, csr: bool, seed: int, length: int) -> None:
    text = Writer(seed).script(length)
    options = {"select_matrix_repr": csr}
    plain = outcome(lambda: printed(text, **options))
    assert outcome(lambda: printed(text, vec=True, num_threads=2, **options)) == plain
    assert outcome(lambda: printed(text, vec=True, num_threads=1, forget=False, **options)) == plain
    assert outcome(lambda: printed_on(two_workers, text, **options)) == plain
    try:
        low = printed(text, memory_bytes=2000, **options)
    except ScriptCompileError:
        return
    except ScriptError as error:
        low = f"{error}"
    assert low == plain
