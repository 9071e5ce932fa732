"""Elementwise and outer operations, casts and concatenation."""

from __future__ import annotations

from freestone.lang.front.builtins.table import BUILTINS, Builtin
from freestone.lang.front.graph.emitter import INTEGERS, Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.scalars import UNARY
from freestone.lang.front.types.types import Type, common_type, floating, matrix, scalar

SIGNS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "^": "pow",
    "%": "mod",
    "==": "eq",
    "!=": "neq",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "&&": "and",
    "||": "or",
    "like": "like",
}
"""The operators, and what the operations are called."""

COMPARISONS = frozenset({"eq", "neq", "lt", "le", "gt", "ge"})
KEEPING = frozenset({"minus", "abs", "sign", "round", "floor", "ceil"})
WORDS = frozenset({"lower", "upper"})
TEXT = COMPARISONS | {"add", "concat"}


def result_cell(emitter: Emitter, name: str, left: str, right: str) -> tuple[str, str]:
    """Return what both sides of a binary operation become, and the cells of its result."""
    cell = common_type([left, right])
    if name == "like":
        if left != "str" or right != "str":
            emitter.fail(f"like takes strings, not {left} and {right}")
        return "str", "si32"
    if cell == "str":
        if name not in TEXT:
            emitter.fail(f"there is no {name} of strings")
        return "str", "si64" if name in COMPARISONS else "str"
    if name == "concat":
        emitter.fail(f"concat takes strings, not {left} and {right}")
    if name in ("and", "or"):
        return cell, cell if cell in INTEGERS else "si64"
    return (floating(cell), floating(cell)) if name == "log" else (cell, cell)


def binary(emitter: Emitter, name: str, left: Value, right: Value) -> Value:
    """Append a binary operation, scalars and rows and columns on the right broadcast."""
    key = name, left.type, right.type
    known = _inferred.get(key)
    if known is None:
        known = _infer(emitter, name, left, right)
        if len(_inferred) >= MAX_INFERRED:
            _inferred.clear()
        _inferred[key] = known
    type, cell = known
    return emitter.emit("binary", [left, right], type, name=name, cell=cell)


MAX_INFERRED = 4096
_inferred: dict[tuple[str, Type, Type], tuple[Type, str]] = {}
"""What is known of results, and the elements that both sides become; steps of loops repeat."""


def _infer(emitter: Emitter, name: str, left: Value, right: Value) -> tuple[Type, str]:
    for value in (left, right):
        if value.type.data not in ("scalar", "matrix"):
            emitter.fail(f"{name} takes scalars and matrices, not a {value.type}")
    cell, result = result_cell(emitter, name, left.type.cell, right.type.cell)
    return _broadcast(emitter, name, left.type, right.type, result), cell


def _broadcast(emitter: Emitter, name: str, left: Type, right: Type, cell: str) -> Type:
    if left.data == "scalar":
        return scalar(cell) if right.data == "scalar" else matrix(cell, right.rows, right.columns)
    if right.data == "scalar":
        return matrix(cell, left.rows, left.columns)
    rows = _side(left.rows, right.rows)
    columns = _side(left.columns, right.columns)
    whole = (left.rows, left.columns) == (right.rows, right.columns)
    single = right.rows == 1 or right.columns == 1
    if rows < 0 or columns < 0 or (_known(left, right) and not whole and not single):
        _misfit(emitter, name, left, right)
    if _known(left, right) and not whole and _both_differ(left, right):
        _misfit(emitter, name, left, right)
    return matrix(cell, rows or left.rows, columns or left.columns)


def _both_differ(left: Type, right: Type) -> bool:
    return left.rows != right.rows and left.columns != right.columns


def _known(left: Type, right: Type) -> bool:
    return None not in (left.rows, left.columns, right.rows, right.columns)


def _side(left: int | None, right: int | None) -> int:
    # 0: nothing is known but what the left side says; -1: they do not fit.
    if left is None:
        return right if right is not None and right > 1 else 0
    return left if right in (None, 1, left) else -1


def _misfit(emitter: Emitter, name: str, left: Type, right: Type) -> None:
    emitter.fail(
        f"{name} of a {left.rows}x{left.columns} and a {right.rows}x{right.columns} matrix: the "
        f"right one has to be of the same shape, a row of {left.columns} or a column of {left.rows}"
    )


def choose(emitter: Emitter, condition: Value, then: Value, otherwise: Value) -> Value:
    """Append a choice between cells: of one where the condition is not 0, else of the other."""
    emitter.matrix(condition, "a condition of cells")
    for value in (then, otherwise):
        if value.type.data not in ("scalar", "matrix"):
            emitter.fail(f"?: with a matrix takes scalars and matrices, not a {value.type}")
        if value.type.data == "matrix":
            emitter.equal(value.type.rows, condition.type.rows, "?: of other numbers of rows")
            emitter.equal(value.type.columns, condition.type.columns, "?: of other columns")
    cell = common_type([then.type.cell, otherwise.type.cell])
    return emitter.emit("choose", [condition, then, otherwise], condition.type.of(cell))


def unary(emitter: Emitter, name: str, value: Value) -> Value:
    """Append a unary operation."""
    if value.type.data not in ("scalar", "matrix"):
        emitter.fail(f"{name} takes a scalar or a matrix, not a {value.type}")
    cell = value.type.cell
    if (cell == "str") != (name in WORDS):
        emitter.fail(f"{name} takes {'strings' if name in WORDS else 'numbers'}, not {cell}")
    result = cell if name in KEEPING or name in WORDS or name == "isNan" else floating(cell)
    return emitter.emit("unary", [value], value.type.of(result), name=name)


def _register_unary(name: str) -> None:
    BUILTINS[name] = Builtin(name, ("arg",), (), "", lambda e, arg: unary(e, name, arg))


def _register_binary(name: str) -> None:
    def lower(emitter: Emitter, left: Value, right: Value) -> Value:
        return binary(emitter, name, left, right)

    BUILTINS[name] = Builtin(name, ("lhs", "rhs"), (), "", lower)


def _register_outer(name: str, operation: str) -> None:
    def lower(emitter: Emitter, left: Value, right: Value) -> Value:
        rows, columns = emitter.matrix(left, "lhs"), emitter.matrix(right, "rhs")
        emitter.equal(rows.columns, 1, f"{name} takes a column on the left; columns")
        emitter.equal(columns.rows, 1, f"{name} takes a row on the right; rows")
        if operation == "xor":
            emitter.fail(f"{name} is a word of the language that does nothing yet in it")
        cell, result = result_cell(emitter, operation, rows.cell, columns.cell)
        type = matrix(result, rows.rows, columns.columns)
        return emitter.emit("outer", [left, right], type, name=operation, cell=cell)

    BUILTINS[name] = Builtin(name, ("lhs", "rhs"), (), "", lower)


for _name in UNARY:
    _register_unary(_name)
for _name in ("mod", "pow", "log", "min", "max", "concat"):
    _register_binary(_name)
for _name in [
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Mod",
    "Log",
    "Min",
    "Max",
    "And",
    "Or",
    "Xor",
    "Eq",
    "Neq",
    "Lt",
    "Le",
    "Gt",
    "Ge",
    "Concat",
]:
    _register_outer(f"outer{_name}", _name.lower())


def cast(emitter: Emitter, value: Value, data: str | None, cell: str | None) -> Value:
    """Append a cast; what is not said stays as it is."""
    type = value.type
    if type.data not in ("scalar", "matrix", "frame"):
        emitter.fail(f"a {type} can't be cast")
    goal = data or type.data
    if type.data == "frame" and goal != "frame":
        value = _frame_to_matrix(emitter, value, cell)
    if goal == "frame":
        return _to_frame(emitter, value)
    if value.type.data == "matrix" and goal == "scalar":
        _check_single(emitter, value.type)
        value = emitter.emit("to_scalar", [value], scalar(value.type.cell))
    elif value.type.data == "scalar" and goal == "matrix":
        value = emitter.emit("to_matrix", [value], matrix(value.type.cell, 1, 1))
    return emitter.cast(value, cell or value.type.cell)


def _check_single(emitter: Emitter, type: Type) -> None:
    if type.rows not in (None, 1) or type.columns not in (None, 1):
        emitter.fail(f"only a 1x1 matrix can be a scalar, not a {type}")


def _frame_to_matrix(emitter: Emitter, value: Value, cell: str | None) -> Value:
    type = value.type
    if cell is None:
        if not type.schema:
            emitter.fail("the frame's types are not known: write as.matrix<f64>(...)")
        cell = common_type(one for _, one in type.schema)
    return emitter.emit("frame_to_matrix", [value], matrix(cell, type.rows, type.columns))


def _to_frame(emitter: Emitter, value: Value) -> Value:
    type = value.type
    if type.data == "frame":
        return value
    if type.data == "scalar":
        value = emitter.emit("to_matrix", [value], matrix(type.cell, 1, 1))
        type = value.type
    schema = None
    if type.columns is not None:
        schema = tuple((f"col_{index}", type.cell) for index in range(type.columns))
    return emitter.emit("to_frame", [value], Type("frame", "", type.rows, type.columns, schema))
