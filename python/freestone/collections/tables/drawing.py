"""Rows drawn at random: as many, and the same for the same seed, however the rows are cut.

Rows are numbered, and each 65,536 that follow one another are a chunk. How many are drawn of each
chunk follows from their sizes and the seed, and which ones from the seed and the chunk's number.
So parts draw by themselves, and only numbers of rows go through the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
import polars as pl

__all__ = ["DRAWS", "draw", "drawn_of_chunks", "draws_of_parts"]

CHUNK_ROWS = 1 << 16
MAX_EXACT_ROWS = 10**9
"""NumPy has no hypergeometric distribution of more."""
DRAWS = pl.Schema({"chunk": pl.Int64, "first": pl.Int64, "rows": pl.Int64, "drawn": pl.Int64})
"""The columns of what a part draws: a chunk's number, where in the part it begins, its sizes."""


def drawn_of_chunks(total: int, wanted: int, seed: int, *, with_replacement: bool) -> list[int]:
    """Return how many rows are drawn of each chunk, in all as many as are wanted."""
    whole, rest = divmod(total, CHUNK_ROWS)
    sizes = np.array([CHUNK_ROWS] * whole + [rest] * bool(rest), np.int64)
    dice = np.random.default_rng(seed)
    if not total:
        return []
    if with_replacement:
        return list(map(int, dice.multinomial(wanted, sizes / total)))
    if total < MAX_EXACT_ROWS:
        return list(map(int, dice.multivariate_hypergeometric(sizes, wanted, method="marginals")))
    # Of so many chunks the binomial distribution is the same, if not most rows are drawn.
    if 2 * wanted > total:
        left_out = drawn_of_chunks(total, total - wanted, seed, with_replacement=False)
        return [size - each for size, each in zip(sizes.tolist(), left_out, strict=True)]
    found: list[int] = []
    for size in sizes.tolist():
        drawn = int(dice.binomial(wanted, size / total))
        total -= size
        found.append(min(max(drawn, wanted - total), size))
        wanted -= found[-1]
    return found


def draws_of_parts(counts: Sequence[int], drawn: Sequence[int]) -> Iterator[pl.DataFrame]:
    """Yield for each part of so many rows what `draw` takes."""
    ends = [*accumulate(counts, initial=0)]
    total = ends[-1]
    for start, stop in pairwise(ends):
        chunks = range(start // CHUNK_ROWS, -(-stop // CHUNK_ROWS)) if stop > start else range(0)
        rows = [
            (
                chunk,
                chunk * CHUNK_ROWS - start,
                min(CHUNK_ROWS, total - chunk * CHUNK_ROWS),
                drawn[chunk],
            )
            for chunk in chunks
        ]
        yield pl.DataFrame(rows, DRAWS, orient="row")


def draw(
    frame: pl.DataFrame, draws: pl.DataFrame, seed: int, *, with_replacement: bool
) -> pl.DataFrame:
    """Return the rows of a part that are drawn, in their order."""
    places = [np.zeros(0, np.int64)]
    for chunk, first, rows, drawn in draws.iter_rows():
        dice = np.random.default_rng([chunk, seed])
        if with_replacement:
            found = dice.integers(rows, size=drawn)
        else:
            found = dice.choice(rows, drawn, replace=False, shuffle=False)
        places.append(np.sort(found) + first)
    of_part = np.concatenate(places)
    return frame[of_part[(of_part >= 0) & (of_part < len(frame))]]
