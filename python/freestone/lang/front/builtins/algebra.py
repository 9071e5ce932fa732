"""Linear algebra."""

from __future__ import annotations

from freestone.lang.front.builtins.table import builtin
from freestone.lang.front.graph.emitter import Emitter
from freestone.lang.front.graph.graph import Value
from freestone.lang.front.types.types import Type, common_type, floating, matrix


def product(emitter: Emitter, left: Value, right: Value) -> Value:
    """Append a matrix product."""
    one, other = emitter.numbers(left, "the left of @"), emitter.numbers(right, "the right of @")
    if None not in (one.columns, other.rows) and one.columns != other.rows:
        emitter.fail(
            f"@ of a {one.rows}x{one.columns} and a {other.rows}x{other.columns} matrix: "
            "the left one needs as many columns as the right one has rows"
        )
    cell = common_type([one.cell, other.cell])
    return emitter.emit("matmul", [left, right], matrix(cell, one.rows, other.columns))


def _square(emitter: Emitter, arg: Value, name: str) -> Type:
    type = emitter.numbers(arg, "arg")
    emitter.equal(type.rows, type.columns, f"{name} takes a square matrix")
    return type


@builtin("eigen", "arg")
def eigen(emitter: Emitter, arg: Value) -> list[Value]:
    """Compute eigenvalues and eigenvectors."""
    type = _square(emitter, arg, "eigen")
    cell = floating(type.cell)
    types = [matrix(cell, type.rows, 1), matrix(cell, type.rows, type.rows)]
    return emitter.emit_all("eigen", [arg], types)


@builtin("solve", "A b")
def solve(emitter: Emitter, arg: Value, right: Value) -> Value:
    """Solve A x = b."""
    one, other = _square(emitter, arg, "solve"), emitter.numbers(right, "b")
    emitter.equal(one.rows, other.rows, "A and b of solve differ in rows")
    cell = floating(common_type([one.cell, other.cell]))
    return emitter.emit("solve", [arg, right], matrix(cell, one.rows, other.columns))


@builtin("syrk", "A")
def syrk(emitter: Emitter, arg: Value) -> Value:
    """Compute t(A) @ A."""
    type = emitter.numbers(arg, "A")
    return emitter.emit("syrk", [arg], matrix(type.cell, type.columns, type.columns))


@builtin("gemv", "A x")
def gemv(emitter: Emitter, arg: Value, vector: Value) -> Value:
    """Compute t(A) @ x."""
    one, other = emitter.numbers(arg, "A"), emitter.numbers(vector, "x")
    emitter.equal(one.rows, other.rows, "A and x of gemv differ in rows")
    emitter.equal(other.columns, 1, "x of gemv is one column")
    cell = common_type([one.cell, other.cell])
    return emitter.emit("gemv", [arg, vector], matrix(cell, one.columns, 1))


@builtin("diagVector", "arg")
def diag_vector(emitter: Emitter, arg: Value) -> Value:
    """Take the diagonal as a column."""
    type = _square(emitter, arg, "diagVector")
    return emitter.emit("diag_vector", [arg], matrix(type.cell, type.rows, 1))


def _triangle(emitter: Emitter, arg: Value, diag: Value, values: Value, lower: bool) -> Value:
    type = _square(emitter, arg, "lowerTri" if lower else "upperTri")
    for value, what in ((diag, "diag"), (values, "values")):
        emitter.number(value, what)
    return emitter.emit("triangle", [arg, diag, values], type, lower=lower)


@builtin("lowerTri", "arg diag values")
def lower_tri(emitter: Emitter, arg: Value, diag: Value, values: Value) -> Value:
    """Keep what is below the diagonal."""
    return _triangle(emitter, arg, diag, values, lower=True)


@builtin("upperTri", "arg diag values")
def upper_tri(emitter: Emitter, arg: Value, diag: Value, values: Value) -> Value:
    """Keep what is above the diagonal."""
    return _triangle(emitter, arg, diag, values, lower=False)


@builtin("replace", "arg pattern replacement")
def replace(emitter: Emitter, arg: Value, pattern: Value, replacement: Value) -> Value:
    """Replace cells that equal a pattern, nan included."""
    type = emitter.numbers(arg, "arg")
    emitter.number(pattern, "pattern")
    emitter.number(replacement, "replacement")
    return emitter.emit("replace", [arg, pattern, replacement], type)


@builtin("ctable", "ys xs weight? numRows? numCols?")
def ctable(emitter: Emitter, ys: Value, xs: Value, *rest: Value | None) -> Value:
    """Count, or weigh, how often pairs of positions occur."""
    for arg, what in ((ys, "ys"), (xs, "xs")):
        emitter.equal(emitter.numbers(arg, what).columns, 1, f"{what} of ctable is one column")
    emitter.equal(ys.type.rows, xs.type.rows, "ys and xs of ctable differ in rows")
    given = [value for value in rest if value is not None]
    weight = given.pop(0) if len(given) in (1, 3) else None
    if len(given) not in (0, 2):
        emitter.fail("ctable takes both numRows and numCols, or neither")
    if weight is None:
        weight = emitter.constant(1.0, "f64")
    # A negative count stands for one that the positions decide.
    counts = [
        None if value.const is None or int(value.const) < 0 else int(value.const) for value in given
    ]
    shape = counts or [None, None]
    type = matrix(emitter.number(weight, "weight").cell, shape[0], shape[1])
    return emitter.emit("ctable", [ys, xs, weight, *given], type)
