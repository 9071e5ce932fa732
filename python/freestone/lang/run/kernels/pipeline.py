"""Pipelines: from fused operations to what the engine runs, or back to NumPy where it can't.

The engine works on dense cells without gaps, and on CSR. What has no cells at all,
and cells of types that it does not know, is computed operation by operation instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from freestone._native.vector import run_pipeline
from freestone.lang.front.graph.graph import Block, Op, Value
from freestone.lang.front.types.scalars import ZERO_OF_ZERO, DivisionError
from freestone.lang.front.types.types import CODES, DTYPES
from freestone.lang.run.kernels.memory import empty, plain
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
    inputs: list[tuple[Any, ...]] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)
    keys: dict[Any, int] = field(default_factory=dict)
    instructions: list[tuple[Any, ...]] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    booleans: set[Any] = field(default_factory=set)
    casts: dict[Any, Any] = field(default_factory=dict)
    registers: dict[Value, Any] = field(default_factory=dict)
    structure: Csr | None = None


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


def _engine(run: Any, op: Op, values: dict[Value, Any]) -> tuple[Any, ...]:
    body = op.regions[0]
    rows, columns = _domain(body.ops, values)
    if rows == 0 or columns == 0:
        raise UnsuitableError
    if _is_flat(body.ops, values, rows, columns):
        flat = {value: _column(data) for value, data in values.items()}
        results = _assembled(run, op, flat, rows * columns, 1)
        return tuple(_reshaped(data, rows, columns) for data in results)
    return _assembled(run, op, values, rows, columns)


def _is_flat(ops: list[Op], values: dict[Value, Any], rows: int, columns: int) -> bool:
    """Tell whether rows do not matter, and are too few or too long to be cut into tasks."""
    if columns == 1 or (rows >= FEW_ROWS and columns <= LONG_ROW):
        return False
    if any(op.kind not in ("unary", "binary", "choose", "agg_all") for op in ops):
        return False
    matrices = [value for value in values.values() if np.ndim(value) or isinstance(value, Csr)]
    return all(not isinstance(m, Csr) and m.shape == (rows, columns) for m in matrices)


def _column(value: Any) -> Any:
    return np.ascontiguousarray(value).reshape(-1, 1) if np.ndim(value) else value


def _reshaped(value: Any, rows: int, columns: int) -> Any:
    return value.reshape(rows, columns) if np.ndim(value) else value


def _assembled(
    run: Any, op: Op, values: dict[Value, Any], rows: int, columns: int
) -> tuple[Any, ...]:
    body = op.regions[0]
    made = Assembly(rows, columns)
    for inner in body.ops:
        if inner.kind not in ("agg_all", "agg_col"):
            _instruction(made, inner, values)
    outputs, takers = _outputs(run, made, body, values)
    count = len(made.inputs)
    numbers = run_pipeline(
        (rows, columns),
        made.inputs,
        None if made.structure is None else made.structure.structure,
        [
            (kind, name, code, [_number(side, count) for side in sides])
            for kind, name, code, sides in made.instructions
        ],
        [(kind, name, _number(register, count), array) for kind, name, register, array in outputs],
        run.settings,
    )
    found = iter(numbers)
    return tuple(next(found) if taker is None else taker for taker in takers)


def _number(register: Any, inputs: int) -> int:
    # Inputs are numbers; results of instructions are pairs of a mark and a number.
    return register[1] + inputs if isinstance(register, tuple) else int(register)


def _shape(value: Any) -> tuple[int, int]:
    shape = np.shape(value) if not isinstance(value, Csr) else value.shape
    return (shape[0], shape[1]) if len(shape) == 2 else (1, 1)


def _domain(ops: list[Op], values: dict[Value, Any]) -> tuple[int, int]:
    """Find the shape that all operations work on: that of the widest side."""
    shapes: dict[Value, tuple[int, int]] = {v: _shape(value) for v, value in values.items()}
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
    for shape in shapes.values():
        if shape[0] not in (1, domain[0]):
            raise UnsuitableError
    return domain


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
    held = made.held[register]
    return bool(np.isfinite(made.inputs[register][3] if held is None else np.sum(held)))


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
    have = made.inputs[register][0] if made_by is None else made_by[2]
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
    value = operand.const if operand.const is not None else values[operand]
    if operand.type.data == "scalar":
        return _scalar(made, value, cell)
    return _cast(made, _matrix(made, operand, value), cell)


def _scalar(made: Assembly, value: Any, cell: str) -> int:
    from freestone.lang.front.types.scalars import wrapped

    number = wrapped(cell, value)
    key = ("scalar", cell, repr(number))
    if key not in made.keys:
        whole = cell not in ("f32", "f64")
        signed = wrapped("si64", number) if whole else 0
        item = (_code(cell), "scalar", None, 0.0 if whole else float(number), signed)
        made.keys[key] = _input(made, item, None)
    return made.keys[key]


def _input(made: Assembly, item: tuple[Any, ...], held: Any) -> int:
    made.inputs.append(item)
    made.held.append(held)
    return len(made.inputs) - 1


def _matrix(made: Assembly, operand: Value, value: Any) -> Any:
    key = ("matrix", id(value))
    if key in made.keys:
        return made.keys[key]
    if isinstance(value, Csr):
        if made.structure is None:
            made.structure = value
        if not made.structure.same_places(value):
            raise UnsuitableError
        cells, form = value.cells, "sparse"
    else:
        cells, form = plain(value), _form(made, value.shape)
    code = _code(operand.type.cell)
    if cells.dtype != DTYPES[operand.type.cell]:
        raise UnsuitableError
    item = (code, form, cells, 0.0, 0)
    made.keys[key] = _input(made, item, cells)
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
    from freestone.lang.run.kernels.elementwise import converted

    if operand in made.registers:
        raise UnsuitableError
    value = plain(converted(values[operand], cell)).ravel()
    if value.shape != (made.columns,):
        raise UnsuitableError
    return _input(made, (_code(cell), "row", value, 0.0, 0), value)


def _outputs(
    run: Any, made: Assembly, body: Block, values: dict[Value, Any]
) -> tuple[list[tuple[Any, ...]], list[Any]]:
    makers = {op.results[0]: op for op in body.ops}
    outputs: list[tuple[Any, ...]] = []
    takers: list[Any] = []
    stored: dict[Any, Array] = {}
    for value in body.outs:
        op, dtype = makers[value], DTYPES[value.type.cell]
        if op.kind in ("agg_all", "agg_col"):
            register = _side(made, op.operands[0], values, op.operands[0].type.cell)
            name = op.attrs["name"]
            if op.kind == "agg_all":
                outputs.append(("reduce", name, register, None))
                takers.append(None)
                continue
            form = _class_of(made, register)
            if (form == "column" and made.columns != 1) or (form == "sparse" and name != "sum"):
                raise UnsuitableError
            array = np.empty((1, made.columns), dtype)
            outputs.append(("column_reduce", name, register, array))
            takers.append(array)
            continue
        register = _cast(made, made.registers[value], value.type.cell)
        if not isinstance(register, tuple):
            raise UnsuitableError
        if register not in stored:
            stored[register] = _target(run, made, register, dtype)
            target = stored[register]
            cells = target.cells if isinstance(target, Csr) else target
            outputs.append(("store", "", register, cells))
        takers.append(stored[register])
    return outputs, takers


def _target(run: Any, made: Assembly, register: Any, dtype: str) -> Any:
    form = _class_of(made, register)
    if form == "sparse":
        assert made.structure is not None
        return made.structure.with_cells(empty(run, made.structure.cells.shape, dtype))
    width = made.columns if form == "full" else 1
    return empty(run, (made.rows, width), dtype)


def _class_of(made: Assembly, register: Any) -> str:
    """Return the form of an input, or of what an instruction makes."""
    if not isinstance(register, tuple):
        return str(made.inputs[register][1])
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
