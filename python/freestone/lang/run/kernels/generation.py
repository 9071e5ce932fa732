"""Making matrices and frames, with NumPy and, for random numbers, the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.front.types.types import CODES, DTYPES, is_float
from freestone.lang.run.kernels.frames import Frame
from freestone.lang.run.kernels.memory import empty, fill_with

Array = np.ndarray[Any, Any]


def count(value: Any, what: str) -> int:
    """Convert a scalar to a number of rows or columns."""
    number = int(value)
    if number < 0:
        raise ValueError(f"{what} can't be negative: it is {number}")
    return number


def given(run: Any, op: Op) -> Any:
    """Return what Python gave."""
    return run.given[op.attrs["slot"]]


def fill(run: Any, op: Op, value: Any, rows: Any, columns: Any) -> Array:
    """Make a matrix whose cells are all the same."""
    shape = count(rows, "numRows"), count(columns, "numCols")
    out = empty(run, shape, DTYPES[op.results[0].type.cell])
    fill_with(run, out, value)
    return out


def literal(run: Any, op: Op, *items: Any) -> Array:
    """Make a matrix of scalars."""
    type = op.results[0].type
    return np.array(items, DTYPES[type.cell]).reshape(type.rows or 1, type.columns or 1)


def seq(run: Any, op: Op, begin: Any, end: Any, step: Any) -> Array:
    """Make a column of equidistant numbers."""
    if step == 0 or not all(math.isfinite(value) for value in (begin, end, step)):
        raise ValueError(f"seq from {begin} to {end} by {step} has no end")
    number = max(0, math.floor((end - begin) / step + 1e-10) + 1)
    return seq_rows(op, begin, step, 0, number)


def seq_rows(op: Op, begin: Any, step: Any, first: int, last: int) -> Array:
    """Make some rows of a column of equidistant numbers."""
    dtype = DTYPES[op.results[0].type.cell]
    with np.errstate(all="ignore"):
        if dtype != "float64":
            numbers = begin + step * np.arange(first, last)
            return np.asarray(numbers).astype(dtype).reshape(-1, 1)
        out = np.arange(first, last, dtype=dtype)
        if step != 1:
            out *= step
        if begin != 0:
            out += begin
        return out.reshape(-1, 1)


def rand(
    run: Any, op: Op, rows: Any, columns: Any, low: Any, high: Any, sparsity: Any, seed: Any
) -> Any:
    """Draw a matrix of random numbers."""
    shape = count(rows, "numRows"), count(columns, "numCols")
    how = low, high, sparsity, seed
    if op.results[0].type.form:
        return drawn_stored(stored_drawing(op, shape, *how), op, shape[0])
    return drawn(run, drawing(op, shape, *how), op, shape)


def stored_drawing(
    op: Op, shape: tuple[int, int], low: Any, high: Any, sparsity: Any, seed: Any
) -> Any:
    """Begin to draw the stored cells of a matrix of random numbers."""
    from freestone.lang.run.kernels.scattered import StoredDrawing

    _check_range(low, high, sparsity)
    return StoredDrawing(drawn_as(op), shape, low, high, float(sparsity), seed_of(seed))


def drawn_stored(drawing: Any, op: Op, rows: int) -> Any:
    """Draw the next rows of a matrix whose stored cells are drawn."""
    type = op.results[0].type
    made = drawing.rows(rows)
    made = made.with_cells(made.cells.astype(DTYPES[type.cell], copy=False))
    return made if type.coo else made.tocsr()


def drawing(op: Op, shape: tuple[int, int], low: Any, high: Any, sparsity: Any, seed: Any) -> Any:
    """Begin to draw a matrix of random numbers."""
    from freestone._native.vector import Drawing

    _check_range(low, high, sparsity)
    code = CODES[drawn_as(op)]
    return Drawing(code, math.prod(shape), low, high, float(sparsity), seed_of(seed))


def drawn(run: Any, drawing: Any, op: Op, shape: tuple[int, int]) -> Array:
    """Draw the next rows of a matrix of random numbers."""
    out = empty(run, shape, DTYPES[drawn_as(op)])
    drawing.fill(out)
    return out.astype(DTYPES[op.results[0].type.cell], copy=False)


def drawn_as(op: Op) -> str:
    """Return the type of cells that is drawn; integers become others afterwards."""
    cell = op.results[0].type.cell
    return cell if is_float(cell) else "si64"


def _check_range(low: Any, high: Any, sparsity: Any) -> None:
    if low > high:
        raise ValueError(f"rand: min {low} is above max {high}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"rand: sparsity has to be between 0 and 1, not {sparsity}")
    if low == high == 0 and sparsity > 0:
        raise ValueError("rand: min and max are both 0; set sparsity to 0 instead")


def seed_of(seed: Any) -> int:
    """Return a seed; -1 stands for any."""
    if int(seed) != -1:
        return int(seed)
    import secrets

    return secrets.randbits(62)


def sample(run: Any, op: Op, scope: Any, size: Any, again: Any, seed: Any) -> Array:
    """Draw from the numbers below a bound."""
    from freestone._native.vector import sample as draw

    dtype, number = DTYPES[op.results[0].type.cell], count(size, "size")
    if scope <= 0:
        raise ValueError(f"sample: range has to be positive, not {scope}")
    if not again and dtype[0] != "f" and number > scope:
        raise ValueError(f"sample: {number} different numbers below {scope} do not exist")
    work = "f64" if dtype[0] == "f" else "si64"
    out = np.empty(number, DTYPES[work])
    draw(CODES[work], out, scope, bool(again), seed_of(seed))
    return out.astype(dtype, copy=False).reshape(-1, 1)


def diag_matrix(run: Any, op: Op, value: Array) -> Array:
    """Make a square matrix with a column on its diagonal."""
    if value.shape[1] != 1:
        raise ValueError(f"diagMatrix takes one column, not {value.shape[1]}")
    rows = len(value)
    out = np.zeros((rows, rows), value.dtype)
    out.reshape(-1)[:: rows + 1] = value[:, 0]
    return out


def create_frame(run: Any, op: Op, *columns: Array) -> Frame:
    """Make a frame of columns."""
    schema = op.results[0].type.schema or ()
    for column in columns:
        if column.shape != (columns[0].shape[0], 1):
            raise ValueError(f"columns of a frame have shapes {columns[0].shape}, {column.shape}")
    labels, cells = [label for label, _ in schema], [cell for _, cell in schema]
    return Frame([np.ascontiguousarray(column[:, 0]) for column in columns], labels, cells)
