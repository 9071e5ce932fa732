"""Samples of rows: each part draws its own."""

from __future__ import annotations

import polars as pl

from freestone.collections.pieces import value_of
from freestone.collections.tables.calls import to_arrow, to_polars
from freestone.collections.tables.drawing import DRAWS, drawn_of_chunks, draws_of_parts
from freestone.collections.tables.lowering import lower_input, rule
from freestone.collections.tables.needs import Columns
from freestone.collections.tables.plan import Op
from freestone.collections.tables.stages import Stage
from freestone.errors import UsageError

__all__: list[str] = []


@rule("sample")
def _sample(step: Op, needed: Columns) -> Stage:
    stage = lower_input(step, needed).done()
    n, fraction, repeats, seed = (
        step.options[name] for name in ("n", "fraction", "with_replacement", "seed")
    )
    counts = _counts(stage)
    total = sum(counts)
    wanted = int(total * fraction) if n is None else n
    if wanted > total and not (repeats and total):
        raise UsageError(
            f"sample() of {wanted:,} rows, of {total:,}: take fewer"
            + (", or give with_replacement=True, by which rows are drawn again" if total else "")
        )
    drawn = drawn_of_chunks(total, wanted, seed, with_replacement=repeats)
    draws = [[to_arrow(each)] for each in draws_of_parts(counts, drawn)]
    asked = Stage.of(draws, pl.DataFrame(schema=DRAWS), stage.client)
    return stage.joined(asked, "draw", seed=seed, with_replacement=repeats)


def _counts(stage: Stage) -> list[int]:
    """Return how many rows each part has."""
    counted = stage.then("select", [pl.len().cast(pl.Int64)])
    blocks = [value_of(block) for (block,) in counted.blocks()]
    return list(to_polars(blocks, counted.plan).to_series())
