"""Printing and stopping. NumPy is not needed for scalars."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from freestone.errors.lang import ScriptStoppedError
from freestone.lang.front.graph.graph import Op
from freestone.lang.front.parse.source import failure
from freestone.lang.front.types.scalars import printed
from freestone.lang.front.types.types import PRINTED, Type


def print_(run: Any, op: Op, value: Any, newline: Any = True, err: Any = False) -> None:
    """Write a value; `newline` is for scalars only."""
    type = op.operands[0].type
    if run.printed is not None and not err:
        run.printed.append(plain(type, value))
        return
    stream = stream_of(run, err)
    if type.data == "scalar":
        stream.write(printed(value) + ("\n" if newline else ""))
        return
    for line in lines(type, value):
        stream.write(line + "\n")


def plain(type: Type, value: Any) -> Any:
    """Return what JSON can hold: a number or string, a list of rows, columns by their labels."""
    if type.data == "list":
        return [plain(Type("matrix", type.cell), element) for element in value]
    if type.data == "frame":
        columns = ([_finite(cell) for cell in column.tolist()] for column in value.columns)
        return dict(zip(value.labels, columns, strict=True))
    if type.data == "matrix":
        return plain_rows(value)
    return _finite(value.item() if hasattr(value, "item") else value)


def plain_rows(value: Any) -> list[list[Any]]:
    """Return the rows of a matrix as lists."""
    dense = value.toarray() if hasattr(value, "toarray") else value
    return [[_finite(cell) for cell in row] for row in dense.tolist()]


def _finite(value: Any) -> Any:
    """Return a value as JSON has it: that knows no NaN and no infinity, which are texts."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def stream_of(run: Any, err: Any) -> Any:
    """Return where ``print`` writes."""
    return (run.errors or sys.stderr) if err else run.out


def lines(type: Type, value: Any) -> Iterator[str]:
    """Yield what ``print`` writes for a matrix, a frame or a list."""
    if type.data == "list":
        yield f"List({len(value)}, DenseMatrix, {PRINTED[type.cell]})"
        for element in value:
            yield from lines(Type("matrix", type.cell), element)
        return
    yield header(type, value)
    if type.data == "frame":
        columns = [column.tolist() for column in value.columns]
        yield from _rows(zip(*columns, strict=True) if columns else [()] * value.shape[0])
    else:
        yield from row_lines(value)


def row_lines(value: Any) -> Iterator[str]:
    """Yield what ``print`` writes for the rows of a matrix."""
    dense = value.toarray() if hasattr(value, "toarray") else value
    return _rows(row.tolist() for row in dense)


def header(type: Type, value: Any) -> str:
    """Describe a matrix or a frame, as in ``DenseMatrix(3x2, double)``."""
    rows, columns = value.shape
    if type.data == "frame":
        pairs = zip(value.labels, value.cells, strict=True)
        inside = ", ".join(f"{label}:{PRINTED[cell]}" for label, cell in pairs)
        return f"Frame({rows}x{columns}, [{inside}])"
    return matrix_header(type.cell, (rows, columns), stored=hasattr(value, "toarray"))


def matrix_header(cell: str, shape: tuple[int, int], *, stored: bool) -> str:
    """Describe a matrix of which all cells are there, or those that are stored."""
    # Other implementations know one form that is not dense, and scripts print what they print.
    form = "CSRMatrix" if stored else "DenseMatrix"
    return f"{form}({shape[0]}x{shape[1]}, {PRINTED[cell]})"


def _rows(rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    for row in rows:
        yield " ".join(map(printed, row))


def stop(run: Any, op: Op, message: Any = None) -> None:
    """End the script."""
    problem = "system stopped" if message is None else f"system stopped: {printed(message)}"
    raise failure(ScriptStoppedError, problem, op.place)
