"""From expressions of the syntax tree to operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from freestone.errors.base import did_you_mean
from freestone.errors.lang import ScriptCompileError
from freestone.lang.front.build import hints
from freestone.lang.front.build.scope import Scope
from freestone.lang.front.builtins import (
    algebra,
    elementwise,
    find,
    generation,
    instead_of,
    lower,
)
from freestone.lang.front.builtins.reorganisation import indexed_type, position
from freestone.lang.front.extensions.kernel import Kernel, choose
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Block, Value
from freestone.lang.front.parse import tree
from freestone.lang.front.parse.tree import Expression
from freestone.lang.front.types.scalars import Scalar, printed
from freestone.lang.front.types.types import CELLS, Type, common_type, joined, matrix

# What `sum::numpy(x)` may name: all but pipelines is done by NumPy.
KERNELS = ("numpy",)
CallUser = Callable[[tree.Call, list[Value], dict[str, Value]], list[Value]]


class Expressions(Emitter):
    """Builds expressions.

    Parameters
    ----------
    arguments : dict
        The script's arguments: values and their types.
    """

    def __init__(self, arguments: dict[str, tuple[Scalar, str]]) -> None:
        super().__init__()
        self.arguments = arguments
        self.scope = Scope()
        self.kernels: dict[str, list[Kernel]] = {}
        self.choose = lambda op, asked: choose(self.kernels, op, asked)

    def value(self, node: Expression) -> Value:
        """Build an expression that has one result."""
        values = self.values(node)
        if len(values) != 1:
            self.place = node.place
            self.refuse(f"this call has {len(values)} results; assign them to as many variables")
        if values[0].type.data == "nothing":
            self.place = node.place
            self.refuse("this call has no result")
        return values[0]

    def values(self, node: Expression) -> list[Value]:
        """Build an expression."""
        build: dict[type, Callable[[Any], Value | list[Value]]] = {
            tree.Literal: lambda node: self.constant(node.value, node.value_type),
            tree.Argument: self._argument,
            tree.Name: self._name,
            tree.MatrixLiteral: self._matrix_literal,
            tree.FrameColumns: self._frame_columns,
            tree.FrameRows: self._frame_rows,
            tree.Unary: self._unary,
            tree.Binary: self._binary,
            tree.Choice: self._choice,
            tree.Cast: self._cast,
            tree.Call: self._call,
            tree.Index: self._index,
            tree.Filter: self._filter,
        }
        built = build[type(node)](node)
        self.place = node.place
        return built if isinstance(built, list) else [built]

    def _argument(self, node: tree.Argument) -> Value:
        if node.name not in self.arguments:
            self.place = node.place
            known = did_you_mean(node.name, self.arguments)
            self.refuse(f"the argument ${node.name} is missing: write {node.name}=...{known}")
        value, cell = self.arguments[node.name]
        return self.constant(value, cell)

    def _name(self, node: tree.Name) -> Value:
        value = self.scope.get(node.name)
        if value is None:
            self.place = node.place
            known = did_you_mean(node.name, self.scope.names())
            self.refuse(f"there is no variable {node.name!r}{known}")
        return value

    def _unary(self, node: tree.Unary) -> Value:
        operand = self.value(node.operand)
        self.place = node.place
        if node.sign == "+":
            return operand
        return elementwise.unary(self, "minus", operand)

    def _binary(self, node: tree.Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        self.place = node.place
        self.choose_kernel(node.kernel, node.sign, [left, right])
        if node.sign == "@":
            made = algebra.product(self, left, right)
        else:
            made = elementwise.binary(self, elementwise.SIGNS[node.sign], left, right)
        self._check_kernel_taken(node.sign)
        return made

    def _choice(self, node: tree.Choice) -> Value:
        condition = self.value(node.condition)
        self.place = node.place
        if condition.type.data == "matrix":
            then, otherwise = self.value(node.then), self.value(node.otherwise)
            self.place = node.place
            return elementwise.choose(self, condition, then, otherwise)
        self.number(condition, "the condition")
        if condition.const is not None:
            ways = (node.then, node.otherwise)
            chosen, other = ways if condition.const else ways[::-1]
            self.check_names(lambda: self.value(other))
            return self.value(chosen)
        return self.branch(condition, node)

    def check_names(self, build: Callable[[], object]) -> None:
        """Build what never runs, so that its names are checked, and forget it."""
        kept = self.block, self.scope, self.views, self.files
        self.block, self.scope, self.views = Block(), Scope(self.scope), dict(self.views)
        self.files = self.files.copy()
        with suppress(ScriptCompileError):
            build()
        self.block, self.scope, self.views, self.files = kept
        self.kernel = None

    def branch(self, condition: Value, node: tree.Choice) -> Value:
        """Build ``?:`` with a condition that is known only when the script runs."""
        raise NotImplementedError

    def _cast(self, node: tree.Cast) -> Value:
        operand = self.value(node.operand)
        self.place = node.place
        if node.value_type is None and node.data_type is None:
            return operand
        return elementwise.cast(self, operand, node.data_type, node.value_type)

    def _call(self, node: tree.Call) -> list[Value]:
        arguments = [self.value(argument) for argument in node.arguments if not self._is_udf(node)]
        if self._is_udf(node):
            return [self.mapped(node)]
        keywords = {word: self.value(argument) for word, argument in node.keywords.items()}
        self.place = node.place
        if self.knows(node.name):
            if node.kernel is not None:
                self.refuse(f"{node.name!r} is a function of the script, and has no kernels")
            return self.call_function(node, arguments, keywords)
        if find(node.name) is None:
            instead = instead_of(node.name, [*self.function_names()])
            self.refuse(f"there is no function {node.name!r}{instead}")
        self.choose_kernel(node.kernel, node.name, [*arguments, *keywords.values()])
        made = lower(self, node.name, arguments, keywords)
        self._check_kernel_taken(node.name)
        return made

    def _check_kernel_taken(self, operation: str) -> None:
        """Refuse a kernel of another operation than those that a function is made of."""
        if self.kernel in self.kernels:
            wanted = self.kernels[self.kernel][0].operation
            self.fail(f"the kernel {self.kernel!r} is for {wanted}, not for {operation}")

    def choose_kernel(self, name: str | None, operation: str, operands: list[Value]) -> None:
        """Run the next operation by itself, with the kernel of this name, where one is given."""
        known = (*KERNELS, *sorted(self.kernels))
        if name is not None and name not in known:
            if not hints.is_hint(name):
                self.refuse(f"there is no kernel {name!r}; there is {', '.join(known)}")
            problem = hints.problem_of(name, operation, operands)
            if problem is not None:
                self.fail(problem)
            name = KERNELS[0]
        self.kernel = name

    def _is_udf(self, node: tree.Call) -> bool:
        return node.name == "map" and not self.knows("map")

    def knows(self, name: str) -> bool:
        """Tell whether the script defines a function."""
        raise NotImplementedError

    def function_names(self) -> list[str]:
        """Return the names of the functions that the script defines."""
        raise NotImplementedError

    def call_function(
        self, node: tree.Call, arguments: list[Value], keywords: dict[str, Value]
    ) -> list[Value]:
        """Build a call of a function that the script defines."""
        raise NotImplementedError

    def mapped(self, node: tree.Call) -> Value:
        """Build ``map(x, function)``."""
        raise NotImplementedError

    def _matrix_literal(self, node: tree.MatrixLiteral) -> Value:
        items = [self.value(item) for item in node.items]
        self.place = node.place
        if not items:
            self.refuse("a matrix of no values has no type; write fill(0.0, 0, 1)")
        for item in items:
            self.scalar(item, "an element of a matrix")
        cell = common_type(item.type.cell for item in items)
        rows, columns = self._literal_shape(node, len(items))
        items = [self.cast(item, cell) for item in items]
        return self.emit("literal", items, matrix(cell, rows, columns))

    def _literal_shape(self, node: tree.MatrixLiteral, count: int) -> tuple[int, int]:
        sides = []
        for side in (node.rows, node.columns):
            known = None if side is None else self.size(self.value(side), "a side")
            if side is not None and known is None:
                self.fail("the shape of a matrix literal has to be known before the script runs")
            sides.append(known)
        self.place = node.place
        rows, columns = sides
        if rows is None and columns is None:
            return count, 1
        if rows is None or columns is None:
            given = rows or columns or 0
            if given == 0 or count % given:
                self.fail(f"{count} values can't be shaped into {given} rows or columns")
            other = count // given
            return (given, other) if columns is None else (other, given)
        if rows * columns != count:
            self.fail(f"{count} values do not fill a {rows}x{columns} matrix")
        return rows, columns

    def _label(self, node: Expression) -> Value:
        value = self.value(node)
        self.place = node.place
        self.text(value, "a label")
        return value

    def _frame_columns(self, node: tree.FrameColumns) -> Value:
        labels = [self._label(label) for label in node.labels]
        columns = [self.value(column) for column in node.columns]
        self.place = node.place
        frame: Value = generation.create_frame(self, *columns, *labels)
        return frame

    def _frame_rows(self, node: tree.FrameRows) -> Value:
        labels = [self._label(label) for label in node.labels]
        rows = [[self.value(item) for item in row] for row in node.rows]
        self.place = node.place
        for number, row in enumerate(rows, 1):
            if len(row) != len(labels):
                self.fail(f"row {number} of the frame has {len(row)} values, not {len(labels)}")
        if not rows:
            self.fail("a frame of no rows has no types; give its columns: {'a': ...}")
        columns = []
        for items in zip(*rows, strict=True):
            cell = common_type(item.type.cell for item in items)
            items = tuple(self.cast(item, cell) for item in items)
            columns.append(self.emit("literal", items, matrix(cell, len(items), 1)))
        frame: Value = generation.create_frame(self, *columns, *labels)
        return frame

    def _index(self, node: tree.Index) -> Value:
        operand = self.value(node.operand)
        self.place = node.place
        if operand.type.data not in ("matrix", "frame"):
            self.fail(f"a {operand.type} can't be indexed")
        kinds, values, counts = self.sides(node, operand.type)
        type = indexed_type(operand.type, kinds[1], values, counts)
        return self.emit("index", [operand, *values], type, kinds=kinds)

    def sides(
        self, node: tree.Index, type: Type
    ) -> tuple[tuple[str, str], list[Value], list[int | None]]:
        """Build the two sides of an index: their kinds, their values, and the resulting shape."""
        kinds, values, counts = [], [], []
        for side, count in ((node.rows, type.rows), (node.columns, type.columns)):
            kind, built, known = self._side(side, type, count, is_column=side is node.columns)
            kinds.append(kind)
            values += built
            counts.append(known)
            self.place = node.place
        return (kinds[0], kinds[1]), values, counts

    def _side(
        self,
        side: Expression | tree.Range | None,
        type: Type,
        count: int | None,
        is_column: bool,
    ) -> tuple[str, list[Value], int | None]:
        if side is None:
            return "all", [], count
        if isinstance(side, tree.Range):
            return self._range(side, count)
        value = self.value(side)
        self.place = side.place
        if value.type.data == "scalar" and value.type.cell == "str":
            if type.data != "frame" or not is_column:
                self.fail("only the columns of a frame have labels")
            label = str(self.known(value, "a label"))
            return "at", [self.constant(position(self, type, label), "si64")], 1
        if value.type.data == "scalar":
            self.number(value, "a position")
            self._check_position(value.const, count)
            return "at", [value], 1
        positions = self.numbers(value, "positions")
        self.equal(positions.columns, 1, "positions are one column; columns")
        return "list", [value], positions.rows

    def _check_position(self, const: Scalar | None, count: int | None) -> None:
        if const is None or count is None:
            return
        at = self._whole(const)
        if not -count <= at < count:
            self.fail(f"position {at} is outside of 0 to {count - 1}")

    def _whole(self, const: Scalar) -> int:
        """Cut a position off at its point."""
        if not math.isfinite(float(const)):
            self.fail(f"a position has to be a number, not {printed(const)}")
        return int(float(const))

    def _range(self, side: tree.Range, count: int | None) -> tuple[str, list[Value], int | None]:
        zero = self.constant(0, "si64")
        begin = zero if side.begin is None else self.value(side.begin)
        self.number(begin, "the begin of a range")
        if side.end is None:
            known = None
            if count is not None and begin.const is not None:
                first = self._whole(begin.const)
                known = count - (first if first >= 0 else first + count)
            return "from", [begin], None if known is None or known < 0 else known
        end = self.value(side.end)
        self.number(end, "the end of a range")
        self.place = side.place
        return "range", [begin, end], self._length(begin, end, count)

    def _length(self, begin: Value, end: Value, count: int | None) -> int | None:
        if begin.const is None or end.const is None:
            return None
        first, last = self._whole(begin.const), self._whole(end.const)
        if count is None:
            return last - first if 0 <= first <= last else None
        first, last = (at + count if at < 0 else at for at in (first, last))
        if not 0 <= first <= last <= count:
            self.fail(f"the range {first}:{last} is not inside of 0:{count}")
        return last - first

    def _filter(self, node: tree.Filter) -> Value:
        value = self.value(node.operand)
        self.place = node.place
        type = value.type
        if type.data not in ("matrix", "frame"):
            self.fail(f"a {type} can't be filtered")
        for side, by_row in ((node.rows, True), (node.columns, False)):
            if side is None:
                continue
            bits = self.value(side)
            self.place = node.place
            found = self.numbers(bits, "the bits of a filter")
            count = value.type.rows if by_row else value.type.columns
            self.equal(found.columns, 1, "the bits of a filter are one column; columns")
            self.equal(found.rows, count, "a filter needs as many bits as rows or columns")
            type = value.type.shaped(
                None if by_row else value.type.rows, value.type.columns if by_row else None
            )
            kind = "filter_rows" if by_row else "filter_columns"
            if type.data == "frame" and not by_row:
                type = Type("frame", "", type.rows, None, None)
            value = self.emit(kind, [value, bits], type)
        return value

    def unified(self, one: Type, other: Type, what: str) -> Type:
        """Return the type that covers both, or fail."""
        both = joined(one, other)
        if both is None:
            self.fail(f"{what} is a {one} on one way and a {other} on another")
        return both


def cell_words() -> tuple[str, ...]:
    """Return the value types that a script can write."""
    return tuple(cell for cell in CELLS if cell != "index")
