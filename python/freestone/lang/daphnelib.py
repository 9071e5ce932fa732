"""Lazy arrays in Python, in the vocabulary of DaphneLib.

Every operation only adds to a typed graph, the one that scripts are compiled to; types and
shapes are checked at once. ``compute()`` runs it, fused.

    from freestone.lang.daphnelib import DaphneContext

    context = DaphneContext()
    x = context.from_numpy(array)
    print(((x * 2 + 1) / 3 > 0.5).sum().compute())

Arrays come in without a copy where they have no gaps, and are never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from freestone.errors.lang import ScriptCompileError
from freestone.lang.builtins import BUILTINS, algebra, elementwise, lower
from freestone.lang.kernels.frames import Frame as FrameData
from freestone.lang.kernels.frames import cell_of
from freestone.lang.kernels.output import lines
from freestone.lang.kernels.sparse import Csr
from freestone.lang.parse.source import failure
from freestone.lang.passes import PASSES
from freestone.lang.plan.emitter import Emitter
from freestone.lang.plan.explaining import lines as explained
from freestone.lang.plan.graph import Block, Op, Program, Value
from freestone.lang.running import Run
from freestone.lang.settings import Settings
from freestone.lang.types.types import Type

__all__ = ["DaphneContext", "Frame", "List", "Matrix", "Scalar"]

UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "power": "pow",
    "fmod": "mod",
    "minimum": "min",
    "maximum": "max",
    "equal": "eq",
    "not_equal": "neq",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "logical_and": "and",
    "logical_or": "or",
    "negative": "minus",
    "absolute": "abs",
    "log": "ln",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "isnan": "isNan",
    **{name: name for name in ("sign", "exp", "sqrt", "floor", "ceil", "sin", "cos", "tan")},
    **{name: name for name in ("sinh", "cosh", "tanh")},
}
"""NumPy's functions of cells, and what they are called here."""

REDUCTIONS = {"sum": "sum", "amin": "aggMin", "amax": "aggMax", "min": "aggMin", "max": "aggMax"}
REDUCTIONS |= {"mean": "mean", "var": "var", "std": "stddev"}
"""NumPy's reductions; its axis 1 is axis 0 here: one result for each row."""


class Lazy:
    """A value that is computed when it is asked for.

    Operators, and the built-in functions of the language as methods, make new ones.
    """

    # So that NumPy's arrays leave operators with one of these on the right to it.
    __array_priority__ = 1000

    def __init__(self, value: Value) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in BUILTINS:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return lambda *args, **keywords: _called(name, (self, *args), keywords)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._value.type}, not computed>"

    def compute(self, settings: Settings | None = None) -> Any:
        """Run what makes this value.

        Parameters
        ----------
        settings : Settings, optional
            How; fused by default.

        Returns
        -------
        ndarray, scipy.sparse.csr_array, pandas.DataFrame, list or scalar

        Raises
        ------
        ScriptRunError
            If an operation fails.
        """
        data = _run(self._value, settings or Settings(vec=True))
        return _exported(data)

    def print(self) -> None:
        """Print the value as a script does."""
        type = self._value.type
        data = _run(self._value, Settings(vec=True))
        for line in [str(data)] if type.data == "scalar" else lines(type, data):
            print(line)

    def explain(self, settings: Settings | None = None) -> str:
        """Return the graph that ``compute`` runs, a line for each operation."""
        return "\n".join(explained(_program(self._value, settings or Settings(vec=True))))

    def __bool__(self) -> bool:
        raise failure(ScriptCompileError, "a lazy value has no truth yet; call compute() first")


class Operand(Lazy):
    """A matrix or a scalar: what has operators."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **keywords: Any) -> Any:
        """Compute a function of NumPy's lazily."""
        name = ufunc.__name__
        if method == "__call__" and name == "matmul" and not keywords:
            return _lifted(args[0]) @ args[1]
        if method != "__call__" or keywords or name not in UFUNCS:
            return NotImplemented
        return _operated(UFUNCS[name], *args)

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        """Compute a reduction of NumPy's, or its ``where`` and ``transpose``, lazily."""
        name = function.__name__
        if name == "transpose" and len(args) == 1:
            return _called("t", args, {})
        if name in REDUCTIONS and set(keywords) <= {"axis"}:
            axis = args[1] if len(args) > 1 else keywords.get("axis")
            if axis not in (None, 0, 1):
                return NotImplemented
            axes = () if axis is None else (1 - axis,)
            return _called(REDUCTIONS[name], (args[0], *axes), {})
        return NotImplemented

    def __add__(self, other: Any) -> Any:
        return _operated("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operated("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operated("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operated("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operated("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operated("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operated("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operated("div", other, self)

    def __pow__(self, other: Any) -> Any:
        return _operated("pow", self, other)

    def __mod__(self, other: Any) -> Any:
        return _operated("mod", self, other)

    def __neg__(self) -> Any:
        return _operated("minus", self)

    def __lt__(self, other: Any) -> Any:
        return _operated("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _operated("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _operated("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _operated("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return _operated("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _operated("neq", self, other)

    __hash__ = Lazy.__hash__


class Matrix(Operand):
    """A lazy matrix."""

    @property
    def shape(self) -> tuple[int | None, int | None]:
        """Rows and columns; None where they are known only when it is computed."""
        return self._value.type.rows, self._value.type.columns

    @property
    def T(self) -> Any:  # noqa: N802 - NumPy's name
        """The transpose."""
        return _called("t", (self,), {})

    def __matmul__(self, other: Any) -> Any:
        emitter = Emitter()
        return _wrapped(algebra.product(emitter, self._value, _lifted(other)._value))

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        return _indexed(self, rows, columns)

    def asType(self, cell: str) -> Any:  # noqa: N802 - DaphneLib's name
        """Convert the cells, to ``f32`` for example."""
        return _wrapped(elementwise.cast(Emitter(), self._value, None, cell))


class Scalar(Operand):
    """A lazy number, truth value or string."""


class Frame(Lazy):
    """A lazy frame."""

    def toMatrix(self, cell: str | None = None) -> Any:  # noqa: N802 - DaphneLib's name
        """Convert all columns to one type."""
        return _wrapped(elementwise.cast(Emitter(), self._value, "matrix", cell))


class List(Lazy):
    """A lazy list."""


class DaphneContext:
    """Makes lazy values."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in BUILTINS:
            raise AttributeError(f"DaphneContext has no {name!r}")
        return lambda *args, **keywords: _called(name, args, keywords)

    def from_numpy(self, array: Any) -> Matrix:
        """Take an array of one or two dimensions; one becomes a column.

        Raises
        ------
        ValueError
            If it has more dimensions, or cells of a type that no matrix holds.
        """
        cells = np.asarray(array)
        if cells.ndim not in (1, 2):
            raise ValueError(f"a matrix has two dimensions, not {cells.ndim}")
        if cells.dtype in (np.int16, np.uint16):
            cells = cells.astype(np.int32 if cells.dtype == np.int16 else np.uint32)
        cell = cell_of(cells.dtype)
        cells = cells.astype(object) if cell == "str" else cells
        cells = cells.reshape(-1, 1) if cells.ndim == 1 else cells
        return Matrix(_given(cells, Type("matrix", cell, *cells.shape)))

    def from_scipy(self, array: Any) -> Matrix:
        """Take compressed rows of SciPy's, without making them dense."""
        data = Csr.of_scipy(array)
        type = Type("matrix", cell_of(data.dtype), *data.shape, csr=True)
        return Matrix(_given(data, type))

    def from_pandas(self, frame: Any) -> Frame:
        """Take a frame of pandas'."""
        columns = [frame[label].to_numpy() for label in frame.columns]
        cells = [cell_of(column.dtype) if column.dtype != object else "str" for column in columns]
        labels = [str(label) for label in frame.columns]
        data = FrameData(columns, labels, cells)
        schema = tuple(zip(labels, cells, strict=True))
        return Frame(_given(data, Type("frame", "", *data.shape, schema)))

    def from_pytorch(self, tensor: Any) -> Matrix:
        """Take a tensor of PyTorch's, in place where it is in this machine's memory."""
        return self.from_numpy(np.from_dlpack(tensor))

    def from_tensorflow(self, tensor: Any) -> Matrix:
        """Take a tensor of TensorFlow's."""
        return self.from_numpy(np.asarray(tensor))

    def from_python(self, values: Sequence[Any]) -> Matrix:
        """Take a list, or a list of rows."""
        return self.from_numpy(np.array(values))


def _given(data: Any, type: Type) -> Value:
    return Emitter().emit("given", [], type, data=data)


def _lifted(value: Any) -> Lazy:
    if isinstance(value, Lazy):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        return DaphneContext().from_numpy(value)
    if isinstance(value, np.generic | np.ndarray):
        return Scalar(Emitter().constant(value.item(), cell_of(value.dtype)))
    cells = {bool: "bool", int: "si64", float: "f64", str: "str"}
    if type(value) not in cells:
        raise TypeError(f"{type(value).__name__} can't be part of a lazy expression")
    return Scalar(Emitter().constant(value, cells[type(value)]))


def _wrapped(value: Value) -> Any:
    kinds = {"scalar": Scalar, "matrix": Matrix, "frame": Frame, "list": List}
    return kinds[value.type.data](value)


def _operated(name: str, *args: Any) -> Any:
    values = [_lifted(arg)._value for arg in args]
    compute = elementwise.unary if len(values) == 1 else elementwise.binary
    return _wrapped(compute(Emitter(), name, *values))


def _called(name: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    values = [_lifted(arg)._value for arg in args]
    named = {word: _lifted(arg)._value for word, arg in keywords.items() if arg is not None}
    made = [_wrapped(value) for value in lower(Emitter(), name, values, named)]
    return made if len(made) > 1 else made[0]


def _indexed(matrix: Matrix, rows: Any, columns: Any) -> Any:
    emitter, kinds, values, counts = Emitter(), [], [], []
    for side, count in zip((rows, columns), matrix.shape, strict=True):
        kind, numbers, known = _side(side, count)
        kinds.append(kind)
        values += [emitter.constant(number, "si64") for number in numbers]
        counts.append(known)
    type = matrix._value.type.shaped(counts[0], counts[1])
    return _wrapped(emitter.emit("index", [matrix._value, *values], type, kinds=tuple(kinds)))


def _side(side: Any, count: int | None) -> tuple[str, list[int], int | None]:
    if side == slice(None):
        return "all", [], count
    if not isinstance(side, slice):
        return "at", [int(side)], 1
    if count is None or side.step not in (None, 1):
        raise IndexError("slices take every row or column, of a matrix whose shape is known")
    begin, end, _ = side.indices(count)
    return "range", [begin, max(begin, end)], max(end - begin, 0)


def _program(value: Value, settings: Settings) -> Program:
    """Copy what a value depends on: passes change operations, and others may share them."""
    copies: dict[Value, Value] = {}
    block = Block()
    for op in _ordered(value):
        operands = [copies.get(operand, operand) for operand in op.operands]
        copy = Op(op.kind, operands, [], dict(op.attrs), op.place, kernel=op.kernel)
        copy.results = [Value(result.type, copy, result.const) for result in op.results]
        copies.update(zip(op.results, copy.results, strict=True))
        block.ops.append(copy)
    block.outs = [copies.get(value, value)]
    program = Program(block)
    for _, change in PASSES:
        change(program, settings)
    return program


def _ordered(value: Value) -> Iterator[Op]:
    """Yield operations, each after those that it needs; graphs may be deeper than the stack."""
    seen: set[Op] = set()
    stack = [(value.op, False)]
    while stack:
        op, ready = stack.pop()
        if op is None or (op in seen and not ready):
            continue
        if ready:
            yield op
            continue
        seen.add(op)
        stack.append((op, True))
        stack += [(operand.op, False) for operand in reversed(op.operands)]


def _run(value: Value, settings: Settings) -> Any:
    if value.const is not None:
        return value.const
    return Run(settings).block(_program(value, settings).main, {})[0]


def _exported(data: Any) -> Any:
    if hasattr(data, "to_scipy"):
        return data.to_scipy()
    if isinstance(data, FrameData):
        import pandas as pd

        return pd.DataFrame(dict(zip(data.labels, data.columns, strict=True)))
    return data
