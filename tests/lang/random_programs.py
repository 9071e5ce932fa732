"""Random scripts with few outputs: what lies between may be fused, cut, or left out.

Each expression knows whether all modes give the same bits (`same`), and how large its cells get.
What sums in another order rounds otherwise; such cells go only into continuous operations.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

CELLS = ("si8", "ui8", "si32", "ui32", "si64", "ui64", "f32", "f64")
WHOLE = ("-3", "-1", "0", "0", "1", "2", "7")
REAL = ("0.0", "0.0", "0.125", "1.5", "-2.25", "3.0", "100.0")
WILD = (*REAL, "nan", "inf", "-inf")
ROWS, COLUMNS = (1, 2, 5, 5, 9, 40, 300), (1, 2, 3, 3, 8)
GENERAL = ("si8", "ui8", "si32", "ui32", "index", "si64", "ui64", "f32", "f64")
ANY = 99
"""Bits after the point of cells that are no sums of powers of two."""


@dataclass(frozen=True)
class Cells:
    """An expression: its text, its shape and type, and what is known of its cells."""

    text: str
    rows: int
    columns: int
    cell: str
    size: float = 1000.0
    bits: int = 4
    same: bool = True

    @property
    def is_real(self) -> bool:
        """Whether its cells are floating-point numbers."""
        return self.cell[0] == "f"

    def sums_exactly(self, count: int) -> bool:
        """Tell whether a sum of so many cells is the same in any order."""
        if not self.is_real:
            return True
        digits = 24 if self.cell == "f32" else 53
        return self.same and self.size * count * 2.0**self.bits < 2.0**digits


class Writer:
    """Writes a script."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.known: list[Cells] = []
        self.wild = self.random.random() < 0.15
        self.rows, self.columns = self.random.choice(ROWS), self.random.choice(COLUMNS)

    def script(self) -> str:
        """Return a script that prints one or two things."""
        for _ in range(self.random.randint(1, 3)):
            self._name(self._source())
        for _ in range(self.random.randint(1, 6)):
            self.statement()
        for _ in range(self.random.randint(1, 2)):
            self._print()
        return "\n".join(self.lines)

    def statement(self) -> None:
        """Write a statement."""
        self.random.choice(STATEMENTS)(self)

    # -- expressions -----------------------------------------------------------------------

    def _source(self, cell: str = "") -> Cells:
        cell = cell or self.random.choice(CELLS)
        rows, columns = self.rows, self.columns
        count = rows * columns
        if count > 60 or self.random.random() < 0.2:
            share = self.random.choice((1.0, 0.2))
            low = "0.0" if cell[0] == "u" else "-4.0"
            text = (
                f"floor(rand({rows}, {columns}, {low}, 6.0, {share}, {self.random.randrange(99)}))"
            )
            return Cells(f"as.{cell}({text})", rows, columns, cell, 6.0, 0)
        items = (WILD if self.wild else REAL) if cell[0] == "f" else WHOLE
        cells = [
            item.lstrip("-") if cell[0] == "u" else item
            for item in self.random.choices(items, k=count)
        ]
        text = f"as.{cell}(reshape([{', '.join(cells)}], {rows}, {columns}))"
        return Cells(text, rows, columns, cell, 100.0, 3)

    def _any(self, rows: int = 0, columns: int = 0) -> Cells:
        fits = [c for c in self.known if rows in (0, c.rows) and columns in (0, c.columns)]
        return self.random.choice(fits) if fits else self._source()

    def _expression(self, depth: int) -> Cells:
        if depth == 0 or self.random.random() < 0.15:
            return self._any(self.rows, self.columns)
        inner = self._expression(depth - 1)
        found = self.random.choice(_FORMS)(self, inner, depth - 1)
        return found if found.size < 1e6 else self._tamed(found)

    def _tamed(self, cells: Cells) -> Cells:
        return replace(
            cells,
            text=f"min({cells.text}, as.{cells.cell}(2)) * 0",
            size=1.0,
            cell=common_type(cells.cell, "si64"),
        )

    def _unary(self, x: Cells, _: int) -> Cells:
        name = self.random.choice(("abs", "minus", "isNan") if not x.same else _UNARY)
        if name == "minus":
            return replace(x, text=f"(-{x.text})")
        if name in ("sqrt", "tanh", "exp"):
            inner = {"sqrt": f"abs({x.text})", "tanh": x.text, "exp": f"min({x.text}, 2)"}[name]
            cell = x.cell if x.is_real else "f64"
            cell = common_type(cell, "si64") if name == "exp" else cell
            return replace(
                x, text=f"{name}({inner})", cell=cell, size=1000.0, bits=ANY, same=name == "sqrt"
            )
        return replace(x, text=f"{name}({x.text})", size=max(x.size, 1.0) + 1)

    def _binary(self, x: Cells, depth: int) -> Cells:
        other = self._other(x, depth)
        signs = ("+", "-", "*", "<", "==", ">=", "!=", "&&", "||", "min", "max")
        if not (x.same and other.same):
            signs = ("+", "-", "*", "min", "max")
        sign = self.random.choice(signs)
        text = (
            f"{sign}({x.text}, {other.text})"
            if sign in ("min", "max")
            else f"({x.text} {sign} {other.text})"
        )
        cell = common_type(x.cell, other.cell)
        made = replace(
            x, text=text, cell=cell, same=x.same and other.same, bits=max(x.bits, other.bits)
        )
        if sign == "*":
            return replace(made, size=x.size * other.size, bits=min(ANY, x.bits + other.bits))
        if sign in ("&&", "||"):
            return replace(made, cell="f64" if "f" in cell[0] else "si64", size=1.0, bits=0)
        return replace(made, size=x.size + other.size)

    def _other(self, x: Cells, depth: int) -> Cells:
        """Return a right side: a scalar, a row, a column, or cells."""
        kind = self.random.randrange(6)
        if kind == 0:
            text = self.random.choice(("2", "1.5", "3", "0.5", "-1"))
            return Cells(text, 1, 1, "f64" if "." in text else "si64", 3.0, 1)
        y = self._expression(depth) if depth > 0 else self._any(x.rows, x.columns)
        if (y.rows, y.columns) != (x.rows, x.columns):
            return self._total(y)
        if kind == 1:
            return self._total(y)
        if kind == 2:
            return replace(y, text=f"{_held(y)}[{self.random.choice((0, -1))}, ]", rows=1)
        if kind == 3:
            return self._aggregate(y, self.random.randint(0, 1))
        return y

    def _total(self, y: Cells) -> Cells:
        name = self.random.choice(("sum", "aggMin", "aggMax", "mean"))
        return self._aggregated(y, name, y.rows * y.columns, "")

    def _aggregate(self, y: Cells, axis: int) -> Cells:
        name = self.random.choice(("sum", "aggMin", "aggMax", "mean", "idxMax", "var"))
        if name == "idxMax" and (not y.same or self.wild):
            name = "sum"
        made = self._aggregated(y, name, y.columns if axis == 0 else y.rows, f", {axis}")
        return replace(made, rows=y.rows if axis == 0 else 1, columns=1 if axis == 0 else y.columns)

    def _aggregated(self, y: Cells, name: str, count: int, axis: str) -> Cells:
        made = replace(y, text=f"{name}({y.text}{axis})")
        if name == "idxMax":
            return replace(made, text=f"as.f64({made.text})", cell="f64", size=count, bits=0)
        if name in ("mean", "var"):
            cell = y.cell if y.is_real else "f64"
            whole = replace(y, cell=cell)
            same = y.same and name == "mean" and whole.sums_exactly(count)
            return replace(
                made, cell=cell, size=y.size**2 if name == "var" else y.size, bits=ANY, same=same
            )
        if name == "sum":
            return replace(made, size=y.size * count, same=y.same and y.sums_exactly(count))
        return made

    def _divided(self, x: Cells, _: int) -> Cells:
        if not x.same:
            return x
        if x.is_real or self.random.random() < 0.5:
            return replace(x, text=f"({x.text} / 3.0)", cell=common_type(x.cell, "f64"), bits=ANY)
        by = self.random.choice(("3", f"(abs(sign({x.text})) + 1)", f"({x.text} + 1)"))
        sign = self.random.choice("/%")
        return replace(x, text=f"({x.text} {sign} {by})", cell=common_type(x.cell, "si64"))

    def _chosen(self, x: Cells, _: int) -> Cells:
        if not x.same:
            return x
        other = self._any(x.rows, x.columns)
        if (other.rows, other.columns) != (x.rows, x.columns) or other.cell != x.cell:
            return replace(
                x, text=f"({x.text} > 0 ? {x.text} : {x.text} * as.{x.cell}(2))", size=2 * x.size
            )
        both = x.same and other.same
        return replace(
            x,
            text=f"({x.text} > 1 ? {x.text} : {other.text})",
            size=max(x.size, other.size),
            bits=max(x.bits, other.bits),
            same=both,
        )

    def _cast(self, x: Cells, _: int) -> Cells:
        cell = self.random.choice(CELLS)
        if cell[0] != "f" and (not x.same or self.wild):
            return x
        if cell == "f32" and x.bits == ANY and not x.same:
            return replace(x, text=f"as.f32({x.text})", cell="f32")
        return replace(
            x,
            text=f"as.{cell}({x.text})",
            cell=cell,
            size=max(x.size, 2.0**8 if cell[-1] == "8" else 0) if cell[0] != "u" else 1e5,
        )

    def _reversed(self, x: Cells, _: int) -> Cells:
        return replace(x, text=f"reverse({x.text})")

    def _cumulated(self, x: Cells, _: int) -> Cells:
        return replace(
            x,
            text=f"cumSum({x.text})",
            size=x.size * x.rows,
            same=x.sums_exactly(x.rows) and x.same,
        )

    # -- statements ------------------------------------------------------------------------

    def _name(self, cells: Cells) -> None:
        name = f"V{len(self.known)}"
        self.lines.append(f"{name} = {cells.text};")
        self.known.append(replace(cells, text=name))

    def _assignment(self) -> None:
        self._name(self._expression(3))

    def _loop(self) -> None:
        at = self.random.randrange(len(self.known))
        x = self.known[at]
        if x.is_real:
            self.lines.append(
                f"for (k in 1:3) {{ {x.text} = {x.text} * as.{x.cell}(0.5) + as.{x.cell}(k); }}"
            )
            self.known[at] = replace(x, bits=min(ANY, x.bits + 3), size=x.size + 6)
        else:
            self.lines.append(f"for (k in 1:3) {{ {x.text} = {x.text} - aggMin({x.text}, 1); }}")

    def _branch(self) -> None:
        x = self.random.choice(self.known)
        if x.same and not self.wild:
            self.lines.append(f"if (sum({x.text} > 0) > 2) {{ {x.text} = -{x.text}; }}")

    def _part(self) -> None:
        x = self.random.choice(self.known)
        at = self.random.randrange(x.columns)
        self.lines.append(f"{x.text}[, {at}] = abs({x.text}[, {x.columns - 1}]);")

    def _function(self) -> None:
        x = self.random.choice(self.known)
        name = f"f{len(self.lines)}"
        self.lines.insert(0, f"def {name}(a) {{ b = a + a; return max(b, a - sum(a, 1)); }}")
        ok = x.sums_exactly(x.rows)
        self._name(
            replace(x, text=f"{name}({x.text})", size=x.size * (x.rows + 2), same=x.same and ok)
        )

    def _print(self) -> None:
        x = self._expression(3)
        kind = self.random.randrange(8)
        if kind < 3:
            x = self._aggregate(x, self.random.randint(0, 1)) if kind else self._total(x)
            text = x.text
        elif kind == 3:
            y = self._any(x.rows, x.columns)
            text = (
                f"t({x.text}) @ {y.text}"
                if (y.rows, y.cell) == (x.rows, x.cell) and x.sums_exactly(0)
                else x.text
            )
        elif kind == 4:
            y = self._any(x.rows, x.columns)
            text = (
                f"rbind({x.text}, {y.text})"
                if (y.columns, y.cell) == (x.columns, x.cell)
                else x.text
            )
        elif kind == 5 and x.same and not self.wild:
            text = f"{_held(x)}[[{_held(x)}[, 0] > as.{x.cell}(1), ]]"
        else:
            text = x.text
        self.lines.append(f"print({text});")


def _held(x: Cells) -> str:
    return x.text if x.text[0] == "V" and x.text.isalnum() else f"({x.text})"


def common_type(one: str, other: str) -> str:
    """Return the more general of two types."""
    return max(one, other, key=GENERAL.index)


_UNARY = ("abs", "sign", "round", "floor", "ceil", "minus", "isNan", "sqrt", "tanh", "exp")
_FORMS = (Writer._unary, Writer._binary, Writer._binary, Writer._binary, Writer._binary)
_FORMS += (Writer._divided, Writer._chosen, Writer._cast, Writer._reversed, Writer._cumulated)
STATEMENTS: tuple[Callable[[Any], None], ...] = (Writer._assignment,) * 6
STATEMENTS += (Writer._loop, Writer._branch, Writer._part, Writer._function)
