"""A grammar of NumPy expressions over arrays ``x``, ``y`` of the same rows and a row ``w``."""

from __future__ import annotations

import random
from dataclasses import dataclass

UNARY = (
    "exp sqrt negative absolute sign floor ceil rint isnan isfinite isinf square logical_not tanh"
)
UNARY += " log arctan invert conjugate sin log1p positive signbit trunc reciprocal cbrt real imag"
BINARY = "add subtract multiply divide minimum maximum less equal greater_equal logical_and fmod"
BINARY += " logical_or floor_divide not_equal arctan2 remainder hypot logical_xor fmax power"
BINARY += " bitwise_and bitwise_xor left_shift copysign less_equal greater fmin"
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "**"]
NUMBERS = ["2", "0.5", "-1", "True", "300", "1j", "0", "np.float64(2)", "np.float32(1.5)"]
NUMBERS += ["np.int8(3)", "np.uint8(200)", "np.bool_(True)", "np.complex64(1j)", "np.float16(2)"]
NUMBERS += [
    "np.array(2.5)",
    "np.array(3, 'i2')",
    "np.timedelta64(3, 'h')",
    "np.timedelta64(1, 'D')",
]
NUMBERS += ["np.datetime64('2024-01-01')", "np.sqrt(2)", "np.int64(-4)", "np.uint64(7)", "w", "w"]
NUMBERS += ["np.array([2], 'u1')", "float('nan')"]
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "mean", "var", "std"]
TYPES = [
    "'f4'",
    "'f8'",
    "'i4'",
    "'i8'",
    "'u1'",
    "'?'",
    "'c16'",
    "'f2'",
    "'i2'",
    "'M8[h]'",
    "'m8[s]'",
]
ALONG = ["argmin", "argmax", "cumsum", "cumprod", "sort", "argsort", "median", "diff"]


@dataclass
class Grammar:
    """Draws expressions.

    Attributes
    ----------
    rng : Random
        What draws.
    row : tuple of int
        The shape of a row.
    rows : int
        How many rows there are.
    """

    rng: random.Random
    row: tuple[int, ...]
    rows: int

    def drawn(self) -> str:
        """Draw an expression: rows, a part of them, or what they are reduced to."""
        text = self._rows(self.rng.choice([0, 1, 1, 2, 2, 3]))
        for _ in range(self.rng.choice([0, 0, 1, 1, 2])):
            text = self._part(text)
        if self._one_in(5):
            return self._function(text)
        text = self.rng.choice([self._reduced, self._reduced, self._along, str])(text)
        return self._cells(text, self.rng.choice(NUMBERS)) if self._one_in(6) else text

    def _one_in(self, count: int) -> bool:
        return self.rng.randrange(count) == 0

    def _rows(self, depth: int) -> str:
        if not depth:
            return self.rng.choice(["x", "x", "y"])
        ways = [self._unary, self._binary, self._binary, self._choice, self._other]
        return self.rng.choice(ways)(depth - 1)

    def _unary(self, depth: int) -> str:
        inner = self._rows(depth)
        if self._one_in(6):
            return f"(-{inner})"
        return f"np.{self.rng.choice(UNARY.split())}({inner})"

    def _binary(self, depth: int) -> str:
        sides = [self._rows(depth), self.rng.choice([*NUMBERS, self._rows(depth), "x", "y"])]
        self.rng.shuffle(sides)
        return self._cells(*sides)

    def _cells(self, one: str, other: str) -> str:
        if self._one_in(2):
            return f"({one} {self.rng.choice(OPERATORS)} {other})"
        return f"np.{self.rng.choice(BINARY.split())}({one}, {other})"

    def _choice(self, depth: int) -> str:
        inner = self._rows(depth)
        number = self.rng.choice(NUMBERS)
        return self.rng.choice(
            [
                f"np.where({inner}, x, y)",
                f"np.where({inner} > {number}, {inner}, {self.rng.choice(NUMBERS)})",
                f"np.clip({inner}, {number}, {self.rng.choice([*NUMBERS, 'None'])})",
                f"np.where(x, {number}, {inner})",
            ]
        )

    def _other(self, depth: int) -> str:
        inner = self._rows(depth)
        return self.rng.choice(
            [
                f"({inner}).astype({self.rng.choice(TYPES)})",
                f"np.round({inner}, {self.rng.choice([0, 1])})",
                f"np.nan_to_num({inner})",
                f"np.isclose({inner}, {self.rng.choice(NUMBERS)})",
                f"np.full_like({inner}, 3)",
                f"np.add({inner}, y, dtype={self.rng.choice(TYPES)})",
                f"({inner} - {inner}.mean(axis=0))",
                f"({inner} {self.rng.choice(OPERATORS)} {self._row_of(inner)})",
                f"np.ones_like({inner})",
            ]
        )

    def _row_of(self, text: str) -> str:
        return f"({self.rng.choice([text, 'x', 'y'])})[{self.rng.choice([0, -1, 1, 2])}]"

    def _part(self, text: str) -> str:
        start, stop = (self.rng.randint(-self.rows - 1, self.rows + 1) for _ in range(2))
        number = self.rng.choice(NUMBERS[:14])
        mask = f"(x > {number})"
        step = self.rng.choice(["::2", "::-1", f"{start}::3", f":{stop}:-2"])
        ways = [f"({text})[{start}:{stop}]", f"({text})[{mask}]", f"({text})[{start}]"]
        ways += [f"({text})[{step}]"]
        if self.row:
            first = "(x.astype('f8') > 1)" + "[" + ", ".join([":", *["0"] * len(self.row)]) + "]"
            ways += [f"({text})[:, {self.rng.choice(['0', '-1', '::-1', '1:', '[0, -1]'])}]"]
            ways += [f"({text})[{first}]", f"({text})[..., {self.rng.choice(['0', ':1'])}]"]
        else:
            ways += [f"({text})[:, None]"]
        return self.rng.choice(ways)

    def _reduced(self, text: str) -> str:
        name = self.rng.choice(REDUCTIONS)
        options = []
        if self._one_in(2):
            options.append(
                f"axis={self.rng.choice(['0', '1', '-1', 'None', '(0,)', '(0, 1)', '2'])}"
            )
        if self._one_in(3):
            options.append("keepdims=True")
        if name in ("sum", "prod", "mean", "var", "std") and self._one_in(4):
            options.append(f"dtype={self.rng.choice(TYPES[:7])}")
        if name in ("var", "std") and self._one_in(3):
            options.append(f"ddof={self.rng.choice(['1', '0.5', '3'])}")
        if self._one_in(2):
            return f"np.{name}({', '.join([text, *options])})"
        return f"({text}).{name}({', '.join(options)})"

    def _function(self, text: str) -> str:
        return self.rng.choice(
            [
                f"np.count_nonzero({text})",
                f"np.ptp({text}, axis=0)",
                f"np.concatenate([{text}, {self.rng.choice('xy')}])",
                f"np.concatenate([{text}, {self.rng.choice('xy')}], axis=1)",
                f"np.column_stack([{text}, y])",
                f"np.histogram({text}, bins=3, range=(0, 6))",
                f"np.histogram({text}, bins=[0, 1, 2.5, 9])",
                f"np.histogram({text}, bins=4)",
                f"np.allclose({text}, x)",
                f"np.array_equal({text}, x)",
                f"np.average({text}, axis=0)",
                f"({text}) @ np.ones({self.row[0] if self.row else self.rows})",
                f"np.dot({text}, 2.0)",
                f"({text}).T @ x",
                f"bool({text})",
            ]
        )

    def _along(self, text: str) -> str:
        name, axis = self.rng.choice(ALONG), self.rng.choice(["1", "1", "-1", "0"])
        # NumPy leaves the order of equal values open, and it differs by processor.
        kind = ", kind='stable'" if name == "argsort" else ""
        return f"np.{name}({text}, axis={axis}{kind})"
