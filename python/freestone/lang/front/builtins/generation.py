"""Making matrices and frames."""

from __future__ import annotations

import math

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type, common_type, matrix


@builtin("fill", "value numRows numCols")
def fill(emitter: Emitter, value: Value, rows: Value, columns: Value) -> Value:
    """Make a matrix whose cells are all the same."""
    cell = emitter.scalar(value, "value").cell
    type = matrix(cell, emitter.size(rows, "numRows"), emitter.size(columns, "numCols"))
    return emitter.emit("fill", [value, rows, columns], type)


@builtin("createFrame", "col*")
def create_frame(emitter: Emitter, *args: Value) -> Value:
    """Make a frame of columns, and labels for all of them or none."""
    columns = [arg for arg in args if arg.type.data == "matrix"]
    labels = list(args[len(columns) :])
    if not columns or any(arg.type.data == "matrix" for arg in labels):
        emitter.fail("createFrame takes columns, and then their labels")
    if labels and len(labels) != len(columns):
        emitter.fail(f"createFrame is given {len(columns)} columns and {len(labels)} labels")
    for column in columns:
        emitter.equal(column.type.columns, 1, "a column of a frame is a matrix of one column")
        emitter.equal(column.type.rows, columns[0].type.rows, "columns differ in rows")
    names = [_label(emitter, label) for label in labels]
    names = names or [f"col_{index}" for index in range(len(columns))]
    cells = (column.type.cell for column in columns)
    schema = tuple(zip(unique_labels(emitter, names), cells, strict=True))
    type = Type("frame", "", columns[0].type.rows, len(columns), schema)
    return emitter.emit("create_frame", columns, type)


def _label(emitter: Emitter, label: Value) -> str:
    emitter.text(label, "a label")
    return str(emitter.known(label, "a label"))


def unique_labels(emitter: Emitter, labels: list[str]) -> list[str]:
    """Check that no label is there twice."""
    for index, label in enumerate(labels):
        if label in labels[:index]:
            emitter.fail(f"the label {label!r} is there twice")
    return labels


@builtin("diagMatrix", "arg")
def diag_matrix(emitter: Emitter, arg: Value) -> Value:
    """Make a square matrix with a column on its diagonal."""
    type = emitter.numbers(arg, "arg")
    emitter.equal(type.columns, 1, "diagMatrix takes one column")
    return emitter.emit("diag_matrix", [arg], matrix(type.cell, type.rows, type.rows))


@builtin("rand", "numRows numCols min max sparsity seed")
def rand(
    emitter: Emitter,
    rows: Value,
    columns: Value,
    low: Value,
    high: Value,
    sparsity: Value,
    seed: Value,
) -> Value:
    """Draw a matrix of random numbers."""
    cell = common_type([emitter.number(low, "min").cell, emitter.number(high, "max").cell])
    for value, what in ((sparsity, "sparsity"), (seed, "seed")):
        emitter.number(value, what)
    share = sparsity.const
    if share is not None and not 0 <= float(share) <= 1:
        emitter.fail(f"sparsity has to be between 0 and 1, not {share}")
    shape = emitter.size(rows, "numRows"), emitter.size(columns, "numCols")
    known = None if share is None else float(share)
    type = Type("matrix", cell, *shape, sparsity=known)
    return emitter.emit("rand", [rows, columns, low, high, sparsity, seed], type)


@builtin("sample", "range size withReplacement seed")
def sample(emitter: Emitter, scope: Value, size: Value, again: Value, seed: Value) -> Value:
    """Draw from the numbers below `range`."""
    cell = emitter.number(scope, "range").cell
    for value, what in ((again, "withReplacement"), (seed, "seed")):
        emitter.number(value, what)
    type = matrix(cell, emitter.size(size, "size"), 1)
    return emitter.emit("sample", [scope, size, again, seed], type)


@builtin("seq", "from to inc?")
def seq(emitter: Emitter, begin: Value, end: Value, step: Value | None = None) -> Value:
    """Make a column of equidistant numbers, both ends included."""
    one = emitter.constant(1, emitter.number(begin, "from").cell)
    values = [begin, end, one if step is None else step]
    for value in values:
        emitter.number(value, "an end or the increment of seq")
    cell = common_type(value.type.cell for value in values)
    return emitter.emit("seq", values, matrix(cell, _length(emitter, values), 1))


def _length(emitter: Emitter, values: list[Value]) -> int | None:
    if any(value.const is None for value in values):
        return None
    begin, end, step = (value.const for value in values)
    return count_of(emitter, begin, end, step)


def count_of(emitter: Emitter, begin: object, end: object, step: object) -> int:
    """Count the numbers of a sequence."""
    first, last, by = float(begin), float(end), float(step)  # type: ignore[arg-type]
    if not math.isfinite(last - first) or not math.isfinite(by) or by == 0:
        emitter.fail(f"seq from {begin} to {end} by {step} has no end")
    count = max(0, math.floor((last - first) / by + 1e-10) + 1)
    if count >= 2**63:
        emitter.fail(f"seq from {begin} to {end} by {step} has more numbers than can be counted")
    return count
