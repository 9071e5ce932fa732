"""Matrices that are their own mirror image, of which files hold one half.

Whether one is, is found block by block. A block of rows is cut where the blocks begin, into one
part for each of them. What it has above the diagonal has to be the mirror image of what others have
below it; so each block says digests of its parts, of those below the diagonal of their mirror
images, and digests that belong together have to be the same. No row goes anywhere for that.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SYMMETRIES", "Half", "difference", "half_of", "is_kept", "mirrored", "part_of"]

SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
DIGEST_NBYTES = 16


@dataclass(frozen=True, kw_only=True)
class Half:
    """What a block says of its parts.

    Attributes
    ----------
    above, below : dict
        By the number of a block, that of the block itself in both: the digest of the part in its
        columns, and of the part's mirror image.
    entries : int
        How many entries of a sparse block a file has; 0 of a dense one.
    """

    above: dict[int, bytes]
    below: dict[int, bytes]
    entries: int


def mirrored(symmetry: str, values: Any) -> Any:
    """Return what stands at the mirrored places; numbers without a sign stay as they are."""
    if symmetry == "skew-symmetric":
        return -values
    return np.conj(values) if symmetry == "hermitian" else values


def is_kept(rows: Any, columns: Any, symmetry: str) -> Any:
    """Tell which entries a file has: those below the diagonal, and most often those on it."""
    return rows > columns if symmetry == "skew-symmetric" else rows >= columns


def half_of(block: Any, number: int, cuts: list[int], symmetry: str) -> Half:
    """Say what the parts of a block are.

    Parameters
    ----------
    block
        Rows ``cuts[number]:cuts[number + 1]`` of a square matrix: an array or a sparse matrix.
    number
        That of the block.
    cuts
        Where blocks begin, and the end of the last one.
    symmetry
        One of `SYMMETRIES`.
    """
    matrix = _summed(block)
    above, below = {}, {}
    for other, (begin, end) in enumerate(pairwise(cuts)):
        part = matrix[:, begin:end]
        if other >= number:
            above[other] = _digest(part)
        if other <= number:
            below[other] = _digest(_image(part, symmetry))
    entries = 0
    if hasattr(block, "tocoo"):
        found = block.tocoo()
        rows = found.row.astype(np.int64) + cuts[number]
        entries = int(np.count_nonzero(is_kept(rows, found.col, symmetry)))
    return Half(above=above, below=below, entries=entries)


def difference(above: Any, below: Any, symmetry: str) -> tuple[int, int, Any, Any] | None:
    """Find the first cell of a part that is not as its mirror image has it.

    Parameters
    ----------
    above : shape (n, k)
        The part above the diagonal, as `part_of` has it.
    below : shape (k, n)
        The part that mirrors it, likewise.

    Returns
    -------
    (row, column, value, image) or None
        The place in `above`, from 0; its value; and that of `below`.
    """
    places, cells = _cells(above)
    others, wanted = _cells(_image(below, symmetry))
    every = np.union1d(places, others)
    differs = (_spread(every, places, cells) != _spread(every, others, wanted)).any(axis=1)
    if not differs.any():
        return None
    row, column = divmod(int(every[differs.argmax()]), above.shape[1])
    return row, column, above[row, column].item(), below[column, row].item()


def part_of(block: Any, begin: int, end: int) -> Any:
    """Return some columns of a block, of a sparse one by rows with one entry for each place."""
    return _summed(block)[:, begin:end]


def _summed(block: Any) -> Any:
    """Return an array as it is, and a sparse matrix by rows with one entry for each place."""
    if not hasattr(block, "tocsr"):
        table = np.asarray(block)
        return table if table.ndim == 2 else table[:, np.newaxis]
    import scipy.sparse

    rows = scipy.sparse.csr_array(block)
    if not rows.has_canonical_format:
        # What lies in a cache can't be changed.
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _image(part: Any, symmetry: str) -> Any:
    """Return the mirror image of a part."""
    if not hasattr(part, "tocsr"):
        return mirrored(symmetry, _wide(part)).T
    image = part.T.tocsr()
    image.sort_indices()
    image.data = mirrored(symmetry, _wide(image.data))
    return image


def _wide(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers as those that are compared, of which the least has a negative."""
    kind = {"f": np.float64, "c": np.complex128}.get(values.dtype.kind, np.int64)
    return values.astype(kind, copy=False)


def _bits(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers that are the same where values are: 0 has no sign, and NaN is NaN.

    Returns
    -------
    ndarray of shape (*values.shape, 1 or 2)
    """
    wide = np.ascontiguousarray(_wide(values))
    if wide.dtype == np.int64:
        return wide[..., np.newaxis]
    parts = wide.view(np.float64).reshape(*wide.shape, 1 + np.iscomplexobj(wide)) + 0.0
    parts[np.isnan(parts)] = np.nan
    return parts.view(np.int64)


def _digest(part: Any) -> bytes:
    found = hashlib.blake2b(digest_size=DIGEST_NBYTES)
    if hasattr(part, "tocsr"):
        places, cells = _cells(part)
        found.update(places.data)
    else:
        cells = _bits(part)
    found.update(cells.reshape(-1).data)
    return found.digest()


def _cells(matrix: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return places and values of the cells that are not 0, row by row."""
    if hasattr(matrix, "tocoo"):
        found = matrix.tocoo()
        rows, columns, values = found.row, found.col, found.data
        held = values != 0
        rows, columns, values = rows[held], columns[held], values[held]
    else:
        rows, columns = np.nonzero(matrix)
        values = matrix[rows, columns]
    return rows.astype(np.int64) * matrix.shape[1] + columns, _bits(values)


def _spread(
    every: NDArray[np.int64], places: NDArray[np.int64], cells: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the cells of all places, 0 where there are none."""
    found = np.zeros((len(every), cells.shape[1]), np.int64)
    found[np.searchsorted(every, places)] = cells
    return found
