"""What all lazy values have: how they are made of others, and how they are computed."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from freestone.errors.base import did_you_mean
from freestone.errors.lang import ScriptCompileError
from freestone.lang.daphnelib import graph
from freestone.lang.daphnelib.broadcasting import SWAPPED, fitted
from freestone.lang.daphnelib.exchange import (
    WIDER,
    cell_of_column,
    cells_of,
    exported,
    frame_of_arrow,
    frame_of_pandas,
)
from freestone.lang.daphnelib.numbers import beside_cells, cell_of_integer
from freestone.lang.daphnelib.refusals import instead_of
from freestone.lang.daphnelib.tensors import as_tensor
from freestone.lang.front.builtins import BUILTINS, elementwise, find, lower
from freestone.lang.front.builtins.elementwise import COMPARISONS
from freestone.lang.front.graph.explaining import lines as explained
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.dtypes import cell_of
from freestone.lang.front.types.types import Type, is_float, matrix
from freestone.lang.run.kernels.frames import Frame as FrameData
from freestone.lang.run.kernels.sparse import Csr
from freestone.lang.settings import Settings
from freestone.units import is_unknown

__all__ = [
    "INTEGERS",
    "Lazy",
    "MissingError",
    "as_row",
    "beside",
    "called",
    "extreme",
    "framed",
    "lifted",
    "numbered",
    "of_cells",
    "of_rows",
    "operated",
    "value_of",
    "wrapped",
]

WAYS = ("shared memory", "files")
"""How DaphneLib exchanges data; here it is in place by either name."""

FUSED = Settings(vec=True)
"""How values are computed unless told otherwise."""

PLAIN = (np.ndarray, float, int)
"""What is handed out as it is, unless it may be an input's memory."""

KINDS: dict[str, type[Lazy]] = {}
"""The class of lazy values of each data type."""


class MissingError(AttributeError):
    """There is no such attribute; the nearest one is looked for only when somebody reads this."""

    def __init__(self, owner: type, name: str) -> None:
        super().__init__(owner, name)
        self._owner, self._missing = owner, name

    def __str__(self) -> str:
        name = self._missing
        known = [] if name.startswith("_") else [*BUILTINS, *dir(self._owner)]
        instead = instead_of(name)
        hint = f"; write {instead}" if instead else did_you_mean(name, known)
        return f"{self._owner.__name__} has no {name!r}{hint}"


class Lazy:
    """A value that is computed when it is asked for.

    Operators, and the built-in functions of the language as methods, make new ones.
    """

    # So that NumPy's arrays leave operators with one of these on the right to it.
    __array_priority__ = 1000

    def __init_subclass__(cls, data: str = "") -> None:
        if data:
            KINDS[data] = cls

    def __init__(self, value: Value) -> None:
        self._value = value

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or find(name) is None:
            raise MissingError(type(self), name)

        def method(*args: Any, **keywords: Any) -> Any:
            return called(name, (self, *args), keywords)

        method.__name__, method.__doc__ = name, _help_of(name)
        return method

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._value.type}, not computed>"

    def _repr_html_(self) -> str:
        from freestone.observe.html import card, escaped

        kind = escaped(str(self._value.type))
        return card(f"<b>{type(self).__name__}</b> {kind}: not computed; compute() does")

    def compute(
        self,
        settings: Settings | None = None,
        *,
        type: str = "shared memory",
        verbose: bool = False,
        asTensorFlow: bool = False,  # noqa: N803 - DaphneLib's names
        asPyTorch: bool = False,  # noqa: N803
        shape: Sequence[int] | None = None,
        useIndexColumn: bool = False,  # noqa: N803
    ) -> Any:
        """Run what makes this value.

        Parameters
        ----------
        settings : Settings, optional
            How; fused by default.
        type : {"shared memory", "files"}
            DaphneLib's ways to exchange data. Here results are handed out in place by both.
        verbose : bool
            Whether to tell the seconds on standard error.
        asTensorFlow, asPyTorch : bool
            Whether a matrix becomes a tensor: of CSR one of PyTorch's layout
            ``sparse_csr``, or a ``SparseTensor``.
        shape : sequence of int, optional
            The shape of a dense tensor.
        useIndexColumn : bool
            Whether the column ``index`` of a frame becomes the index.

        Returns
        -------
        ndarray, scipy.sparse.csr_array, pandas.DataFrame, tensor, list, scalar or None
            What is still an input's memory, such as a transpose, can only be read.

        Raises
        ------
        ScriptRunError
            If an operation fails.
        """
        if type not in WAYS:
            raise ValueError(f"type={type!r}: there are {', '.join(WAYS)}")
        begin = time.perf_counter() if verbose else 0.0
        found, given = graph.run(self._value, settings or FUSED)
        if given or not isinstance(found, PLAIN):
            found = exported(found, given, index=useIndexColumn)
        if asTensorFlow or asPyTorch:
            sides = None if shape is None else tuple(shape)
            found = as_tensor(found, torch=asPyTorch, shape=sides)
        if verbose:
            print(f"compute(): {time.perf_counter() - begin:.6f} s", file=sys.stderr)
        return found

    def print(self) -> Any:
        """Print the value as a script does, when what this returns is computed."""
        return called("print", (self,), {})

    def explain(self, settings: Settings | None = None) -> str:
        """Return the graph that ``compute`` runs, a line for each operation."""
        return "\n".join(explained(graph.program_of(self._value, settings or FUSED)))

    def __bool__(self) -> bool:
        raise failure(ScriptCompileError, "a lazy value has no truth yet; call compute() first")


@functools.cache
def _help_of(name: str) -> str:
    """Return what `help` says of a built-in function as a method."""
    function = find(name)
    assert function is not None
    first = (*function.required, *function.optional, function.rest)[0]
    return (
        f"``{function.signature}``, a built-in function of the language, with this value as "
        f"`{first}`; made lazily."
    )


def lifted(value: Any) -> Any:
    """Make a lazy value of what Python has: numbers, arrays, matrices of SciPy's, frames."""
    if isinstance(value, Lazy):
        return value
    if isinstance(value, np.ndarray) and value.ndim:
        return of_cells(cells_of(value))
    if isinstance(value, np.generic | np.ndarray):
        cells = cells_of(np.reshape(value, 1))
        return wrapped(graph.emitter().constant(cells.item(), cell_of_column(cells)))
    if hasattr(value, "tocsr"):
        return of_rows(value)
    if hasattr(value, "iloc") and hasattr(value, "columns"):
        return framed(frame_of_pandas(value))
    if hasattr(value, "column_names"):
        return framed(frame_of_arrow(value))
    if type(value) is int:
        return wrapped(graph.emitter().constant(value, cell_of_integer(value)))
    kinds = {bool: "bool", float: "f64", str: "str"}
    if type(value) not in kinds:
        listed = "; write np.array(...)" if isinstance(value, list | tuple) else ""
        raise TypeError(f"{type(value).__name__} can't be part of a lazy expression{listed}")
    return wrapped(graph.emitter().constant(value, kinds[type(value)]))


def of_cells(cells: np.ndarray[Any, Any]) -> Any:
    """Make a lazy matrix of cells."""
    rows, columns = cells.shape
    return wrapped(graph.given(cells, matrix(cell_of_column(cells), rows, columns)))


def of_rows(array: Any) -> Any:
    """Make a lazy matrix of SciPy's CSR."""
    wider = WIDER.get(array.dtype.name)
    data = Csr.of_scipy(array.astype(wider) if wider else array)
    return wrapped(graph.given(data, Type("matrix", cell_of(data.dtype), *data.shape, csr=True)))


def framed(data: FrameData) -> Any:
    """Make a lazy frame of columns."""
    schema = tuple(zip(data.labels, data.cells, strict=True))
    return wrapped(graph.given(data, Type("frame", "", *data.shape, schema)))


def wrapped(value: Value) -> Any:
    """Make a lazy value of a value of the graph."""
    return KINDS[value.type.data](value)


OF_CELLS = frozenset({"min", "max", "mod", "pow", "log"})
"""Methods that are operations of cells when they are given two values."""
REDUCED = {"min": "aggMin", "max": "aggMax"}
"""What those are called that NumPy has by the name of an operation of cells."""


INTEGERS = (int, np.integer)


def operated(name: str, *args: Any) -> Any:
    """Append an operation of cells; what stands beside a matrix is repeated as NumPy repeats it."""
    if len(args) == 1:
        return wrapped(elementwise.unary(graph.emitter(), name, value_of(args[0])))
    return wrapped(elementwise.binary(graph.emitter(), *_sided(name, *args)))


def _sided(name: str, left: Any, right: Any) -> tuple[str, Value, Value]:
    """Return an operation and its sides, in the order and of the shapes that the language takes."""
    if isinstance(left, Lazy):
        one = left._value
        if isinstance(right, Lazy):
            other = right._value
        elif isinstance(right, INTEGERS):
            return numbered(name, one, right)
        else:
            other = beside(right, left)._value
    elif isinstance(left, INTEGERS) and isinstance(right, Lazy):
        if name in COMPARISONS:
            return numbered(SWAPPED[name], right._value, left)
        name, other, one = numbered(name, right._value, left)
        return name, one, other
    else:
        one, other = beside(left, right)._value, value_of(right)
    kind, partner = one.type, other.type
    if kind is not partner and kind.data == partner.data == "matrix":
        return fitted(graph.emitter(), name, one, other)
    return name, one, other


def numbered(name: str, value: Value, number: Any) -> tuple[str, Value, Value]:
    """Return an operation, a value, and an integer of any size on its right."""
    if isinstance(number, bool):
        return name, value, lifted(number)._value
    name, fitting, cell = beside_cells(name, int(number), value.type.cell)
    if isinstance(number, np.integer) and fitting == number and number.dtype.itemsize < 8:
        return name, value, lifted(number)._value
    return name, value, graph.emitter().constant(fitting, cell)


def extreme(name: str, left: Any, right: Any) -> Any:
    """Append `min` or `max` of cells as NumPy computes it: a NaN on either side stays.

    The language keeps one on the left only.
    """
    emitter = graph.emitter()
    name, one, other = _sided(name, left, right)
    if one.type.data != "matrix":
        one, other = other, one
    made = elementwise.binary(emitter, name, one, other)
    cell, number = other.type.cell, other.const
    if is_float(cell) and made.type.data == "matrix" and (number is None or number != number):
        # Nothing is taken from a number, and 0 / 0, which is NaN, from what has NaN on its right.
        is_number = elementwise.binary(emitter, "eq", other, other)
        nothing = elementwise.binary(emitter, "div", emitter.constant(0.0, cell), is_number)
        made = elementwise.binary(emitter, "sub", made, nothing)
    return wrapped(made)


def as_row(value: Any, columns: int | None) -> Any:
    """Return a list, or an array of one dimension, as the row that it is for NumPy.

    Where there is one column it stays one, which is what `lifted` makes of such an array.
    """
    if isinstance(value, list | tuple):
        value = np.asarray(value)
    is_flat = isinstance(value, np.ndarray) and value.ndim == 1
    return value[None, :] if is_flat and columns != 1 else value


def beside(value: Any, other: Any) -> Any:
    """Make a lazy value of what stands beside another."""
    if not isinstance(other, Lazy) or other._value.type.data != "matrix":
        return lifted(value)
    return lifted(as_row(value, other._value.type.columns))


def called(name: str, args: Iterable[Any], keywords: dict[str, Any]) -> Any:
    """Append a call of a built-in function; lists of arguments are given one by one."""
    given = [arg for arg in _flat(args) if arg is not None]
    if name in OF_CELLS and len(given) == 2:
        return operated(name, *given)
    if name in REDUCED and len(given) == 1 and not {"other", "rhs"} & {*keywords}:
        raise TypeError(
            f"x.{name}(y) compares elements with those of another value; of all elements it is "
            f"x.{REDUCED[name]}(), or np.{name}(x, axis=0) of each column"
        )
    if name == "reshape" and not keywords:
        given = [given[0], *_sides_of(given[0], given[1:])]
    values = [value_of(arg) for arg in given]
    named = _named(name, keywords) if keywords else {}
    made = [wrapped(value) for value in lower(graph.emitter(), name, values, named)]
    return made if len(made) > 1 else made[0]


def _sides_of(whole: Any, sides: list[Any]) -> list[Any]:
    """Return the rows and columns of a new shape; one of them may be -1, for all that is left."""
    known = [isinstance(side, int) for side in sides]
    if len(sides) != 2:
        raise ValueError(
            f"reshape takes rows and columns, and is given {len(sides)} numbers: "
            "x.reshape(1, -1) is a row, x.reshape(-1, 1) a column"
        )
    if not all(known) or -1 not in sides:
        return sides
    other = max(sides)
    size = whole.size
    is_whole = other > 0 and (is_unknown(size) or size % other == 0)
    if not is_whole:
        raise ValueError(
            f"-1 in reshape{tuple(sides)} is a whole number of rows or columns only if the number "
            f"of elements, here {size}, is a multiple of the other"
        )
    # Where nobody knows the number yet, it is counted when the matrix is computed.
    left = called("ncell", [whole], {}) / other if is_unknown(size) else size // other
    return [left if side == -1 else side for side in sides]


def _named(name: str, keywords: dict[str, Any]) -> dict[str, Value]:
    function = find(name)
    assert function is not None
    names = function.required + function.optional
    given = {word: arg for word, arg in keywords.items() if arg is not None}
    return {_parameter(word, names): value_of(arg) for word, arg in given.items()}


ALIASES = {
    "Min": "min",
    "Max": "max",
    "right_frame": "r",
    "left_on": "lOn",
    "right_on": "rOn",
    "file": "filename",
    "rows": "numRows",
    "cols": "numCols",
    "start": "from",
    "end": "to",
}
"""What DaphneLib calls parameters that the language calls otherwise."""


def _parameter(word: str, names: tuple[str, ...]) -> str:
    if word == "other" and len(names) > 1:
        return names[1]
    if word == "arg" and names:
        return names[0]
    return word if word in names else ALIASES.get(word, word)


def _flat(args: Iterable[Any]) -> Iterable[Any]:
    for arg in args:
        if isinstance(arg, list | tuple):
            yield from arg
        else:
            yield arg


def value_of(value: Any) -> Value:
    """Return the value of the graph that Python's stands for."""
    made: Value = value._value if isinstance(value, Lazy) else lifted(value)._value
    return made
