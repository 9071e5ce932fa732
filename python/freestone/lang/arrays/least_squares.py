"""Least squares of tall arrays: the triangles of their blocks have the same answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from freestone.collections.pieces import value_of
from freestone.lang.arrays.blockwise import called, in_blocks
from freestone.lang.arrays.nodes import Node, cut_up, refusal

__all__ = ["lstsq"]


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """Return what `numpy.linalg.lstsq` does, as arrays and a number here.

    Notes
    -----
    Each block of `a` with `k` columns, beside the same rows of `b`, is turned into a triangle by
    QR. Turning changes no length, so the triangles of all blocks, which one call gets, have the
    solution, residuals, rank and singular values of all rows: ``blocks * k * k`` numbers.

    References
    ----------
    Golub and Van Loan, Matrix Computations, section 5.3.
    """
    if not isinstance(a, Node) or a.rows is None or a.ndim != 2 or 0 in a.shape:
        raise refusal("np.linalg.lstsq", "takes a matrix in blocks, with rows and columns")
    array = in_blocks("linalg.lstsq", a, "iuf")
    if isinstance(b, Node) and b.rows is not None:
        right = in_blocks("linalg.lstsq", b, "iuf")
    elif np.shape(b)[:1] == (len(array),) and np.asarray(b).dtype.kind in "iuf":
        right = cut_up(np.asarray(b), a.rows).attrs["data"]
    else:
        raise refusal("np.linalg.lstsq", f"takes reals of {len(array):,} rows on the right")
    if right.ndim > 2 or 0 in right.shape or len(right) != len(array):
        raise refusal("np.linalg.lstsq", f"takes no right side of shape {right.shape}")
    right = right.rechunk(array.offsets)
    dtype = np.linalg.lstsq(np.ones((1, 1), array.dtype), np.ones(1, right.dtype))[0].dtype
    if rcond is None:
        # NumPy's rule counts all rows, of which the triangles have fewer.
        rcond = np.finfo(dtype).eps * max(array.shape)
    pairs = zip(array.blocks, right.blocks, strict=True)
    triangles = [called(array.client, _triangle, dtype, *pair) for pair in pairs]
    columns = array.shape[1]
    found: tuple[Any, Any, Any, Any] = value_of(
        called(array.client, _solved, columns, right.ndim, rcond, *triangles)
    )
    return found


def _triangle(dtype: Any, a: Any, b: Any) -> Any:
    return np.linalg.qr(np.column_stack([a, b]).astype(dtype), mode="r")


def _solved(columns: int, ndim: int, rcond: float, *triangles: Any) -> tuple[Any, ...]:
    both = np.concatenate(triangles)
    right = both[:, columns] if ndim == 1 else both[:, columns:]
    return tuple(np.linalg.lstsq(both[:, :columns], right, rcond))
