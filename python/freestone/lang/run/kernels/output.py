"""Printing and stopping. NumPy is not needed for scalars."""

from __future__ import annotations

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
    stream = stream_of(run, err)
    type = op.operands[0].type
    if type.data == "scalar":
        stream.write(printed(value) + ("\n" if newline else ""))
        return
    for line in lines(type, value):
        stream.write(line + "\n")


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
