"""How many rows a join makes, estimated from samples of its tables.

Of ``matches`` among samples of ``s`` and ``t`` of ``n`` and ``m`` rows there are about
``matches * n / s * m / t`` in all. What three pairs of samples agree on is refused.

References
----------
Haas, Naughton, Seshadri and Swami, Selectivity and cost estimation for joins based on random
sampling, J. Comput. Syst. Sci. 52 (1996), section 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from freestone.errors import ExplodingJoinError

__all__ = ["refuse_too_many_rows", "width_of"]

SAMPLES = 2_000
SEEDS = range(3)
MIN_MATCHES = 16
"""Fewer in a sample may be there by chance."""


def refuse_too_many_rows(
    sides: Sequence[pl.DataFrame],
    matches: Callable[[list[pl.DataFrame]], int],
    most: int,
    *,
    width: int,
    keys: str,
    how: str = "inner",
) -> None:
    """Refuse a join of two tables that makes more rows than `most`.

    Parameters
    ----------
    sides
        The tables.
    matches
        Counts what the join makes of samples of them.
    most
        So many rows it may make.
    width
        Bytes of a row, at least.
    keys, how
        For the message.

    Raises
    ------
    ExplodingJoinError
        With the sizes.
    """
    left, right = map(len, sides)
    rows = left * right
    for seed in SEEDS:
        if rows <= most:
            return
        rows = min(rows, _estimate(sides, matches, seed))
    if rows > most:
        raise ExplodingJoinError(
            left_rows=left, right_rows=right, rows=rows, nbytes=rows * width, how=how, keys=keys
        )


def _estimate(
    sides: Sequence[pl.DataFrame], matches: Callable[[list[pl.DataFrame]], int], seed: int
) -> int:
    """Return about how many rows a join makes; 0 if few."""
    samples, scale = [], 1.0
    for place, side in enumerate(sides):
        taken = side
        if len(side) > SAMPLES:
            taken = side.sample(SAMPLES, with_replacement=True, seed=2 * seed + place)
        scale *= len(side) / max(len(taken), 1)
        samples.append(taken)
    found = matches(samples)
    return int(found * scale) if found >= MIN_MATCHES else 0


def width_of(frame: pl.DataFrame) -> int:
    """Return how many bytes a row takes, at least."""
    return max(sum(map(_width, frame.dtypes)), 1)


def _width(dtype: pl.DataType) -> int:
    return 8 if dtype.is_numeric() or dtype.is_temporal() else 1 if dtype == pl.Boolean else 16
