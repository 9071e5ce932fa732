"""Pipelines: from fused operations to what the engine runs, or back to NumPy where it can't.

The engine works on dense cells without gaps, and on CSR. What has no cells at all,
and cells of types that it does not know, is computed operation by operation instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.types import scalars
from freestone.lang.front.types.scalars import ZERO_OF_ZERO, DivisionError
from freestone.lang.front.types.types import CODES, DTYPES
from freestone.lang.run.kernels.prepared import Input, Output, Prepared
from freestone.lang.run.kernels.sparse import Csr

Array = np.ndarray[Any, Any]

BOOLEANS = frozenset({"eq", "neq", "lt", "le", "gt", "ge", "and", "or", "isNan"})
"""Operations that give 0 or 1, which all types of cells hold."""

FEW_ROWS, LONG_ROW = 256, 4096
"""With fewer rows, or longer ones, a matrix is cut anywhere if its rows do not matter."""


@dataclass
class Assembly:
    """A pipeline while it is put together.

    Registers are numbered in two passes, as inputs come first and are found on the way. Booleans
    stay in the cells that they were found in until an operation needs others.
    """

    rows: int
    columns: int
    values: dict[Value, Any]
    inputs: list[Input] = field(default_factory=list)
    keys: dict[Any, int] = field(default_factory=dict)
    instructions: list[tuple[Any, ...]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    booleans: set[Any] = field(default_factory=set)
    casts: dict[Any, Any] = field(default_factory=dict)
    registers: dict[Value, Any] = field(default_factory=dict)
    structure: Value | None = None


class UnsuitableError(Exception):
    """The engine can't run this; NumPy can."""


def pipeline(run: Any, op: Op, *operands: Any) -> tuple[Any, ...]:
    """Run fused operations."""
    values = dict(zip(op.attrs["reads"], operands, strict=True))
    begin, way = time.perf_counter(), "fused"
    try:
        results = _engine(run, op, values)
    except UnsuitableError:
        way = "one by one"
        results = _one_by_one(run, op, values)
    except ZeroDivisionError:
        # Which one it was they tell only one by one.
        _one_by_one(run, op, values)
        raise DivisionError from None
    if run.settings.tell_pipelines:
        _tell(run, op, operands, f"{way} in {time.perf_counter() - begin:.6f} s")
    return results if len(results) > 1 else results[0]


def _tell(run: Any, op: Op, operands: Sequence[Any], how: str) -> None:
    """Write how a pipeline ran to standard error."""
    from freestone.lang.run.kernels.memory import workers

    rows, columns = max((_shape(operand) for operand in operands), default=(1, 1))
    names = ", ".join(inner.name for inner in op.regions[0].ops)
    settings = run.settings
    cut = f"{settings.partitioning} {settings.queue_layout} {settings.victim_selection}"
    where = f"pipeline {op.place or ''}".rstrip()
    sizes = f"{rows}x{columns} cells, {workers(run)} workers, {cut}"
    print(f"{where}: {names}; {sizes}: {how}", file=sys.stderr)


def _one_by_one(run: Any, op: Op, values: dict[Value, Any]) -> tuple[Any, ...]:
    for inner in op.regions[0].ops:
        operands = run.operands(inner.operands, values)
        (values[inner.results[0]],) = run.checked(inner, operands)
    return tuple(values[value] for value in op.regions[0].outs)


NUMBERS = (bool, int, float)
MAX_PREPARED = 8
"""Shapes and types of operands for which a pipeline is kept."""


def _engine(run: Any, op: Op, values: dict[Value, Any]) -> tuple[Any, ...]:
    body = op.regions[0]
    known = body.prepared
    key = _signature(body, values)
    if key in known:
        prepared = known[key]
    else:
        try:
            prepared = _prepared(body, values)
        except UnsuitableError:
            prepared = None
        if key is not None and len(known) < MAX_PREPARED:
            known[key] = prepared
    if prepared is None:
        raise UnsuitableError
    results: tuple[Any, ...] = prepared.run(run, values)
    return results


def prepared_for(body: Block, values: dict[Value, Any]) -> Prepared | None:
    """Return how a pipeline that has run with such operands is put together, if that is known."""
    key = _signature(body, values)
    return None if key is None else body.prepared.get(key)


def _signature(body: Block, values: dict[Value, Any]) -> tuple[Any, ...] | None:
    """Return what decides how a pipeline is put together; None if elements do, too.

    Of two operands that are one matrix, the second one is the first one's register; CSR of the same
    places may be beside each other.
    """
    parts: list[Any] = []
    numbers: dict[int, int] = {}
    for value in values.values():
        if isinstance(value, np.ndarray):
            parts += (numbers.setdefault(id(value), len(numbers)), value.shape, value.dtype)
        elif isinstance(value, NUMBERS):
            parts.append(None)
        elif isinstance(value, Csr):
            if any(op.kind == "binary" and _is_sparse(op, values) for op in body.ops):
                # Whether what is not stored stays 0 depends on the other side's elements.
                return None
            same = [
                numbers.setdefault(id(part), len(numbers)) for part in (value, *value.structure)
            ]
            parts += (*same, value.shape, value.cells.shape, value.dtype)
        else:
            return None
    return tuple(parts)


def _is_sparse(op: Op, values: dict[Value, Any]) -> bool:
    return any(side.type.csr or isinstance(values.get(side), Csr) for side in op.operands)


def _prepared(body: Block, values: dict[Value, Any]) -> Prepared:
    rows, columns = _domain(body.ops, values)
    if rows == 0 or columns == 0:
        raise UnsuitableError
    if not _is_flat(body.ops, values, rows, columns):
        return _assembled(body, Assembly(rows, columns, values))
    flat = {value: _column(data) for value, data in values.items()}
    made = _assembled(body, Assembly(rows * columns, 1, flat))
    return replace(made, shape=(rows, columns))


def _is_flat(ops: list[Op], values: dict[Value, Any], rows: int, columns: int) -> bool:
    """Tell whether rows do not matter, and are too few or too long to be cut into tasks."""
    if columns == 1 or (rows >= FEW_ROWS and columns <= LONG_ROW):
        return False
    if any(op.kind not in ("unary", "binary", "choose", "agg_all") for op in ops):
        return False
    matrices = [value for value in values.values() if np.ndim(value) or isinstance(value, Csr)]
    return all(not isinstance(m, Csr) and m.shape == (rows, columns) for m in matrices)


def _column(value: Any) -> Any:
    return np.empty((value.size, 1), value.dtype) if np.ndim(value) else value


def _assembled(body: Block, made: Assembly) -> Prepared:
    for inner in body.ops:
        if inner.kind not in ("agg_all", "agg_col"):
            _instruction(made, inner, made.values)
    outputs, takers = _outputs(made, body, made.values)
    count = len(made.inputs)
    instructions = [
        (kind, name, code, [_number(side, count) for side in sides])
        for kind, name, code, sides in made.instructions
    ]
    outputs = [out._replace(register=_number(out.register, count)) for out in outputs]
    structure = made.structure
    return Prepared(
        made.rows, made.columns, None, made.inputs, structure, instructions, outputs, takers
    )


def _number(register: Any, inputs: int) -> int:
    # Inputs are numbers; results of instructions are pairs of a mark and a number.
    return register[1] + inputs if isinstance(register, tuple) else int(register)


def _shape(value: Any) -> tuple[int, int]:
    shape = np.shape(value) if not isinstance(value, Csr) else value.shape
    return (shape[0], shape[1]) if len(shape) == 2 else (1, 1)


def _domain(ops: list[Op], values: dict[Value, Any]) -> tuple[int, int]:
    """Find the shape that all operations work on: that of the widest side."""
    shapes: dict[Value, tuple[int, int]] = {v: _shape(value) for v, value in values.items()}
    # A vector has as many rows as the matrix on its left has columns.
    vectors = {op.operands[1] for op in ops if op.kind == "matmul"}
    vectors.difference_update(side for op in ops for side in _rowwise(op))
    domain = (0, 0)
    for op in ops:
        sides = [shapes.get(side, (1, 1)) for side in op.operands]
        left = sides[0]
        if op.kind == "matmul":
            if left[1] != sides[1][0]:
                raise UnsuitableError
            sides, result = sides[:1], (left[0], 1)
        elif op.kind == "agg_row":
            result = (left[0], 1)
        elif op.kind == "outer":
            if left[1] != 1 or sides[1][0] != 1:
                raise UnsuitableError
            result = left[0], sides[1][1]
            sides = [result]
        elif op.kind == "choose":
            matrices = {shapes[side] for side in op.operands if side.type.data == "matrix"}
            if len(matrices) > 1 and not op.attrs.get("broadcasts"):
                raise UnsuitableError
            result = max(side[0] for side in sides), max(side[1] for side in sides)
        elif op.kind == "binary":
            result = left
            if op.operands[0].type.data == "scalar":
                result = sides[1]
            elif op.operands[1].type.data != "scalar":
                _check(left, sides[1])
        else:
            result = left
        shapes[op.results[0]] = result
        for operand, side in zip(op.operands, sides, strict=False):
            if operand.type.data == "matrix" and side[0] >= domain[0]:
                domain = side[0], max(side[1], domain[1])
    for value, shape in shapes.items():
        if value not in vectors and shape[0] not in (1, domain[0]):
            raise UnsuitableError
    return domain


def _rowwise(op: Op) -> Sequence[Value]:
    """Return the operands that an operation reads row by row."""
    return op.operands[:1] if op.kind == "matmul" else op.operands


def _check(left: tuple[int, int], right: tuple[int, int]) -> None:
    row = right == (1, left[1])
    column = right == (left[0], 1)
    if left != right and not row and not column:
        raise UnsuitableError


def _instruction(made: Assembly, op: Op, values: dict[Value, Any]) -> None:
    result = op.results[0]
    if op.kind in ("matmul", "agg_row") and made.columns == 1:
        raise UnsuitableError
    made.registers[result] = _MAKERS[op.kind](made, op, values, result.type.cell)


def _row_product(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    left = _side(made, op.operands[0], values, cell)
    right = _vector(made, op.operands[1], values, cell)
    return _append(made, "row_product", "", cell, left, right)


def _row_reduce(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    arg = _side(made, op.operands[0], values, cell)
    if _class_of(made, arg) == "column":
        # The sum, or an extreme, of one cell is that cell.
        return arg
    return _append(made, "row_reduce", op.attrs["name"], cell, arg)


def _converted(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    register = made.registers.get(op.operands[0])
    if register in made.booleans:
        return register
    return _side(made, op.operands[0], values, cell)


def _unary(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    arg = _side(made, op.operands[0], values, cell)
    if _class_of(made, arg) == "sparse" and op.attrs["name"] not in ZERO_OF_ZERO:
        raise UnsuitableError
    return _append(made, "unary", op.attrs["name"], cell, arg)


def _binary(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    work = op.attrs["cell"]
    left, right = (_side(made, side, values, work) for side in op.operands)
    _check_zeros(made, op.attrs["name"], left, right)
    register = _append(made, "binary", op.attrs["name"], work, left, right)
    return register if register in made.booleans else _cast(made, register, cell)


def _check_zeros(made: Assembly, name: str, left: Any, right: Any) -> None:
    """Check that an operation gives 0 where CSR store nothing."""
    stored = [_class_of(made, side) == "sparse" for side in (left, right)]
    if not any(stored):
        return
    if name not in ("mul", "and"):
        raise UnsuitableError
    for side, sparse in zip((left, right), stored, strict=True):
        while isinstance(side, tuple) and made.instructions[side[1]][0] == "cast":
            (side,) = made.instructions[side[1]][3]
        if sparse or name == "and":
            continue
        # Infinity times what is not stored would be NaN; what is made on the way is not known.
        if isinstance(side, tuple) or not _is_finite(made, side):
            raise UnsuitableError


def _is_finite(made: Assembly, register: int) -> bool:
    item = made.inputs[register]
    value = item.number if item.source is None else made.values[item.source]
    return bool(np.isfinite(np.sum(value.cells if isinstance(value, Csr) else value)))


def _choose(made: Assembly, op: Op, values: dict[Value, Any], cell: str) -> Any:
    condition, *sides = op.operands
    mask = made.registers.get(condition)
    if mask not in made.booleans:
        # In the cells of the sides, a half could become 0.
        work = condition.type.cell
        sides_of = _side(made, condition, values, work), _scalar(made, 0, work)
        mask = _append(made, "binary", "neq", work, *sides_of)
    mask = _cast(made, mask, cell)
    yes, no = (_side(made, side, values, cell) for side in sides)
    if "sparse" in [_class_of(made, side) for side in (mask, yes, no)]:
        raise UnsuitableError
    return _append(made, "select", "", cell, mask, yes, no)


_MAKERS = {
    "matmul": _row_product,
    "agg_row": _row_reduce,
    "cast": _converted,
    "unary": _unary,
    "binary": _binary,
    "outer": _binary,
    "choose": _choose,
}


def _append(made: Assembly, kind: str, name: str, cell: str, *sides: Any) -> Any:
    made.forms.append(_form_made(made, kind, sides))
    made.instructions.append((kind, name, _code(cell), sides))
    register = ("made", len(made.instructions) - 1)
    if name in BOOLEANS:
        made.booleans.add(register)
    return register


def _code(cell: str) -> int:
    if cell not in CODES:
        raise UnsuitableError
    return CODES[cell]


def _cast(made: Assembly, register: Any, want: str) -> Any:
    """Return the register whose cells are those of another one, in a type."""
    made_by = made.instructions[register[1]] if isinstance(register, tuple) else None
    have = made.inputs[register].code if made_by is None else made_by[2]
    if have == _code(want):
        return register
    key = register, _code(want)
    if key not in made.casts:
        made.casts[key] = _append(made, "cast", "", want, register)
        if register in made.booleans:
            made.booleans.add(made.casts[key])
    return made.casts[key]


def _side(made: Assembly, operand: Value, values: dict[Value, Any], cell: str) -> Any:
    if operand in made.registers:
        return _cast(made, made.registers[operand], cell)
    if operand.type.data != "scalar":
        return _cast(made, _matrix(made, operand, values[operand]), cell)
    if operand.const is not None:
        return _scalar(made, operand.const, cell)
    key = ("scalar", cell, operand)
    if key not in made.keys:
        made.keys[key] = _input(made, Input(_code(cell), "scalar", operand, cell))
    return made.keys[key]


def _scalar(made: Assembly, value: Any, cell: str) -> int:
    number = scalars.wrapped(cell, value)
    key = ("scalar", cell, repr(number))
    if key not in made.keys:
        made.keys[key] = _input(made, Input(_code(cell), "scalar", None, cell, number))
    return made.keys[key]


def _input(made: Assembly, item: Input) -> int:
    made.inputs.append(item)
    return len(made.inputs) - 1


def _matrix(made: Assembly, operand: Value, value: Any) -> Any:
    key = ("matrix", id(value))
    if key in made.keys:
        return made.keys[key]
    if isinstance(value, Csr):
        if made.structure is None:
            made.structure = operand
        if not made.values[made.structure].same_places(value):
            raise UnsuitableError
        form = "sparse"
    else:
        if not isinstance(value, np.ndarray):
            raise UnsuitableError
        form = _form(made, value.shape)
    cell = operand.type.cell
    if value.dtype != DTYPES[cell]:
        raise UnsuitableError
    made.keys[key] = _input(made, Input(_code(cell), form, operand, cell))
    return made.keys[key]


def _form(made: Assembly, shape: tuple[int, ...]) -> str:
    if shape == (made.rows, 1):
        return "column"
    if shape == (made.rows, made.columns):
        return "full"
    if shape == (1, made.columns):
        return "row"
    raise UnsuitableError


def _vector(made: Assembly, operand: Value, values: dict[Value, Any], cell: str) -> int:
    if operand in made.registers:
        raise UnsuitableError
    if np.size(values[operand]) != made.columns:
        raise UnsuitableError
    return _input(made, Input(_code(cell), "vector", operand, cell))


def _outputs(
    made: Assembly, body: Block, values: dict[Value, Any]
) -> tuple[list[Output], list[int]]:
    makers = {op.results[0]: op for op in body.ops}
    outputs: list[Output] = []
    takers: list[int] = []
    stored: dict[Any, int] = {}
    for value in body.outs:
        op, dtype = makers[value], DTYPES[value.type.cell]
        takers.append(len(outputs))
        if op.kind in ("agg_all", "agg_col"):
            register = _side(made, op.operands[0], values, op.operands[0].type.cell)
            outputs.append(_reduced(made, op, register, dtype))
            continue
        register = _cast(made, made.registers[value], value.type.cell)
        if not isinstance(register, tuple):
            raise UnsuitableError
        if register in stored:
            takers[-1] = stored[register]
            continue
        stored[register] = len(outputs)
        outputs.append(Output("store", "", register, _shape_of(made, register), dtype))
    return outputs, takers


def _reduced(made: Assembly, op: Op, register: Any, dtype: str) -> Output:
    name = op.attrs["name"]
    if op.kind == "agg_all":
        return Output("reduce", name, register, None, dtype)
    form = _class_of(made, register)
    if (form == "column" and made.columns != 1) or (form == "sparse" and name != "sum"):
        raise UnsuitableError
    return Output("column_reduce", name, register, (1, made.columns), dtype)


def _shape_of(made: Assembly, register: Any) -> tuple[int, ...]:
    form = _class_of(made, register)
    if form == "sparse":
        assert made.structure is not None
        return tuple(made.values[made.structure].cells.shape)
    return made.rows, made.columns if form == "full" else 1


def _class_of(made: Assembly, register: Any) -> str:
    """Return the form of an input, or of what an instruction makes."""
    if not isinstance(register, tuple):
        form = made.inputs[register].form
        return "row" if form == "vector" else form
    return made.forms[register[1]]


def _form_made(made: Assembly, kind: str, sides: Sequence[Any]) -> str:
    if kind in ("row_reduce", "row_product"):
        return "column"
    forms = {_class_of(made, side) for side in sides} - {"scalar"}
    if len(forms) == 1 and kind in ("unary", "cast"):
        return forms.pop()
    if "sparse" in forms:
        return "sparse"
    return "column" if forms == {"column"} else "full"
