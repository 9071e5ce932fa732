"""Linear algebra, with NumPy's BLAS and LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.lang.front.graph.graph import Op
from freestone.lang.run.kernels.elementwise import converted
from freestone.lang.run.kernels.memory import empty, workers

Array = np.ndarray[Any, Any]


def _cell(op: Op) -> str:
    return op.results[0].type.cell


def matmul(run: Any, op: Op, left: Array, right: Array) -> Array:
    """Multiply two matrices."""
    if left.shape[1] != right.shape[0]:
        raise ValueError(
            f"@ of a {left.shape[0]}x{left.shape[1]} and a {right.shape[0]}x{right.shape[1]} matrix"
        )
    one, other = converted(left, _cell(op)), converted(right, _cell(op))
    with np.errstate(all="ignore"):
        return np.asarray(one @ other)


def syrk(run: Any, op: Op, value: Array) -> Array:
    """Compute t(A) @ A."""
    return np.asarray(value.T @ value)


def gemv(run: Any, op: Op, value: Array, vector: Array) -> Array:
    """Compute t(A) @ x."""
    if vector.shape != (value.shape[0], 1):
        raise ValueError(f"gemv of shapes {value.shape} and {vector.shape}")
    return np.asarray(converted(value, _cell(op)).T @ converted(vector, _cell(op)))


def cross(run: Any, op: Op, left: Array, right: Array) -> Array:
    """Compute t(A) @ B."""
    return np.asarray(converted(left, _cell(op)).T @ converted(right, _cell(op)))


def sum_product(run: Any, op: Op, left: Array, right: Array) -> Any:
    """Sum the products of cells, without the products' matrix."""
    if left.shape != right.shape:
        raise ValueError(f"mul of shapes {left.shape} and {right.shape}")
    one, other = converted(left, _cell(op)), converted(right, _cell(op))
    return np.vdot(one.ravel(), other.ravel()).item()


def _square(value: Array, name: str) -> None:
    if value.shape[0] != value.shape[1]:
        raise ValueError(f"{name} takes a square matrix, not {value.shape[0]}x{value.shape[1]}")


def eigen(run: Any, op: Op, value: Array) -> tuple[Array, Array]:
    """Compute eigenvalues and eigenvectors."""
    _square(value, "eigen")
    cells = converted(value, _cell(op))
    if np.array_equal(cells, cells.T):
        values, vectors = np.linalg.eigh(cells)
    else:
        values, vectors = np.linalg.eig(cells)
        if np.iscomplexobj(values):
            raise ValueError("the eigenvalues of this matrix are not real numbers")
    return values.reshape(-1, 1), np.ascontiguousarray(vectors)


def solve(run: Any, op: Op, value: Array, right: Array) -> Array:
    """Solve A x = b."""
    _square(value, "solve")
    if value.shape[0] != right.shape[0]:
        raise ValueError(f"solve of shapes {value.shape} and {right.shape}")
    try:
        return np.linalg.solve(converted(value, _cell(op)), converted(right, _cell(op)))
    except np.linalg.LinAlgError:
        raise ValueError("the matrix A of solve is singular: there is no one solution") from None


def diag_vector(run: Any, op: Op, value: Array) -> Array:
    """Take the diagonal as a column."""
    _square(value, "diagVector")
    return np.diagonal(value).reshape(-1, 1).copy()


def triangle(run: Any, op: Op, value: Array, diag: Any, values: Any) -> Array:
    """Keep one side of the diagonal, as it is or as ones."""
    _square(value, "lowerTri or upperTri")
    from freestone._native.vector import copy_triangle

    value = np.ascontiguousarray(value)
    kept = empty(run, value.shape, value.dtype)
    copy_triangle(value, kept, bool(op.attrs["lower"]), not diag, workers(run))
    return kept if values else (kept != 0).astype(value.dtype)


def replace(run: Any, op: Op, value: Array, pattern: Any, replacement: Any) -> Array:
    """Replace cells that equal a pattern."""
    cell = _cell(op)
    wanted = converted(pattern, cell)
    hit = np.isnan(value) if wanted != wanted else value == wanted
    return np.where(hit, converted(replacement, cell), value)


def ctable(run: Any, op: Op, ys: Array, xs: Array, weight: Any, *shape: Any) -> Array:
    """Weigh how often pairs of positions occur; what is outside of the shape is left out."""
    if ys.shape != xs.shape or ys.shape[1] != 1:
        raise ValueError(f"ctable takes two columns, not {ys.shape} and {xs.shape}")
    rows, columns = ys.ravel().astype("i8"), xs.ravel().astype("i8")
    if rows.size and min(rows.min(), columns.min()) < 0:
        raise ValueError("ctable takes positions that are not negative")
    wanted = [int(side) for side in shape] or [-1, -1]
    found = [int(side.max()) + 1 if side.size else 0 for side in (rows, columns)]
    tall, wide = (f if w < 0 else w for w, f in zip(wanted, found, strict=True))
    inside = (rows < tall) & (columns < wide)
    out = np.zeros((tall, wide), converted(weight, _cell(op)).dtype)
    np.add.at(out, (rows[inside], columns[inside]), weight)
    return out
