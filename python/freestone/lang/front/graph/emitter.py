"""Appends operations to a block, and checks what they are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn

from freestone.errors.lang import ScriptCompileError, ScriptSyntaxError
from freestone.lang.front.graph.files import Files
from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.parse.source import Location, failure
from freestone.lang.front.types import scalars
from freestone.lang.front.types.scalars import Scalar
from freestone.lang.front.types.types import Type, scalar

INTEGERS = ("bool", "si8", "ui8", "si32", "ui32", "index", "si64", "ui64")


def _asked(op: Op, asked: str | None) -> str | None:
    return asked


class Emitter:
    """Appends operations to a block.

    Attributes
    ----------
    block : Block
        Where the next operation goes.
    place : Location or None
        Where in the script it comes from.
    kernel : str or None
        The kernel that the script asks for.
    choose : callable
        Returns the name of the kernel for an operation, given the one that the script asks for.
    propagate : bool
        Whether constants reach functions.
    """

    def __init__(self, block: Block | None = None) -> None:
        self.block: Block = Block() if block is None else block
        self.place: Location | None = None
        self.kernel: str | None = None
        self.choose: Callable[[Op, str | None], str | None] = _asked
        self.propagate = True

    # Lazy values have an emitter for each operation: what few of them need is made late.

    @cached_property
    def views(self) -> dict[str, Type]:
        """The types of the frames that SQL knows."""
        return {}

    @cached_property
    def files(self) -> Files:
        """What the script has written so far."""
        return Files()

    def fail(self, problem: str) -> NoReturn:
        """Raise an error of types or shapes at the current place."""
        raise failure(ScriptCompileError, problem, self.place)

    def refuse(self, problem: str) -> NoReturn:
        """Raise an error of syntax or names at the current place."""
        raise failure(ScriptSyntaxError, problem, self.place)

    def constant(self, value: Scalar, cell: str) -> Value:
        """Return a constant; it needs no operation."""
        return Value(scalar(cell), None, value)

    def emit(self, kind: str, operands: Sequence[Value], type: Type, **attrs: Any) -> Value:
        """Append an operation with one result."""
        op = Op(kind, list(operands), [], attrs, self.place)
        value = Value(type, op)
        op.results = [value]
        self._append(op)
        return value

    def emit_all(
        self, kind: str, operands: Sequence[Value], types: Sequence[Type], **attrs: Any
    ) -> list[Value]:
        """Append an operation."""
        op = Op(kind, list(operands), [], attrs, self.place)
        op.results = [Value(type, op) for type in types]
        self._append(op)
        return op.results

    def _append(self, op: Op) -> None:
        """Append an operation, unless what it makes is known now."""
        if self.kernel is not None or self.choose is not _asked:
            op.kernel = self._kernel_for(op)
        folded = _folded(op)
        if folded is None:
            self.block.ops.append(op)
        else:
            op.results[0].const = folded
            op.results[0].op = None

    def _kernel_for(self, op: Op) -> str | None:
        """Return the kernel that the script asks for, or the one that comes before our own."""
        try:
            name = self.choose(op, self.kernel)
        except ValueError as error:
            self.fail(str(error))
        if name == self.kernel:
            self.kernel = None
        return name

    def scalar(self, value: Value, what: str) -> Type:
        """Check that a value is a scalar."""
        if value.type.data != "scalar":
            self.fail(f"{what} has to be a scalar, not a {value.type}; write as.scalar(...)")
        return value.type

    def number(self, value: Value, what: str) -> Type:
        """Check that a value is a number."""
        if self.scalar(value, what).cell == "str":
            self.fail(f"{what} has to be a number, not a string")
        return value.type

    def matrix(self, value: Value, what: str) -> Type:
        """Check that a value is a matrix."""
        if value.type.data != "matrix":
            self.fail(f"{what} has to be a matrix, not a {value.type}; write as.matrix(...)")
        return value.type

    def numbers(self, value: Value, what: str) -> Type:
        """Check that a value is a matrix of numbers."""
        if self.matrix(value, what).cell == "str":
            self.fail(f"{what} has to be a matrix of numbers, not of strings")
        return value.type

    def frame(self, value: Value, what: str) -> Type:
        """Check that a value is a frame."""
        if value.type.data != "frame":
            self.fail(f"{what} has to be a frame, not a {value.type}; write as.frame(...)")
        return value.type

    def size(self, value: Value, what: str) -> int | None:
        """Check that a value counts something, and return the count where it is known."""
        self.number(value, what)
        if value.const is None:
            return None
        count = int(scalars.wrapped("si64", value.const))
        if count < 0:
            self.fail(f"{what} can't be negative: it is {count}")
        return count

    def known(self, value: Value, what: str) -> Scalar:
        """Return a value that has to be known before the script runs."""
        if value.const is None:
            self.fail(f"{what} has to be known before the script runs: write a literal")
        return value.const

    def text(self, value: Value, what: str) -> Type:
        """Check that a value is a string."""
        if value.type.data != "scalar" or value.type.cell != "str":
            self.fail(f"{what} has to be a string, not a {value.type}")
        return value.type

    def cast(self, value: Value, cell: str) -> Value:
        """Convert the cells of a scalar or a matrix, if they are not of this type yet."""
        if value.type.cell == cell:
            return value
        return self.emit("cast", [value], value.type.of(cell))

    def equal(self, one: int | None, other: int | None, problem: str) -> None:
        """Check that two counts agree where both are known."""
        if one is not None and other is not None and one != other:
            self.fail(f"{problem}: {one} and {other}")


_FOLDED = frozenset({"binary", "unary", "cast"})


def _folded(op: Op) -> Scalar | None:
    if op.kind not in _FOLDED or not op.operands or op.operands[0].const is None:
        return None
    values = [value.const for value in op.operands if value.const is not None]
    result = op.results[0].type
    if len(values) < len(op.operands) or result.data != "scalar":
        return None
    try:
        if op.kind == "binary":
            left, right = values
            return scalars.binary(op.attrs["name"], op.attrs["cell"], left, right, result.cell)
        if op.kind == "unary":
            return scalars.unary(op.attrs["name"], values[0], result.cell)
        if op.kind == "cast" and not isinstance(values[0], str):
            folded: Scalar = scalars.wrapped(result.cell, values[0])
            return folded
    except scalars.DivisionError:
        # Perhaps it never runs; if it does, the error comes then.
        return None
    return None
