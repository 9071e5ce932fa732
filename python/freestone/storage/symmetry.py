"""Whether an array is its own mirror image, before one half of it is written."""

from __future__ import annotations

from typing import Any

from freestone.client import gather
from freestone.collections.array import Array
from freestone.errors import FormatError
from freestone.io.formats.mtx_symmetry import Half, difference, half_of, part_of

__all__ = ["entries_of_half"]


def entries_of_half(x: Array, symmetry: str, url: str) -> int:
    """Check that each half of an array follows from the other; how many entries a half has.

    Parameters
    ----------
    x
        A square array, dense or sparse.
    symmetry
        One of `freestone.io.formats.mtx_symmetry.SYMMETRIES`.
    url
        What is to be written.

    Raises
    ------
    FormatError
        With the first place, by blocks, that has another value than its mirror image.

    Notes
    -----
    One pass over the blocks, each where it is, of which digests of 16 bytes are compared here: as
    many as the square of the number of blocks. Only to name a place, two blocks come together.
    """
    halves = _halves(x, symmetry)
    for number, half in enumerate(halves):
        for other, digest in half.above.items():
            if halves[other].below[number] != digest:
                raise _unequal(x, number, other, symmetry, url)
    return sum(half.entries for half in halves)


def _halves(x: Array, symmetry: str) -> list[Half]:
    cuts, count = x.offsets.tolist(), len(x.blocks)
    columns = (x.blocks, range(count), [cuts] * count, [symmetry] * count)
    client = x.client
    if client is None:
        return [half_of(*given) for given in zip(*columns, strict=True)]
    found: list[Half] = gather(client.map(half_of, zip(*columns, strict=True), {"near": "input"}))
    return found


def _unequal(x: Array, number: int, other: int, symmetry: str, url: str) -> FormatError:
    """Return the error that names the first place at which two blocks differ."""
    cuts, client = x.offsets.tolist(), x.client
    given = (x.blocks[number], x.blocks[other], cuts, number, other, symmetry)
    found = _compared(*given) if client is None else client.submit(_compared, given).result()
    assert found is not None
    row, column, value, image = found
    row, column = row + cuts[number] + 1, column + cuts[other] + 1
    reason = (
        f"row {row}, column {column}: {value}, and row {column}, column {row} has {image}, so it "
        f"is not {symmetry}; leave symmetry out"
    )
    return FormatError(url, reason, row=row, column=column)


def _compared(
    block: Any, other_block: Any, cuts: list[int], number: int, other: int, symmetry: str
) -> tuple[int, int, Any, Any] | None:
    above = part_of(block, cuts[other], cuts[other + 1])
    return difference(above, part_of(other_block, cuts[number], cuts[number + 1]), symmetry)
